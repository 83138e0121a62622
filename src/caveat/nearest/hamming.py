"""Pools of the nearest synthetic cells by Hamming distance, without comparing all with all.

For a combination of k keys that is not in the release, the synthetic records at the least distance
r agree with it on exactly one set of k − r keys each (on two, they would be nearer). So they are
found by looking the combination up in the release restricted to each set of k − r keys, and no
record is counted twice. Memory grows with the number of synthetic cells times the number of such
sets. Where that is more work than comparing the combinations one by one, they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.ties import Floats, Ints
from caveat.table.cells import Joint, key_cells

__all__ = ["cell_pools", "nearest_pools"]

KeyCodes = Sequence[NDArray[np.integer[Any]]]

# A look-up in one restricted release costs about as much as this many comparisons of a cell.
LOOKUP_COST = 30


def nearest_pools(
    joint: Joint, key_codes: KeyCodes, n_levels: Sequence[int]
) -> tuple[Floats, Floats, Ints]:
    """Return for every pair what an attacker finds among the nearest synthetic records.

    Parameters
    ----------
    joint
        Cells by target.
    key_codes
        For each key its code in each cell.
    n_levels
        Number of codes of each key.

    Returns
    -------
    The share of the pair's target in the pool of its cell; the chance that the most frequent target
    of the pool (ties broken at random) is the pair's; and the distance of the pool. For cells that
    the release has, the pool is the cell itself, at distance 0; where there is none it is −1.
    """
    share, credit = cell_pools(joint)
    distance = np.where(joint.s_all > 0, 0, -1)
    present = np.flatnonzero(joint.s_cell > 0)
    far = np.flatnonzero((joint.s_cell == 0) & (joint.d_cell > 0))
    ends = np.append(joint.starts[1:], len(joint.cell))
    for r in range(1, len(key_codes) + 1):
        if not len(far) or not len(present):
            break
        last = comb(len(key_codes), r) * LOOKUP_COST > len(far) * len(key_codes)
        found = np.zeros(len(far), np.int64)
        spans = np.stack([joint.starts[far], ends[far]], axis=1)
        if last:
            matrix = np.stack([np.asarray(codes, np.int64) for codes in key_codes], axis=1)
            origin = np.stack([joint.starts[present], ends[present]], axis=1)
            _compare(
                matrix[far], matrix[present], spans, origin, joint.target, joint.s,
                np.zeros(joint.n_targets, np.int64), share, credit, found,
            )  # fmt: skip
        else:
            segments, target, counts = _restricted(joint, present, far, key_codes, n_levels, r)
            _pool(
                segments, target, counts, spans, joint.target,
                np.zeros(joint.n_targets, np.int64), share, credit, found,
            )  # fmt: skip
            found *= r
        for cell, steps in zip(far[found > 0], found[found > 0], strict=True):
            distance[joint.starts[cell] : ends[cell]] = steps
        far = far[found == 0]
    return share, credit, distance


def cell_pools(joint: Joint) -> tuple[Floats, Floats]:
    """Return the share of each pair's target in its own synthetic cell, and the chance to guess it.

    The guess is the most frequent target of the cell, one of them at random if there are several.
    Both are 0 where the release has no such cell.
    """
    share = joint.s / np.maximum(joint.s_all, 1)
    if not len(joint.s):
        return share, share.copy()
    best = joint.s == joint.spread(np.maximum.reduceat(joint.s, joint.starts))
    ties = joint.spread(joint.by_cell(best.astype(np.int64))).astype(np.int64)
    return share, np.where(best & (joint.s_all > 0), 1 / ties, 0.0)


def _restricted(
    joint: Joint, present: Ints, far: Ints, key_codes: KeyCodes, n_levels: Sequence[int], r: int
) -> tuple[Ints, Ints, Ints]:
    """Tabulate the release on every set of k − r keys, where a far cell may find something.

    Returns
    -------
    For every set and far cell the first and last + 1 position of its records in what follows; the
    targets; their counts.
    """
    pairs = np.flatnonzero(joint.s > 0)
    of_pair = np.searchsorted(present, joint.cell[pairs])
    segments, targets, counts, offset = [], [], [], 0
    for kept in combinations(range(len(key_codes)), len(key_codes) - r):
        sides = [[key_codes[j][cells] for j in kept] or [np.zeros(len(cells), np.uint8)]
                 for cells in (present, far)]  # fmt: skip
        (theirs, ours), n = key_cells(sides, [n_levels[j] for j in kept] or [1])
        wanted = np.zeros(n, dtype=bool)
        wanted[ours] = True
        chosen = wanted[theirs][of_pair]
        code = theirs[of_pair[chosen]] * joint.n_targets + joint.target[pairs[chosen]]
        distinct, inverse = np.unique(code, return_inverse=True)
        cell, target = np.divmod(distinct, joint.n_targets)
        edges = np.searchsorted(cell, np.stack([ours, ours + 1], axis=1)) + offset
        segments.append(edges)
        targets.append(target)
        counts.append(np.bincount(inverse, joint.s[pairs[chosen]]).astype(np.int64))
        offset += len(distinct)
    return np.stack(segments), np.concatenate(targets), np.concatenate(counts)


@kernel
def _settle(span, target, pool, total, share, credit):  # type: ignore[no-untyped-def]
    """Write the results of one cell from the pooled counts of its neighbours."""
    best, ties = 0, 0
    for t in range(len(pool)):
        if pool[t] > best:
            best, ties = pool[t], 1
        elif pool[t] == best:
            ties += 1
    for i in range(span[0], span[1]):
        count = pool[target[i]]
        share[i] = count / total
        credit[i] = 1 / ties if count == best else 0.0


@kernel
def _pool(segments, targets, counts, spans, target, pool, share, credit, found):  # type: ignore[no-untyped-def]
    """Pool the records of all sets for every far cell; mark the cells that found any."""
    for f in range(len(spans)):
        total = 0
        for a in range(len(segments)):
            for i in range(segments[a, f, 0], segments[a, f, 1]):
                pool[targets[i]] += counts[i]
                total += counts[i]
        if total > 0:
            found[f] = 1
            _settle(spans[f], target, pool, total, share, credit)
            pool[:] = 0


@kernel
def _compare(far, present, spans, origin, target, s, pool, share, credit, found):  # type: ignore[no-untyped-def]
    """Find the least distance of every far cell by comparing it with all synthetic cells."""
    n_keys = far.shape[1]
    for f in range(len(far)):
        least, total = n_keys + 1, 0
        for c in range(len(present)):
            steps = 0
            for j in range(n_keys):
                if far[f, j] != present[c, j]:
                    steps += 1
                    if steps > least:
                        break
            if steps > least:
                continue
            if steps < least:
                least, total = steps, 0
                pool[:] = 0
            for i in range(origin[c, 0], origin[c, 1]):
                pool[target[i]] += s[i]
                total += s[i]
        found[f] = least
        _settle(spans[f], target, pool, total, share, credit)
        pool[:] = 0
