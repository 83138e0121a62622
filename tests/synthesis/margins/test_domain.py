"""Declared domains: nothing comes from the data, and everything finds a cell."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding
from caveat.synthesis.grid import Grid
from caveat.synthesis.margins.domain import cells_in, declared_table, outside
from caveat.table import Kind, Table

DECLARED = {
    "sex": {"levels": ["f", "m"]},
    "code": {"levels": [1, 2]},
    "age": {"range": [0, 99, 1], "missing": [-8]},
}


def codings() -> dict[str, Coding]:
    table = declared_table(list(DECLARED), DECLARED)
    grids = {"age": Grid(0, 99, 1, bins=4, declared=True)}
    return {name: Coding.of(table[name], (), name, grids.get(name)) for name in table}


def test_the_declaration_makes_a_table_without_rows():
    table = declared_table(list(DECLARED), DECLARED)
    assert table.n_rows == 0
    assert table["sex"].levels.tolist() == ["f", "m"]
    assert table["age"].kind is Kind.INTEGER
    assert [way.code for way in table["age"].missing] == [None, -8]


def test_every_value_has_a_cell_by_hand():
    table = Table.from_frame(
        {
            "sex": ["f", "m", "x", None],
            "code": [1, 2, 3, 1],
            "age": [24, 25, 120, -8],
        }
    )
    cells = cells_in(codings(), table)
    assert cells["sex"].tolist() == [0, 1, 2, 2]  # what is not declared is an empty cell
    assert cells["code"].tolist() == [0, 1, 2, 0]
    assert cells["age"].tolist() == [0, 1, 3, 5]  # 120 is the end of the range, -8 the last way
    assert dict(outside(codings(), table)) == {"sex": 1, "code": 1, "age": 1}


def test_words_where_numbers_are_declared_are_empty_cells():
    table = Table.from_frame({"sex": ["f"], "code": [1], "age": ["young"]})
    assert cells_in(codings(), table)["age"].tolist() == [4]


def test_what_fits_is_not_outside():
    table = Table.from_frame({"sex": ["f", None], "code": [2, 2], "age": [0, 99]})
    assert dict(outside(codings(), table)) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "not declared"),
        ({"levels": []}, "list of different values"),
        ({"levels": ["a", "a"]}, "list of different values"),
        ({"levels": ["a", 1]}, "all words or all whole numbers"),
        ({"levels": ["a"], "range": [0, 1, 1]}, "levels and a range"),
        ({"range": [0, 1]}, "three numbers"),
        ({"range": [0, 9, 1], "special": ["x"]}, "special value is no number"),
        ({"levels": ["a", ""]}, "empty or means missing"),
        ({"levels": ["a", "-8"], "missing": ["-8"]}, "empty or means missing"),
    ],
)
def test_a_wrong_declaration_is_one_sentence(given, says):
    with pytest.raises(CaveatError, match=says):
        declared_table(["x"], {"x": given})


def test_all_undeclared_columns_are_counted():
    with pytest.raises(CaveatError, match="and 2 more"):
        declared_table(["x", "y", "z"], {})


def test_cells_never_move_with_the_data():
    small = Table.from_frame({"sex": ["m"], "code": [1], "age": [50]})
    large = Table.from_frame({"sex": ["m", "q"], "code": [1, 9], "age": [50, 10_000]})
    ours, theirs = cells_in(codings(), small), cells_in(codings(), large)
    assert all(np.array_equal(ours[name], theirs[name][:1]) for name in ours)


def test_one_stray_word_moves_nobody_else():
    """A record of words makes a column of words: all others must keep their cells."""
    tidy = Table.from_frame({"sex": ["f", "m"], "code": [1, 2], "age": [30, 80]})
    stray = Table.from_frame(
        {"sex": ["f", "m", "7"], "code": ["1", "02", "x"], "age": ["30", "80.0", "old"]}
    )
    ours, theirs = cells_in(codings(), tidy), cells_in(codings(), stray)
    for name, cells in ours.items():
        assert theirs[name][:2].tolist() == cells.tolist()


@pytest.mark.parametrize("value", [-8, -8.0, "-8", "-8.0"])
def test_a_missing_code_is_one_however_it_is_written(value):
    table = Table.from_frame({"sex": ["f"], "code": [1], "age": [value]})
    assert cells_in(codings(), table)["age"].tolist() == [5]


def test_times_are_the_same_as_words():
    declared = {"at": {"levels": ["2024-02-01 10:00", "2024-02-01 11:00"]}}
    table = declared_table(["at"], declared)
    coding = {"at": Coding.of(table["at"], (), "at")}
    times = np.array(["2024-02-01T10:00", "2024-02-01T11:00"], "M8[us]")
    words = ["2024-02-01 10:00", "2024-02-01T11:00:00", "unknown"]
    assert cells_in(coding, Table.from_frame({"at": times}))["at"].tolist() == [0, 1]
    assert cells_in(coding, Table.from_frame({"at": words}))["at"].tolist() == [0, 1, 2]
