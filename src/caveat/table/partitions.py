"""Tables that come in parts: Dask frames, and folders of Parquet files.

The parts are one table, in their order: the same as the frame or the file that they were cut from.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError, CaveatWarning
from caveat.table.table import Table

__all__ = ["table_of"]


def table_of(data: Any) -> Table:
    """Return a table of anything that holds one: a frame, a Dask frame, a folder of Parquet files.

    Parameters
    ----------
    data
        A frame of any kind, a table, or the name of a folder.
    """
    if isinstance(data, str | Path):
        return _of_folder(Path(data))
    if type(data).__module__.startswith("dask.") and hasattr(data, "to_delayed"):
        return _of_dask(data)
    return Table.from_frame(data)


def _of_dask(frame: Any) -> Table:
    parts = import_module("dask").compute(*frame.to_delayed())
    names = [f"partition {number}" for number in range(1, len(parts) + 1)]
    types = [dict(zip(part.columns, map(str, part.dtypes), strict=True)) for part in parts]
    _check(names, types, [len(part) for part in parts])
    concat = import_module("dask.dataframe.dispatch").concat
    kept = [part for part in parts if len(part)] or list(parts[:1])
    return Table.from_frame(concat(kept, ignore_index=True) if len(kept) > 1 else kept[0])


def _of_folder(folder: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not folder.is_dir():
        raise CaveatError(
            "there is no such folder", where=str(folder), do="read a file with caveat.read first"
        )
    paths = sorted(path for path in folder.glob("*.parquet") if path.is_file())
    if not paths:
        raise CaveatError(
            "the folder holds no Parquet files", where=str(folder), do="check the name"
        )
    try:
        parts = [pq.ParquetFile(path).read() for path in paths]
    except (pa.ArrowException, OSError) as error:
        raise CaveatError(
            "a file is no Parquet file, or a damaged one", where=str(folder), do="check the files"
        ) from error
    schemas = [part.schema for part in parts]
    types = [dict(zip(s.names, map(str, s.types), strict=True)) for s in schemas]
    _check([str(path) for path in paths], types, [part.num_rows for part in parts])
    # What a writer notes beside the cells may differ; the cells are what counts.
    return Table.from_frame(pa.concat_tables(part.replace_schema_metadata() for part in parts))


def _check(names: Sequence[str], types: Sequence[Mapping[str, str]], rows: Sequence[int]) -> None:
    """Refuse parts that are not of one table; say which are empty."""
    first = types[0]
    for name, found in zip(names, types, strict=True):
        if list(found) != list(first):
            other = next((c for c in (*first, *found) if (c in first) != (c in found)), None)
            what = "its columns stand in another order than those of"
            if other is not None:
                what = f"it has {'no' if other in first else 'a'} column {other!r}, unlike"
            raise CaveatError(
                f"{what} {names[0]}", where=name, do="give all parts the same columns"
            )
        for column, kind in found.items():
            if kind != first[column]:
                raise CaveatError(
                    f"its type is {kind}, and {first[column]} in {names[0]}",
                    where=name,
                    column=column,
                    do="give the column one type in all parts",
                )
    empty = [name for name, n in zip(names, rows, strict=True) if not n]
    if empty and any(rows):
        more = f", and {len(empty) - 1:,} more," if len(empty) > 1 else ""
        warnings.warn(f"{empty[0]}{more} has no rows", CaveatWarning, stacklevel=4)
