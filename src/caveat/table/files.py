"""Tables from files and into files, how a text file is written, and what users say of columns."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

import numpy as np

from caveat.errors import FEW, CaveatError, CaveatWarning
from caveat.table.child import read_in_child, read_labels
from caveat.table.code_files import CodeFiles
from caveat.table.coding import convert
from caveat.table.drafts import (
    atomic_output,
    check_input,
    check_output,
    check_signs,
    in_file,
    unreadable,
)
from caveat.table.source import (
    FORMATS,
    Source,
    allow_source,
    file_of,
    has_labels,
    is_text,
    readable,
    shown,
    source_of,
    suffix_of,
    without_password,
    writable,
)
from caveat.table.table import Column, Kind, Missing, Table, concat

DEEPEST = 50  # brackets inside each other, or parts of a key
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[\[\]{}.=,\n]',
    re.DOTALL,
)


def loads(text: str) -> dict[str, Any]:
    """Return what a text says; whatever is wrong with it is a ``tomllib.TOMLDecodeError``.

    Examples
    --------
    >>> loads("keys = ['sex', 'age']")
    {'keys': ['sex', 'age']}
    >>> loads("keys = " + "[" * 1000)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: more than 50 brackets or parts of a key inside each other
    """
    if _is_deep(text):
        raise tomllib.TOMLDecodeError(
            f"more than {DEEPEST} brackets or parts of a key inside each other"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, OverflowError, RecursionError):
        raise tomllib.TOMLDecodeError("a number or date is out of range") from None


def _is_deep(text: str) -> bool:
    depth = dots = 0
    for found in _PIECE.finditer(text):
        sign = found[0]
        depth = max(depth + (sign in "[{") - (sign in "]}"), 0)
        dots = 0 if sign in "=,\n" else dots + (sign == ".")
        if max(depth, dots) > DEEPEST:
            return True
    return False


# -------------------------------------------------------------------------------------------------
# What the user says about the columns: kinds, missing codes, formats, orders and labels.


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says, or say where it cannot be read."""
    try:
        return loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="spec.file.absent"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise CaveatError(
            f"not valid TOML ({error})", where=str(path), do="mend it", code="spec.file.malformed"
        ) from None


@dataclass(frozen=True)
class ColumnSchema:
    """What is declared about one column; whatever is empty is taken from the data.

    Parameters
    ----------
    kind
        The kind it should have, or its name.
    missing
        Codes that mean "missing", with their labels ("" if they have none).
    date_format
        How dates are written, as in ``%d.%m.%Y``.
    levels
        The levels of an ordered column from low to high.
    label
        Description of the variable.
    value_labels
        Descriptions of single values.
    recode
        Values that are read as another one: spellings that mean the same.
    public
        Whether the data holder has declared that the values may leave as they are.
    """

    kind: Kind | None = None
    missing: Mapping[Any, str] = field(default_factory=dict)
    date_format: str = ""
    levels: Sequence[Any] = ()
    label: str = ""
    value_labels: Mapping[Any, str] = field(default_factory=dict)
    recode: Mapping[Any, Any] = field(default_factory=dict)
    public: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:  # the name of a kind is as good as the kind
            object.__setattr__(self, "kind", _kind(self.kind))

    @classmethod
    def from_mapping(cls, entry: Mapping[str, Any], name: str) -> ColumnSchema:
        """Read one ``[columns.NAME]`` block of a TOML file."""
        known = {"kind", "missing", "format", "levels", "label", "value_labels", "recode", "public"}
        unknown = sorted(set(entry) - known)
        if unknown:
            raise CaveatError(
                f"{unknown[0]!r} is no property of a column",
                where="schema",
                column=name,
                do=f"use {', '.join(sorted(known))}",
                code="spec.entry.unknown",
            )
        missing = entry.get("missing", [])
        missing = dict(missing) if isinstance(missing, Mapping) else dict.fromkeys(missing, "")
        return cls(
            kind=_kind(entry["kind"], name) if "kind" in entry else None,
            missing=missing,
            date_format=str(entry.get("format", "")),
            levels=tuple(entry.get("levels", ())),
            label=str(entry.get("label", "")),
            value_labels=dict(entry.get("value_labels", {})),
            recode=dict(entry.get("recode", {})),
            public=entry.get("public", False) is True,
        )


def _kind(word: Any, name: str | None = None) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise CaveatError(
            f"there is no kind {word!r}",
            where="schema",
            column=name,
            do=f"choose among {', '.join(Kind)}",
            code="data.kind.unknown",
        ) from None


@dataclass(frozen=True)
class Schema:
    """Declarations about columns by name, separate from any data.

    Examples
    --------
    >>> table = Table.from_frame({"income": [800, -8, 1500]})
    >>> schema = Schema({"income": ColumnSchema(missing={-8: "not asked"})})
    >>> schema.apply(table)["income"]
    <Column integer: 3 rows, 2 levels, missing -8 (not asked)>
    """

    columns: Mapping[str, ColumnSchema] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @classmethod
    def from_mapping(cls, entries: Mapping[str, Any]) -> Schema:
        """Read the ``[columns]`` part of a specification."""
        for name, entry in entries.items():
            if not isinstance(entry, Mapping):
                raise CaveatError(
                    "a column is described by a table of properties",
                    where="schema",
                    column=name,
                    do=f'write [columns."{name}"] and below it kind = "numeric"',
                    code="spec.entry.type",
                )
        return cls(
            {name: ColumnSchema.from_mapping(entry, name) for name, entry in entries.items()}
        )

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read the ``[columns]`` part of a TOML file."""
        return cls.from_mapping(read_toml(path).get("columns", {}))

    def only(self, names: Iterable[str]) -> Schema:
        """Return the declarations about the named columns."""
        wanted = set(names)
        return Schema({name: entry for name, entry in self.columns.items() if name in wanted})

    @property
    def public(self) -> tuple[str, ...]:
        """The columns whose values may leave as they are, by the data holder's declaration."""
        return tuple(name for name, entry in self.columns.items() if entry.public)

    def apply(self, table: Table) -> Table:
        """Return the table with the declarations carried out."""
        self.check(table.names)
        return table.with_columns({name: self.declared(name, table[name]) for name in self.columns})

    def check(self, names: Sequence[str]) -> None:
        """Refuse declarations about columns that a table does not have."""
        unknown = [name for name in self.columns if name not in names]
        if unknown:
            raise CaveatError(
                "the schema names a column that the data do not have",
                column=unknown[0],
                do=f"remove it or choose among {', '.join(names)}",
                code="data.column.unknown",
            )

    def declared(self, name: str, column: Column) -> Column:
        """Return a column with what is declared about it carried out."""
        entry = self.columns.get(name)
        return column if entry is None else _apply(column, entry, name)


def _apply(column: Column, entry: ColumnSchema, name: str) -> Column:
    column = _recoded(column, entry.recode) if entry.recode else column
    # Missing codes go first: they must be out of the way before text becomes numbers.
    declared = [Missing(_as_missing(code, column), label) for code, label in entry.missing.items()]
    column = column.declare_missing(declared) if declared else column
    if entry.kind is not None:
        column = convert(column, entry.kind, name, date_format=entry.date_format)
        column = replace(column, missing=tuple(_as_kind(m, column) for m in column.missing))
    if entry.levels:
        column = _order(column, entry.levels, name)
    labels = {_as_level(value, column): label for value, label in entry.value_labels.items()}
    return replace(
        column, label=entry.label or column.label, value_labels={**column.value_labels, **labels}
    )


def _recoded(column: Column, recode: Mapping[Any, Any]) -> Column:
    """Return a column in which spellings that mean the same are one level."""
    told = {_as_level(old, column): _as_level(new, column) for old, new in recode.items()}
    present = column.levels.tolist()
    read = [told.get(level, level) for level in present]
    places = {level: i for i, level in enumerate(dict.fromkeys(read))}
    if column.kind is not Kind.ORDERED:
        places = {level: i for i, level in enumerate(sorted(places))}
    lookup = np.array(
        [places[level] for level in read] + [len(places) + j for j in range(len(column.missing))],
        np.int64,
    )
    levels = np.array([*places], dtype=column.levels.dtype)
    return replace(column, codes=lookup[column.codes], levels=levels)


def _as_missing(code: Any, column: Column) -> Any:
    """Return a declared code as it is held; "" is the empty cell where it is no empty text."""
    if code is None or (
        code == "" and (column.levels.dtype != object or Missing() in column.missing)
    ):
        return None
    return _as_level(code, column)


def _as_level(code: Any, column: Column) -> Any:
    """Return a declared code in the type of the column's levels (TOML keys are always text)."""
    kind = column.levels.dtype.kind
    if kind == "O":
        return str(code)
    if kind in "iuf" and isinstance(code, str):
        try:
            return int(code)
        except ValueError:
            try:
                return float(code)
            except ValueError:
                return code
    return code


def _as_kind(missing: Missing, column: Column) -> Missing:
    """Return a missing code that stood as text in a column that now holds numbers."""
    return replace(missing, code=_as_level(missing.code, column)) if missing.code else missing


def _order(column: Column, levels: Sequence[Any], name: str) -> Column:
    declared = [_as_level(value, column) for value in levels]
    present = column.levels.tolist()
    undeclared = [i for i, value in enumerate(present) if value not in set(declared)]
    if undeclared:
        row = int(np.argmax(np.isin(column.codes, undeclared))) + 1
        raise CaveatError(
            f"{len(undeclared)} of its levels are not in the declared order",
            column=name,
            row=row,
            do="list every level from low to high, or declare it as missing",
            code="data.level.undeclared",
        )
    position = {value: i for i, value in enumerate(declared)}
    lookup = np.array(
        [position[value] for value in present]
        + [len(declared) + j for j in range(len(column.missing))]
    )
    kind = Kind.ORDERED if column.kind in (Kind.CATEGORY, Kind.TEXT) else column.kind
    typed = np.array(declared, dtype=column.levels.dtype)
    codes = lookup[column.codes]
    return replace(column, codes=codes, levels=typed, kind=kind, closed=True)


# -------------------------------------------------------------------------------------------------
# How a text file is written: the usual way, or as another file came in.


@dataclass(frozen=True)
class TextForm:
    """The form of a text file.

    Parameters
    ----------
    delimiter, decimal, encoding
        Between the fields, within numbers, and of the letters.
    dates
        How the dates of columns are written that were declared with a format.
    as_read
        Whether numbers and dates have the form that they came with: thousands, the order of day and
        month.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    dates: Mapping[str, str] = field(default_factory=dict)
    as_read: bool = False


def form_of(
    path: str | Path,
    schema: Schema | None = None,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
) -> TextForm:
    """Return the form of a text file, so that another one can be written in it.

    Parameters
    ----------
    path
        The file.
    schema
        What is declared about its columns: formats of dates.
    delimiter, decimal, encoding
        What is known of it, as for :func:`caveat.table.read`.
    """
    path = Path(path)
    if not is_text(path):
        raise CaveatError(
            "only delimited text has a form that can be kept",
            where=shown(path),
            do="leave --as-read (as_read) out",
            code="data.format.unsupported",
        )
    from caveat.table._text import form_in

    seen, encoding = form_in(path, decimal, encoding)
    found = delimiter or ("\t" if ".tsv" in path.name.lower() else "")
    columns = {} if schema is None else schema.columns
    return TextForm(
        found or seen,
        decimal,
        encoding,
        {name: entry.date_format for name, entry in columns.items() if entry.date_format},
        as_read=True,
    )


# -------------------------------------------------------------------------------------------------
# Tables from files and into files; the extension decides the format.


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
    :mod:`caveat.table.source`), whereas one that :func:`read` is called with is named by the user.

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
        Of delimited text: how it is written, see :func:`caveat.table.files.form_of`.
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
    from caveat.table._text import write_text

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
