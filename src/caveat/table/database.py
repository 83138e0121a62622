"""Tables and queries of databases, read without changing anything, and types of columns there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import polars as pl
import pyarrow as pa

from caveat.errors import CaveatError
from caveat.table._columnar import arrow_of, encode_texts
from caveat.table.coding import encode
from caveat.table.drafts import exclusive, make_private, wait_for_writer
from caveat.table.frames import as_series, refuse_bad_names
from caveat.table.source import Source, check_hosts, source_of
from caveat.table.table import Column, Kind, Table

TABLE = "data"  # what the table of a file is called if nobody says
VIEW = "it is no table"  # why a view is never replaced
SQL = "sql:"  # how the storage of a column of a database begins
_NAME = re.compile(r'(?s)(?:("(?:[^"]|"")+"|[^".]+)\.)?("(?:[^"]|"")+"|[^".]+)')


@dataclass(frozen=True)
class Field:
    """A column of a database.

    Parameters
    ----------
    name
        Of the column.
    type
        Its type, if it is written back as that; "" for the usual one.
    label
        The comment on it.
    levels
        Of an enumeration, in its order.
    kind
        What the values are where the cells cannot say it.
    """

    name: str
    type: str = ""
    label: str = ""
    levels: Sequence[str] | None = field(default=None, repr=False)
    kind: Kind | None = None


@dataclass(frozen=True)
class Held:
    """What a database gives: the columns, and their cells in batches."""

    fields: Sequence[Field]
    batches: Iterable[Sequence[pa.Array]] = field(repr=False)


@dataclass(frozen=True)
class Found:
    """What a name of a database leads to, however it is spelled.

    Parameters
    ----------
    database
        Which database of which server it is; "" if nobody says, as for a file.
    table
        The one thing that the name leads to; "" if there is none.
    plain
        Whether it is a table whose rows are its own: no view, no part of another and no whole.
    kept
        Why it cannot be replaced; "" if it can.
    """

    database: str = ""
    table: str = ""
    plain: bool = False
    kept: str = ""


class _Engine(Protocol):
    """What one sort of database has to offer."""

    def opened(
        self, source: Source, columns: Sequence[str] | None
    ) -> AbstractContextManager[Held]: ...

    def save(
        self, source: Source, blocks: Iterator[Table], *, force: bool, confidential: bool
    ) -> None: ...

    def exists(self, source: Source) -> bool: ...

    def tables(self, source: Source) -> list[str]: ...

    def found(self, source: Source) -> Found: ...


def _engine(source: Source) -> _Engine:
    check_hosts(source)
    return cast(_Engine, import_module(f"caveat.table._{source.sort}"))


def _source(path: str | Path) -> Source:
    source = source_of(path)
    assert source is not None
    assert source.is_database
    return source


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever is in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def sql_name(part: str) -> tuple[str, str]:
    """Return the schema, "" if none is named, and the table of a part.

    Examples
    --------
    >>> sql_name("public.persons"), sql_name('"a.b"')
    (('public', 'persons'), ('', 'a.b'))
    """
    found = _NAME.fullmatch(part)
    if found is None:
        raise CaveatError(
            "this names no table",
            where=part,
            do="write TABLE or SCHEMA.TABLE, or a query",
            code="database.table.malformed",
        )
    return _bare(found[1] or ""), _bare(found[2])


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def tables_of(path: str | Path) -> list[str]:
    """Return the tables of a database, as a part names them."""
    source = _source(path)
    return _engine(source).tables(source)


# -------------------------------------------------------------------------------------------------
# In


def read_database(
    path: Path, suffix: str, columns: Sequence[str] | None, keep: Callable[[str, Column], Column]
) -> Table:
    """Read a table or the result of a query; see :func:`caveat.table.files.read`."""
    del suffix
    source = _source(path)
    if source.is_file:
        wait_for_writer(Path(source.place).resolve())
    source = source if source.part else replace(source, part=_only_table(source))
    with _engine(source).opened(source, columns) as held:
        fields = list(held.fields)
        refuse_bad_names([one.name for one in fields])
        chunks: list[list[pa.Array]] = [[] for _ in fields]
        for batch in held.batches:
            for cells, array in zip(chunks, batch, strict=True):
                cells.append(_packed(array))
    encoded = {}
    for position, one in enumerate(fields):
        cells, chunks[position] = chunks[position], []
        encoded[one.name] = keep(one.name, _encode(cells, one))
        pa.default_memory_pool().release_unused()
    return Table(encoded)


def _only_table(source: Source) -> str:
    tables = _engine(source).tables(source)
    if len(tables) != 1:
        held = f"holds {len(tables)} tables" if tables else "holds no table"
        do = f"name one, as in {source.with_part(tables[0])!r}" if tables else "check the name"
        raise CaveatError(
            f"the database {held}", where=source.place, do=do, code="database.table.absent"
        )
    return tables[0]


def _packed(array: pa.Array) -> pa.Array:
    """Return text as a dictionary, so that a batch takes little room until the last one is here."""
    text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return array.dictionary_encode() if text else array


def _encode(chunks: list[pa.Array], one: Field) -> Column:
    name = one.name
    if not chunks or all(len(c) == c.null_count for c in chunks):
        column = encode(pl.Series([None] * sum(map(len, chunks)), dtype=pl.Null), name)
    elif pa.types.is_dictionary(chunks[0].type):
        whole = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
        column = encode_texts(pa.chunked_array([whole]), name)
        if one.levels is None and one.kind is not None:
            column = _read_as(column, one.kind)
    else:
        column = encode(as_series(pa.chunked_array(chunks), name).rechunk(), name)
        if one.kind is Kind.BOOLEAN and set(column.levels.tolist()) <= {0, 1}:
            column = _truths(column)
    if one.levels is not None:
        column = _enumerated(column, one.levels)
    storage = f"{SQL}{one.type}" if one.type else ""
    return replace(column, label=one.label, storage=storage)


def _truths(column: Column) -> Column:
    """Return ones and zeros as what they are declared to be."""
    lookup = np.append(column.levels, 2 + np.arange(len(column.missing))).astype(np.int64)
    truths = np.array([False, True])
    return replace(column, codes=lookup[column.codes], levels=truths, kind=Kind.BOOLEAN)


def _read_as(column: Column, kind: Kind) -> Column:
    """Return text as the dates that its declaration promises, if all of it is."""
    texts = pl.Series(column.levels.tolist(), dtype=pl.String)
    if kind is Kind.DATE:
        times = texts.str.to_date("%Y-%m-%d", strict=False)
    else:
        plain = texts.str.replace("T", " ", literal=True)
        times = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    if times.null_count():
        return column
    levels = encode(times, "")
    lookup = np.arange(column.n_levels)
    lookup[: len(column.levels)] = levels.codes
    return replace(column, codes=lookup[column.codes], levels=levels.levels, kind=levels.kind)


def _enumerated(column: Column, levels: Sequence[str]) -> Column:
    """Return the column with all levels of its enumeration, in that order."""
    places = {level: i for i, level in enumerate(levels)}
    lookup = np.arange(column.n_levels) + len(levels) - len(column.levels)
    lookup[: len(column.levels)] = [places[str(level)] for level in column.levels]
    return replace(
        column,
        codes=lookup[column.codes],
        levels=np.array([*levels], dtype=object),
        kind=Kind.CATEGORY,
    )


# -------------------------------------------------------------------------------------------------
# Out


@contextmanager
def _alone(source: Source) -> Iterator[Source]:
    """Let no other run write to a file meanwhile; servers see to it themselves."""
    if not source.is_file:
        yield source
        return
    path = Path(source.place).resolve()
    with exclusive(path):
        yield source


def check_database_target(source: Source, *, force: bool) -> None:
    """Refuse a table that cannot or may not be written, before any work is done for it."""
    if not source.part or source.is_query:
        raise CaveatError(
            "the output names no table",
            where=source.place,
            do=f"write {source.with_part('TABLE')!r}",
            code="database.table.absent",
        )
    sql_name(source.part)
    with _alone(source):
        _check_target(source, force)


def _check_target(source: Source, force: bool) -> None:
    _, table = sql_name(source.part)
    if source.is_file and not Path(source.place).exists():
        return
    found = _engine(source).found(source)
    if found.table and force and found.kept:
        raise CaveatError(
            f"what is there cannot be replaced: {found.kept}",
            where=source.with_part(table),
            do="choose another name",
            code="database.table.refused",
        )
    if _engine(source).exists(source) and not force:
        raise CaveatError(
            "the table exists already",
            where=source.with_part(table),
            do="choose another name or use --force",
            code="database.table.exists",
        )


def check_not_read(target: Source, read: Source) -> None:
    """Refuse to replace what is read, by whatever name either is called.

    Which tables a query or a view reads is not ours to say: beside one, no table of its database is
    replaced.

    Parameters
    ----------
    target
        The table that is to be written.
    read
        What is read: of the same sort of database, of a file the same file.
    """
    with _alone(target):
        _check_not_read(_engine(target), target, read)


def _check_not_read(engine: _Engine, target: Source, read: Source) -> None:
    there = engine.found(target)
    if not there.table:
        return
    here = Found(there.database)
    if not read.is_query:
        here = engine.found(read if read.part else replace(read, part=_only_table(read)))
    elif not read.is_file:
        here = replace(engine.found(replace(read, part="")), table="")
    if here.database and there.database and here.database != there.database:
        return
    if here.table == there.table:
        raise CaveatError(
            "the output is a table that this command reads",
            where=target.with_part(target.part),
            do="choose another name; --force never replaces an input",
            code="database.table.conflict",
        )
    if not here.plain:
        raise CaveatError(
            "the table exists already, in the database of the query or view that this command "
            "reads",
            where=target.with_part(target.part),
            do="write to a new name or to another database; --force never replaces an input",
            code="database.table.conflict",
        )


def write_database(
    source: Source, blocks: Iterable[Table], *, force: bool = False, confidential: bool = False
) -> None:
    """Write the blocks of a table to a database, in one transaction.

    Parameters
    ----------
    source
        The database and the name of the table.
    blocks
        Tables with the same columns, one after the other.
    force
        Whether a table that exists may be replaced. After an error it is as it was; otherwise
        no row of it can be read in the file any more.
    confidential
        Whether the table is for this user alone. Its file then is, too, with all its tables.
    """
    check_database_target(source, force=force)
    with _alone(source):
        _check_target(source, force)  # somebody may have written it in the meantime
        path = Path(source.place)
        if confidential and source.is_file and path.exists():
            make_private(path, path, confidential=True)
        _engine(source).save(source, iter(blocks), force=force, confidential=confidential)


def prepare_database(table: Table, suffix: str) -> Callable[[Path], None]:
    """Return a function that writes the table to a database file of its own."""

    def save(path: Path) -> None:
        source = source_of(f"{path}#{TABLE}")
        assert source is not None, suffix
        write_database(source, [table])

    return save


# -------------------------------------------------------------------------------------------------
# Which type a column has in a database, and its cells in that type.


ENUM = "enum "
# What a file says about its cells is only taken if it is one of these: it becomes part of SQL.
_PLAIN: Mapping[str, pa.DataType] = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}
_LENGTH = re.compile(r"(varchar|character)\((\d{1,8})\)")
_NUMERIC = re.compile(r"numeric(?:\((\d{1,2}),(\d{1,2})\))?")
_MOST_DIGITS = 38
SURE_DIGITS = 15  # so many a number of 64 bits always keeps


def exact_as(column: str, text: str) -> str:
    """Return three questions about a column of long numbers, in SQL.

    How many values it has, how many of them a number of 64 bits tells apart, and whether all are
    whole and fit into a whole number of that size.
    """
    whole = f"bool_and({column} = trunc({column}) AND abs({column}::{text}) <= 9e18)"
    return f"count(DISTINCT {column}), count(DISTINCT {column}::{text}), {whole}"


def spelled_exactly(name: str, told: Sequence[Any], text: str) -> str:
    """Return the type that a column of long numbers is read as, by the answers to those.

    Parameters
    ----------
    name
        The column.
    told
        The answers.
    text
        What the database calls a number of 64 bits.
    """
    values, apart, whole = told
    if values == apart:
        return text
    if whole:
        return "bigint"
    raise CaveatError(
        f"of {values:,} numbers with more than 15 digits only {apart:,} can be told apart when "
        "they are read",
        column=name,
        do="read it by a query that rounds it or makes it text, or leave it out",
        code="data.value.too-long",
    )


def types_of(table: Table) -> dict[str, str]:
    """Return the type of every column: the one it came with, if its values fit, or the usual."""
    return {name: type_of(table[name]) for name in table}


def type_of(column: Column) -> str:
    """Return the type of a column, in SQL; an enumeration is text unless the database knows it."""
    wanted = column.storage.removeprefix("sql:") if column.storage.startswith("sql:") else ""
    usual = _usual(column)
    return wanted if wanted and _fits(column, wanted, usual) else usual


def _usual(column: Column) -> str:
    kind = column.levels.dtype.kind
    if kind == "M":
        return "date" if column.kind is Kind.DATE else "timestamp"
    names = {"b": "boolean", "i": "bigint", "u": "numeric", "f": "double precision"}
    return names.get(kind, "text")


def _fits(column: Column, wanted: str, usual: str) -> bool:
    texts = [str(text) for text in column.levels.tolist()] if usual == "text" else []
    if length := _LENGTH.fullmatch(wanted):
        return usual == "text" and all(len(text) <= int(length[2]) for text in texts)
    if usual == "text":
        return wanted == "text"
    if _NUMERIC.fullmatch(wanted):
        return usual in ("bigint", "double precision") and _decimal(column, wanted) is not None
    target = _PLAIN.get(wanted)
    if target is None:
        return False
    if pa.types.is_floating(target) and usual in ("bigint", "double precision"):
        return wanted == "double precision" or bool(
            (column.levels.astype(np.float32) == column.levels).all()
        )
    if pa.types.is_integer(target) and usual == "bigint":
        largest = np.iinfo(target.to_pandas_dtype())
        numbers = [*column.levels.tolist(), *(m.code for m in column.missing)]
        return all(
            largest.min <= n <= largest.max for n in numbers if isinstance(n, int | np.integer)
        )
    return wanted == usual or (wanted == "timestamptz" and usual == "timestamp")


def _decimal(column: Column, wanted: str) -> pa.DataType | None:
    """Return the decimals that hold every level exactly; None if there are none."""
    found = _NUMERIC.fullmatch(wanted)
    assert found is not None
    levels = column.levels
    if found[1]:
        digits, scale = int(found[1]), int(found[2])
    else:
        texts = [f"{value!r}" for value in levels.tolist()]
        if any("e" in text for text in texts):
            return None
        scale = max((len(t.partition(".")[2]) for t in texts if not t.endswith(".0")), default=0)
        digits = _MOST_DIGITS
    if digits > _MOST_DIGITS or scale > digits:
        return None
    numbers = levels.astype(float)
    exact = (np.round(numbers, scale) == numbers).all()
    return pa.decimal128(digits, scale) if exact and _below(numbers, digits - scale) else None


def _below(numbers: Any, digits: int) -> bool:
    return not len(numbers) or float(np.abs(numbers).max()) < 10.0**digits


def cells_of(column: Column, type_: str, name: str) -> pa.Array:
    """Return the cells in the type of the database."""
    array = arrow_of(column)
    if isinstance(array, pa.DictionaryArray):
        array = array.cast(pa.string())
    try:
        if _NUMERIC.fullmatch(type_):
            return _as_decimals(array, column, type_)
        target = _PLAIN.get(type_, pa.string())
        return array if array.type == target else array.cast(target)
    except (pa.ArrowException, ValueError):
        raise CaveatError(
            f"a value does not fit into the type {type_}",
            column=name,
            do="write it to a table of another name, or declare its kind",
            code="data.value.type",
        ) from None


def _as_decimals(array: pa.Array, column: Column, type_: str) -> pa.Array:
    target = _decimal(column, type_)
    if target is None:
        raise ValueError(type_)
    if pa.types.is_integer(array.type):
        return array.cast(pa.decimal128(_MOST_DIGITS, target.scale)).cast(target)
    return array.cast(target)
