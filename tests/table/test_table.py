"""Columns and tables as value objects."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.table.strategies import polars_frames

from caveat.table import Column, Kind, Missing, Table, concat

PEOPLE = Table.from_frame(
    {"sex": ["f", "m", "f", None], "age": [31, 47, 31, 20], "income": [800, -8, 1500, -8]}
)


def test_column_reports_its_missing_cells_and_counts() -> None:
    column = PEOPLE["income"].declare_missing([Missing(-8, "not asked")])
    assert column.levels.tolist() == [800, 1500]
    assert column.codes.tolist() == [0, 2, 1, 2]
    assert column.is_missing.tolist() == [False, True, False, True]
    assert column.counts.tolist() == [1, 1, 2]
    assert column.values.tolist() == [800, -8, 1500, -8]
    np.testing.assert_array_equal(column.cell_numbers, [800, np.nan, 1500, np.nan])
    assert str(column.missing[0]) == "-8 (not asked)"


def test_declaring_missing_again_adds_labels_and_keeps_codes() -> None:
    once = PEOPLE["income"].declare_missing([Missing(-8)])
    twice = once.declare_missing([Missing(-8.0, "not asked"), Missing(-9)])
    assert twice.missing == (Missing(-8, "not asked"), Missing(-9))
    assert twice.codes.tolist() == once.codes.tolist()


@pytest.mark.parametrize(
    ("levels", "code", "gone"),
    [
        (np.array([-8, 1, 2]), -8.0, [0]),
        (np.array([-8, 1, 2]), "-8", []),
        (np.array([2**60, 2**60 + 1]), 2**60, [0]),
        (np.array([0.5, 1.5, np.nan]), float("nan"), [2]),
        (np.array([1, 2], np.uint64), -8, []),
        (np.array(["-8", "a"], object), "-8", [0]),
        (np.array(["-8", "a"], object), -8, []),
        (np.array(["", "a"], object), "", [0]),
        (np.array(["", "a"], object), None, []),
        (np.array([False, True]), "True", [1]),
        (np.array([False, True]), 1, []),
        (np.array(["2020-01-01"], "M8[D]"), "2020-01-01", []),
    ],
)
def test_numbers_are_declared_by_value_and_text_by_text(levels, code, gone) -> None:
    column = Column(np.arange(len(levels)), levels, Kind.CATEGORY).declare_missing([Missing(code)])
    assert np.flatnonzero(column.is_missing).tolist() == gone
    assert column.missing == (Missing(code),)
    assert column.levels.tolist() == np.delete(levels, gone).tolist()
    kept = np.delete(np.arange(len(levels)), gone)
    assert column.codes[kept].tolist() == list(range(len(kept)))


def test_empty_cells_and_empty_text_have_different_names() -> None:
    names = [str(m) for m in (Missing(), Missing(""), Missing("", "refused"), Missing(-8))]
    assert names == ["empty", "empty text", "empty text (refused)", "-8"]


def test_columns_are_immutable() -> None:
    with pytest.raises(ValueError, match="read-only"):
        PEOPLE["age"].codes[0] = 1
    with pytest.raises(AttributeError):
        PEOPLE["age"].kind = Kind.CATEGORY  # type: ignore[misc]
    with pytest.raises(TypeError):
        PEOPLE.columns["age"] = PEOPLE["sex"]  # type: ignore[index]


def test_an_array_given_to_a_column_is_not_locked_for_its_owner() -> None:
    codes = np.zeros(3, np.uint8)
    Column(codes, np.array([1]), Kind.INTEGER)
    codes[0] = 0


@pytest.mark.parametrize("codes", [[-1, 0], [0, 2], [0.5, 1.0], [[0], [1]]])
def test_codes_outside_the_dictionary_are_refused(codes: list[object]) -> None:
    with pytest.raises(ValueError, match="codes must"):
        Column(np.array(codes), np.array([10, 20]), Kind.INTEGER)


@pytest.mark.parametrize(
    ("n", "name"), [(1, "uint8"), (256, "uint8"), (257, "uint16"), (65537, "uint32")]
)
def test_codes_take_the_smallest_unsigned_type(n: int, name: str) -> None:
    assert Column(np.arange(n), np.arange(n), Kind.INTEGER).codes.dtype == name


def test_selecting_columns_and_slicing_rows_does_not_copy() -> None:
    assert PEOPLE.select(["age"])["age"] is PEOPLE["age"]
    assert np.shares_memory(PEOPLE.take(slice(1, 3))["age"].codes, PEOPLE["age"].codes)
    assert PEOPLE.take([3, 0])["age"].values.tolist() == [20, 31]
    assert PEOPLE.drop(["sex"]).names == ("age", "income")


def test_equality_is_about_values() -> None:
    again = Table.from_frame(PEOPLE.to_frame())
    assert again == PEOPLE
    assert PEOPLE.take([0, 1, 2, 2]) != PEOPLE
    assert PEOPLE.drop(["sex"]) != PEOPLE
    assert PEOPLE != "table"


def test_compact_drops_what_no_cell_has() -> None:
    column = PEOPLE["sex"].take([0, 2]).compact()
    assert column.levels.tolist() == ["f"]
    assert column.missing == ()


def test_repr_is_compact() -> None:
    assert repr(PEOPLE).splitlines() == [
        "<Table: 4 rows, 3 columns>",
        "  sex     category  2 levels, 1 missing",
        "  age     integer   3 levels",
        "  income  integer   3 levels",
    ]


def test_a_missing_column_is_named_with_the_choices() -> None:
    with refused("data.column.unknown"):
        PEOPLE["agee"]


@given(polars_frames(), st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_concat_undoes_a_split(frame: pl.DataFrame, cut: int) -> None:
    table = Table.from_frame(frame)
    first, second = (Table.from_frame(part) for part in (frame[:cut], frame[cut:]))
    whole = concat([first, second])
    for name in table:
        assert repr(whole[name].values.tolist()) == repr(table[name].values.tolist())


def test_concat_refuses_other_columns() -> None:
    with refused("data.column.mismatch", where="column sex"):
        concat([PEOPLE, PEOPLE.drop(["sex"])])
    with refused("data.type.mismatch", column="age"):
        concat([PEOPLE.select(["age"]), Table.from_frame({"age": ["old"]})])
