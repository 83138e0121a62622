"""The formats of tables by extension, and which of them a path is about."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from caveat.errors import CaveatError
from caveat.registry import Registry
from caveat.table.source import SERVER, SORTS, entries_in, shown, source_of

__all__ = [
    "DATABASE",
    "FORMATS",
    "Format",
    "files_in",
    "has_labels",
    "is_text",
    "readable",
    "suffix_of",
    "writable",
]

TEXT = (".csv", ".tsv", ".txt")
OTHER_SHEETS = (".xls", ".xlsm", ".xlsb", ".ods")
PACKED = tuple(f"{suffix}{packed}" for suffix in TEXT for packed in (".gz", ".zst"))


class Format(NamedTuple):
    """A format beside delimited text, by the places of its functions: large libraries wait.

    Attributes
    ----------
    read
        Takes the path, the extension and the columns that are asked for (None for all), and
        returns a Table.
    prepare
        Takes a table and the extension, refuses what the format cannot hold, and returns what
        writes it to a path; empty if the format is only read.
    labels
        Takes the path and the extension, and returns labels and missing codes of the header; empty
        if the format has none.
    by_column
        Whether `read` takes one more: what is done with the name and the content of each column as
        soon as it is there, before the next one is read.
    """

    read: str
    prepare: str = ""
    labels: str = ""
    by_column: bool = False


_COLUMNAR = Format(
    "caveat.table._columnar:read_columnar",
    "caveat.table._columnar:prepare_columnar",
    by_column=True,
)
_LABELLED = Format(
    "caveat.table._labelled:read_labelled",
    "caveat.table._labelled_write:prepare_labelled",
    "caveat.table._labelled:read_value_labels",
)
DATABASE = Format(
    "caveat.table.database:read_database",
    "caveat.table.database:prepare_database",
    by_column=True,
)
FORMATS = Registry(
    {
        **dict.fromkeys((".parquet", ".feather", ".arrow"), _COLUMNAR),
        **dict.fromkeys((".sav", ".zsav", ".dta"), _LABELLED),
        **dict.fromkeys((".sas7bdat", ".xpt"), _LABELLED._replace(prepare="")),
        ".xlsx": Format("caveat.table._excel:read_excel", "caveat.table._excel:prepare_excel"),
        **dict.fromkeys((s for s, sort in SORTS.items() if sort != "excel"), DATABASE),
    }
)
"""The formats beside delimited text, by extension."""


def readable() -> tuple[str, ...]:
    """Return the extensions of files that can be read."""
    return (*TEXT, *PACKED, *FORMATS)


def writable() -> tuple[str, ...]:
    """Return the extensions of files that can be written."""
    return (*TEXT, *PACKED, *(suffix for suffix, how in FORMATS.items() if how.prepare))


def is_text(path: str | Path) -> bool:
    """Whether a file is delimited text, whose cells have no types of their own."""
    return suffix_of(Path(path), readable()) in (*TEXT, *PACKED)


def has_labels(path: str | Path) -> bool:
    """Whether a file is of a format that has value labels."""
    suffix = suffix_of(Path(path), readable())
    return suffix in FORMATS and bool(FORMATS[suffix].labels)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long: who opens it will say so
        return False


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """Return the extension that decides the format: the longest one that is known.

    That of a table on a server is the beginning of its address.
    """
    source = source_of(path)
    if source is not None:
        return source.suffix
    if ".parquet" in known and _is_folder(path):  # the parts of one table
        return ".parquet"
    name = path.name.lower()
    for suffix in sorted(known, key=len, reverse=True):
        if name.endswith(suffix) and name != suffix:
            return suffix
    if name.endswith(OTHER_SHEETS):
        raise CaveatError(
            "only workbooks of the format .xlsx are read and written",
            where=str(path),
            do="save it as .xlsx in Excel or LibreOffice",
            code="data.format.unsupported",
        )
    one_way = name.endswith(tuple(suffix for suffix in readable() if suffix not in known))
    raise CaveatError(
        "this format can be read but not written" if one_way else "the extension is not known",
        where=shown(path),
        do=f"use one of {', '.join((*known, SERVER))}",
        code="data.format.unsupported" if one_way else "data.format.unknown",
    )


def files_in(folder: Path) -> list[tuple[str, int]]:
    """Return the data files of a folder with their sizes; links that lead out are not there."""
    found = []
    for path in entries_in(folder):
        with suppress(OSError):  # what cannot be opened cannot be read either
            inside = path.is_file() and path.resolve().parent == folder.resolve()
            if inside and path.name.lower().endswith(readable()):
                found.append((path.name, path.stat().st_size))
    return found
