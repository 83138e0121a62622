"""PostgreSQL: what is read changes nothing, what is written is there whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from caveat.errors import CaveatError
from caveat.stopping import WRITTEN, held, is_memory_short, stop_if_told
from caveat.table.child import SECONDS, limits_of
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
from caveat.table.source import Source, connection_address, load_extra
from caveat.table.table import Table

__all__ = ["exists", "found", "opened", "save", "tables"]

BATCH = "adbc.postgresql.batch_size_hint_bytes"
BYTES = 4 << 20
MOST = 2**31 - 1  # milliseconds that the server can count
TYPES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "text": "text",
    "numeric": "numeric",
    "varchar": "varchar",
    "bpchar": "character",
}
USUAL = ("bigint", "double precision", "boolean", "date", "timestamp", "text")
# What a server says, in our words: its own may hold values of records. And the code of the error.
SAYINGS = {
    "42P01": (
        "there is no such table",
        "check the name, and the schema before it",
        "database.table.unknown",
    ),
    "42703": (
        "the query names a column that is not there",
        "check the names",
        "data.column.unknown",
    ),
    "42601": ("the query is not valid SQL", "check it", "database.query.malformed"),
    "42501": (
        "this user may not do it",
        "ask for the right, or name another user",
        "database.user.refused",
    ),
    "0A000": (
        "the query would change the database, or asks for what the server cannot do",
        "use one that only reads",
        "database.query.refused",
    ),
    "25006": (
        "the query would change the database",
        "use one that only reads",
        "database.query.refused",
    ),
    "2BP01": (
        "other objects of the database depend on the table",
        "choose another name",
        "database.table.refused",
    ),
    "3D000": ("there is no such database", "check the name", "database.name.unknown"),
    "3F000": ("there is no such schema", "make it, or choose another", "database.schema.unknown"),
    "42P07": (
        "the table exists already",
        "choose another name or use --force",
        "database.table.exists",
    ),
    "57014": (
        "the server ended the query, which took longer than it may",
        "check it, or the view, for an endless recursion; if you trust it, set the environment "
        f"variable {SECONDS} to a larger number",
        "database.query.timeout",
    ),
}


@contextmanager
def _connected(source: Source) -> Iterator[tuple[Any, Any]]:
    """Give a connection and a cursor; whatever was not committed is undone."""
    package = load_extra(
        "adbc_driver_postgresql.dbapi", "adbc-driver-postgresql", "db", "PostgreSQL"
    )
    address = connection_address(source)
    try:
        connection = package.connect(address)
    except package.Error as error:
        raise CaveatError(
            f"the server cannot be reached ({_reason(error)})",
            where=source.place,
            do="check the address, the user and the password (PGPASSWORD or ~/.pgpass)",
            code="database.server.failed",
        ) from None
    try:
        with connection.cursor() as cursor:
            try:
                yield connection, cursor
            except BaseException:
                with suppress(package.Error):  # or all other rows are waited for
                    cursor.adbc_cancel()
                raise
    except package.Error as error:
        what, do, code = SAYINGS.get(
            getattr(error, "sqlstate", None) or "",
            ("a value does not suit the query", "check what it computes", "database.query.failed")
            if (getattr(error, "sqlstate", None) or "").startswith("22")
            else (
                f"the server refused ({getattr(error, 'sqlstate', None) or 'no reason'})",
                "ask it",
                "database.server.refused",
            ),
        )
        raise CaveatError(what, where=source.with_part(source.part), do=do, code=code) from None
    except pa.ArrowException as error:  # how the driver says what goes wrong between two batches
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            "the server stopped while the table was read or written",
            where=source.with_part(source.part),
            do="look into its log",
            code="database.server.interrupted",
        ) from None
    finally:
        connection.close()


def _reason(error: Exception) -> str:
    found = re.search(r"failed: (?:FATAL: )?(.*)", str(error))
    return found[1].strip() if found else type(error).__name__


def _rows(cursor: Any, query: str, *values: str) -> list[tuple[Any, ...]]:
    cursor.execute(query, values) if values else cursor.execute(query)
    return list(cursor.fetchall())


def tables(source: Source) -> list[str]:
    """Return the tables and views, those outside the usual schema with its name."""
    with _connected(source) as (_, cursor):
        found = _rows(
            cursor,
            "SELECT table_schema, table_name, table_schema = current_schema() "
            "FROM information_schema.tables WHERE table_schema NOT IN "
            "('pg_catalog', 'information_schema') ORDER BY 1, 2",
        )
    return [name if here else f"{schema}.{name}" for schema, name, here in found]


def exists(source: Source) -> bool:
    """Whether there is a table of this name."""
    with _connected(source) as (_, cursor):
        return _exists(cursor, *_named(cursor, source))


def found(source: Source) -> Found:
    """Return what a name leads to, and in which database of which server."""
    with _connected(source) as (_, cursor):
        where = ""
        if _rows(cursor, "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")[0][0]:
            # A copy of the server that only reads has the same number.
            query = "SELECT system_identifier || ' ' || current_database() FROM pg_control_system()"
            where = str(_rows(cursor, query)[0][0])
        if not source.part:
            return Found(where)
        schema, table = sql_name(source.part)
        # Without a schema a table is looked for in several, and written to the first.
        name = f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)
        rows = _rows(
            cursor,
            "SELECT oid::text, relkind = 'r' AND NOT EXISTS "
            "(SELECT FROM pg_inherits WHERE oid IN (inhrelid, inhparent)), "
            "relkind IN ('r', 'p'), pg_has_role(relowner, 'USAGE'), EXISTS "
            "(SELECT FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass "
            "AND w.oid = d.objid "
            "LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass "
            "AND k.oid = d.objid WHERE d.refclassid = 'pg_class'::regclass "
            "AND d.refobjid = pg_class.oid AND d.deptype = 'n' "
            "AND coalesce(w.ev_class, k.conrelid, pg_class.oid) <> pg_class.oid) "
            "FROM pg_class WHERE oid = to_regclass($1)",
            name,
        )
    if not rows:
        return Found(where)
    one, plain, table, own, needed = rows[0]
    kept = "" if table else VIEW
    kept = kept or ("" if own else "it is another user's")
    kept = kept or ("other objects of the database depend on the table" if needed else "")
    return Found(where, one, plain, kept)


def _named(cursor: Any, source: Source) -> tuple[str, str]:
    schema, table = sql_name(source.part)
    return schema or str(_rows(cursor, "SELECT current_schema()")[0][0]), table


def _exists(cursor: Any, schema: str, table: str) -> bool:
    query = "SELECT to_regclass($1) IS NOT NULL"
    return bool(_rows(cursor, query, f"{quoted(schema)}.{quoted(table)}")[0][0])


# -------------------------------------------------------------------------------------------------
# In


@contextmanager
def opened(source: Source, columns: Sequence[str] | None) -> Iterator[Held]:
    """Give the columns and the cells of a table or a query, in a transaction that only reads."""
    with _connected(source) as (_, cursor):
        cursor.execute("SET TRANSACTION READ ONLY")
        # The server must not go on with what nobody waits for any more. It ends a second later
        # than the process that reads, so that it is always the same sentence.
        wait = min(1000 * (limits_of(Path(source.place)).seconds + 1), MOST)
        cursor.execute(f"SET LOCAL statement_timeout = {int(wait)}")
        declared: dict[str, tuple[int, str]] = {}
        if source.is_query:
            origin = f"({source.part.strip().removesuffix(';')}) AS query"
        else:
            schema, table = sql_name(source.part)
            origin = f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)
            declared = _declared(cursor, origin)
        cursor.execute(f"SELECT * FROM {origin} LIMIT 0")
        reader = cursor.fetch_record_batch()
        found = {one.name: one.metadata or {} for one in reader.schema}
        if len(found) < len(reader.schema):
            raise CaveatError(
                "two columns have one name",
                do="rename one in the query",
                code="data.column.duplicate",
            )
        reader.close()
        for name in columns or ():
            if name not in found:
                do = f"choose among {', '.join(found)}"
                raise CaveatError(f"there is no column {name!r}", do=do, code="data.column.unknown")
        wanted = list(found) if columns is None else list(columns)
        fields, picked = [], []
        for name in wanted:
            one, how = _field(cursor, name, found[name], *declared.get(name, (-1, "")))
            fields.append(one)
            picked.append(how)
        picked = _exact(cursor, origin, fields, picked)
        cursor.adbc_statement.set_options(**{BATCH: str(BYTES)})
        cursor.execute(f"SELECT {', '.join(picked)} FROM {origin}")
        yield Held(fields, _arrays(cursor.fetch_record_batch(), source))


def _declared(cursor: Any, origin: str) -> dict[str, tuple[int, str]]:
    """Return the modifier of the type (length, digits) and the comment of each column."""
    query = (
        "SELECT attname::text, atttypmod, col_description(attrelid, attnum) FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
    )
    return {name: (modifier, text or "") for name, modifier, text in _rows(cursor, query, origin)}


def _field(
    cursor: Any, name: str, told: dict[bytes, bytes], modifier: int, label: str
) -> tuple[Field, str]:
    """Return a column, and how its cells are asked for."""
    sort = told.get(b"POSTGRESQL:type", b"").decode()
    modifier = int(told.get(b"POSTGRESQL:typmod", modifier))
    type_ = TYPES.get(sort, "")
    column = quoted(name)
    if sort == "numeric":
        if modifier >= 4:
            digits, scale = divmod(modifier - 4, 1 << 16)
            type_ = f"numeric({digits},{scale})" if scale <= digits else "numeric"
        return Field(name, type_, label), f"{column}::float8 AS {column}"
    if sort in ("varchar", "bpchar"):
        # Without a length it is text; the blanks that fill one up belong to nobody.
        type_ = f"{type_}({modifier - 4})" if modifier >= 4 else ""
        return Field(name, type_, label), f"rtrim({column}) AS {column}" if sort[
            0
        ] == "b" else column
    if not type_:
        levels, called = _enumeration(cursor, sort)
        if levels:
            return Field(name, called, label, levels), f"{column}::text AS {column}"
        how = f"{column}::numeric::float8" if sort == "money" else f"{column}::text"
        return Field(name, "", label), f"{how} AS {column}"
    return Field(name, "" if type_ in USUAL else type_, label), column


def _exact(cursor: Any, origin: str, fields: Sequence[Field], picked: list[str]) -> list[str]:
    """Return how cells are asked for so that numbers that differ still do."""
    long = [
        i
        for i, one in enumerate(fields)
        if (kept := re.fullmatch(r"numeric(?:\((\d+),\d+\))?", one.type))
        and (kept[1] is None or int(kept[1]) > SURE_DIGITS)
    ]
    if not long:
        return picked
    asked = ", ".join(exact_as(quoted(fields[i].name), "float8") for i in long)
    told = _rows(cursor, f"SELECT {asked} FROM {origin}")[0]
    for place, i in enumerate(long):
        name = fields[i].name
        type_ = spelled_exactly(name, told[3 * place : 3 * place + 3], "float8")
        picked[i] = f"{quoted(name)}::{type_} AS {quoted(name)}"
    return picked


def _enumeration(cursor: Any, sort: str) -> tuple[list[str], str]:
    """Return the levels of an enumeration and what it is called; none if the type is another."""
    rows = _rows(
        cursor,
        "SELECT e.enumlabel::text, n.nspname::text, t.typname::text FROM pg_enum e "
        "JOIN pg_type t ON t.oid = e.enumtypid JOIN pg_namespace n ON n.oid = t.typnamespace "
        "WHERE t.typname = $1 OR 'unnamed<oid:' || t.oid || '>' = $1 ORDER BY e.enumsortorder",
        sort,
    )
    if len({row[1:] for row in rows}) != 1:  # two schemas have a type of this name
        return [], ""
    return [row[0] for row in rows], f"{ENUM}{quoted(rows[0][1])}.{quoted(rows[0][2])}"


def _arrays(batches: Iterable[pa.RecordBatch], source: Source) -> Iterator[list[pa.Array]]:
    try:
        for batch in batches:
            yield list(batch.columns)
    except OSError as error:  # how the driver says what the server says while it gives rows
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            "the server stopped while the query was answered"
            if source.is_query
            else "the server stopped while the table was read",
            where=source.with_part(source.part),
            do="check the query, or look into the server's log"
            if source.is_query
            else "look into its log",
            code="database.server.interrupted",
        ) from None


# -------------------------------------------------------------------------------------------------
# Out


def save(source: Source, blocks: Iterator[Table], *, force: bool, confidential: bool) -> None:
    """Write a table in one transaction: after an error the old one is as it was.

    Who may read it is for the server to say.
    """
    del confidential
    first = next(blocks)
    with _connected(source) as (connection, cursor):
        schema, table = _named(cursor, source)
        types = {**types_of(first), **_known_enums(cursor, first)}
        place = f"{quoted(schema)}.{quoted(table)}"
        if force and _exists(cursor, schema, table):
            cursor.execute(f"DROP TABLE {place}")
        columns = ", ".join(f"{quoted(name)} {_spelled(types[name])}" for name in first)
        cursor.execute(f"CREATE TABLE {place} ({columns})")
        batches = _batches(first, blocks, types)
        start = next(batches)
        reader = pa.RecordBatchReader.from_batches(start.schema, _chain(start, batches))
        cursor.adbc_ingest(table, reader, mode="append", db_schema_name=schema)
        for name in first:
            if first[name].label:
                text = first[name].label.replace("'", "''").replace("\0", "")
                # No backslash is special where strings conform to the standard.
                cursor.execute("SET LOCAL standard_conforming_strings = on")
                cursor.execute(f"COMMENT ON COLUMN {place}.{quoted(name)} IS '{text}'")
        with held():
            stop_if_told()
            connection.commit()
            WRITTEN[Path(source.with_part(source.part))] = None


def _spelled(type_: str) -> str:
    return type_.removeprefix(ENUM)


def _known_enums(cursor: Any, table: Table) -> dict[str, str]:
    """Return the columns whose enumeration the database has, with every level."""
    found = {}
    for name in table:
        called = table[name].storage.removeprefix("sql:")
        if called == table[name].storage or not called.startswith(ENUM):
            continue
        schema, type_ = sql_name(called.removeprefix(ENUM))
        rows = _rows(
            cursor,
            "SELECT e.enumlabel::text FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid "
            "JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = $1 AND t.typname = $2",
            schema,
            type_,
        )
        if {str(level) for level in table[name].levels} <= {row[0] for row in rows}:
            found[name] = f"{ENUM}{quoted(schema)}.{quoted(type_)}"
    return found


def _batches(
    first: Table, rest: Iterable[Table], types: dict[str, str]
) -> Iterator[pa.RecordBatch]:
    for table in _chain(first, rest):
        arrays = [cells_of(table[name], types[name], name) for name in first]
        yield from pa.table(arrays, names=list(first)).to_batches(max_chunksize=1 << 16)


def _chain(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest
