"""How far a packed file may expand, found out while it does and not when memory is full.

A bomb is a small file that says it is a huge one. Honest tables shrink to a fiftieth at best, so
that a file that grows to more than two hundred times its size is refused, unless it is small
enough to do no harm.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from caveat.errors import CaveatError
from caveat.table.input_checks import positive_number

__all__ = ["check_expansion", "unpack"]

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
