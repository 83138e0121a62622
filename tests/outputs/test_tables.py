"""Several tables over one set of inner cells."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.outputs.tables import Hierarchy, Layout, cells_of, check_published, check_totals

SEX = Hierarchy.of(["f", "m"])
PLACE = Hierarchy.of(["n1", "n2", "s1"], {"n1": "north", "n2": "north", "s1": "south"})
TREES = {"sex": SEX, "place": PLACE}
CODES = {"sex": np.array([0, 0, 1, 1, 1, 0]), "place": np.array([0, 1, 1, 2, 2, 2])}


def two_tables(**more):
    layouts = [Layout("fine", ("sex", "place")), Layout("coarse", ("place",), {"place": 1})]
    return cells_of(CODES, TREES, layouts, **more)


def test_cells_are_sums_of_inner_cells_and_shared_between_tables() -> None:
    cells = two_tables()
    counts = np.bincount(cells.row_of, minlength=len(cells.inner))
    found = {cells.words(j): int(value) for j, value in enumerate(cells.sums(counts))}
    assert found["the grand total"] == 6
    assert found["place north"] == 3
    assert found["sex m, place s1"] == 2
    assert found["sex f"] == 3
    # By sex 2 + 1, places 3 + 2 + 1; the combination of m and n1 is in no record.
    assert cells.n_cells == 3 * 6 - 1
    assert [cells.words(j) for j in cells.members[1]] == [
        "the grand total",
        "place north",
        "place south",
    ]
    assert cells.codes(0) == {"sex": "Total", "place": "Total"}
    assert cells.matrix.dtype == np.int64


def test_every_combination_is_an_inner_cell_where_zeros_are_not_known() -> None:
    cells = two_tables(every=True)
    assert len(cells.inner) == 6
    assert cells.n_cells == 18
    assert np.bincount(cells.row_of, minlength=6).min() == 0


def test_totals_that_do_not_add_up_are_named() -> None:
    cells = two_tables()
    values = cells.sums(np.bincount(cells.row_of)).astype(float)
    check_totals(cells, values)
    wrong = next(j for j in range(cells.n_cells) if cells.words(j) == "sex f, place north")
    values[wrong] += 1
    with refused("outputs.total.mismatch", where="tables"):
        check_totals(cells, values)
    values[wrong] -= 1
    total = next(j for j in range(cells.n_cells) if cells.words(j) == "place south")
    values[total] = np.nan
    check_totals(cells, values)


def test_the_message_names_the_one_cell_that_is_wrong() -> None:
    cells = cells_of({"sex": CODES["sex"]}, {"sex": SEX}, [Layout("t", ("sex",))])
    with refused("outputs.total.mismatch", where="tables"):
        check_totals(cells, np.array([7, 3, 3]))


def test_a_published_table_is_held_against_the_data() -> None:
    cells = cells_of({"sex": CODES["sex"]}, {"sex": SEX}, [Layout("t", ("sex",))])
    codes, values = [["Total", "f", "m"]], np.array([6, 3, 3])
    layout = cells.layouts[0]
    check_published(cells, layout, codes, np.array([6.0, 3, 3]), values)
    check_published(cells, layout, codes, np.array([6.0, np.nan, 3]), values)
    for given, what in (
        ([7.0, 3, 3], "the cells below the grand total do not add up"),
        ([7.0, 4, 3], "the value of the grand total is not that of the data"),
        ([6.0, np.nan, 2], "the value of sex m is not that of the data"),
    ):
        with pytest.raises(CaveatError, match=what):
            check_published(cells, layout, codes, np.array(given), values)
    with refused("outputs.cell.mismatch", row=1, where="the published table"):
        check_published(cells, layout, [["x"]], np.array([1.0]), values)
    with refused("outputs.cell.mismatch", row=1, where="the published table"):
        check_published(cells, layout, [["x"]], np.array([np.nan]), values)
    check_published(cells, layout, [["x"]], np.array([0.0]), values)


# Of both sexes and all places, the combination of m and n1 is in no record.
FINE = [
    ["Total"] * 6 + ["f"] * 6 + ["m"] * 6,
    ["Total", "north", "n1", "n2", "south", "s1"] * 3,
]
EMPTY = 14


def listing(cells) -> tuple[np.ndarray, np.ndarray]:
    """Return what the data say about the cells of FINE, and about all cells."""
    counts = cells.sums(np.bincount(cells.row_of, minlength=len(cells.inner)))
    value = {tuple(cells.codes(j).values()): counts[j] for j in range(cells.n_cells)}
    return np.array([value.get(code, 0) for code in zip(*FINE, strict=True)], float), counts


def test_an_empty_cell_that_was_hidden_is_not_known_to_be_empty_later() -> None:
    cells = two_tables()
    given, counts = listing(cells)
    given[EMPTY] = np.nan
    with refused("outputs.cell.conflict", row=15, where="the published table"):
        check_published(cells, cells.layouts[0], FINE, given, counts)
    given[EMPTY] = 0
    assert check_published(cells, cells.layouts[0], FINE, given, counts).all()
    cells = two_tables(every=True)
    given, counts = listing(cells)
    given[EMPTY] = np.nan
    assert check_published(cells, cells.layouts[0], FINE, given, counts).sum() == 17


def test_an_empty_cell_that_was_shown_or_left_out_is_not_hidden_later() -> None:
    cells = two_tables(every=True)
    given, counts = listing(cells)
    told = r"it tells which cells are empty \(1\), such as sex m, place n1"

    def check(rows: list[int]) -> None:
        codes = [[one[row] for row in rows] for one in FINE]
        check_published(cells, cells.layouts[0], codes, given[rows], counts)

    with pytest.raises(CaveatError, match=told):
        check([*range(18)])
    with pytest.raises(CaveatError, match=told):
        check([row for row in range(18) if row != EMPTY])
    # Another one is left out as well: either of them may be empty or hidden.
    check([row for row in range(18) if row not in (EMPTY, EMPTY + 1)])
    # Unless hidden ones are listed: then what is left out is empty.
    given[5] = np.nan
    with pytest.raises(CaveatError, match=told):
        check([row for row in range(18) if row not in (EMPTY, EMPTY + 1)])


def test_layouts_that_make_no_table() -> None:
    with refused("outputs.column.absent", where="table t"):
        cells_of({}, {}, [Layout("t", ())])
    with refused("data.column.duplicate", where="table t"):
        cells_of(CODES, TREES, [Layout("t", ("sex", "sex"))])
    with refused("outputs.setting.range", column="place", where="table t"):
        cells_of(CODES, TREES, [Layout("t", ("sex",), {"place": 1})])
    with refused("outputs.code.absent", where="tables"):
        cells_of(CODES, TREES, [Layout("t", ("sex",))])
