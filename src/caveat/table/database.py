"""Tables and queries of databases: read in batches without changing anything, written in one go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import polars as pl
import pyarrow as pa

from caveat.errors import CaveatError
from caveat.table._columnar import encode_texts
from caveat.table.column import Column, Kind
from caveat.table.drafts import exclusive, make_private, wait_for_writer
from caveat.table.encode import encode
from caveat.table.frames import as_series, refuse_bad_names
from caveat.table.hosts import check_hosts
from caveat.table.source import Source, source_of
from caveat.table.table import Table

__all__ = [
    "VIEW",
    "Field",
    "Found",
    "Held",
    "check_database_target",
    "check_not_read",
    "prepare_database",
    "quoted",
    "read_database",
    "sql_name",
    "tables_of",
    "write_database",
]

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
