"""SQLite files, through Python's own library: its cells have types of their own."""

from __future__ import annotations

import errno
import os
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from caveat.errors import CaveatError, CaveatWarning
from caveat.stopping import WRITTEN, held, stop_if_told
from caveat.table.code_files import plain_codes
from caveat.table.database import VIEW, Field, Found, Held, quoted, sql_name
from caveat.table.drafts import draft_of, give_name
from caveat.table.source import Source
from caveat.table.table import Column, Kind, Table

__all__ = ["exists", "found", "opened", "save", "tables"]

ROWS = 1 << 15  # of a batch
FULL = ("SQLITE_FULL", "SQLITE_IOERR")
KINDS = {
    "BOOLEAN": Kind.BOOLEAN,
    "BOOL": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    "TIMESTAMP": Kind.DATETIME,
    "DATETIME": Kind.DATETIME,
}
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION,
            sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_PRAGMA)  # fmt: skip


@contextmanager
def _connected(source: Source, *, read_only: bool) -> Iterator[sqlite3.Connection]:
    place = quote(str(Path(source.place).absolute()))
    mode = "ro" if read_only else "rwc"
    if read_only:
        _roll_back(Path(source.place))
    connection = None
    try:
        connection = sqlite3.connect(f"file:{place}?mode={mode}", uri=True, isolation_level=None)
        if read_only:
            connection.set_authorizer(_only_reads)
        yield connection
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(FULL):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        what, do, code = _saying(error, source)
        raise CaveatError(what, where=source.place, do=do, code=code) from None
    except UnicodeDecodeError:
        raise CaveatError(
            "text in the database is not UTF-8",
            where=source.place,
            do="check how it was made",
            code="data.encoding.mismatch",
        ) from None
    finally:
        if connection is not None:
            connection.close()


def _roll_back(path: Path) -> None:
    """Undo what a writer that was killed has begun, as SQLite does for who may write."""
    if path.with_name(f"{path.name}-journal").exists() and os.access(path, os.W_OK):
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _only_reads(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _saying(error: sqlite3.Error, source: Source) -> tuple[str, str, str]:
    """Return our words for what it says, which may hold values of records, and the code."""
    said = getattr(error, "sqlite_errorname", "")
    if said.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return "not an SQLite file, or a damaged one", "check how it was made", "data.file.damaged"
    if said.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "another program is writing to the database", "wait for it", "database.file.busy"
    if said.startswith(("SQLITE_AUTH", "SQLITE_READONLY")):
        return (
            "the query would change the database",
            "use one that only reads",
            "database.query.refused",
        )
    if "no such table" in str(error):
        return "there is no such table", "check the name", "database.table.unknown"
    if source.is_query:
        return "the query is not valid SQL", "check it", "database.query.malformed"
    return (
        "the table cannot be read, or the file is damaged",
        "check how it was made",
        "data.file.damaged",
    )


def tables(source: Source) -> list[str]:
    """Return the tables and views."""
    query = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    with _connected(source, read_only=True) as connection:
        return [row[0] for row in connection.execute(query)]


def exists(source: Source) -> bool:
    """Whether there is a table of this name."""
    return bool(found(source).table)


def found(source: Source) -> Found:
    """Return what a name leads to: for SQLite capitals are small letters."""
    query = (
        "SELECT name, type = 'table' FROM sqlite_master "
        "WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE"
    )
    with _connected(source, read_only=True) as connection:
        row = connection.execute(query, [_table(source)]).fetchone()
    return Found() if row is None else Found("", row[0], bool(row[1]), "" if row[1] else VIEW)


def _table(source: Source) -> str:
    schema, table = sql_name(source.part)
    if schema not in ("", "main"):
        raise CaveatError(
            "SQLite has no schemas",
            where=source.part,
            do="name the table alone",
            code="database.schema.unsupported",
        )
    return table


@contextmanager
def opened(source: Source, columns: Sequence[str] | None) -> Iterator[Held]:
    """Give the columns and the cells of a table or a query."""
    with _connected(source, read_only=True) as connection:
        declared: dict[str, str] = {}
        if source.is_query:
            origin = f"({source.part.strip().removesuffix(';')}) AS query"
        else:
            origin = quoted(_table(source))
            rows = connection.execute(f"PRAGMA table_info({origin})").fetchall()
            declared = {row[1]: str(row[2]).partition("(")[0].strip().upper() for row in rows}
        told = connection.execute(f"SELECT * FROM {origin} LIMIT 0").description
        found = [row[0] for row in told]
        for name in columns or ():
            if name not in found:
                do = f"choose among {', '.join(found)}"
                raise CaveatError(f"there is no column {name!r}", do=do, code="data.column.unknown")
        wanted = found if columns is None else list(columns)
        query = f"SELECT {', '.join(map(quoted, wanted))} FROM {origin}"
        fields = [Field(name, kind=KINDS.get(declared.get(name, ""))) for name in wanted]
        types = _types(connection, origin, wanted)
        yield Held(fields, _batches(connection.execute(query), wanted, types))


def _types(connection: sqlite3.Connection, origin: str, names: Sequence[str]) -> list[pa.DataType]:
    """Return the type that holds every cell of each column: they need not be alike."""
    asked = ", ".join(
        f"max(typeof({quoted(n)}) = 'text'), max(typeof({quoted(n)}) = 'real'), "
        f"max(typeof({quoted(n)}) = 'blob')"
        for n in names
    )
    flags = connection.execute(f"SELECT {asked} FROM {origin}").fetchone()
    types = []
    for i, name in enumerate(names):
        text, real, binary = flags[3 * i : 3 * i + 3]
        if binary:
            raise CaveatError(
                "binary values cannot be used",
                column=name,
                do="leave the column out",
                code="data.type.unsupported",
            )
        types.append(pa.string() if text else pa.float64() if real else pa.int64())
    return types


def _batches(
    cursor: sqlite3.Cursor, names: Sequence[str], types: Sequence[pa.DataType]
) -> Iterator[list[pa.Array]]:
    while rows := cursor.fetchmany(ROWS):
        yield [
            _array(cells, name, type_)
            for cells, name, type_ in zip(zip(*rows, strict=True), names, types, strict=True)
        ]


def _array(cells: Sequence[Any], name: str, type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(_texts(cells) if type_ == pa.string() else cells, type_)
    except (pa.ArrowException, OverflowError):
        raise CaveatError(
            "whole numbers of more than 15 digits stand among decimals, which cannot hold them",
            column=name,
            do="read it by a query that rounds it or makes it text",
            code="data.value.too-long",
        ) from None


def _texts(cells: Sequence[Any]) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in cells]


def save(source: Source, blocks: Iterator[Table], *, force: bool, confidential: bool) -> None:
    """Write a table in one transaction: after an error the old one is as it was.

    A new file gets its name when it is whole. In one that exists, the pages of a table that is
    replaced are overwritten.
    """
    first, path = next(blocks), Path(source.place).resolve()
    if not path.exists():
        with draft_of(path) as draft:
            with _connected(replace(source, place=str(draft)), read_only=False) as connection:
                _fill(connection, source, first, blocks)
                connection.execute("COMMIT")
            give_name(draft, path, confidential=confidential, force=False, shown=Path(source.place))
        return
    with _connected(source, read_only=False) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        _fill(connection, source, first, blocks, replaced=force)
        with held():
            stop_if_told()
            connection.execute("COMMIT")
            WRITTEN[Path(source.place)] = None
        if force:  # what the log of changes holds as well
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                warnings.warn(
                    f"{path.name}: another program has the database open; rows that were replaced "
                    "can be read in it until that program closes it",
                    CaveatWarning,
                    stacklevel=4,
                )


def _fill(
    connection: sqlite3.Connection,
    source: Source,
    first: Table,
    blocks: Iterator[Table],
    replaced: bool = False,
) -> None:
    """Make a table in a transaction that is still open at the end."""
    table = quoted(_table(source))
    connection.execute("BEGIN IMMEDIATE")
    if replaced:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    columns = ", ".join(f"{quoted(name)} {_type(first[name])}" for name in first)
    connection.execute(f"CREATE TABLE {table} ({columns})")
    marks = ", ".join("?" for _ in first)
    block: Table | None = first
    while block is not None:
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", _rows(block))
        block = next(blocks, None)


def _type(column: Column) -> str:
    kind = column.levels.dtype.kind
    if kind == "M":
        return "DATE" if column.kind is Kind.DATE else "TIMESTAMP"
    return {"b": "BOOLEAN", "i": "INTEGER", "u": "NUMERIC", "f": "REAL"}.get(kind, "TEXT")


def _rows(table: Table) -> Iterator[tuple[Any, ...]]:
    values = [_values(table[name]) for name in table]
    codes = [table[name].codes for name in table]
    for row in range(table.n_rows):
        yield tuple(v[code[row]] for v, code in zip(values, codes, strict=True))


def _values(column: Column) -> list[Any]:
    """Return what is written for every code."""
    levels = column.levels
    if levels.dtype.kind == "M":
        unit = "D" if column.kind is Kind.DATE else "us"
        values: list[Any] = [str(v).replace("T", " ") for v in levels.astype(f"datetime64[{unit}]")]
    elif levels.dtype.kind == "b":
        values = [int(v) for v in levels]
    else:
        values = levels.tolist()
    return [*values, *plain_codes(column)]
