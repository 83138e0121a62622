"""Sizes that an Arrow file declares, read before the library reserves memory for them.

Arrow's messages are flatbuffers: a table is a position, before which stands the distance to a list
of where its fields are. Of all that only the few numbers are read that say how much memory a batch
will take.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["declared_sizes"]

MAGIC = b"ARROW1"
BLOCK = 24  # bytes of an entry of the footer: offset, length of the message, length of the body
DICTIONARY, RECORDS = 2, 3


def declared_sizes(path: Path) -> Iterator[tuple[int, int]]:
    """Give for each batch the rows and the bytes that it says it has.

    Anything that is not laid out as Arrow prescribes is a ``ValueError`` or a ``struct.error``.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == MAGIC:
            for start in _blocks(file, size):
                yield _batch(file, start, size)[:2]
            return
        start = 0
        while start < size:
            rows, taken, start = _batch(file, start, size)
            yield rows, taken


def _blocks(file: BinaryIO, size: int) -> Iterator[int]:
    """Give the positions of all batches that the footer names."""
    length, magic = struct.unpack("<i6s", _at(file, size - 10, 10, size))
    if magic != MAGIC:
        raise ValueError("no footer")
    footer = _at(file, size - 10 - length, length, size)
    root = _number(footer, 0, "<I")
    for field in (DICTIONARY, RECORDS):
        place = _field(footer, root, field)
        if place:
            start, count = _vector(footer, place)
            for at in range(start, start + count * BLOCK, BLOCK):
                yield _number(footer, at, "<q")


def _batch(file: BinaryIO, start: int, size: int) -> tuple[int, int, int]:
    """Return rows and bytes of the batch at a position, and where the next message starts."""
    mark, length = struct.unpack("<Ii", _at(file, start, 8, size))
    head = 8 if mark == 0xFFFFFFFF else 4  # the way of writing before 2019
    length = length if head == 8 else mark
    if not length:
        return 0, 0, size
    message = _at(file, start + head, length, size)
    root = _number(message, 0, "<I")
    kind, place = _field(message, root, 1), _field(message, root, 2)
    width = _field(message, root, 3)
    body = start + head + length
    after = body + (_number(message, width, "<q") if width else 0)
    if not kind or not place or not start < after:
        raise ValueError("no message")
    table = place + _number(message, place, "<I")
    what = _number(message, kind, "B")
    if what == DICTIONARY:
        place = _field(message, table, 1)
        table = place + _number(message, place, "<I")
    if what not in (DICTIONARY, RECORDS):
        return 0, 0, after
    return *_sizes(file, message, table, body, size), after


def _sizes(file: BinaryIO, message: bytes, table: int, body: int, size: int) -> tuple[int, int]:
    """Return rows and bytes of a record batch; packed buffers begin with their unpacked length."""
    length, place = _field(message, table, 0), _field(message, table, 2)
    rows = _number(message, length, "<q") if length else 0
    packed = bool(_field(message, table, 3))
    start, count = _vector(message, place) if place else (0, 0)
    taken = 0
    for at in range(start, start + count * 16, 16):
        offset, stored = struct.unpack_from("<qq", message, at)
        if stored < 0 or offset < 0:
            raise ValueError("a buffer lies outside its batch")
        if packed and stored >= 8:
            stored = max(stored, _number(_at(file, body + offset, 8, size), 0, "<q"))
        taken += stored
    if rows < 0:
        raise ValueError("a negative number of rows")
    return rows, taken


def _at(file: BinaryIO, start: int, length: int, size: int) -> bytes:
    if start < 0 or length < 0 or start + length > size:
        raise ValueError("a position outside the file")
    file.seek(start)
    return file.read(length)


def _field(data: bytes, table: int, index: int) -> int:
    """Return the position of a table's field, 0 if the field is left out."""
    fields = table - _number(data, table, "<i")
    if fields < 0 or 4 + 2 * index >= _number(data, fields, "<H"):
        return 0
    offset = _number(data, fields + 4 + 2 * index, "<H")
    return table + offset if offset else 0


def _vector(data: bytes, place: int) -> tuple[int, int]:
    """Return where a vector's entries start and how many there are."""
    start = place + _number(data, place, "<I")
    return start + 4, _number(data, start, "<I")


def _number(data: bytes, at: int, form: str) -> int:
    if at < 0:
        raise ValueError("a position outside the message")
    return int(struct.unpack_from(form, data, at)[0])
