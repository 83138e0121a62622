"""Arrays in files of NumPy's format, written and opened without its parser.

NumPy reads the header of a file with `ast.literal_eval`, which fails now and then in Python 3.11 if
several threads do so at the same time. The header of a plain array has one form, and is read here
by a pattern; nothing is evaluated.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["open_array", "write_array"]

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([^']+)', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\), \} *\n"
)
PIECE = 1 << 24  # bytes that are written at once


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array to a new file as NumPy does, but report a full disk as such.

    Parameters
    ----------
    path
        The file; it must not be there, and only its owner can read it.
    array
        A plain array: no objects, no records.
    """
    array = np.ascontiguousarray(array)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        raw = array.reshape(-1).view(np.uint8)
        for start in range(0, len(raw), PIECE):
            file.write(raw[start : start + PIECE].tobytes())


def open_array(path: Path, mode: Literal["r", "c"] | None = None) -> NDArray[Any]:
    """Return the array of a file.

    Parameters
    ----------
    path
        A file that `write_array` or `numpy.save` wrote from a plain array.
    mode
        "r" to map the file for reading, "c" to map it so that changes stay in memory; without it
        the array is read into memory.

    Raises
    ------
    ValueError
        If the file holds no plain array, or only a part of it.
    """
    with path.open("rb") as file:
        start = file.read(len(MAGIC) + 2)
        size = int.from_bytes(start[len(MAGIC) :], "little")
        found = HEADER.fullmatch(file.read(size)) if start.startswith(MAGIC) else None
        if found is None:
            raise ValueError("no file of a plain array")
        dtype = np.dtype(found[1].decode())
        if dtype.hasobject:
            raise ValueError("no file of a plain array")
        order: Literal["C", "F"] = "F" if found[2] == b"True" else "C"
        shape = tuple(int(length) for length in found[3].split(b",") if length.strip())
        if mode is None:
            return np.fromfile(file, dtype).reshape(shape, order=order)
    return np.memmap(
        path, dtype=dtype, mode=mode, offset=len(start) + size, shape=shape, order=order
    )
