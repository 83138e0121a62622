"""Frames in and out, tables that come in parts, and folders for several tables or for work."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.registry import Late
from caveat.table.child import list_parts
from caveat.table.code_files import CodeFiles
from caveat.table.coding import decode, encode, storage_of
from caveat.table.drafts import (
    atomic_output,
    check_folder,
    check_input,
    clear_up,
    in_file,
    locked_folder,
    unwritable,
)
from caveat.table.files import TextForm, check_target, write
from caveat.table.source import source_of
from caveat.table.table import Column, Kind, Missing, Table

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


# -------------------------------------------------------------------------------------------------
# Tables that come in parts: folders of Parquet files, and Dask frames.
#
# The parts are one table, in their order: the same as the file or the frame that they were cut
# from.


PART = re.compile(r"part-\d{5,}\.parquet")
"""What the parts are called that Caveat writes."""
UNFINISHED = ".part-"
"""How the name of a part begins that is not whole yet."""


def part_name(number: int) -> str:
    """Return what a part is called, counted from 0."""
    return f"part-{number:05}.parquet"


def parts_of(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, numbers as numbers.

    Names that begin with a dot or an underscore do not count, as everywhere.
    """
    held = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
    parts = [path for path in held if path.suffix.lower() == ".parquet" and path.is_file()]
    if not parts:
        raise CaveatError(
            "this is a folder, and it holds no Parquet files",
            where=str(folder),
            do="name a file, or a folder with the parts of a table",
            code="data.folder.empty",
        )
    inside = sorted(path.name for path in held if path.is_dir())
    if inside:
        raise CaveatError(
            f"beside the parts of a table the folder holds a folder: {inside[0]}",
            where=str(folder),
            do="put all parts into one folder",
            code="data.folder.unsupported",
        )
    return sorted(parts, key=_by_number)


def _by_number(path: Path) -> list[tuple[str, int, str]]:
    """Return what names are sorted by: part.2 comes before part.10."""
    pieces = re.findall(r"(\D*)(\d*)", path.name)
    return [(text, int(digits or -1), digits) for text, digits in pieces]


def write_part(table: Table, path: Path) -> None:
    """Write a block of rows as a part of a table, whole or not at all."""
    resolve_name("caveat.table._columnar:write_part")(table, path)


def write_parts(blocks: Iterable[Table], folder: Path) -> None:
    """Write each block of a table as a part of its own, unless whoever made it has done so."""
    for number, block in enumerate(blocks):
        path = folder / part_name(number)
        if not path.exists():
            write_part(block, path)
    for left in folder.glob(f"{UNFINISHED}*"):  # of workers that were lost
        left.unlink(missing_ok=True)


def table_of(data: Any, work: CodeFiles | None = None) -> Table:
    """Return a table of anything that holds one: a frame, a Dask frame, a folder of Parquet files.

    Parameters
    ----------
    data
        A frame of any kind, a table, or the name of a folder.
    work
        Where the codes of a table that comes in parts are kept as soon as a column is read; in
        memory by default.
    """
    if isinstance(data, str | Path):
        from caveat.table.files import read_into  # it reads parts by this module

        folder = Path(data)
        if not folder.is_dir():
            raise CaveatError(
                "there is no such folder",
                where=str(folder),
                do="read a file with caveat.read first",
                code="data.folder.absent",
            )
        return read_into(work, folder)
    if _is_dask(data):
        return _of_dask(data, work)
    return Table.from_frame(data)


def in_parts(data: Any) -> bool:
    """Say whether this is a table in parts: the name of a folder, or a Dask frame."""
    return isinstance(data, str | Path) or _is_dask(data)


def _is_dask(data: Any) -> bool:
    """Say whether this is a Dask frame, without loading Dask."""
    return type(data).__module__.startswith("dask.") and hasattr(data, "to_delayed")


def _of_dask(frame: Any, work: CodeFiles | None) -> Table:
    """Fetch a frame column by column; its parts stay where Dask computes them."""
    compute = import_module("dask").compute
    parts = frame.persist().to_delayed()
    found = compute([(part.columns, part.dtypes, part.shape) for part in parts])[0]
    rows = [shape[0] for *_, shape in found]
    types = [dict(zip(names, map(str, kinds), strict=False)) for names, kinds, _ in found]
    for names, *_ in found:
        refuse_bad_names(list(names))
    check_parts([f"partition {number}" for number in range(1, len(rows) + 1)], types, rows)
    kept = [part for part, n in zip(parts, rows, strict=True) if n] or parts[:1]
    concat = import_module("dask.dataframe.dispatch").concat
    columns, backend = {}, ""
    for name in types[0]:
        cells = compute([part[[name]] for part in kept])[0]
        one = Table.from_frame(concat(cells, ignore_index=True) if len(cells) > 1 else cells[0])
        columns[name] = one[name] if work is None else work.keep(name, one[name])
        backend = one.backend
    return Table(columns, backend) if work is None else work.table(columns, backend)


def check_parts(
    names: Sequence[str], types: Sequence[Mapping[str, str]], rows: Sequence[int]
) -> None:
    """Refuse parts that are not of one table; say which are empty.

    Parameters
    ----------
    names
        What the parts are called.
    types
        The type of each column of each part.
    rows
        The number of rows of each part.
    """
    first = types[0]
    for name, found in zip(names, types, strict=True):
        if list(found) != list(first):
            other = next((c for c in (*first, *found) if (c in first) != (c in found)), None)
            what = "its columns stand in another order than those of"
            if other is not None:
                what = f"it has {'no' if other in first else 'a'} column {other!r}, unlike"
            raise CaveatError(
                f"{what} {names[0]}",
                where=name,
                do="give all parts the same columns",
                code="data.column.mismatch",
            )
        for column, kind in found.items():
            if kind != first[column]:
                raise CaveatError(
                    f"its type is {kind}, and {first[column]} in {names[0]}",
                    where=name,
                    column=column,
                    do="give the column one type in all parts",
                    code="data.type.mismatch",
                )
    empty = [name for name, n in zip(names, rows, strict=True) if not n]
    if empty and any(rows):
        more = f", and {len(empty) - 1:,} more," if len(empty) > 1 else ""
        warnings.warn(f"{empty[0]}{more} has no rows", CaveatWarning, stacklevel=4)


# -------------------------------------------------------------------------------------------------
# Several tables into one folder: sheets of one workbook are one file, as tables of a database.


def tables_in(path: Path) -> list[Path]:
    """Return the sheets of a workbook or the tables of a database, if the path names none of them.

    Any other path is returned alone.
    """
    source = source_of(path)
    if source is None or source.part:
        return [path]
    if source.is_file:
        check_input(Path(source.place))
    try:
        parts = list_parts(path)
    except CaveatError as error:
        raise in_file(error, path) from None
    return [Path(source.with_part(part)) for part in parts] if len(parts) > 1 else [path]


def write_several(
    tables: Mapping[str, Table],
    folder: Path,
    *,
    escape_formulas: bool = False,
    forms: Mapping[str, TextForm] = MappingProxyType({}),
) -> list[str]:
    """Write tables into a new folder; return the names of its files.

    Parameters
    ----------
    tables
        By the name of the file, with the sheet or table behind it: ``survey.xlsx#persons``.
    folder
        Where they go; none of the files may be there.
    escape_formulas
        As in :func:`caveat.table.write`.
    forms
        How text files are written, by their names.
    """
    books: dict[str, dict[str, Table]] = {}
    files: dict[str, None] = {}
    for name, table in tables.items():
        source = source_of(name)
        files[name if source is None else source.place] = None
        if source is not None and source.sort == "excel" and source.part:
            books.setdefault(source.place, {})[source.part] = table
        else:
            form = forms.get(name)
            write(table, folder / name, escape_formulas=escape_formulas, form=form)
    for name, sheets in books.items():
        from caveat.table._excel import prepare_sheets

        check_target(folder / name)
        save = prepare_sheets(sheets)
        with atomic_output(folder / name, confidential=False) as draft:
            save(draft)
    return list(files)


# -------------------------------------------------------------------------------------------------
# Where work leaves its files: a private folder for confidential ones, gone when it has ended.
#
# It is locked while the process that made it lives. One that was killed outright cannot clear up:
# the next one that makes such a folder does it.


PREFIX = "caveat-work-confidential-"


@contextmanager
def workplace(place: Path | None = None) -> Iterator[Path]:
    """Give a folder that nobody else may look into, and remove it afterwards.

    Parameters
    ----------
    place
        Where it is made; in the usual place for temporary files by default.
    """
    place = Path(tempfile.gettempdir()) if place is None else place.absolute()
    check_folder(place)
    clear_up(place, PREFIX)
    folder = locked_folder(place, f"{PREFIX}{{}}")
    with unwritable(place):
        made = folder.__enter__()
    try:
        yield made
    finally:
        folder.__exit__(None, None, None)
