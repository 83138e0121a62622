"""The container of a model: a zip archive of one JSON document and plain arrays.

Whoever wrote the file, reading it executes nothing and takes no more memory than its size
justifies: what a header claims is compared with what is there before anything is allocated.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.drafts import atomic_output

__all__ = ["NOTICE", "VERSION", "check_file", "damaged", "pack", "read", "unpack", "write"]

FORMAT = "caveat model"
VERSION = 1
NOTICE = (
    "CONFIDENTIAL: this file holds values of original records. Handle it as the data themselves."
)
DOCUMENT = "model.json"
EPOCH = (1980, 1, 1, 0, 0, 0)  # no time of day in the file: the same model gives the same bytes

# What a damaged archive, array or document can make the readers raise.
UNREADABLE = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, MemoryError, OverflowError),
    *(zlib.error, struct.error),
)
# A file may unpack to this, whatever its size, and beyond that to so many times its size.
# Documents take more memory than their text, so that less of it is accepted.
MOST_BYTES, MOST_TEXT, MOST_EXPANSION = 1 << 28, 1 << 26, 100
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
INTEGERS = range(-(1 << 63), 1 << 64)

# The header that NumPy has written for plain arrays since 2006. Nothing else is evaluated.
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([|<][biuf][1248])', 'fortran_order': (False|True), "
    rb"'shape': \((|\d{1,19},|\d{1,19}(?:, \d{1,19})+)\), \} *\n"
)
TYPES = frozenset(
    np.dtype(code).newbyteorder("<").str
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)


def write(
    path: Path,
    document: dict[str, Any],
    arrays: list[NDArray[Any]],
    *,
    force: bool = False,
    packed: bool = True,
) -> None:
    """Write a document and its arrays, whole or not at all; working files need not be packed."""
    how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    header = {"notice": NOTICE, "format": FORMAT, "version": VERSION}
    with (
        atomic_output(path, confidential=True, force=force) as draft,
        zipfile.ZipFile(draft, "w", how, compresslevel=1) as archive,
    ):
        archive.comment = NOTICE.encode()
        text = json.dumps({**header, **document}, ensure_ascii=False, allow_nan=False)
        archive.writestr(zipfile.ZipInfo(DOCUMENT, EPOCH), text, how)
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(_member(number), EPOCH)
            archive.writestr(entry, buffer.getvalue(), how)


def read(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the document and the arrays of a file, or say why it cannot be read."""
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if DOCUMENT not in archive.namelist():
                raise _foreign(path)
            sizes = _sizes(archive, path.stat().st_size)
            document = json.loads(_content(archive, DOCUMENT, sizes), parse_constant=_refuse)
            if not isinstance(document, dict) or document.get("format") != FORMAT:
                raise _foreign(path)
            _check_version(document.get("version"), path)
            names = [_member(number) for number in range(len(sizes) - 1)]
            return document, [_array(_content(archive, name, sizes)) for name in names]
    except zipfile.BadZipFile:
        with path.open("rb") as file:
            raise (damaged(path) if file.read(2) == b"PK" else _foreign(path)) from None
    except UNREADABLE:
        raise damaged(path) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of a document")


def check_file(path: Path) -> None:
    """Refuse what is not there, and pipes and devices, which may never end."""
    try:
        if not path.stat() or not path.is_file():
            raise _foreign(path)
        path.open("rb").close()
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="model.file.absent"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it has no valid name"
        raise CaveatError(
            f"the file cannot be read ({reason})", where=repr(path), code="model.file.unreadable"
        ) from None


def _member(number: int) -> str:
    return f"{number}.npy"


def _check_version(version: Any, path: Path) -> None:
    if type(version) is not int or version not in INTEGERS:
        raise damaged(path)
    if version != VERSION:
        raise CaveatError(
            f"a model file of version {version}; this program reads {VERSION}",
            where=str(path),
            do="use the version of Caveat that wrote it, or fit again",
            code="model.version.unsupported",
        )


def _sizes(archive: zipfile.ZipFile, stored: int) -> dict[str, int]:
    """Return the size that each member claims, or refuse members and sizes no model has."""
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    wanted = {DOCUMENT, *(_member(number) for number in range(len(sizes) - 1))}
    if len(sizes) < len(archive.infolist()) or set(sizes) != wanted:
        raise ValueError("members that no model has")
    if any(entry.compress_type not in COMPRESSIONS for entry in archive.infolist()):
        raise ValueError("a compression that no model has")
    expanded = MOST_EXPANSION * stored
    if sizes[DOCUMENT] > max(MOST_TEXT, expanded) or sum(sizes.values()) > max(
        MOST_BYTES, expanded
    ):
        raise ValueError("more content than a file of this size has")
    return sizes


def _content(archive: zipfile.ZipFile, name: str, sizes: Mapping[str, int]) -> bytes:
    """Return a member; one byte more than it claims is asked for, and never more is unpacked."""
    with archive.open(name) as member:
        content = member.read(sizes[name] + 1)
    if len(content) != sizes[name]:
        raise ValueError("a member that is shorter than it claims")
    return content


def _array(content: bytes) -> NDArray[Any]:
    """Return the array of an .npy member."""
    start = len(MAGIC) + 2
    if content[: len(MAGIC)] != MAGIC or len(content) < start:
        raise ValueError("no array")
    stop = start + int.from_bytes(content[start - 2 : start], "little")
    found = HEADER.fullmatch(content[start:stop])
    if found is None or found[1].decode() not in TYPES:
        raise ValueError("no header of a plain array")
    dtype = np.dtype(found[1].decode())
    shape = tuple(int(length) for length in found[3].split(b",") if length.strip())
    if math.prod(shape) * dtype.itemsize != len(content) - stop:
        raise ValueError("an array of another size than its header claims")
    plain = np.frombuffer(content, dtype, offset=stop)
    if dtype.kind == "b" and np.any(plain.view(np.uint8) > 1):
        raise ValueError("truth values that are neither true nor false")
    # A copy, because kernels are compiled for arrays that may be written to.
    return plain.reshape(shape, order="F" if found[2] == b"True" else "C").copy(order="K")


def _foreign(path: Path) -> CaveatError:
    return CaveatError(
        "not a model file",
        where=str(path),
        do="name a file that caveat synth --model wrote",
        code="model.file.type",
    )


def damaged(path: Path) -> CaveatError:
    """Return the error for a file that holds no model that can be used."""
    return CaveatError(
        "the model file is damaged",
        where=str(path),
        do="fit the model again",
        code="model.file.damaged",
    )


def pack(state: Any, arrays: list[NDArray[Any]]) -> Any:
    """Replace arrays in a nested state by their place in a list."""
    if isinstance(state, np.ndarray):
        arrays.append(state)
        return {"$array": len(arrays) - 1}
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, Mapping):
        return {str(key): pack(value, arrays) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [pack(value, arrays) for value in state]
    return state


def unpack(state: Any, arrays: Iterator[tuple[int, NDArray[Any]]]) -> Any:
    """Put numbered arrays back, each in one place and in their order.

    What 64 bits or UTF-8 cannot hold has not come from `pack`.
    """
    if isinstance(state, dict):
        if set(state) == {"$array"}:
            number, array = next(arrays, (None, None))
            if array is None or state["$array"] != number:
                raise ValueError("an array out of its place")
            return array
        return {_text(key): unpack(value, arrays) for key, value in state.items()}
    if isinstance(state, list):
        return [unpack(value, arrays) for value in state]
    if isinstance(state, int) and state not in INTEGERS:
        raise ValueError("a whole number beyond 64 bits")
    return _text(state) if isinstance(state, str) else state


def _text(text: str) -> str:
    if not text.isascii():
        text.encode()
    return text
