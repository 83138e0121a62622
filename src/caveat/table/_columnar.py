"""Parquet and Feather, one column at a time, and how far a packed file may expand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.stopping import is_memory_short
from caveat.table.code_files import KEY, fits, notes_of, read_notes, restore
from caveat.table.coding import arrow_cast, encode, kind_of_text
from caveat.table.drafts import positive_number, unwritable
from caveat.table.frames import (
    UNFINISHED,
    as_series,
    check_parts,
    encode_arrow_dictionary,
    parts_of,
    refuse_bad_names,
)
from caveat.table.table import Column, Kind, Missing, Table, smallest_unsigned

FACTOR = "CAVEAT_EXPANSION"
"""The variable that allows files to expand further: how many times their size."""

TIMES = 200
HARMLESS = 256 << 20  # bytes that any machine has
STEP = 1 << 22


def check_expansion(expanded: int, packed: int, path: Path) -> None:
    """Refuse a file that expands too far.

    Parameters
    ----------
    expanded
        Bytes that it takes in memory, so far as is known.
    packed
        Bytes of the file that they came from.
    path
        The file, for the message.
    """
    if expanded > max(HARMLESS, _times() * packed):
        raise CaveatError(
            f"the file expands to more than {_times():,.0f} times its size",
            where=str(path),
            do=f"if you trust it, set the environment variable {FACTOR} to a higher factor",
            code="data.file.too-large",
        )


def _times() -> float:
    return positive_number(FACTOR, TIMES)


def unpack(path: Path, compression: str) -> bytes:
    """Return the content of a compressed file."""
    parts, size = [], 0
    try:
        with (
            path.open("rb") as file,
            pa.CompressedInputStream(file, compression) as stream,
        ):
            while part := stream.read(STEP):
                size += len(part)
                check_expansion(size, file.tell(), path)
                parts.append(part)
    except (OSError, pa.ArrowException):
        raise CaveatError(
            f"not a {compression} file, or a damaged one",
            where=str(path),
            do="unpack it anew",
            code="data.file.damaged",
        ) from None
    return b"".join(parts)


# -------------------------------------------------------------------------------------------------
# Parquet and Feather: one column at a time, and what Caveat knows beside the cells.


USUAL = ("int64", "double", "bool", "date32[day]", "null")


@dataclass(frozen=True)
class _Source:
    """An open file, or the parts of a table.

    Parameters
    ----------
    schema
        Its columns.
    check
        A function that refuses a bomb, given the bytes that a row takes in memory.
    fetch
        A function that reads the column at a position.
    rows
        The rows of a Parquet file.
    """

    schema: pa.Schema
    check: Callable[[int], None]
    fetch: Callable[[int], pa.ChunkedArray]
    rows: int = 0


def read_columnar(
    path: Path, suffix: str, columns: Sequence[str] | None, keep: Callable[[str, Column], Column]
) -> Table:
    """Read a Parquet or Feather file, or the parts in a folder; see `caveat.table.files.read`."""
    with _undamaged(path, suffix):
        opened = _open_parts if path.is_dir() else _open_parquet
        source = opened(path) if suffix == ".parquet" else _open_feather(path)
        names = list(source.schema.names)
        refuse_bad_names(names)
        wanted = _without_index(names) if columns is None else list(columns)
        positions = {name: position for position, name in enumerate(names)}
        for name in wanted:
            if name not in positions:
                raise CaveatError(
                    f"there is no column {name!r}",
                    do=f"choose among {', '.join(names)}",
                    code="data.column.unknown",
                )
        # In memory a cell is a code, and one column at a time also a value.
        source.check(len(wanted) + 8)
        backend, notes = read_notes(source.schema.metadata or {})
        encoded = {}
        for name in wanted:
            column = _read_column(source, positions[name])
            if name in notes:
                column = restore(column, notes[name], name, backend)
            encoded[name] = keep(name, column)
            pa.default_memory_pool().release_unused()
    return Table(encoded, backend=backend)


@contextmanager
def _undamaged(path: Path, suffix: str = ".parquet") -> Iterator[None]:
    """Say in one sentence that a file cannot be read."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            f"not a {'Parquet' if suffix == '.parquet' else 'Feather'} file, or a damaged one",
            where=str(path),
            do="check how it was made",
            code="data.file.damaged",
        ) from None


def _open_parquet(path: Path) -> _Source:
    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema.to_arrow_schema(), file.metadata
    # Text is read as the dictionary it is stored as: five million cells need not become text first.
    texts = [field.name for field in schema if _is_text(field.type)]

    def check(width: int) -> None:
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        size = path.stat().st_size
        rows = metadata.num_rows
        check_expansion(max(rows * width, sum(g.total_byte_size for g in groups)), size, path)

    def fetch(position: int) -> pa.ChunkedArray:
        name = schema.names[position]
        # Opened anew: of a table in parts there are more than a process may hold open.
        with pq.ParquetFile(
            path, metadata=metadata, read_dictionary=texts, pre_buffer=False,
            page_checksum_verification=True,
        ) as file:  # fmt: skip
            return file.read(columns=[name], use_threads=False).column(name)

    return _Source(schema, check, fetch, metadata.num_rows)


def _open_parts(folder: Path) -> _Source:
    """Open the parts of a table as if they were one file."""
    parts: dict[Path, _Source] = {}
    for path in parts_of(folder):
        with _undamaged(path):
            parts[path] = _open_parquet(path)
    schemas = [part.schema for part in parts.values()]
    types = [dict(zip(schema.names, map(str, schema.types), strict=True)) for schema in schemas]
    for schema in schemas:
        refuse_bad_names(list(schema.names))
    check_parts(list(map(str, parts)), types, [part.rows for part in parts.values()])
    # What Caveat notes beside the cells of a part holds for all of them only if all say it.
    notes = [(schema.metadata or {}).get(KEY) for schema in schemas]
    same = all(note == notes[0] for note in notes)
    schema = schemas[0] if same else schemas[0].remove_metadata()

    def check(width: int) -> None:
        for path, part in parts.items():
            with _undamaged(path):
                part.check(width)

    def fetch(position: int) -> pa.ChunkedArray:
        found = []
        for path, part in parts.items():
            with _undamaged(path):
                array = part.fetch(position)
            kind = array.type
            found += [chunk for chunk in array.chunks if len(chunk)]
        return pa.chunked_array(found, kind)

    return _Source(schema, check, fetch)


def _open_feather(path: Path) -> _Source:
    def open_file(**options: Any) -> Any:
        chosen = pa.ipc.IpcReadOptions(**options)
        try:
            return pa.ipc.open_file(pa.OSFile(str(path)), options=chosen)
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.OSFile(str(path)), options=chosen)

    widths = [0]

    def check(width: int) -> None:
        widths[0] = width

    def fetch(position: int) -> pa.ChunkedArray:
        # Batch by batch: what a file declares of its size need not be true.
        reader = open_file(included_fields=[position], use_threads=False)
        size, rows, taken, chunks = path.stat().st_size, 0, 0, []
        for batch in _batches(reader):
            rows, taken = rows + batch.num_rows, taken + batch.nbytes
            check_expansion(max(rows * widths[0], taken), size, path)
            chunks.append(batch.column(0))
        return pa.chunked_array(chunks, reader.schema.field(0).type)

    return _Source(open_file().schema, check, fetch)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    """Give the batches of an Arrow file or stream."""
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)


def _is_text(dtype: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(dtype)
        or pa.types.is_large_string(dtype)
        or pa.types.is_string_view(dtype)
    )


def _without_index(names: list[str]) -> list[str]:
    """Return the names without the row numbers that pandas adds to its files."""
    return [name for name in names if not name.startswith("__index_level_")]


def _read_column(source: _Source, position: int) -> Column:
    field = source.schema.field(position)
    name = field.name
    array, dtype = source.fetch(position), field.type
    array.validate(full=True)  # what is not checked here may end the process later
    if pa.types.is_dictionary(dtype):
        column = _encode_dictionary(array, field)
    elif pa.types.is_dictionary(array.type):
        column = encode_texts(array, name)
    else:
        series = as_series(array, name).rechunk()
        del array  # otherwise the chunks would be held beside their copy
        pa.default_memory_pool().release_unused()
        column = encode(series, name)
    usual = str(dtype) in USUAL or _is_text(dtype) or pa.types.is_dictionary(dtype)
    return column if usual else replace(column, storage=f"arrow:{dtype}")


def _encode_dictionary(array: pa.ChunkedArray, field: pa.Field) -> Column:
    """Encode declared categories."""
    # polars marks every Enum as ordered, whether the order means something or not; the order of
    # its Categorical is that of appearance.
    enum = any(key.startswith(b"_PL_ENUM") for key in field.metadata or {})
    if any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or {}) and len(array):
        return replace(encode_texts(array, field.name), kind=Kind.CATEGORY)
    kind = Kind.ORDERED if field.type.ordered and not enum else Kind.CATEGORY
    if not len(array):
        return Column(np.zeros(0, np.uint8), np.array([], dtype=object), kind)
    lists = {tuple(chunk.dictionary.to_pylist()): None for chunk in array.chunks}
    if len(lists) > 1 and kind is Kind.CATEGORY:  # of parts: their order is not one of the table
        return replace(encode_texts(array, field.name), kind=kind)
    if len(lists) > 1:
        array = _in_one_order(array, list(lists), field.name)
    return replace(encode_arrow_dictionary(array, field.name), kind=kind, storage="")


def _in_one_order(
    array: pa.ChunkedArray, lists: Sequence[tuple[str, ...]], name: str
) -> pa.ChunkedArray:
    """Return ordered categories on one list of levels that agrees with the lists of all parts."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for levels in lists:
        for before, after in zip((None, *levels), levels, strict=False):
            order.add(after, *(() if before is None else (before,)))
    try:
        merged = pa.array(list(order.static_order()), pa.string())
    except CycleError:
        raise CaveatError(
            "its levels stand in another order in some parts than in others",
            column=name,
            do="write all parts with one list of levels",
            code="data.level.mismatch",
        ) from None
    chunks = []
    for chunk in array.chunks:
        codes = pc.index_in(chunk.cast(pa.string()), value_set=merged).cast(pa.int32())
        chunks.append(pa.DictionaryArray.from_arrays(codes, merged, ordered=True))
    return pa.chunked_array(chunks)


def encode_texts(array: pa.ChunkedArray, name: str) -> Column:
    """Encode text that was read as a dictionary in the order of appearance, chunk by chunk."""
    dictionaries = [as_series(pa.chunked_array([c.dictionary]), name) for c in array.chunks]
    words = pl.concat(dictionaries) if dictionaries else pl.Series(dtype=pl.String)
    words = words.cast(pl.String).drop_nulls().unique().sort()
    n = len(words)
    codes = np.empty(len(array), dtype=smallest_unsigned(n + 1))
    start = 0
    for chunk, dictionary in zip(array.chunks, dictionaries, strict=True):
        # The last place is that of empty cells.
        places = dictionary.cast(pl.Enum(words)).to_physical().to_numpy()
        lookup = np.append(places, n).astype(codes.dtype)
        indices = chunk.indices.fill_null(len(dictionary)) if chunk.null_count else chunk.indices
        codes[start : start + len(chunk)] = lookup[np.asarray(indices)]
        start += len(chunk)
    missing = (Missing(),) if array.null_count else ()
    levels = np.array(words.to_list(), dtype=object)
    column = Column(codes, levels, kind_of_text(len(array), n), missing)
    return column.declare_missing([Missing("")]) if n and levels[0] == "" else column


def prepare_columnar(table: Table, suffix: str) -> Callable[[Path], None]:
    """Return a function that writes the table as Parquet or Feather."""
    return partial(_write, table, suffix)


def _write(table: Table, suffix: str, path: Path) -> None:
    table = replace(table, columns={name: _released(table[name]) for name in table})
    arrays = [arrow_of(column) for column in table.columns.values()]
    whole = pa.table(arrays, names=list(table)).replace_schema_metadata({KEY: notes_of(table)})
    if suffix == ".parquet":
        pq.write_table(whole, path, compression="zstd", write_page_checksum=True)
        return
    options = pa.ipc.IpcWriteOptions(compression="zstd" if suffix == ".feather" else None)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, whole.schema, options=options) as out,
    ):
        out.write_table(whole)


def write_parquet_blocks(blocks: Iterable[Table], path: Path) -> None:
    """Write the blocks of a table as the row groups of a Parquet file, without the notes.

    What the notes keep of missing codes that a type cannot hold needs the whole table; here such
    cells are empty. Categories have one list of levels in all row groups, for readers join lists
    as they come; levels that no block had are taken out in a second pass.
    """
    writer, seen = None, dict[str, NDArray[np.bool_]]()
    try:
        for table in blocks:
            released = {name: _released(column) for name, column in table.columns.items()}
            arrays = [arrow_of(column) for column in released.values()]
            part = pa.table(arrays, names=list(table))
            for name, array in zip(table, arrays, strict=True):
                if pa.types.is_dictionary(array.type):
                    here = np.zeros(len(array.dictionary) + 1, dtype=bool)
                    here[array.indices.fill_null(len(array.dictionary)).to_numpy()] = True
                    seen[name] = here[:-1] | seen.get(name, False)
            if writer is None:
                writer, lists = pq.ParquetWriter(path, part.schema, compression="zstd"), part
            writer.write_table(part.cast(writer.schema))
    finally:
        if writer is not None:
            writer.close()
    kept = {
        name: lists[name].chunk(0).dictionary.filter(pa.array(used))
        for name, used in seen.items()
        if not used.all()
    }
    if kept:
        _with_levels(path, kept)


def _with_levels(path: Path, kept: Mapping[str, pa.Array]) -> None:
    """Write a Parquet file again, row group by row group, with other lists of levels."""
    made = path.with_name(f"{UNFINISHED}{token_hex(6)}")
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            with pq.ParquetWriter(made, schema, compression="zstd") as writer:
                for i in range(file.num_row_groups):
                    part = file.read_row_group(i)
                    for name, levels in kept.items():
                        cells = part[name].cast(pa.string()).combine_chunks()
                        codes = pc.index_in(cells, value_set=levels).cast(pa.int32())
                        ordered = schema.field(name).type.ordered
                        array = pa.DictionaryArray.from_arrays(codes, levels, ordered=ordered)
                        place = part.schema.get_field_index(name)
                        part = part.set_column(place, schema.field(name), array)
                    writer.write_table(part)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def write_part(table: Table, path: Path) -> None:
    """Write a block of rows as a part of a table, whole or not at all.

    Categories are plain text: a list of levels would differ from part to part.
    """
    arrays = [arrow_of(column) for column in table.compact().columns.values()]
    plain = [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in arrays]
    made = path.with_name(f"{UNFINISHED}{token_hex(6)}")
    with unwritable(path):
        pq.write_table(pa.table(plain, names=list(table)), made, compression="zstd")
        made.replace(path)


def _released(column: Column) -> Column:
    """Return what may leave: categories keep their list of levels, other kinds only what occurs."""
    return (
        column if column.kind in (Kind.CATEGORY, Kind.ORDERED, Kind.BOOLEAN) else column.compact()
    )


def arrow_of(column: Column) -> pa.Array:
    """Return the cells as others read them: codes that the type cannot hold are empty cells."""
    dtype = column.levels.dtype
    codes = [m.code for m in column.missing if fits(m.code, dtype)]
    kept = np.ones(column.n_levels, dtype=bool)
    kept[len(column.levels) :] = [fits(m.code, dtype) for m in column.missing]
    # Codes that are not kept leave gaps in the dictionary.
    places = (np.cumsum(kept) - 1).astype(np.int32)[column.codes]
    empty = ~kept[column.codes]
    if dtype.kind == "O":
        values = pa.array([*column.levels.tolist(), *codes], pa.string())
        indices = pa.array(places, mask=empty)
        if column.kind in (Kind.TEXT, Kind.ID):
            return values.take(indices)
        return pa.DictionaryArray.from_arrays(indices, values, ordered=column.kind is Kind.ORDERED)
    values = np.append(column.levels, np.array(codes or [], dtype=dtype))
    if not len(values):
        values = np.zeros(1, dtype=dtype)
    array = pa.array(values[places], mask=empty)
    if column.kind is Kind.DATE:
        array = array.cast(pa.date32())
    wanted = column.storage.removeprefix("arrow:") if column.storage.startswith("arrow:") else ""
    return arrow_cast(array, wanted) if wanted else array
