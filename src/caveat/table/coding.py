"""From values to columns of codes, and from codes back to values in their own data type."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.registry import Late
from caveat.table.table import Codes, Column, Kind, Missing, smallest_unsigned

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
else:
    pl = Late("polars")
    pd = Late("pandas")
    pa = Late("pyarrow")


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


# -------------------------------------------------------------------------------------------------
# From codes back to values, in the data type that the column came with.
#
# The dictionary of a column, ways to be missing included, is turned into a tiny array of the
# native type; the cells are then gathered from it by their codes. Nothing of the length of the
# table is ever converted value by value.


def storage_of(native: Any, backend: str) -> str:
    """Return the data type of a native column as text that :func:`decode` understands."""
    if backend == "pyarrow":
        return str(native.type)
    if backend == "polars":
        dtype = native.dtype
        return type(dtype).__name__ if isinstance(dtype, pl.Enum | pl.Categorical) else repr(dtype)
    dtype = getattr(native, "dtype", "")
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f"string[{dtype.storage}]"  # its text leaves out how it is stored
    return str(dtype)


def decode(column: Column, backend: str) -> Any:
    """Return the cells as a pandas, polars or pyarrow column or a numpy array."""
    make: Callable[[Column], Any] = {
        "pandas": _pandas_dictionary,
        "polars": _polars_dictionary,
        "pyarrow": _arrow_dictionary,
        "dict": _numpy_dictionary,
    }[backend]
    column = _without_words(column)
    dictionary = make(column)
    if backend == "polars":
        return dictionary.gather(column.codes)
    if backend == "pyarrow":
        return dictionary.take(pa.array(column.codes))
    if backend == "pandas":
        cells = dictionary.take(column.codes.astype(np.intp))
        return pd.Series(cells, dtype=cells.dtype)
    return dictionary[column.codes]


def _without_words(column: Column) -> Column:
    """Return numbers whose missing codes are words (NA, .a) with empty cells in their place.

    A word in a column of numbers would turn the whole column of a frame into text.
    """
    if column.levels.dtype.kind == "O" or not any(isinstance(m.code, str) for m in column.missing):
        return column
    missing = [Missing() if isinstance(m.code, str) else m for m in column.missing]
    return replace(column, missing=tuple(missing))


def _entries(column: Column) -> list[Any]:
    """Return the values of all codes, missing ones included, as Python or numpy scalars."""
    levels = list(column.levels) if column.levels.dtype.kind == "M" else column.levels.tolist()
    return [*levels, *(m.code for m in column.missing)]


def _has_empty(column: Column) -> bool:
    return any(m.code is None for m in column.missing)


def _series(column: Column) -> pl.Series:
    """Return the dictionary as a polars series of the usual type for its values."""
    entries = _entries(column)
    kind = column.levels.dtype.kind
    if kind == "M":
        levels = pl.Series(column.levels)
        if column.kind is Kind.DATE:
            levels = levels.cast(pl.Date)
        return levels.extend(pl.Series([None] * len(column.missing), dtype=levels.dtype))
    if any(isinstance(entry, str) for entry in entries):
        return pl.Series([None if e is None else str(e) for e in entries], dtype=pl.String)
    usual = {"b": pl.Boolean, "i": pl.Int64, "u": pl.UInt64, "f": pl.Float64, "O": pl.String}[kind]
    if usual in (pl.Int64, pl.UInt64) and any(isinstance(e, float) and e != e for e in entries):
        usual = pl.Float64
    return pl.Series(entries, dtype=usual, strict=False)


def _polars_dictionary(column: Column) -> pl.Series:
    series = _series(column)
    if column.storage == "Enum":
        return series.cast(pl.Enum(column.levels.tolist()))
    if not column.storage:
        ordered_text = column.kind is Kind.ORDERED and series.dtype == pl.String
        return series.cast(pl.Enum(series.drop_nulls())) if ordered_text else series
    dtype = _polars_type(column.storage)
    if isinstance(dtype, pl.Datetime):
        unit = pl.Datetime(dtype.time_unit)
        naive = series.cast(unit)
        return (
            naive.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
            if dtype.time_zone
            else naive
        )
    return _cast_or_keep(series, dtype)


def _cast_or_keep(series: pl.Series, dtype: Any) -> pl.Series:
    """Cast, unless a value (one that smoothing made, say) would not survive it."""
    try:
        return series.cast(dtype)
    except pl.exceptions.InvalidOperationError:
        return series


_PARSING = Lock()  # Python 3.11 may fail if several threads build syntax trees at the same time


def _polars_type(storage: str) -> Any:
    name, _, rest = storage.partition("(")
    dtype = getattr(pl, name, None)
    # The name may come from a file: nothing but a type of data is ever called.
    if not (isinstance(dtype, type) and issubclass(dtype, pl.DataType)):
        raise ValueError("there is no such type")
    if not rest:
        return dtype
    try:
        with _PARSING:
            call = ast.parse(f"f({rest}", mode="eval").body
        given = {str(k.arg): ast.literal_eval(k.value) for k in getattr(call, "keywords", ())}
    except (SyntaxError, RecursionError, MemoryError):  # what a parser says of endless nesting
        raise ValueError("the type cannot be read") from None
    return dtype(**given)


def _pandas_dictionary(column: Column) -> Any:
    storage = column.storage
    if storage.startswith("category") or (
        not storage and column.kind in (Kind.CATEGORY, Kind.ORDERED)
    ):
        return _pandas_categories(column)
    if column.kind is Kind.DATETIME:
        zone = storage.rstrip("]").partition(", ")[2]
        times = pd.Series(_numpy_dictionary(replace(column, storage="")))
        times = times.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else times
        return times.astype(storage).array if storage else times.array
    series = _series(column)
    if storage == "object" or column.kind is Kind.DATE:
        return _objects(series.to_list())
    storage = storage or _usual_pandas_type(column, series)
    try:
        return _pandas_array(series.to_list(), storage)
    except (TypeError, ValueError, OverflowError):  # a value that the type cannot hold
        return _pandas_array(series.to_list(), _usual_pandas_type(column, series))


def _pandas_array(values: list[Any], storage: str) -> Any:
    dtype = pd.api.types.pandas_dtype(storage)
    # numpy keeps 64-bit integers exact where pd.array takes a detour through floating point
    if isinstance(dtype, np.dtype):
        return np.array(values, dtype=dtype)
    return pd.array(values, dtype=dtype)


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _usual_pandas_type(column: Column, series: pl.Series) -> str:
    name = {"String": "str", "Boolean": "bool"}.get(str(series.dtype), str(series.dtype).lower())
    if _has_empty(column) and series.dtype not in (pl.String, pl.Float64):
        return {"int64": "Int64", "uint64": "UInt64", "bool": "boolean"}[name]
    return name


def _pandas_categories(column: Column) -> pd.Categorical:
    entries = [e for e in _entries(column) if e is not None]
    categories = pd.Index(entries)
    match = re.fullmatch(r"category\[(.*)\]", column.storage)
    if match:
        categories = pd.Index(entries, dtype=match[1])
    codes = np.arange(column.n_levels)
    empty = [m.code is None for m in column.missing]
    codes[len(column.levels) :] = np.where(
        empty, -1, len(column.levels) + np.cumsum(~np.array(empty, bool)) - 1
    )
    return pd.Categorical.from_codes(codes, categories, ordered=column.kind is Kind.ORDERED)


def _arrow_dictionary(column: Column) -> pa.Array:
    series = _series(column)
    storage = column.storage
    if storage == "null":
        return pa.nulls(column.n_levels)
    if not storage and column.kind is Kind.ORDERED:
        storage = "dictionary<values=string, indices=int32, ordered=1>"
    match = re.fullmatch(r"dictionary<values=(.*), indices=(\w+), ordered=(\d)>", storage)
    if match:
        values = arrow_cast(series.head(len(column.levels)).to_arrow(), match[1])
        codes = [i if i < len(column.levels) else None for i in range(column.n_levels)]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.type_for_alias(match[2])), values, ordered=match[3] == "1"
        )
    array = series.to_arrow()
    if pa.types.is_string_view(array.type) or pa.types.is_large_string(array.type):
        array = array.cast(pa.string())
    return arrow_cast(array, storage) if storage else array


def arrow_cast(array: pa.Array, storage: str) -> pa.Array:
    """Cast to the type of that name, unless a value would not survive it."""
    try:
        target = _arrow_type(storage)
        if pa.types.is_decimal(target) and pa.types.is_integer(array.type):
            # Whole numbers are cast only to decimals that hold every one of their type.
            array = array.cast(pa.decimal128(38, target.scale))
        if pa.types.is_floating(target) and pa.types.is_integer(array.type):
            # The safe cast refuses all numbers beyond the mantissa, also those that are exact.
            made = array.cast(target, safe=False)
            return made if made.cast(array.type, safe=False).equals(array) else array
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def _arrow_type(storage: str) -> pa.DataType:
    if match := re.fullmatch(r"timestamp\[(\w+), tz=(.*)\]", storage):
        return pa.timestamp(match[1], match[2])
    if match := re.fullmatch(r"decimal(32|64|128|256)\((\d+), (\d+)\)", storage):
        return getattr(pa, f"decimal{match[1]}")(int(match[2]), int(match[3]))
    return pa.type_for_alias(storage)


def _numpy_dictionary(column: Column) -> np.ndarray[Any, Any]:
    series = _series(column)
    if column.levels.dtype.kind == "M":
        return np.append(column.levels, np.full(len(column.missing), "NaT", column.levels.dtype))
    if (
        column.storage
        and column.storage != "object"
        and not (_has_empty(column) and np.dtype(column.storage).kind in "iub")
    ):
        return series.to_numpy().astype(column.storage)
    if series.dtype == pl.String or (_has_empty(column) and series.dtype == pl.Boolean):
        return _objects(series.to_list())
    return series.to_numpy()
