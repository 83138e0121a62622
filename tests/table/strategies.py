"""Hypothesis strategies for frames of every kind, with missing values and awkward ones."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6
)  # empty strings included
SIZED = st.floats(-1e75, 1e75).filter(lambda x: x == 0 or abs(x) >= 1e-75)
FLOAT = st.one_of(SIZED, st.sampled_from([-0.0, 0.0, 1.0, 2.0**53]))
DATE = st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1))
TIME = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
ROWS = st.integers(0, 12)


def integers(name: str) -> st.SearchStrategy[int]:
    """Whole numbers over the full range of a numpy type."""
    info = np.iinfo(name)
    return st.one_of(
        st.integers(int(info.min), int(info.max)), st.sampled_from([0, info.min, info.max])
    )


def maybe(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), values)


def cells(values: st.SearchStrategy[object], n: int) -> st.SearchStrategy[list[object]]:
    return st.lists(values, min_size=n, max_size=n)


@st.composite
def polars_columns(draw: st.DrawFn, n: int) -> pl.Series:
    whole = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
    choice = draw(
        st.sampled_from([*whole, "Float32", "Float64", "String", "Boolean", "Date", "Datetime",
                         "Zoned", "Enum", "Categorical", "Null", "Decimal"])
    )  # fmt: skip
    if choice in whole:
        return pl.Series(draw(cells(maybe(integers(choice.lower())), n)), dtype=getattr(pl, choice))
    if choice == "Float32":
        narrow = st.floats(allow_nan=False, allow_infinity=False, width=32)
        return pl.Series(draw(cells(maybe(narrow), n)), dtype=pl.Float32)
    if choice == "Float64":
        return pl.Series(
            draw(cells(st.one_of(st.none(), st.just(float("nan")), FLOAT), n)), dtype=pl.Float64
        )
    if choice in ("Date", "Datetime", "Zoned"):
        values = draw(cells(maybe(DATE if choice == "Date" else TIME), n))
        if choice == "Date":
            return pl.Series(values, dtype=pl.Date)
        unit = draw(st.sampled_from(["ms", "us", "ns"]))
        series = pl.Series(values, dtype=pl.Datetime("us")).cast(pl.Datetime(unit))
        return (
            series.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Warsaw")
            if choice == "Zoned"
            else series
        )
    if choice in ("Enum", "Categorical"):
        levels = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
        values = draw(cells(maybe(st.sampled_from(levels)), n))
        return pl.Series(values, dtype=pl.Enum(levels) if choice == "Enum" else pl.Categorical)
    if choice == "Decimal":
        return pl.Series(
            draw(cells(maybe(st.decimals(-1000, 1000, places=2)), n)), dtype=pl.Decimal(12, 2)
        )
    if choice == "Null":
        return pl.Series([None] * n, dtype=pl.Null)
    values = draw(cells(maybe(TEXT if choice == "String" else st.booleans()), n))
    return pl.Series(values, dtype=getattr(pl, choice))


@st.composite
def pandas_columns(draw: st.DrawFn, n: int) -> pd.Series:
    plain = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    nullable = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
    choice = draw(
        st.sampled_from([*plain, *nullable, "float32", "float64", "Float64", "str", "string",
                         "object", "bool", "boolean", "datetime", "zoned", "category", "ordered",
                         "numbered", "int64[pyarrow]", "string[pyarrow]", "string[python]"])
    )  # fmt: skip
    if choice in plain:
        return pd.Series(np.array(draw(cells(integers(choice), n)), dtype=choice))
    if choice in nullable or choice == "int64[pyarrow]":
        values = draw(cells(maybe(integers(choice.lower().split("[")[0])), n))
        return pd.Series(pd.array(values, dtype=choice))
    if choice in ("float32", "float64", "Float64"):
        width = 32 if choice == "float32" else 64
        numbers = (
            st.floats(allow_nan=False, allow_infinity=False, width=32) if width == 32 else SIZED
        )
        return pd.Series(pd.array(draw(cells(maybe(numbers), n)), dtype=choice))
    if choice in ("bool", "boolean"):
        truth = st.booleans() if choice == "bool" else maybe(st.booleans())
        return pd.Series(pd.array(draw(cells(truth, n)), dtype=choice))
    if choice in ("datetime", "zoned"):
        series = pd.Series(pd.array(draw(cells(maybe(TIME), n)), dtype="datetime64[us]"))
        return (
            series
            if choice == "datetime"
            else series.dt.tz_localize("UTC").dt.tz_convert("Europe/Warsaw")
        )
    if choice in ("category", "ordered", "numbered"):
        values = TEXT if choice != "numbered" else st.integers(-5, 5)
        levels = draw(st.lists(values, min_size=1, max_size=4, unique=True))
        values = draw(cells(maybe(st.sampled_from(levels)), n))
        return pd.Series(pd.Categorical(values, categories=levels, ordered=choice == "ordered"))
    values = draw(cells(maybe(TEXT), n))
    return (
        pd.Series(pd.array(values, dtype=choice))
        if choice != "object"
        else pd.Series(values, dtype=object)
    )


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(ROWS)
    return pl.DataFrame({f"c{i}": draw(polars_columns(n)) for i in range(draw(st.integers(1, 4)))})


@st.composite
def pandas_frames(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(ROWS)
    return pd.DataFrame({f"c{i}": draw(pandas_columns(n)) for i in range(draw(st.integers(1, 4)))})
