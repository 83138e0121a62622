"""What a specification says about its data: files, columns, groups, tables, and what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from caveat.errors import CaveatError, hint
from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import RULES, Rules, Verdict, barn_of
from caveat.spec._kinds import (
    Choice,
    Either,
    EntryKind,
    Flag,
    Group,
    Key,
    Many,
    Named,
    Number,
    Plain,
    Text,
    Whole,
)
from caveat.spec.document import Document
from caveat.table import Kind, Schema, Table
from caveat.table.files import TextForm, form_of, read_into
from caveat.table.grouping import Groups
from caveat.table.linked import Link, Linked
from caveat.table.source import has_password, is_text, name_of, seen_in, source_of

TEXT, FILLED = Text(), Text(filled=True)
VALUES = Many(Plain(), "values")
ACCESS = ("public", "registered", "secure")

RELEASE = Group(
    {
        "title": Key(FILLED, "Name of the release.", "Synthetic data"),
        "unit": Key(FILLED, "What a row is; of [tables] one of the topmost.", "record"),
        "purpose": Key(TEXT, "What the release is for.", ""),
        "recipients": Key(TEXT, "Who gets it.", ""),
        "access": Key(
            Choice(ACCESS, "access mode"),
            "How they get it: anyone may take it, known users may, or it does not leave a secure "
            "room.",
            "secure",
        ),
        "seed": Key(
            Whole(0),
            "Names one of the releases of the key (release.key). Without a key it makes a trial "
            "that must not be released.",
            otherwise="0, and a key is created",
        ),
        "copies": Key(Whole(1), "Number of synthetic tables.", 1),
        "rows": Key(
            Either((Whole(1), Choice(("population",), "number of rows"))),
            'Rows of each; "population": as many as the weights of [synthesis] stand for.',
            otherwise="as many as were fitted",
        ),
        "control": Key(
            Either((Number(share=True), Whole(1))),
            "Records held out before anything is fitted, as a share or a number: the people who "
            "were not in the data.",
            otherwise="none",
        ),
    },
)

DATA = Group(
    {
        "path": Key(FILLED, "The confidential file, seen from the specification's folder.",
                    required=True),
        "delimiter": Key(TEXT, "Between the fields of a text file.", otherwise="found by itself"),
        "decimal": Key(Choice((".", ","), "decimal sign"), "Decimal sign of a text file.", "."),
        "encoding": Key(FILLED, "Encoding of a text file.",
                        otherwise="UTF-8, UTF-16 with its mark or Windows-1252, as found"),
        "synthetic": Key(
            Many(FILLED, "file names"),
            "Tables that were synthesised elsewhere, for `caveat run --only audit`.",
            otherwise="none",
        ),
    },
)  # fmt: skip

COLUMN = Group(
    {
        "kind": Key(Choice(tuple(Kind), "kind"), "Kind of the column.",
                    otherwise="found by itself"),
        "missing": Key(
            Either((VALUES, Named(TEXT, "codes with what they mean"))),
            "Codes that mean missing, as a list or with their meaning.",
            otherwise="none",
        ),
        "format": Key(TEXT, "How dates are written, as in %d.%m.%Y.", otherwise="ISO 8601"),
        "levels": Key(VALUES, "Levels of an ordered column from low to high.",
                      otherwise="sorted as found"),
        "label": Key(TEXT, "What the column is.", otherwise="that of the file"),
        "value_labels": Key(Named(TEXT, "values with what they mean"), "What the values mean.",
                            otherwise="those of the file"),
        "recode": Key(Named(Plain(), "values with what they are read as"), "Values that are read "
                      "as another: spellings that mean the same, as in { \"M\" = \"m\" }.",
                      otherwise="none"),
        "public": Key(Flag(), "Whether its values are public: copies of them may then leave, and "
                      "they may be labels of a published table.", False),
    },
)  # fmt: skip

GROUPS = Group(
    {
        "key": Key(FILLED, "The column that numbers the groups; the release has fresh numbers.",
                   required=True),
        "constant": Key(Many(FILLED, "column names"), "Columns that have one value in each group; "
                        "they are drawn once.", otherwise="found by itself"),
        "order": Key(FILLED, "The column by which members stand, as a date; \"-age\" from the "
                     "eldest on.", otherwise="as in the file"),
        "margins": Key(Many(FILLED, "file names"), "Files with what is known of the population, to "
                       "which the weights of [synthesis] are calibrated: columns of the data and a "
                       "column count (of members) or groups (of groups).", otherwise="none"),
        "role": Key(FILLED, "The column that says what a member is in its group; it is drawn "
                    "first.", otherwise="none"),
    },
)  # fmt: skip

TABLE = Group(
    {
        "file": Key(FILLED, "The confidential file, seen from the specification's folder; the "
                    "synthetic one has the same name.", required=True),
        "key": Key(FILLED, "The column that numbers the rows; the release has fresh numbers.",
                   otherwise="none"),
        "links": Key(Named(FILLED, "columns with the table whose key they hold"),
                     "Which columns hold keys of other tables, as in { patient = \"patients\" }.",
                     otherwise="none"),
        "order": Key(FILLED, "The column by which rows of one parent stand, as a date; \"-age\" "
                     "for falling values.", otherwise="as in the file"),
        "lookup": Key(Flag(), "Whether it is a public list of codes, which is kept as it is.",
                      False),
        "columns": Key(Named(COLUMN, "columns with what is known about them"),
                       "What is known about its columns, before [columns].", otherwise="none"),
    },
)  # fmt: skip

PRIVACY_LIMIT = Group(
    {
        "epsilon": Key(Number(0, above=True), "The most ε.", required=True),
        "delta": Key(Number(share=True), "The most δ.", required=True),
    }
)
PRIVACY = Group(
    {
        "ledger": Key(FILLED, "The file that spending and releases are written to, beside the "
                      "specification unless absolute.", "ledger.jsonl"),
        "dataset": Key(FILLED, "The name of the data: releases with the same name share a budget, "
                       "and are attacked together.",
                       otherwise="the name of the file"),
        "limit": Key(PRIVACY_LIMIT, "What all guarantees may cost together; a run that would "
                     "cost more is refused.", otherwise="the cost of one release"),
    }
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Groups and linked tables as a specification has them.


@dataclass(frozen=True)
class TableSpec:
    """One ``[tables.NAME]``: a file among several.

    Parameters
    ----------
    name
        What it is called.
    path, file
        The file, seen from where the program runs, and as the specification names it.
    key
        The column that numbers its rows; "" if there is none.
    links
        Columns with the table whose key they hold.
    order
        The column by which the rows of one parent stand; "" for the order of the file.
    lookup
        Whether it is a public list of codes.
    schema
        What is known about its columns.
    """

    name: str
    path: Path
    file: str
    key: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    lookup: bool = False
    schema: Schema = field(default_factory=Schema)

    @property
    def file_name(self) -> str:
        """What its file is called in a release; a sheet or table is named behind its file."""
        source = source_of(self.file)
        if source is None:
            return Path(self.file).name
        if not source.is_file:  # nothing is written to the server
            return f"{name_of(self.file)}.csv"
        part = name_of(self.file) if source.is_query else source.part
        return f"{Path(source.place).name}{'#' if part else ''}{part}"


def read_groups(document: Document) -> Groups | None:
    """Return what ``[groups]`` says, if it is there."""
    given = document.content.get("groups")
    if given is None:
        return None
    if "tables" in document.content:
        document.fail(
            ("groups",),
            "[groups] is about one file, and [tables] about several",
            "remove one of the two",
            code="spec.entry.conflict",
        )
    margins = []
    for i, path in enumerate(margin_files(document)):
        with document.reading(path, ("groups", "margins", i)):
            margins.append(read_into(None, path))
    with document.at("groups"):
        return Groups.of({**given, "margins": margins})


def margin_files(document: Document) -> tuple[Path, ...]:
    """Return the files with what is known of the population."""
    given = document.content.get("groups", {}).get("margins", ())
    return tuple(document.path.parent / name for name in given)


def read_tables(document: Document) -> tuple[TableSpec, ...]:
    """Return what ``[tables]`` says; nothing if it is not there."""
    content, found = document.content, []
    if content.get("tables") is not None and "path" in content.get("data", {}):
        document.fail(
            ("data", "path"),
            "data.path names one file, and [tables] several",
            "remove one of the two",
            code="spec.entry.conflict",
        )
    names = tuple(content.get("tables", {}))
    files: dict[str, str] = {}
    for name, given in content.get("tables", {}).items():
        entry = ("tables", name)
        file = TableSpec(name, Path(), given["file"]).file_name
        if file in files.values():
            document.fail(
                (*entry, "file"),
                f"tables.{name}.file: two files are called so",
                "rename one",
                code="data.file.duplicate",
            )
        files[name] = file
        for column, parent in given.get("links", {}).items():
            if parent not in names:
                document.fail(
                    (*entry, "links", column),
                    f"tables.{name}.links: there is no table {parent!r}",
                    hint(parent, names),
                    code="data.table.unknown",
                )
        with document.at(*entry, "columns"):
            schema = Schema.from_mapping({**content.get("columns", {}), **given.get("columns", {})})
        rest = {k: v for k, v in given.items() if k not in ("file", "columns")}
        path = seen_in(document.path.parent, given["file"])
        refuse_password(document, (*entry, "file"), given["file"])
        found.append(TableSpec(name, path, given["file"], schema=schema, **rest))
    return tuple(found)


def forms_of(tables: tuple[TableSpec, ...], form: Mapping[str, str]) -> dict[str, TextForm]:
    """Return the forms of the tables that are text, by the name of the file in a release."""
    return {
        table.file_name: form_of(table.path, table.schema, **form)
        for table in tables
        if is_text(table.path)
    }


def refuse_password(document: Document, entry: tuple[str, ...], name: str) -> None:
    """Refuse an address with a password: a specification goes into every release."""
    if has_password(name):
        document.fail(
            entry,
            f"{'.'.join(entry)}: the address holds a password",
            "take it out; it is found in PGPASSWORD or ~/.pgpass",
            code="database.password.refused",
        )


def refuse_with_tables(document: Document) -> None:
    """Refuse what a release of several tables cannot have."""
    content = document.content
    if not content["tables"]:
        document.fail(
            ("tables",),
            "[tables] names no file",
            "add [tables.NAME] with file",
            code="spec.entry.empty",
        )
    for entry, what, do in (
        (("data", "synthetic"), "tables that were made elsewhere are measured one by one",
         "name each in a specification of its own"),
        (("protect",), "a protection changes one table, and [tables] names several",
         'leave it out; guard = "strong" in [synthesis] hides more'),
        (("map",), "a map draws releases of one table, and [tables] names several", "leave it out"),
    ):  # fmt: skip
        held: Any = content
        for part in entry:
            held = held.get(part) if held else None
        if held:
            document.fail(entry, f"{'.'.join(entry)}: {what}", do, code="spec.entry.conflict")


def read_linked(
    document: Document, tables: tuple[TableSpec, ...], form: Mapping[str, str]
) -> Linked:
    """Read the files of ``[tables]`` and check that they belong together.

    Parameters
    ----------
    document
        The specification.
    tables
        What it says about the tables.
    form
        Delimiter, decimal sign and encoding of text files.
    """
    content = {}
    for table in tables:
        with document.reading(table.path, ("tables", table.name, "file")):
            content[table.name] = read_into(
                None, table.path, schema=table.schema, partial=True, **form
            )
    _check_declared(document, {name: table.names for name, table in content.items()})
    try:
        return Linked(
            content,
            {table.name: table.key for table in tables if table.key},
            tuple(
                Link(t.name, column, parent) for t in tables for column, parent in t.links.items()
            ),
            frozenset(table.name for table in tables if table.lookup),
            {table.name: table.order for table in tables if table.order},
        )
    except CaveatError as error:
        with document.at("tables", *_place(error, tables)):
            raise


def _place(error: CaveatError, tables: tuple[TableSpec, ...]) -> tuple[str, ...]:
    """Return the table that an error is about, and its key if that is wrong."""
    for table in tables:
        if error.where == f"table {table.name}":
            of_key = error.column == table.key and error.column not in table.links
            return (table.name, "key") if of_key else (table.name,)
    return ()


def _check_declared(document: Document, known: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse names of columns that the files do not have."""
    for name, given in document.content["tables"].items():
        for column in (*given.get("columns", ()), *given.get("links", ())):
            if column not in known[name]:
                key = "columns" if column in given.get("columns", ()) else "links"
                document.fail(
                    ("tables", name, key, column),
                    f"tables.{name}.{key}: the file has no column {column!r}",
                    hint(column, known[name]),
                    code="data.column.unknown",
                )
        for key in ("key", "order"):
            column = given.get(key, "").removeprefix("-" if key == "order" else "")
            if column and column not in known[name]:
                document.fail(
                    ("tables", name, key),
                    f"tables.{name}.{key}: the file has no column {column!r}",
                    hint(column, known[name]),
                    code="data.column.unknown",
                )
    every = {column for columns in known.values() for column in columns}
    for column in document.content.get("columns", {}):
        if column not in every:
            document.fail(
                ("columns", column),
                f"columns.{column}: no file has such a column",
                hint(column, sorted(every)),
                code="data.column.unknown",
            )


# -------------------------------------------------------------------------------------------------
# How many rows a release has.


Rows = int | Literal["population"]


def read_rows(document: Document) -> Rows | None:
    """Return the rows that ``[release]`` asks for, if it does."""
    document.check(("release",))
    rows: Rows | None = document.content.get("release", {}).get("rows")
    if rows == "population" and not document.content.get("synthesis", {}).get("weights"):
        document.fail(
            ("release", "rows"),
            'release.rows: "population" needs weights that say for how many a record stands',
            'add weights = "…" to [synthesis]',
            code="spec.entry.absent",
        )
    return rows


def population_of(table: Table, weights: str) -> int:
    """Return for how many records those of a table stand."""
    return round(float(table[weights].cell_numbers.sum()))


# -------------------------------------------------------------------------------------------------
# What a specification says about the folder that is written.


@dataclass(frozen=True)
class OutputSpec:
    """The ``[output]`` part: what is written.

    Parameters
    ----------
    folder
        The folder of the release.
    formats
        File formats of the synthetic tables: extensions without the dot.
    reports
        Which reports are written.
    escape_formulas
        Whether text that a spreadsheet would compute gets an apostrophe before it.
    as_read
        Whether text files are written in the form of the original.
    """

    folder: Path
    formats: tuple[str, ...] = ("csv",)
    reports: tuple[str, ...] = ("internal", "external")
    escape_formulas: bool = False
    as_read: bool = False


def read_output(document: Document) -> OutputSpec:
    """Return what ``[output]`` says."""
    given = dict(document.content.get("output", {}))
    folder = document.path.parent / given.pop("folder", "release")
    escape, as_read = given.pop("escape_formulas", False), given.pop("as_read", False)
    lists = {key: tuple(dict.fromkeys(names)) for key, names in given.items()}
    return OutputSpec(folder, **lists, escape_formulas=escape, as_read=as_read)


def folder_to_write(document: Document, output: OutputSpec, named: str | Path | None) -> Path:
    """Return the folder that is written: the one that the user names, or that of ``[output]``.

    The specification may have been received, so that its own folder must lie below it.

    Parameters
    ----------
    document
        The specification.
    output
        Its ``[output]``.
    named
        What the user names on the command line or in Python; None otherwise.
    """
    if named is not None:
        return Path(named)
    if not output.folder.resolve().is_relative_to(document.path.parent.resolve()):
        document.fail(
            ("output", "folder"),
            "output.folder: this folder does not lie below that of the specification",
            "name another, or name this one yourself (--folder)",
            code="release.folder.refused",
        )
    return output.folder


# -------------------------------------------------------------------------------------------------
# What ``caveat check`` takes from a file: the rules of an office, and what single outputs are.


VERDICT = Choice(tuple(Verdict), "verdict")
_KINDS: dict[str, EntryKind] = {
    "dominance_share": Number(share=True),
    "p": Number(share=True),
    "empty": VERDICT,
    "full": VERDICT,
}
SECTION = Group(
    {
        **{
            name: Key(_KINDS.get(name, Whole(1)), f"{rule.says}.".capitalize(), rule.default)
            for name, rule in RULES.items()
        },
        "totals": Key(
            Many(FILLED, "names"), "What totals are called.", ["total", "all", "sum"]
        ),
    }
)  # fmt: skip
OUTPUT = Group(
    {
        "file": Key(FILLED, "The name of the file, without its folder.", required=True),
        "form": Key(Choice(("long", "cross"), "form"), "A row a cell, or a cross table.", "long"),
        "count": Key(FILLED, "The column with the number of persons."),
        "statistics": Key(Named(FILLED, "columns with their statistics"), "What columns hold."),
        "largest": Key(Many(FILLED, "columns"), "The largest contributions, the largest first."),
        "keys": Key(Many(FILLED, "columns"), "Columns that say which cell a row is."),
        "across": Key(FILLED, "Of a cross table: what its header holds.", "columns"),
        "status": Key(FILLED, "The column that says which cells are hidden."),
        "nested": Key(
            Many(FILLED, "columns"), "Keys whose values have one value of another key by nature."
        ),
        "rounded": Key(
            Whole(1), "The base that counts are rounded to, 1 if they are not [a guess]."
        ),
        "decimal": Key(
            Choice((".", ","), "decimal sign"), "The decimal sign [seen from the file]."
        ),
    }
)
RULES_FILE = Group(
    {
        "rules": Key(SECTION, "The rules."),
        "structural": Key(
            Many(Named(Plain(), "columns with a value"), "cells"),
            "Cells that are empty because they must be.",
        ),
        "output": Key(Many(OUTPUT, "outputs"), "What single outputs are."),
    }
)


@dataclass(frozen=True)
class OutputRules:
    """The rules of an office, and what it says about single outputs.

    Parameters
    ----------
    rules
        The rules.
    described
        What is known about outputs, by the names of their files.
    """

    rules: Rules = field(default_factory=Rules)
    described: Mapping[str, Described] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> OutputRules:
        """Read a TOML file; what is wrong is named with its line."""
        document = Document.read(path)
        content = document.content
        document.refuse(RULES_FILE.problems(content, ()))
        given = dict(content.get("rules", {}))
        if "totals" in given:
            given["totals"] = frozenset(name.lower() for name in given["totals"])
        for name in ("empty", "full"):
            if name in given:
                given[name] = Verdict(given[name])
        structural = tuple(
            {name: str(value) for name, value in cell.items()}
            for cell in content.get("structural", ())
        )
        described = {}
        for i, output in enumerate(content.get("output", ())):
            rest = {name: value for name, value in output.items() if name != "file"}
            for column, statistic in rest.get("statistics", {}).items():
                with document.at("output", i, "statistics", column):
                    barn_of(statistic)
            rest |= {
                name: tuple(rest[name]) for name in ("largest", "keys", "nested") if name in rest
            }
            described[output["file"]] = Described(**rest)
        return cls(Rules(**given, structural=structural), described)
