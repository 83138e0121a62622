"""Tables from files and into files; the extension decides the format."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple, cast

from caveat.errors import FEW, CaveatError, CaveatWarning
from caveat.table.atomic import atomic_output, check_output
from caveat.table.code_files import CodeFiles
from caveat.table.column import Column
from caveat.table.input_checks import check_input, check_signs, in_file, unreadable
from caveat.table.schema import Schema
from caveat.table.table import Table, concat

__all__ = [
    "FORMATS",
    "Format",
    "check_target",
    "has_labels",
    "is_text",
    "read",
    "read_into",
    "read_value_labels",
    "readable",
    "writable",
    "write",
    "write_blocks",
]

ROWS_IN_MEMORY = 2_000_000  # tables in blocks up to this size are put together before writing

TOGETHER = 4  # columns of a text file that are parsed in one go where codes are kept in files

Keep = Callable[[str, Column], Column]

TEXT = (".csv", ".tsv", ".txt")
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
FORMATS = {
    **dict.fromkeys((".parquet", ".feather", ".arrow"), _COLUMNAR),
    **dict.fromkeys((".sav", ".zsav", ".dta"), _LABELLED),
    **dict.fromkeys((".sas7bdat", ".xpt"), _LABELLED._replace(prepare="")),
}
"""The formats beside delimited text, by extension."""


def readable() -> tuple[str, ...]:
    """Return the extensions of files that can be read."""
    return (*TEXT, *PACKED, *FORMATS)


def writable() -> tuple[str, ...]:
    """Return the extensions of files that can be written."""
    return (*TEXT, *PACKED, *(suffix for suffix, how in FORMATS.items() if how.prepare))


def read(
    path: str | Path,
    *,
    schema: Schema | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    columns: Sequence[str] | None = None,
    partial: bool = False,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path
        A CSV, TSV, Parquet, Feather, SPSS, Stata or SAS file, or a folder of Parquet files: the
        parts of one table, in the order of their names.
    schema
        What is known about the columns; it overrides what is inferred.
    delimiter
        Between the fields of a text file; found among comma, semicolon, tab and bar if not given.
    decimal
        The decimal sign of a text file, point or comma.
    encoding
        The encoding of a text file.
    columns
        The columns to read; all if not given.
    partial
        Whether the file may lack columns that the schema declares, as a release without ids does.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_text("sex,income,zip\nf,800,01067\nm,NA,10115\n")
    ...     read(file)
    <Table: 2 rows, 3 columns>
      sex     category  2 levels
      income  integer   1 levels, 1 missing
      zip     category  2 levels
    """
    return _read(None, path, schema, delimiter, decimal, encoding, columns, partial)


def read_into(
    work: CodeFiles | None,
    path: str | Path,
    *,
    schema: Schema | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    columns: Sequence[str] | None = None,
    partial: bool = False,
) -> Table:
    """Read a table from a file into code files, as :func:`read` reads it into memory.

    Parameters
    ----------
    work
        Where the codes of each column are kept as soon as it is read. The table is there as long as
        this folder is; None for memory.
    path, schema, delimiter, decimal, encoding, columns, partial
        As for :func:`read`.
    """
    return _read(work, path, schema, delimiter, decimal, encoding, columns, partial)


def _read(
    work: CodeFiles | None,
    path: str | Path,
    given: Schema | None,
    delimiter: str | None,
    decimal: str,
    encoding: str,
    columns: Sequence[str] | None,
    partial: bool,
) -> Table:
    path = Path(path)
    check_input(path)
    suffix = _suffix_of(path)
    check_signs(delimiter, decimal)
    schema = given or Schema()

    def keep(name: str, column: Column) -> Column:
        return column if work is None else work.keep(name, schema.declared(name, column))

    try:
        table = _read_by_format(
            path, suffix, schema, delimiter, decimal, encoding, columns, keep,
            None if work is None else TOGETHER,
        )  # fmt: skip
        if not table.columns:
            raise CaveatError("the file has no columns", do="check how it was made")
    except CaveatError as error:
        if work is not None and error.where == str(work.folder):
            raise  # nothing is wrong with the file
        raise in_file(error, path) from None
    except OSError as error:  # it was there a moment ago
        raise unreadable(error, path) from None
    schema = schema.only(table.names) if partial else schema
    if work is None:
        return schema.apply(table)
    schema.check(table.names)
    return work.table(table.columns, table.backend)


def is_text(path: str | Path) -> bool:
    """Whether a file is delimited text, whose cells have no types of their own."""
    return _suffix_of(Path(path)) not in FORMATS


def has_labels(path: str | Path) -> bool:
    """Whether a file is of a format that has value labels."""
    suffix = _suffix_of(Path(path))
    return suffix in FORMATS and bool(FORMATS[suffix].labels)


def read_value_labels(
    path: str | Path,
) -> list[tuple[str, dict[str, str], dict[str, str]]] | None:
    """Read what the header of an SPSS, Stata or SAS file says about values, and no record.

    Returns for each column its name, its labelled values and its missing codes, each with the
    label; None if the format has no labels.
    """
    path = Path(path)
    check_input(path)
    suffix = _suffix_of(path)
    if not has_labels(path):
        return None
    try:
        return list(resolve_name(FORMATS[suffix].labels)(path, suffix))
    except CaveatError as error:
        raise in_file(error, path) from None


def _read_by_format(
    path: Path,
    suffix: str,
    schema: Schema,
    delimiter: str | None,
    decimal: str,
    encoding: str,
    columns: Sequence[str] | None,
    keep: Keep,
    together: int | None,
) -> Table:
    if suffix in FORMATS:
        found, given = resolve_name(FORMATS[suffix].read), (path, suffix, columns)
        if FORMATS[suffix].by_column:
            return cast(Table, found(*given, keep))
        table = cast(Table, found(*given))
        return table.with_columns({name: keep(name, table[name]) for name in table})
    from caveat.table._text import read_text

    return read_text(
        path,
        schema=schema,
        delimiter="\t" if delimiter is None and suffix.startswith(".tsv") else delimiter,
        decimal=decimal,
        encoding=encoding,
        columns=columns,
        keep=keep,
        together=together,
    )


def write(
    table: Table, path: str | Path, *, force: bool = False, escape_formulas: bool = False
) -> None:
    """Write a table to a file, whole or not at all.

    Parameters
    ----------
    table
        The table.
    path
        The target; its extension decides the format.
    force
        Whether a file that exists may be replaced.
    escape_formulas
        Whether an apostrophe is put before text in delimited files that a spreadsheet would compute
        (it begins with = + - @, tab or a line end). Without it there is a warning; numbers are
        never touched.
    """
    path = Path(path)
    suffix = check_target(path, force=force)
    if not table.columns:
        raise CaveatError("a table without columns cannot be written", do="add a column")
    if suffix in FORMATS:
        save = resolve_name(FORMATS[suffix].prepare)(table, suffix)
        with atomic_output(path, force=force) as draft:
            save(draft)
    else:
        _write_text([table], path, suffix, force, escape_formulas)


def write_blocks(
    blocks: Iterable[Table],
    path: str | Path,
    *,
    force: bool = False,
    escape_formulas: bool = False,
) -> None:
    """Write a table that comes in blocks of rows, and need not fit into memory.

    Parameters
    ----------
    blocks
        Tables with the same columns, one after the other.
    path
        The target. Beyond two million rows it must be delimited text or Parquet.
    force
        Whether a file that exists may be replaced.
    escape_formulas
        As in :func:`write`.
    """
    path = Path(path)
    suffix = check_target(path, force=force)
    rest = iter(blocks)
    held: list[Table] = []
    for block in rest:
        held.append(block)
        if sum(part.n_rows for part in held) > ROWS_IN_MEMORY:
            break
    else:
        write(concat(held).compact(), path, force=force, escape_formulas=escape_formulas)
        return
    streamed = (block.compact() for block in chain(held, rest))
    if suffix == ".parquet":
        from caveat.table._columnar import write_parquet_blocks

        with atomic_output(path, force=force) as draft:
            write_parquet_blocks(streamed, draft)
    elif suffix not in FORMATS:
        _write_text(streamed, path, suffix, force, escape_formulas)
    else:
        raise CaveatError(
            f"more than {ROWS_IN_MEMORY:,} rows are written as they are made",
            where=str(path),
            do="use .csv or .parquet",
        )


def _write_text(
    blocks: Iterable[Table], path: Path, suffix: str, force: bool, escape_formulas: bool
) -> None:
    from caveat.table._text_write import write_text

    delimiter = "," if suffix.startswith(".csv") else "\t"
    with atomic_output(path, force=force) as draft:
        computed = write_text(blocks, draft, delimiter, escape_formulas=escape_formulas)
    _warn_of_formulas(path, computed)


def _warn_of_formulas(path: Path, computed: Mapping[str, int]) -> None:
    """Say in which columns of a file a spreadsheet would compute text; not which text."""
    if not computed:
        return
    n, more = sum(computed.values()), len(computed) - FEW
    names = ", ".join(list(computed)[:FEW]) + (f" and {more} more" if more > 0 else "")
    warnings.warn(
        f"{path.name}: {n:,} text {'cell begins' if n == 1 else 'cells begin'} like a formula "
        f"(= + - @) that a spreadsheet would compute, in "
        f"{'column' if len(computed) == 1 else 'columns'} {names}; escape_formulas "
        "(--escape-formulas) puts an apostrophe before each",
        CaveatWarning,
        stacklevel=4,
    )


def check_target(path: Path, *, force: bool = False) -> str:
    """Refuse a target that no table can be written to; return the extension that decides."""
    suffix = _suffix(path, writable())
    check_output(path, force=force)
    return suffix


def _suffix_of(path: Path) -> str:
    """Return the extension that decides how a table is read; a folder holds Parquet files."""
    return ".parquet" if path.is_dir() else _suffix(path, readable())


def _suffix(path: Path, known: tuple[str, ...]) -> str:
    """Return the extension that decides the format: the longest one that is known."""
    name = path.name.lower()
    for suffix in sorted(known, key=len, reverse=True):
        if name.endswith(suffix) and name != suffix:
            return suffix
    one_way = name.endswith(tuple(suffix for suffix in readable() if suffix not in known))
    raise CaveatError(
        "this format can be read but not written" if one_way else "the extension is not known",
        where=str(path),
        do=f"use one of {', '.join(known)}",
    )
