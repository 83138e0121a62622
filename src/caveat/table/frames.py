"""Frames in, frames out: pandas, polars, pyarrow and dicts of arrays, with their own data types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.late import Late
from caveat.table.column import Column, Kind, Missing
from caveat.table.decode import decode, storage_of
from caveat.table.encode import encode
from caveat.table.table import Table

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pandas as pd
    import polars as pl
    import pyarrow as pa
else:
    pl = Late("polars")
    pd = Late("pandas")
    pa = Late("pyarrow")
    nw = Late("narwhals.stable.v2")

__all__ = [
    "BACKENDS",
    "as_series",
    "encode_arrow_dictionary",
    "from_frame",
    "refuse_bad_names",
    "to_frame",
]


MOST_COLUMNS = 20_000
"""Columns of a table: with more of them every command would take hours."""
BACKENDS = ("", "pandas", "polars", "pyarrow", "dict")  # "" for a file, which has no frame


def from_frame(frame: Any) -> Table:
    """Encode a frame; see :meth:`Table.from_frame`."""
    if isinstance(frame, Table):
        return frame
    if isinstance(frame, Mapping):
        names, backend = list(frame), "dict"
    else:
        names, backend = _names_and_backend(frame)
    refuse_bad_names(names)
    columns = {}
    for position, name in enumerate(names):
        native = frame[name] if backend == "dict" else _native_column(frame, position, backend)
        columns[name] = _encode_native(native, name, backend)
    return Table(columns, backend=backend)


def _names_and_backend(frame: Any) -> tuple[list[Any], str]:
    if isinstance(frame, pd.DataFrame):  # narwhals refuses repeated names before we can say which
        return list(frame.columns), "pandas"
    if isinstance(frame, pa.Table):
        return list(frame.column_names), "pyarrow"
    try:
        wrapped = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise CaveatError(
            f"a {type(frame).__name__} is not a table",
            do="give a pandas, polars or pyarrow frame, a dict of arrays or a file",
            code="data.table.type",
        ) from None
    return list(wrapped.columns), str(wrapped.implementation.value)


def refuse_bad_names(names: list[Any]) -> None:
    """Refuse more columns than a table may have, columns without a name and two of one name."""
    if len(names) > MOST_COLUMNS:
        raise CaveatError(
            f"{len(names):,} columns are more than the {MOST_COLUMNS:,} that a table may have",
            do="split the table, or put repeated measurements into rows",
            code="data.column.too-many",
        )
    for position, name in enumerate(names, 1):
        if not isinstance(name, str) or not name.strip():
            raise CaveatError(
                "a column has no name" if isinstance(name, str) else "a column's name is not text",
                where=f"column {position}",
                do="give every column a name",
                code="data.name.absent" if isinstance(name, str) else "data.name.type",
            )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        where = [i for i, name in enumerate(names, 1) if name == repeated[0]]
        raise CaveatError(
            f"two columns are called {repeated[0]!r}",
            where=f"columns {where[0]} and {where[1]}",
            do="rename one of them",
            code="data.column.duplicate",
        )


def _native_column(frame: Any, position: int, backend: str) -> Any:
    if backend == "pandas":
        return frame.iloc[:, position]
    if backend == "pyarrow":
        return frame.column(position)
    return frame.to_series(position) if backend == "polars" else frame[frame.columns[position]]


def _encode_native(native: Any, name: str, backend: str) -> Column:
    """Encode one column and note the data type it must come back with."""
    if backend == "pandas" and isinstance(native.dtype, pd.CategoricalDtype):
        return _encode_pandas_categories(native, name)
    if backend == "pyarrow" and pa.types.is_dictionary(native.type):
        return encode_arrow_dictionary(native, name)
    column = encode(as_series(native, name), name)
    return replace(column, storage=storage_of(native, backend))


def as_series(values: Any, name: str) -> pl.Series:
    """Return the values as a polars series, or say that they are of no kind we know."""
    try:
        if isinstance(values, pl.Series):
            return values
        if isinstance(values, pd.Series):
            return pl.Series(pl.from_pandas(values.reset_index(drop=True), nan_to_null=True))
        if isinstance(values, pa.ChunkedArray):
            if pa.types.is_nested(values.type):
                sort = str(values.type).partition("<")[0].title()
                raise CaveatError(
                    f"values of type {sort} cannot be used",
                    column=name,
                    do="convert it to numbers, text or dates, or drop it",
                    code="data.type.unsupported",
                )
            if pa.types.is_decimal256(values.type):  # polars has 38 digits, and panics at more
                values = values.cast(pa.decimal128(38, values.type.scale))
            return pl.Series(pl.from_arrow(values))
        plain = (
            values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
        )
        series = pl.Series(values=plain)
        return series.fill_nan(None) if series.dtype.is_float() else series
    except (TypeError, pl.exceptions.PolarsError, pa.ArrowException, OverflowError, ValueError):
        raise CaveatError(
            "the values are of mixed or unknown types",
            column=name,
            do="convert the column to numbers, text or dates",
            code="data.type.unsupported",
        ) from None


def _encode_pandas_categories(series: pd.Series[Any], name: str) -> Column:
    dtype = series.dtype
    levels = as_series(pd.Series(dtype.categories), name)
    codes = np.asarray(series.cat.codes)
    storage = f"category[{dtype.categories.dtype}]"
    return _from_dictionary(levels, codes, name, ordered=bool(dtype.ordered), storage=storage)


def encode_arrow_dictionary(array: pa.ChunkedArray, name: str) -> Column:
    """Encode a dictionary array; its levels keep their order."""
    whole = array.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], array.type)
    levels = as_series(pa.chunked_array([whole.dictionary]), name)
    codes = np.asarray(whole.indices.cast(pa.int64()).fill_null(-1))
    ordered = bool(array.type.ordered)
    return _from_dictionary(levels, codes, name, ordered=ordered, storage=str(array.type))


def _from_dictionary(
    levels: pl.Series, codes: NDArray[Any], name: str, *, ordered: bool, storage: str
) -> Column:
    """Make a column of categories whose levels keep the order they were declared in."""
    distinct = levels.drop_nulls().unique(maintain_order=True)
    if len(distinct) < len(levels):  # others may declare a level twice, or an empty one
        places = {value: place for place, value in enumerate(distinct.to_list())}
        codes = np.array([*(places.get(value, -1) for value in levels.to_list()), -1])[codes]
        levels = distinct
    encoded = encode(levels, name)
    values = encoded.levels[encoded.codes] if not encoded.missing else encoded.values
    missing: tuple[Missing, ...] = ()
    if (codes < 0).any():
        missing = (Missing(),)
        codes = np.where(codes < 0, len(values), codes)
    kind = Kind.ORDERED if ordered else Kind.CATEGORY
    return Column(codes, values, kind, missing, storage=storage)


def to_frame(table: Table, backend: str = "") -> Any:
    """Decode a table; see :meth:`Table.to_frame`."""
    target = backend or table.backend or "pandas"
    if target not in BACKENDS:
        raise CaveatError(
            f"there is no frame of kind {target!r}",
            do="choose pandas, polars, pyarrow or dict",
            code="data.backend.unknown",
        )
    own = target == table.backend
    arrays = {
        name: decode(column if own else replace(column, storage=""), target)
        for name, column in table.columns.items()
    }
    if target == "pandas":
        return pd.DataFrame(arrays, columns=list(arrays) or None)
    if target == "polars":
        return pl.DataFrame(arrays)
    if target == "pyarrow":
        return pa.table(arrays)
    return arrays
