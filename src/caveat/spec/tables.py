"""Groups and linked tables as a specification has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError, hint
from caveat.spec.document import Document
from caveat.table import Schema
from caveat.table.file_form import TextForm, form_of
from caveat.table.files import read_into
from caveat.table.formats import is_text
from caveat.table.grouping import Groups
from caveat.table.linked import Link, Linked
from caveat.table.source import has_password, name_of, seen_in, source_of

__all__ = [
    "TableSpec",
    "forms_of",
    "margin_files",
    "read_groups",
    "read_linked",
    "read_tables",
    "refuse_password",
    "refuse_with_tables",
]


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
