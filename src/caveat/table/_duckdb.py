"""DuckDB files: opened to be read only, written in one transaction."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from caveat.errors import CaveatError
from caveat.stopping import WRITTEN, held, is_memory_short, stop_if_told
from caveat.table.database import (
    ENUM,
    SURE_DIGITS,
    VIEW,
    Field,
    Found,
    Held,
    cells_of,
    exact_as,
    quoted,
    spelled_exactly,
    sql_name,
    types_of,
)
from caveat.table.drafts import STEP, draft_of, give_name
from caveat.table.source import Source, load_extra
from caveat.table.table import Kind, Table

__all__ = ["exists", "found", "opened", "save", "tables"]

ROWS = 1 << 17  # of a batch
BRIEFLY = 5.0  # seconds that a writer waits for programs that have the file open
# Nothing but this file is read or written, and no query can change that.
CONFINED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
# Nothing is written beside a file that is read, not even what does not fit into memory.
READING = {**CONFINED, "temp_directory": ""}
TYPES = {
    "SMALLINT": "smallint",
    "INTEGER": "integer",
    "FLOAT": "real",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
# What cannot be used as it is, is read as its text.
_USED = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|BOOLEAN|DATE|VARCHAR|TIMESTAMP( WITH TIME "
    r"ZONE|_S|_MS|_NS)?|ENUM\(.*\)",
    re.S,
)


@contextmanager
def _connected(
    source: Source,
    *,
    read_only: bool,
    spill: Path | None = None,
    allowed: Sequence[Path] = (),
) -> Iterator[Any]:
    """Open a database; for writing, one that another program has open is waited for briefly.

    Parameters
    ----------
    source
        The database.
    read_only
        Whether nothing is written.
    spill
        The folder for what does not fit into memory; by default DuckDB makes one beside the file.
    allowed
        Other databases that may be attached.
    """
    duckdb = load_extra("duckdb", "duckdb", "db", "DuckDB")
    until = time.monotonic() + (0.0 if read_only else BRIEFLY)
    while True:
        try:
            connection = _configured(duckdb, source.place, read_only, spill, allowed)
            break
        except duckdb.Error as error:
            locked = "set lock" in str(error).lower()
            if locked and time.monotonic() < until:
                time.sleep(STEP)
                continue
            if not read_only and not locked:  # what is there was looked at before
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise CaveatError(
                "another program has the database open"
                if locked
                else "not a DuckDB file, or damaged",
                where=source.place,
                do="close it there" if locked else "check how it was made",
                code="database.file.busy" if locked else "data.file.damaged",
            ) from None
    try:
        yield connection
    except (OSError, duckdb.IOException, duckdb.FatalException, duckdb.OutOfMemoryException) as e:
        if read_only and is_memory_short(e):
            raise MemoryError from None
        if isinstance(e, OSError):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
    except duckdb.Error as error:
        what, code = _saying(duckdb, error, source)
        where = source.with_part(source.part)
        raise CaveatError(what, where=where, do="check it", code=code) from None
    finally:
        with suppress(duckdb.Error):
            connection.close()


def _saying(duckdb: Any, error: Exception, source: Source) -> tuple[str, str]:
    """Return our words for what it says, which may hold values of records, and the code."""
    if isinstance(error, duckdb.PermissionException | duckdb.InvalidInputException):
        return "the query reaches for something else than this file", "database.query.refused"
    if isinstance(error, duckdb.CatalogException):
        return "there is no such table", "database.table.unknown"
    if source.is_query:
        return "the query is not valid SQL", "database.query.malformed"
    return "the file is damaged", "data.file.damaged"


def _configured(
    duckdb: Any, place: str, read_only: bool, spill: Path | None, allowed: Sequence[Path]
) -> Any:
    if spill is None:
        config = READING if read_only else CONFINED
        return duckdb.connect(place, read_only=read_only, config=config)
    # Which paths are allowed can only be said afterwards.
    connection = duckdb.connect(place, read_only=read_only, config={"temp_directory": str(spill)})
    paths = [str(path) for one in allowed for path in (one, f"{one}.wal")]
    connection.execute(f"SET allowed_paths = [{', '.join(map(_text, paths))}]")
    for name, value in CONFINED.items():
        connection.execute(f"SET {name} = {value}")
    return connection


def tables(source: Source) -> list[str]:
    """Return the tables and views."""
    with _connected(source, read_only=True) as connection:
        rows = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"
        ).fetchall()
    return [name if schema == "main" else f"{schema}.{name}" for schema, name in rows]


def exists(source: Source) -> bool:
    """Whether there is a table of this name."""
    with _connected(source, read_only=True) as connection:
        return _exists(connection, *_named(source))


def found(source: Source) -> Found:
    """Return what a name leads to: for DuckDB capitals are small letters."""
    query = (
        "SELECT table_schema || '.' || table_name, table_type = 'BASE TABLE' "
        "FROM information_schema.tables "
        "WHERE lower(table_schema) = lower(?) AND lower(table_name) = lower(?)"
    )
    with _connected(source, read_only=True) as connection:
        row = connection.execute(query, [*_named(source)]).fetchone()
    return Found() if row is None else Found("", row[0], row[1], "" if row[1] else VIEW)


def _named(source: Source) -> tuple[str, str]:
    schema, table = sql_name(source.part)
    return schema or "main", table


def _exists(connection: Any, schema: str, table: str) -> bool:
    query = (
        "SELECT count(*) FROM information_schema.tables "
        "WHERE lower(table_schema) = lower(?) AND lower(table_name) = lower(?)"
    )
    return bool(connection.execute(query, [schema, table]).fetchone()[0])


@contextmanager
def opened(source: Source, columns: Sequence[str] | None) -> Iterator[Held]:
    """Give the columns and the cells of a table or a query."""
    with _connected(source, read_only=True) as connection:
        comments: dict[str, str] = {}
        if source.is_query:
            origin = f"({source.part.strip().removesuffix(';')}) AS query"
        else:
            schema, table = _named(source)
            origin = f"{quoted(schema)}.{quoted(table)}"
            query = (
                "SELECT column_name, comment FROM duckdb_columns() "
                "WHERE schema_name = ? AND table_name = ? AND comment IS NOT NULL"
            )
            comments = dict(connection.execute(query, [schema, table]).fetchall())
        told = connection.execute(f"DESCRIBE SELECT * FROM {origin}").fetchall()
        found = {row[0]: str(row[1]) for row in told}
        wanted = list(found) if columns is None else list(columns)
        for name in wanted:
            if name not in found:
                do = f"choose among {', '.join(found)}"
                raise CaveatError(f"there is no column {name!r}", do=do, code="data.column.unknown")
        both = [_field(name, found[name], comments.get(name, "")) for name in wanted]
        exact = _exact(connection, origin, {name: found[name] for name in wanted})
        picked = [exact.get(one.name, how) for one, how in both]
        query = f"SELECT {', '.join(picked)} FROM {origin}"
        reader = connection.sql(query).to_arrow_reader(ROWS)
        yield Held([one for one, _ in both], (_plain(batch) for batch in reader))


def _exact(connection: Any, origin: str, types: dict[str, str]) -> dict[str, str]:
    """Return how long numbers are asked for so that those that differ still do."""
    long = [
        name
        for name, type_ in types.items()
        if type_ in ("HUGEINT", "UHUGEINT")
        or ((kept := _DECIMAL.fullmatch(type_)) and int(kept[1]) > SURE_DIGITS)
    ]
    if not long:
        return {}
    asked = ", ".join(exact_as(quoted(name), "DOUBLE") for name in long)
    told = connection.execute(f"SELECT {asked} FROM {origin}").fetchall()[0]
    found = {}
    for i, name in enumerate(long):
        type_ = spelled_exactly(name, told[3 * i : 3 * i + 3], "DOUBLE")
        found[name] = f"{quoted(name)}::{type_} AS {quoted(name)}"
    return found


def _field(name: str, type_: str, label: str) -> tuple[Field, str]:
    column = quoted(name)
    if decimal := _DECIMAL.fullmatch(type_):
        kept = f"numeric({decimal[1]},{decimal[2]})"
        return Field(name, kept, label), f"{column}::DOUBLE AS {column}"
    if type_ in ("HUGEINT", "UHUGEINT"):
        return Field(name, "", label), f"{column}::DOUBLE AS {column}"
    if not _USED.fullmatch(type_):
        return Field(name, "", label), f"{column}::VARCHAR AS {column}"
    if type_.startswith("ENUM("):
        levels = [text.replace("''", "'") for text in re.findall(r"'((?:[^']|'')*)'", type_)]
        return Field(name, ENUM.strip(), label, levels), f"{column}::VARCHAR AS {column}"
    return Field(name, TYPES.get(type_, ""), label), column


def _plain(batch: pa.RecordBatch) -> list[pa.Array]:
    return list(batch.columns)


def save(source: Source, blocks: Iterator[Table], *, force: bool, confidential: bool) -> None:
    """Write a table in one transaction: after an error the old one is as it was.

    What DuckDB deletes stays in the free blocks of its file. A table is therefore replaced in a
    new file, which has everything else that is in the old one and takes its place.
    """
    first = next(blocks)
    path = Path(source.place).resolve()
    is_there = path.exists()
    with draft_of(path) as draft, ExitStack() as until_renamed:
        if is_there and not (force and exists(source)):
            with _connected(source, read_only=False, spill=draft.parent) as connection:
                _fill(connection, source, first, blocks)
                with held():
                    stop_if_told()
                    connection.execute("COMMIT")
                    WRITTEN[Path(source.place)] = None
            return
        if is_there:
            _copy_rest(source, draft, until_renamed)
            shutil.copymode(path, draft)  # it has other tables, which are not ours
        inner = replace(source, place=str(draft))
        with _connected(inner, read_only=False, spill=draft.parent) as connection:
            _fill(connection, inner, first, blocks)
            connection.execute("COMMIT")
        give_name(draft, path, confidential=confidential, force=is_there, shown=Path(source.place))


def _copy_rest(source: Source, draft: Path, until_renamed: ExitStack) -> None:
    """Copy everything but one table into a new file; until it is renamed nobody opens the old one.

    The table is dropped in a copy of the file, and what is left there is copied once more.
    """
    # First the file and then its database are closed: closing any handle of a file ends the locks
    # that a process has on it.
    whole = until_renamed.enter_context(_connected(source, read_only=False, spill=draft.parent))
    whole.execute("CHECKPOINT")
    file = until_renamed.enter_context(Path(source.place).open("rb"))  # noqa: SIM115
    copy = draft.with_name("copy")
    with copy.open("xb") as target:
        shutil.copyfileobj(file, target, 1 << 20)
    schema, table = _named(source)
    with _connected(replace(source, place=":memory:"), read_only=False, spill=draft.parent,
                    allowed=[copy, draft]) as connection:  # fmt: skip
        for name, place in (("old", copy), ("new", draft)):
            connection.execute(f"ATTACH {_text(str(place))} AS {name}")
        connection.execute(f"DROP TABLE old.{quoted(schema)}.{quoted(table)}")
        connection.execute("COPY FROM DATABASE old TO new")
        connection.execute("DETACH new")
        connection.execute("DETACH old")
    copy.unlink()


def _text(value: str) -> str:
    """Return a text as SQL has it, whatever is in it."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _fill(connection: Any, source: Source, first: Table, blocks: Iterator[Table]) -> None:
    """Make a table in a transaction that is still open at the end."""
    schema, table = _named(source)
    place = f"{quoted(schema)}.{quoted(table)}"
    connection.execute("BEGIN")
    types = types_of(first)
    columns = ", ".join(f"{quoted(name)} {_spelled(first, name, types)}" for name in first)
    connection.execute(f"CREATE TABLE {place} ({columns})")
    block: Table | None = first
    while block is not None:
        arrays = [cells_of(block[name], types[name], name) for name in first]
        connection.register("caveat_block", pa.table(arrays, names=list(first)))
        connection.execute(f"INSERT INTO {place} SELECT * FROM caveat_block")
        connection.unregister("caveat_block")
        block = next(blocks, None)
    for name in first:
        if first[name].label:
            text = _text(first[name].label)
            connection.execute(f"COMMENT ON COLUMN {place}.{quoted(name)} IS {text}")


def _spelled(table: Table, name: str, types: dict[str, str]) -> str:
    """Return a type; categories that were an enumeration are one again."""
    column = table[name]
    if types[name] == "text" and column.storage.startswith(f"sql:{ENUM.strip()}"):
        codes = [str(m.code) for m in column.missing if isinstance(m.code, str) and m.code]
        if column.kind in (Kind.CATEGORY, Kind.ORDERED):
            doubled = (str(level).replace("'", "''") for level in [*column.levels, *codes])
            levels = ", ".join(f"'{level}'" for level in doubled)
            return f"ENUM({levels})"
    return types[name]
