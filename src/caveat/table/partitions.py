"""Tables that come in parts: folders of Parquet files, and Dask frames.

The parts are one table, in their order: the same as the file or the frame that they were cut from.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from caveat.errors import CaveatError, CaveatWarning
from caveat.table.code_files import CodeFiles
from caveat.table.frames import refuse_bad_names
from caveat.table.table import Table

__all__ = [
    "PART",
    "UNFINISHED",
    "check_parts",
    "in_parts",
    "part_name",
    "parts_of",
    "table_of",
    "write_part",
    "write_parts",
]

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
