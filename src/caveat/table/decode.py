"""From codes back to values, in the data type that the column came with.

The dictionary of a column, ways to be missing included, is turned into a tiny array of the native
type; the cells are then gathered from it by their codes. Nothing of the length of the table is ever
converted value by value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from caveat.late import Late
from caveat.table.column import Column, Kind, Missing

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
else:
    pl = Late("polars")
    pd = Late("pandas")
    pa = Late("pyarrow")

__all__ = ["arrow_cast", "decode", "storage_of"]


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
