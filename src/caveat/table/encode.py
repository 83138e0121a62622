"""From a polars series to a column of codes, and from a dictionary of values to another kind."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.late import Late
from caveat.table.column import Codes, Column, Kind, Missing, smallest_unsigned

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")

__all__ = ["LARGEST", "LAST_YEAR", "SMALLEST", "convert", "encode", "kind_of_text",
           "outside_calendar", "usable_numbers"]  # fmt: skip

LARGEST, SMALLEST = 1e75, 1e-75
"""The size of numbers: up to its fourth power, and sums of it, everything stays finite.

A larger number is refused, one that is closer to zero is zero.
"""
SYSTEM_MISSING = sys.float_info.max
"""What SPSS stores, with a minus, where a number is missing, and other programs hand on."""

# Whole numbers up to here are exact as floating point, so 2.0 may be called an integer.
EXACT_INTEGER = 2**53
# Integer ranges up to this many values are encoded through a table instead of a sort.
TABLE_RANGE = 1 << 22
STEP = 1 << 18
SHORT = 64  # fewer cells are sorted sooner than they are handed over to the library that sorts
FIRST_YEAR, LAST_YEAR = 1, 9999  # of dates that can be written in ten characters


def encode(series: pl.Series, name: str) -> Column:
    """Encode a series; its data type decides the kind.

    Parameters
    ----------
    series
        Any polars series of numbers, text, booleans, categories, dates or datetimes.
    name
        Name of the column, for messages.

    Examples
    --------
    >>> encode(pl.Series([3, None, 1, 3]), "x")
    <Column integer: 4 rows, 2 levels, missing empty>
    """
    dtype = series.dtype
    if dtype == pl.Null:
        return Column(
            np.zeros(len(series), np.uint8), np.array([], object), Kind.CATEGORY, (Missing(),)
        )
    if dtype == pl.Boolean:
        return _finish(series, series.cast(pl.UInt8), np.array([False, True]), Kind.BOOLEAN)
    if isinstance(dtype, pl.Enum):
        levels = np.array(dtype.categories.to_list(), dtype=object)
        return _finish(series, series.to_physical(), levels, Kind.CATEGORY)
    if isinstance(dtype, pl.Categorical):
        return replace(_encode_text(series.cast(pl.String)), kind=Kind.CATEGORY)
    if dtype == pl.String:
        return _encode_text(series)
    if dtype.is_integer():
        return _encode_numbers(_as_int64(series, name), Kind.INTEGER)
    if dtype.is_float() or dtype.is_decimal():
        return _encode_floats(series.cast(pl.Float64), name)
    if dtype == pl.Date:
        return _encode_times(series, Kind.DATE, "datetime64[D]", name)
    if isinstance(dtype, pl.Datetime):
        return _encode_times(series, Kind.DATETIME, f"datetime64[{dtype.time_unit}]", name)
    raise CaveatError(
        f"values of type {dtype} cannot be used",
        column=name,
        do="convert it to numbers, text or dates, or drop it",
        code="data.type.unsupported",
    )


def _finish(
    series: pl.Series,
    codes: pl.Series,
    levels: NDArray[Any],
    kind: Kind,
    missing: tuple[Missing, ...] = (),
) -> Column:
    """Make a column of codes whose nulls are empty cells."""
    if series.null_count():
        missing = (Missing(), *missing)
        codes = codes.fill_null(len(levels))
    return Column(codes.to_numpy(), levels, kind, missing)


def _encode_text(series: pl.Series) -> Column:
    if len(series) < SHORT:  # a table of a hundred thousand columns has few rows
        return _encode_words(series.to_list())
    distinct = series.drop_nulls().unique().sort()
    codes = series.cast(pl.Enum(distinct)).to_physical()
    levels = np.array(distinct.to_list(), dtype=object)
    column = _finish(series, codes, levels, kind_of_text(len(series), len(levels)))
    return column.declare_missing([Missing("")]) if len(levels) and levels[0] == "" else column


def _encode_words(cells: list[str | None]) -> Column:
    words = sorted({cell for cell in cells if cell})
    empties = [empty for empty in (None, "") if empty in cells]
    places = {entry: place for place, entry in enumerate([*words, *empties])}
    codes = np.array([places[cell] for cell in cells], np.int64)
    kind = kind_of_text(len(cells), len(words) + ("" in empties))
    missing = tuple(Missing(empty) for empty in empties)
    return Column(codes, np.array(words, dtype=object), kind, missing)


def kind_of_text(n_rows: int, n_levels: int) -> Kind:
    """Return the kind of a column of text by how often its values repeat."""
    return Kind.TEXT if n_rows >= 20 and n_levels > n_rows / 2 else Kind.CATEGORY


def _as_int64(series: pl.Series, name: str) -> pl.Series:
    if series.dtype == pl.UInt64 and series.len() and (series.max() or 0) > np.iinfo(np.int64).max:  # type: ignore[operator]
        return series
    try:
        return series.cast(pl.Int64)
    except pl.exceptions.InvalidOperationError:
        raise CaveatError(
            "a whole number does not fit into 64 bits",
            column=name,
            do="read it as text",
            code="data.value.too-large",
        ) from None


def usable_numbers(series: pl.Series, name: str) -> pl.Series:
    """Return floating-point numbers that can be computed with, or say that one cannot.

    This is the only place where the size of numbers is judged: see :data:`LARGEST`. What SPSS
    stores for a missing number is an empty cell.

    Examples
    --------
    >>> usable_numbers(pl.Series([2.5, None, 1e75, 0.0]), "x").to_list()
    [2.5, None, 1e+75, 0.0]
    """
    size = series.abs().fill_nan(None)
    largest, least = size.max(), size.filter(size > 0).min()
    if largest is None or (float(largest) <= LARGEST and float(least or 1) >= SMALLEST):  # type: ignore[arg-type]
        return series
    system = (size == SYSTEM_MISSING).fill_null(False)
    outside = ((size > LARGEST) & ~system).fill_null(False)
    if outside.any():
        infinite = bool(series.is_infinite().fill_null(False).any())
        raise CaveatError(
            "a value is infinite" if infinite else f"a number is beyond ±{LARGEST:g}",
            column=name,
            row=int(outside.arg_max() or 0) + 1,
            do="replace it by a number of usual size, or leave the cell empty",
            code="data.value.infinite" if infinite else "data.value.too-large",
        )
    tiny = ((size > 0) & (size < SMALLEST)).fill_null(False)
    for cells, what in (
        (system, "hold the number that SPSS stores for a missing value, and are empty"),
        (tiny, f"are closer to zero than {SMALLEST:g}, and are zero"),
    ):
        if cells.any():
            warnings.warn(f"{name}: {int(cells.sum()):,} cells {what}", CaveatWarning, stacklevel=2)
    series = series.set(system, None) if system.any() else series
    return series.set(tiny, 0.0) if tiny.any() else series


def _encode_floats(series: pl.Series, name: str) -> Column:
    series = usable_numbers(series, name)
    nan = series.is_nan().fill_null(False)
    if nan.any():
        # A NaN beside empty cells is a second way to be missing, so that both come back.
        clean = _encode_floats(series.fill_nan(None), name)
        empty, n = Missing(), len(clean.levels)
        both = bool(series.null_count())
        codes = clean.codes.astype(np.int64)
        codes[nan.to_numpy()] = n + both
        missing = (empty, Missing(float("nan"))) if both else (Missing(float("nan")),)
        return Column(codes, clean.levels, clean.kind, missing)
    if _all_whole(series):
        return _encode_numbers(series.cast(pl.Int64), Kind.INTEGER)
    return _encode_numbers(series, Kind.NUMERIC)


def _all_whole(series: pl.Series) -> bool:
    """Return whether all values are whole numbers that are exact as floating point."""
    blocks = (series[rows].drop_nulls().to_numpy() for rows in _blocks(len(series)))
    return series.null_count() < len(series) and all(
        bool(np.all((np.abs(block) <= EXACT_INTEGER) & (block == np.rint(block))))
        for block in blocks
    )


def _encode_times(series: pl.Series, kind: Kind, level_type: str, name: str) -> Column:
    """Encode moments; those that no calendar has are signs of damage or of a wrong unit."""
    column = _encode_numbers(series.to_physical(), kind, level_type)
    years = column.levels.astype("datetime64[Y]").astype(np.int64) + 1970
    outside = np.append((years < FIRST_YEAR) | (years > LAST_YEAR), [False] * len(column.missing))
    if outside.any():
        raise outside_calendar(name, outside[column.codes])
    return column


def outside_calendar(name: str, cells: NDArray[np.bool_]) -> CaveatError:
    """Say that cells of a column are dates which cannot be."""
    return CaveatError(
        f"a date lies outside the years {FIRST_YEAR} to {LAST_YEAR}",
        column=name,
        row=int(np.argmax(cells)) + 1,
        do="replace it or leave the cell empty",
        code="data.value.range",
    )


def _encode_numbers(series: pl.Series, kind: Kind, level_type: str = "") -> Column:
    """Encode integers or floats without NaN; nulls allowed."""
    present = series.is_not_null().to_numpy() if series.null_count() else None
    ordinary = series.drop_nulls().to_numpy()
    levels, codes = _distinct(ordinary)
    if levels.dtype.kind == "f" and len(levels):
        levels += 0.0  # minus zero is zero
    if present is not None:
        full = np.full(len(series), len(levels), dtype=smallest_unsigned(len(levels) + 1))
        full[present] = codes
        codes = full
    if level_type:
        levels = levels.astype(np.int64, copy=False).view(level_type)
    elif levels.dtype.kind in "iu" and levels.dtype != np.uint64:
        levels = levels.astype(np.int64, copy=False)
    return Column(codes, levels, kind, () if present is None else (Missing(),))


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the sorted distinct values and the position of each value among them."""
    if not len(values):
        return values, np.zeros(0, np.uint8)
    low, high = values.min(), values.max()
    if values.dtype.kind in "iu" and int(high) - int(low) < TABLE_RANGE:
        return _distinct_in_range(values, int(low), int(high))
    distinct = _without_repeats(np.sort(values))
    codes = np.empty(len(values), smallest_unsigned(len(distinct)))
    for rows in _blocks(len(values)):
        # Sorted values are looked up several times faster than unsorted ones, and sorting a block
        # needs no index as long as the column.
        order = np.argsort(values[rows])
        codes[rows][order] = np.searchsorted(distinct, values[rows][order])
    return distinct, codes


def _without_repeats(ordered: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values of a sorted array, which is overwritten to spare a copy."""
    n, last = 1, ordered[0]
    for rows in _blocks(len(ordered)):
        block = ordered[rows]
        new = np.empty(len(block), dtype=bool)
        new[0] = block[0] != last
        np.not_equal(block[1:], block[:-1], out=new[1:])
        last, fresh = block[-1], block[new]
        ordered[n : n + len(fresh)] = fresh
        n += len(fresh)
    return ordered[:n] if n > 0.9 * len(ordered) else ordered[:n].copy()


def _distinct_in_range(values: NDArray[Any], low: int, high: int) -> tuple[NDArray[Any], Codes]:
    """Return the distinct whole numbers and the positions, through a table of the whole range."""
    used = np.zeros(high - low + 1, dtype=bool)
    for rows in _blocks(len(values)):
        used[_offsets(values[rows], low)] = True
    positions = (np.cumsum(used) - 1).astype(smallest_unsigned(int(used.sum())))
    codes: NDArray[Any] = np.empty(len(values), positions.dtype)
    for rows in _blocks(len(values)):
        codes[rows] = positions[_offsets(values[rows], low)]
    return np.flatnonzero(used).astype(values.dtype) + values.dtype.type(low), codes


def _offsets(values: NDArray[Any], low: int) -> NDArray[Any]:
    wide = values.astype(np.int64) if values.itemsize < 8 else values
    return wide - wide.dtype.type(low)


def _blocks(n: int) -> Iterator[slice]:
    """Cut n rows into blocks, so that work arrays stay small."""
    return (slice(start, start + STEP) for start in range(0, n, STEP))


def convert(column: Column, kind: Kind, name: str, *, date_format: str = "") -> Column:
    """Return the column as another kind; only the dictionary of levels is touched.

    Parameters
    ----------
    column
        The column to convert.
    kind
        The kind it should have.
    name
        Name of the column, for messages.
    date_format
        How dates are written (``%d.%m.%Y``); ISO 8601 when empty.
    """
    if kind == column.kind and not date_format:
        return column
    if kind in (Kind.CATEGORY, Kind.ORDERED, Kind.TEXT, Kind.ID):
        return replace(column, kind=kind)
    converted = _convert_levels(column, kind, name, date_format)
    if converted.dtype.is_float():
        converted = usable_numbers(converted, name)
    _refuse_lost(column, converted, kind, name, date_format)
    levels = encode(converted, name)
    lookup = np.arange(column.n_levels)
    lookup[: len(column.levels)] = levels.codes
    lookup[len(column.levels) :] += len(levels.levels) - len(column.levels)
    values = levels.levels
    if kind is Kind.NUMERIC:
        values = values.astype(np.float64)
    return replace(
        column, codes=lookup[column.codes], levels=values, kind=kind, value_labels={}, storage=""
    )


def _convert_levels(column: Column, kind: Kind, name: str, date_format: str) -> pl.Series:
    levels = pl.Series(column.levels.tolist(), strict=False)
    if column.levels.dtype.kind == "M":
        levels = pl.Series(column.levels)
    text = (
        levels.cast(pl.String).str.strip_chars()
        if levels.dtype != pl.Null
        else levels.cast(pl.String)
    )
    if kind is Kind.DATE:
        if column.levels.dtype.kind == "M":
            return levels.cast(pl.Date)
        return text.str.to_date(date_format or "%Y-%m-%d", strict=False)
    if kind is Kind.DATETIME:
        if column.levels.dtype.kind == "M":
            return levels.cast(pl.Datetime("us"))
        try:
            return text.str.to_datetime(date_format or None, strict=False, time_unit="us")
        except pl.exceptions.ComputeError:  # no format fits any of the values
            return pl.Series([None] * len(text), dtype=pl.Datetime("us"))
    if kind is Kind.BOOLEAN:
        truth = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
        return text.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)
    if column.levels.dtype.kind == "M":
        raise CaveatError(
            f"dates cannot become kind {kind}",
            column=name,
            do="keep them",
            code="data.type.mismatch",
        )
    numbers = (
        text.cast(pl.Float64, strict=False)
        if levels.dtype == pl.String
        else levels.cast(pl.Float64)
    )
    if kind is Kind.INTEGER:
        exact = (
            levels.cast(pl.Int64, strict=False)
            if levels.dtype.is_integer()
            else text.cast(pl.Int64, strict=False)
        )
        whole = pl.select(
            pl.when(numbers == numbers.round()).then(numbers.cast(pl.Int64, strict=False))
        ).to_series()
        return exact.zip_with(exact.is_not_null(), whole)
    return numbers


def _refuse_lost(
    column: Column, converted: pl.Series, kind: Kind, name: str, date_format: str
) -> None:
    lost = converted.is_null().to_numpy()
    if not lost.any():
        return
    flags = np.zeros(column.n_levels, dtype=bool)
    flags[: len(lost)] = lost
    bad = np.flatnonzero(flags[column.codes])
    form = f" written as {date_format}" if date_format else ""
    raise CaveatError(
        f"{len(bad):,} cells are not of kind {kind}{form}",
        column=name,
        row=int(bad[0]) + 1 if len(bad) else None,
        do="declare the missing codes, the format or another kind in the schema",
        code="data.value.type",
    )
