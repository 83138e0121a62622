"""Tables from files and into files; the extension decides the format."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name

from caveat.errors import FEW, CaveatError, CaveatWarning
from caveat.table.atomic import atomic_output, check_output
from caveat.table.child import read_in_child, read_labels
from caveat.table.code_files import CodeFiles
from caveat.table.column import Column
from caveat.table.file_form import TextForm
from caveat.table.formats import FORMATS, has_labels, readable, suffix_of, writable
from caveat.table.hosts import allow_source
from caveat.table.input_checks import check_input, check_signs, in_file, unreadable
from caveat.table.schema import Schema
from caveat.table.source import Source, file_of, source_of, without_password
from caveat.table.table import Table, concat

__all__ = [
    "check_target",
    "read",
    "read_into",
    "read_value_labels",
    "write",
    "write_blocks",
]

ROWS_IN_MEMORY = 2_000_000  # tables in blocks up to this size are put together before writing

TOGETHER = 4  # columns of a text file that are parsed in one go where codes are kept in files

FORMS = ("local-numbers", "local-dates")
"""Notes on cells that can be read in one way only: no warning is needed."""

Keep = Callable[[str, Column], Column]


def read(
    path: str | Path,
    *,
    schema: Schema | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    partial: bool = False,
) -> Table:
    r"""Read a table from a file.

    Parameters
    ----------
    path
        A CSV, TSV, Parquet, Feather, SPSS, Stata or SAS file; a folder of Parquet files, the
        parts of one table in the order of their names; a sheet of a workbook
        (``survey.xlsx#2025``); a table of a database, or a query (``survey.duckdb#persons``,
        ``postgresql://host/survey#persons``).
    schema
        What is known about the columns; it overrides what is inferred.
    delimiter
        Between the fields of a text file; found among comma, semicolon, tab and bar if not given.
    decimal
        The decimal sign of a text file, point or comma.
    encoding
        The encoding of a text file; UTF-8, UTF-16 with its mark or Windows-1252 if not given.
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
    allow_source(path)
    table = read_into(
        None, path, schema=schema, delimiter=delimiter, decimal=decimal, encoding=encoding,
        columns=columns, partial=partial,
    )  # fmt: skip
    for note in (note for note in table.notes if note.code not in FORMS):
        warnings.warn(f"{file_of(path).name}: {note}", CaveatWarning, stacklevel=2)
    return table


def read_into(
    work: CodeFiles | None,
    path: str | Path,
    *,
    schema: Schema | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    columns: Sequence[str] | None = None,
    partial: bool = False,
) -> Table:
    """Read a table from a file into code files, as :func:`read` reads it into memory.

    The path may come from a specification: a server that it names must have been allowed (see
    :mod:`caveat.table.hosts`), whereas one that :func:`read` is called with is named by the user.

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
    encoding: str | None,
    columns: Sequence[str] | None,
    partial: bool,
) -> Table:
    path = without_password(path)
    source = source_of(path)
    if source is None or source.is_file:
        check_input(file_of(path))
    suffix = suffix_of(path, readable())
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
            raise CaveatError(
                "the file has no columns", do="check how it was made", code="data.column.absent"
            )
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
    return replace(work.table(table.columns, table.backend), notes=table.notes)


def read_value_labels(
    path: str | Path,
) -> list[tuple[str, dict[str, str], dict[str, str]]] | None:
    """Read what the header of an SPSS, Stata or SAS file says about values, and no record.

    Returns for each column its name, its labelled values and its missing codes, each with the
    label; None if the format has no labels.
    """
    path = Path(path)
    check_input(path)
    suffix = suffix_of(path, readable())
    if not has_labels(path):
        return None
    try:
        return read_labels(path, suffix)
    except CaveatError as error:
        raise in_file(error, path) from None


def _read_by_format(
    path: Path,
    suffix: str,
    schema: Schema,
    delimiter: str | None,
    decimal: str,
    encoding: str | None,
    columns: Sequence[str] | None,
    keep: Keep,
    together: int | None,
) -> Table:
    if suffix in FORMATS or source_of(path) is not None:
        return read_in_child(path, suffix, columns, keep)
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
    table: Table,
    path: str | Path,
    *,
    force: bool = False,
    confidential: bool = False,
    escape_formulas: bool = False,
    form: TextForm | None = None,
) -> None:
    """Write a table to a file, whole or not at all.

    Parameters
    ----------
    table
        The table.
    path
        The target; its extension decides the format. A table of a database is written in one
        transaction.
    force
        Whether a file that exists may be replaced. It never gets wider permissions than it had.
    confidential
        Whether the file is for this user alone, as one about single records is; of a table in a
        database file that is the whole file.
    escape_formulas
        Whether an apostrophe is put before text in delimited files that a spreadsheet would compute
        (it begins with = + - @, tab or a line end). Without it there is a warning; numbers are
        never touched.
    form
        Of delimited text: how it is written, see :func:`caveat.table.file_form.form_of`.
    """
    path = without_password(path)
    allow_source(path)
    suffix = check_target(path, force=force)
    if not table.columns:
        raise CaveatError(
            "a table without columns cannot be written",
            do="add a column",
            code="data.column.absent",
        )
    source = source_of(path)
    if source is not None and source.part:
        _write_part(table, source, force, confidential)
    elif suffix in FORMATS:
        save = resolve_name(FORMATS[suffix].prepare)(table, suffix)
        with atomic_output(path, confidential=confidential, force=force) as draft:
            save(draft)
    else:
        _write_text([table], path, suffix, force, confidential, escape_formulas, form)


def _write_part(table: Table, source: Source, force: bool, confidential: bool) -> None:
    """Write a sheet of a workbook of its own, or a table of a database."""
    if source.is_database:
        from caveat.table.database import write_database

        write_database(source, [table], force=force, confidential=confidential)
        return
    from caveat.table._excel import prepare_sheets

    save = prepare_sheets({source.part: table})
    with atomic_output(source.place, confidential=confidential, force=force) as draft:
        save(draft)


def write_blocks(
    blocks: Iterable[Table],
    path: str | Path,
    *,
    force: bool = False,
    confidential: bool = False,
    escape_formulas: bool = False,
    form: TextForm | None = None,
) -> None:
    """Write a table that comes in blocks of rows, and need not fit into memory.

    Parameters
    ----------
    blocks
        Tables with the same columns, one after the other.
    path
        The target. Beyond two million rows it must be delimited text, Parquet or a table of a
        database.
    force
        Whether a file that exists may be replaced.
    confidential, escape_formulas, form
        As in :func:`write`.
    """
    path = without_password(path)
    suffix = check_target(path, force=force)
    source = source_of(path)
    rest = iter(blocks)
    held: list[Table] = []
    for block in rest:
        held.append(block)
        if sum(part.n_rows for part in held) > ROWS_IN_MEMORY:
            break
    else:
        whole = concat(held).compact()
        how = {"confidential": confidential, "escape_formulas": escape_formulas}
        write(whole, path, force=force, form=form, **how)
        return
    streamed = (block.compact() for block in chain(held, rest))
    if suffix == ".parquet":
        from caveat.table._columnar import write_parquet_blocks

        with atomic_output(path, confidential=confidential, force=force) as draft:
            write_parquet_blocks(chain(held, rest), draft)
    elif source is not None and source.is_database and source.part:
        from caveat.table.database import write_database

        write_database(source, chain(held, rest), force=force, confidential=confidential)
    elif suffix not in FORMATS:
        _write_text(streamed, path, suffix, force, confidential, escape_formulas, form)
    else:
        raise CaveatError(
            f"more than {ROWS_IN_MEMORY:,} rows are written as they are made",
            where=str(path),
            do="use .csv, .parquet or a table of a database",
            code="data.row.too-many",
        )


def _write_text(
    blocks: Iterable[Table],
    path: Path,
    suffix: str,
    force: bool,
    confidential: bool,
    escape_formulas: bool,
    form: TextForm | None,
) -> None:
    from caveat.table._text_write import write_text

    form = form or TextForm("," if suffix.startswith(".csv") else "\t")
    with atomic_output(path, confidential=confidential, force=force) as draft:
        computed = write_text(blocks, draft, form, escape_formulas=escape_formulas)
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
    suffix = suffix_of(path, writable())
    check_output(path, force=force)
    source = source_of(path)
    if source is not None and source.is_database and (source.part or not source.is_file):
        from caveat.table.database import check_database_target

        check_database_target(source, force=force)
    return suffix
