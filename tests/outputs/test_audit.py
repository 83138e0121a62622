"""The audit: what can be computed, by whom, and how closely; against ranks in fractions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.outputs.test_elimination import table3_pattern
from tests.outputs.toys import is_spanned, table3

from caveat.outputs import audit
from caveat.outputs.audit import Interval, bounds, insiders, recoverable, room, too_narrow

LEARNT = {
    "simple": {0: {"Ind-P", "Ind-S"}, 1: {"Ent-I", "Ent-P", "Gov-S"}},
    "virtual": {0: {"Ind-P", "Ind-S"}, 1: {"Ent-I"}},
    "within": {1: {"Ent-I", "Ent-P"}},
    "parallel": {},
    "combinations": {},
}


@pytest.mark.parametrize("method", LEARNT)
@pytest.mark.parametrize("slow", [False, True])
def test_what_single_contributors_of_table_3_learn(method, slow, monkeypatch) -> None:
    if slow:
        monkeypatch.setattr(audit, "_pivots", lambda *_: None)
    matrix, _, names, column_owner, row_owner = table3()
    done, _ = table3_pattern(method)
    assert not recoverable(matrix, done.hidden).any()
    found: dict[int, set[str]] = {}
    published = [c for c, h in zip(matrix.toarray().T, done.hidden, strict=True) if not h]
    for leak in insiders(matrix, done.hidden, done.primary, column_owner, row_owner):
        found.setdefault(leak.owner, set()).add(names[leak.cell])
        assert is_spanned(leak.column, published)
    assert found == LEARNT[method]


def test_the_sum_of_two_cells_is_public_without_the_rule_for_combinations() -> None:
    matrix, _, names, *_ = table3()
    both = matrix[:, [names.index("Ent-I")]] + matrix[:, [names.index("Ent-P")]]
    wider = sp.csc_array(sp.hstack([matrix, both]))
    for method, learnt in (("parallel", True), ("combinations", False)):
        hidden = np.append(table3_pattern(method)[0].hidden, True)
        assert recoverable(wider, hidden)[-1] == learnt


@pytest.mark.parametrize("slow", [False, True])
def test_random_columns_against_fractions(slow, monkeypatch) -> None:
    if slow:
        monkeypatch.setattr(audit, "_pivots", lambda *_: None)
    rng = np.random.default_rng(1)
    for _ in range(60):
        matrix = rng.integers(-3, 4, (6, 9)) * (rng.random((6, 9)) < 0.5)
        hidden = rng.random(9) < 0.5
        published = list(matrix.T[~hidden])
        expected = [h and is_spanned(c, published) for c, h in zip(matrix.T, hidden, strict=True)]
        assert recoverable(matrix, hidden).tolist() == expected


@pytest.mark.parametrize("size", [2**28, 2**40])
def test_numbers_beyond_64_bits_are_computed_with_fractions(size) -> None:
    big = np.random.default_rng(1).integers(size // 2, size, (4, 4))
    matrix = np.hstack([big, big.sum(axis=1, keepdims=True), np.eye(4, dtype=int)[:, :1]])
    hidden = np.array([False] * 4 + [True] * 2)
    assert recoverable(matrix, hidden).tolist() == [False] * 4 + [True] * 2
    hidden[0] = True
    assert not recoverable(matrix, hidden).any()


def test_intervals_are_those_of_hand() -> None:
    # Two by two with margins 5, 5 / 4, 6: the first cell is between 0 and 4, the last 1 and 5.
    inner = np.eye(4, dtype=int)
    sums = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    matrix = np.hstack([inner, sums])
    values = np.array([1, 4, 3, 2]) @ matrix
    hidden = np.array([True] * 4 + [False] * 4)
    found = bounds(matrix, values, hidden, [0, 3], whole=True)
    assert [(one.low, one.high) for one in found] == [(0, 4), (1, 5)]
    assert too_narrow(found, values, 0.1, whole=True) == []
    found = bounds(matrix, values, hidden, [0, 3], whole=True, least=1)
    assert [(one.low, one.high) for one in found] == [(1, 3), (2, 4)]
    # 0 + 0 = 0 is known without any rank: the interval says it.
    values = np.array([0, 0, 3, 2]) @ matrix
    found = bounds(matrix, values, hidden, [0, 1, 2], whole=True)
    assert [(one.low, one.high) for one in found] == [(0, 0), (0, 0), (3, 3)]
    assert len(too_narrow(found, values, 0.1, whole=True)) == 3


@pytest.mark.parametrize(
    ("low", "high", "narrow"),
    [(0, 109, True), (91, 300, True), (90, 110, False), (0, np.inf, False), (0, 110, False)],
)
def test_each_bound_leaves_room_for_a_share_of_the_value(low, high, narrow) -> None:
    one = Interval(0, low, high)
    assert too_narrow([one], np.array([100.0]), 0.1) == ([one] if narrow else [])
    # A count is judged by the width alone: it is often at an end.
    assert too_narrow([one], np.array([100]), 0.1, whole=True) == []
    assert room(one, 100) == min(high - 100, 100 - low)
    assert room(one, 100, whole=True) == high - low


def test_published_inner_cells_are_taken_out_first() -> None:
    matrix = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 1, 0]])
    values = np.array([2.5, 4.0, 1.0]) @ matrix
    hidden = np.array([True, True, False, False, True])
    found = bounds(matrix, values, hidden, [0, 4])
    assert [(one.low, one.high) for one in found] == [(0, 6.5), (0, 6.5)]
    nothing = bounds(matrix, values, np.ones(5, bool), [0])
    assert (nothing[0].low, nothing[0].high) == (0, np.inf)
