"""What goes left in each candidate of a node, against counting record by record."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from caveat.tree.guarded._structure import candidate_counts, goes_left, pack_codes, workspace_of
from caveat.tree.guarded.tree import Candidates

N, K = 400, 5


@numba.njit
def counted(records, begin, end, splits, n_scores):  # type: ignore[no-untyped-def]
    n = splits[2][-1]
    left, left_n, total = np.empty((n, n_scores)), np.empty(n, np.int64), np.empty(n_scores)
    workspace = workspace_of(splits[1], n_scores)
    for _ in range(2):  # what another node has left behind does not count
        candidate_counts(records, begin, end, splits, workspace, left, left_n, total)
    return left, left_n, total


def table(levels, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(n, size=N) for n in levels]).astype(np.uint16)
    return codes, rng.integers(K, size=N).astype(np.uint8), rng


def test_codes_lie_beside_each_other():
    codes, scores, _ = table([3, 300, 256])
    codes[:, 0], scores[0] = (2, 299, 255), 4
    packed, at = pack_codes(codes, np.array([3, 300, 256]), scores)
    assert at.tolist() == [1, 2, 4, 5]
    lines = packed.reshape(N, 5)
    assert lines[0].tolist() == [4, 2, 299 - 256, 1, 255]
    assert np.array_equal(lines[:, 2] + 256 * lines[:, 3].astype(int), codes[1])
    assert np.array_equal(lines[:, 0], scores)


@pytest.mark.parametrize("levels", [[2], [4, 9, 256], [6, 300, 3]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("begin", "end"), [(0, N), (37, 61), (12, 13)])
def test_what_goes_left_is_what_the_records_say(levels, weighted, begin, end):
    codes, scores, rng = table(levels)
    found = Candidates(levels, [p % 2 == 1 for p in range(len(levels))])
    weights = rng.integers(1, 9, size=N) / 4 if weighted else np.ones(N)
    order = rng.permutation(N).astype(np.uint32)
    packed = pack_codes(codes, found.n_levels, scores)
    records = codes, scores, weights if weighted else weights[:0], order, packed
    left, left_n, total = counted(records, begin, end, found.arrays, K)
    ordered, n_levels, first, sides, side_at = found.arrays
    rows = order[begin:end]
    assert np.array_equal(total, np.bincount(scores[rows], weights[rows], K))
    for p in range(len(levels)):
        for s in range(first[p], first[p + 1]):
            goes = np.array([
                goes_left.py_func(s - first[p], code, ordered[p], n_levels[p], sides, side_at[p])
                for code in range(n_levels[p])
            ])  # fmt: skip
            mine = rows[goes[codes[p, rows]]]
            assert left_n[s] == len(mine)
            # Quarters add up exactly.
            assert np.array_equal(left[s], np.bincount(scores[mine], weights[mine], K))
