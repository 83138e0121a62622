"""Frames go in and the same frames come out."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal
from tests.refusals import refused
from tests.table.strategies import pandas_frames, polars_frames

from caveat.errors import CaveatError
from caveat.table import Kind, Missing, Table
from caveat.table.coding import _polars_type


@given(polars_frames())
@settings(max_examples=300, deadline=None)
def test_polars_round_trip_is_the_identity(frame: pl.DataFrame) -> None:
    back = Table.from_frame(frame).to_frame()
    assert back.schema == frame.schema
    assert_frame_equal(back, frame, check_exact=True, categorical_as_str=True)


@given(pandas_frames())
@settings(max_examples=300, deadline=None)
def test_pandas_round_trip_is_the_identity(frame: pd.DataFrame) -> None:
    back = Table.from_frame(frame).to_frame()
    pd.testing.assert_frame_equal(back, frame, check_exact=True)


@given(polars_frames())
@settings(max_examples=100, deadline=None)
def test_arrow_round_trip_is_the_identity(frame: pl.DataFrame) -> None:
    table = frame.to_arrow()
    back = Table.from_frame(table).to_frame()
    assert back.schema.equals(table.schema)
    for ours, theirs in zip(back.columns, table.columns, strict=True):
        expected = re.sub(r"-0\.0(?!\d)", "0.0", repr(theirs.to_pylist()))
        assert repr(ours.to_pylist()) == expected


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (pa.float32(), [2.0**24 + 2, 1.0]),
        (pa.float32(), [2.0**63, 3.0]),
        (pa.float64(), [2.0**53 + 2, None]),
        (pa.float64(), [2.0**62, -(2.0**53)]),
    ],
)
def test_whole_numbers_beyond_the_mantissa_stay_floats(
    kind: pa.DataType, numbers: list[float | None]
) -> None:
    table = pa.table({"c": pa.array(numbers, kind)})
    assert Table.from_frame(table).to_frame().equals(table)


@given(polars_frames())
@settings(max_examples=100, deadline=None)
def test_codes_and_levels_are_a_dictionary(frame: pl.DataFrame) -> None:
    for name, column in Table.from_frame(frame).columns.items():
        assert column.codes.dtype.kind == "u"
        assert column.n_levels <= np.iinfo(column.codes.dtype).max + 1
        if not isinstance(frame[name].dtype, pl.Enum) and len(column.levels) > 1:
            levels = column.levels.tolist()
            assert levels == sorted(levels)
            assert len(set(levels)) == len(levels)


def test_kinds_levels_and_missing_of_a_hand_made_frame() -> None:
    frame = pd.DataFrame(
        {
            "income": pd.array([1500, None, -8, 800], dtype="Int32"),
            "share": [0.5, 0.25, np.nan, 0.5],
            "half": [1.0, 2.0, np.nan, 2.0],
            "sex": ["f", "m", None, ""],
            "edu": pd.Categorical(
                ["mid", "low", None, "low"], ["low", "mid", "high"], ordered=True
            ),
            "yes": [True, False, False, True],
            "born": [dt.date(1970, 1, 2), None, dt.date(1960, 5, 5), dt.date(1970, 1, 2)],
            "seen": pd.to_datetime(
                ["2020-01-01 10:00", None, "2019-01-01 00:00", "2019-01-01 00:00"]
            ),
        }
    )
    table = Table.from_frame(frame)
    kinds = {name: str(column.kind) for name, column in table.columns.items()}
    assert kinds == {
        "income": "integer", "share": "numeric", "half": "integer", "sex": "category",
        "edu": "ordered", "yes": "boolean", "born": "date", "seen": "datetime",
    }  # fmt: skip
    assert table["income"].levels.tolist() == [-8, 800, 1500]
    assert table["income"].codes.tolist() == [2, 3, 0, 1]
    assert table["sex"].missing == (Missing(), Missing(""))
    assert table["sex"].codes.tolist() == [0, 1, 2, 3]
    assert table["edu"].levels.tolist() == ["low", "mid", "high"]
    assert table["born"].levels.astype(str).tolist() == ["1960-05-05", "1970-01-02"]
    pd.testing.assert_frame_equal(table.to_frame(), frame)


def test_minus_zero_is_zero() -> None:
    column = Table.from_frame({"x": [0.5, -0.0, 0.0]})["x"]
    assert column.levels.tolist() == [0.0, 0.5]
    assert not np.signbit(column.levels[0])


def test_nan_and_null_of_polars_stay_apart() -> None:
    frame = pl.DataFrame({"x": [1.5, float("nan"), None]})
    table = Table.from_frame(frame)
    assert table["x"].missing == (Missing(), Missing(float("nan")))
    assert_frame_equal(table.to_frame(), frame)


def test_unused_and_unsorted_categories_are_kept() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a"], categories=["c", "b", "a"])})
    assert Table.from_frame(frame)["x"].levels.tolist() == ["c", "b", "a"]
    pd.testing.assert_frame_equal(Table.from_frame(frame).to_frame(), frame)


def test_dict_of_arrays_comes_back_as_arrays() -> None:
    arrays = {
        "x": np.array([3, 1, 2], "int16"),
        "y": np.array([0.5, np.nan, 2]),
        "z": ["a", None, "b"],
    }
    back = Table.from_frame(arrays).to_frame()
    assert back["x"].dtype == np.int16
    assert back["x"].tolist() == [3, 1, 2]
    np.testing.assert_array_equal(back["y"], arrays["y"])
    assert back["z"].tolist() == ["a", None, "b"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "dict"])
def test_any_table_can_leave_as_any_frame(backend: str) -> None:
    frame = pl.DataFrame(
        {
            "i": [1, None, 3], "f": [0.5, 1.5, None], "s": ["a", "", None],
            "b": [True, None, False],
            "d": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 3)],
            "t": [dt.datetime(2020, 1, 1, 3), None, dt.datetime(2021, 1, 1)],
        }
    )  # fmt: skip
    table = Table.from_frame(frame)
    again = Table.from_frame(table.to_frame(backend))
    for name in table:
        assert again[name].values.tolist() == table[name].values.tolist(), name
        assert again[name].kind == table[name].kind, name


def test_ordered_levels_survive_a_change_of_frame() -> None:
    frame = pd.DataFrame({"x": pd.Categorical(["lo", "hi"], ["lo", "hi"], ordered=True)})
    table = Table.from_frame(frame)
    arrow = table.to_frame("pyarrow")
    assert arrow["x"].type.ordered
    assert Table.from_frame(arrow)["x"].levels.tolist() == ["lo", "hi"]
    assert table.to_frame("polars")["x"].dtype == pl.Enum(["lo", "hi"])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"a": [1.0, float("inf")]}), "column a, row 2: a value is infinite"),
        (pl.DataFrame({"a": [float("-inf")]}), "column a, row 1: a value is infinite"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 1 and 2: two columns are called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "columns 1 and 2: two columns are called 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", ""]), "column 2: a column has no name"),
        (pd.DataFrame([[1, 2]], columns=["a", " "]), "column 2: a column has no name"),
        (pd.DataFrame([[1, 2]]), "column 1: a column's name is not text"),
        (pd.DataFrame({"a": [1, "x", b"y"]}, dtype=object), "column a: the values are of mixed"),
        (pl.DataFrame({"a": [[1], [2]]}), "column a: values of type List"),
        (pl.DataFrame({"a": [dt.timedelta(1)]}), "column a: values of type Duration"),
        ({"a": [1, 2], "b": [1]}, "the columns differ in length"),
        ("survey.csv", "a str is not a table"),
        (pl.DataFrame({"a": [1]}).lazy(), "a LazyFrame is not a table"),
    ],
)
def test_bad_frames_are_refused_in_one_sentence(frame: object, message: str) -> None:
    with pytest.raises(CaveatError) as caught:
        Table.from_frame(frame)
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")


def test_unknown_backend_is_refused() -> None:
    with refused("data.backend.unknown"):
        Table.from_frame({"a": [1]}).to_frame("spark")


def test_a_frame_without_rows_keeps_its_columns() -> None:
    frame = pd.DataFrame({"a": pd.array([], "int16"), "b": pd.array([], "str")})
    table = Table.from_frame(frame)
    assert (table.n_rows, table.names) == (0, ("a", "b"))
    pd.testing.assert_frame_equal(table.to_frame(), frame)


def test_text_is_told_from_categories_by_how_often_values_repeat() -> None:
    table = Table.from_frame({"name": [f"p{i}" for i in range(30)], "sex": ["f", "m"] * 15})
    assert table["name"].kind is Kind.TEXT
    assert table["sex"].kind is Kind.CATEGORY


@pytest.mark.parametrize(
    "nested", ["[" * 5_000, "time_unit=" + "-" * 9_000 + "1)", "time_unit=f(1))"]
)
def test_a_type_that_nests_without_end_is_a_plain_refusal(nested) -> None:
    """The name of a type may come from a file."""
    with pytest.raises(ValueError, match=r"cannot be read|malformed"):
        _polars_type(f"Datetime({nested}")
