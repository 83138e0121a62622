"""Cells that are known too closely, and what is hidden for them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outputs.test_publication import LAYOUTS, people

from caveat import Table
from caveat.outputs.audit import bounds, recoverable, too_narrow
from caveat.outputs.elimination import Rule
from caveat.outputs.primary import PrimaryRules
from caveat.outputs.publication import inner_cells, publish, widen
from caveat.outputs.tables import Layout

MATRIX = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]])
VALUES = np.array([100, 1, 1]) @ MATRIX
HIDDEN = np.array([True, True, True, False, False])


COUNTS = {"share": 0.1, "whole": True}


def test_one_more_cell_is_hidden_unless_it_is_out_already() -> None:
    narrow = bounds(MATRIX, VALUES, HIDDEN, [0], whole=True)
    assert (narrow[0].low, narrow[0].high) == (99, 101)
    done = widen(MATRIX, VALUES, HIDDEN, narrow, np.zeros(5, bool), **COUNTS)
    assert done.protects == {4: 0}  # the smaller of the two sums
    assert (done.found[0].low, done.found[0].high) == (0, 101)
    out = np.array([False, False, False, True, True])
    done = widen(MATRIX, VALUES, HIDDEN, narrow, out, **COUNTS)
    assert (done.protects, done.found[0].high) == ({}, 101)
    late = widen(MATRIX, VALUES, HIDDEN, narrow, np.zeros(5, bool), **COUNTS, seconds=-1)
    assert (late.protects, late.found[0].high) == ({}, 101)
    assert HIDDEN.tolist() == [True, True, True, False, False]


def test_what_is_hidden_for_one_may_be_enough_for_another() -> None:
    narrow = bounds(MATRIX, VALUES, HIDDEN, [0, 0], whole=True)
    done = widen(MATRIX, VALUES, HIDDEN, narrow, np.zeros(5, bool), **COUNTS)
    assert done.protects == {4: 0}
    assert [one.high for one in done.found] == [101, 101]


def test_a_sum_of_values_has_room_on_both_sides() -> None:
    """Without the smaller sum it is 0 to 101, which is wide, and still nearly its upper end."""
    narrow = bounds(MATRIX, VALUES, HIDDEN, [0])
    done = widen(MATRIX, VALUES, HIDDEN, narrow, np.zeros(5, bool), share=0.1)
    assert done.protects == {3: 0}
    assert (done.found[0].low, done.found[0].high) == (0, np.inf)
    done = widen(MATRIX, VALUES, HIDDEN, narrow, np.array([0, 0, 0, 1, 0], bool), share=0.1)
    assert (done.found[0].low, done.found[0].high) == (0, 101)
    assert len(too_narrow(done.found, VALUES, 0.1)) == 1


def test_a_large_firm_beside_small_ones_is_not_the_upper_end() -> None:
    """A has 100,000, which its 46 beside it bound from above to within 0.05 per cent."""
    sizes = {"x": [100_000], "y": [10, 11, 12, 13], "z": [1000 + 10 * i for i in range(10)]}
    sizes["w"] = sizes["z"]
    table = Table.from_frame({
        "k": [k for k, v in sizes.items() for _ in v],
        "v": [float(one) for v in sizes.values() for one in v],
    })  # fmt: skip
    inner = inner_cells(table, [Layout("t", ("k",))], value="v")
    done = publish(inner, PrimaryRules(least=3, p_percent=10))
    words = [inner.cells.words(j) for j in range(inner.cells.n_cells)]
    assert {words[j] for j in np.flatnonzero(done.done.hidden)} == {"k x", "k y", "k w"}
    found = {words[one.cell]: (one.low, one.high) for one in done.intervals}
    assert found["k x"] == (0, 110_496)
    assert (done.added, done.narrow) == (1, ())
    assert done.done.why[words.index("k w")].rule is Rule.CLOSE


@pytest.mark.parametrize("seed", range(6))
def test_nothing_becomes_narrower_and_nothing_can_be_computed(seed: int) -> None:
    inner = inner_cells(people(40, seed), LAYOUTS, value="pay")
    done = publish(inner, PrimaryRules(least=3), share=0.9)
    cells = [one.cell for one in done.intervals]
    now = bounds(inner.cells.matrix, done.values, done.done.hidden, cells)
    for told, true in zip(done.intervals, now, strict=True):
        assert true.low <= told.low + 1e-6
        assert true.high >= told.high - 1e-6
    assert not (recoverable(inner.cells.matrix, done.done.hidden) & done.done.primary).any()
    assert done.added == sum(why.rule is Rule.CLOSE for why in done.done.why.values())
    assert done.done.secondary.sum() == len(done.done.why)
    left = too_narrow(done.intervals, done.values, 0.9)
    assert [one.cell for one in left] == [one.cell for one in done.narrow]


def test_a_large_firm_beside_small_ones_is_not_told_by_the_totals() -> None:
    """One firm has 1,000 in n, beside it 5 of a column of 8: it has 997 to 1,005."""
    table = Table.from_frame({
        "k": list("nnnnssssss"), "j": list("byyybbbyyy"),
        "v": [1000.0, 2, 2, 1, 300, 300, 300, 1, 1, 1],
    })  # fmt: skip
    inner = inner_cells(table, [Layout("t", ("k", "j"))], value="v")
    words = [inner.cells.words(j) for j in range(inner.cells.n_cells)]
    large = words.index("k n, j b")
    done = publish(inner, PrimaryRules(least=3))
    four = [" s, j b", " s, j y", " n, j b", " n, j y"]
    inside = np.array([word[1:] in four for word in words])
    (before,) = bounds(inner.cells.matrix, done.values, inside, [large])
    assert (before.low, before.high) == (997, 1005)
    assert (done.added, done.narrow) == (2, ())
    (after,) = bounds(inner.cells.matrix, done.values, done.done.hidden, [large])
    assert (after.low <= 900, after.high >= 1100) == (True, True)
    kept = {words[j] for j in np.flatnonzero(~done.done.hidden)}
    assert "the grand total" in kept
