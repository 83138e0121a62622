"""Lines at the end of a file: all of them or nothing, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["append"]


def append(path: Path, whole: int, lines: Sequence[str]) -> None:
    """Add lines after the last whole one, all of them or nothing, and force them to the disk.

    Parameters
    ----------
    path
        The file; it is made if it is not there.
    whole
        Length of what is whole in it; what follows is cut off.
    lines
        The lines, without their ends.
    """
    line = b"".join(text.encode() + b"\n" for text in lines)
    is_new = not path.exists()
    opened = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.ftruncate(opened, whole)
        if whole:
            os.lseek(opened, whole - 1, os.SEEK_SET)
            if os.read(opened, 1) != b"\n":
                line = b"\n" + line  # somebody's editor has left the last end out
        try:
            os.lseek(opened, whole, os.SEEK_SET)
            if os.write(opened, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(opened)
        except OSError:
            os.ftruncate(opened, whole)
            raise
    finally:
        os.close(opened)
    if is_new and os.name != "nt":
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """See to it that also the name of a new file outlives the machine."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
