"""A lock that must be had: held by one process, and given up by the system when that ends.

Drafts of files have a lock of their own (``table/drafts.py``), which they can do without. Here a
system or a network without locks is an error: two runs could spend the same budget.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError

fcntl: Any = None
with suppress(ImportError):  # Linux, macOS
    import fcntl
msvcrt: Any = None
with suppress(ImportError):  # Windows
    import msvcrt

__all__ = ["locked"]

PATIENCE = 600.0
"""Seconds that a run waits for another one."""

STEP = 0.02
BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on a file, which is made if it is not there and stays.

    Nothing is in the file and it is never removed: who removes it takes the lock from somebody who
    has just opened it.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait(opened, path)
        yield
    finally:
        os.close(opened)  # which gives the lock up


def _wait(opened: int, path: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not _try(opened, path):
        if time.monotonic() > until:
            raise CaveatError(
                f"another run has held the lock for {PATIENCE:.0f} seconds",
                where=str(path),
                do="let it end, and try again",
                code="privacy.lock.timeout",
            )
        time.sleep(STEP)


def _try(opened: int, path: Path) -> bool:
    """Take the lock if nobody has it."""
    try:
        if fcntl is not None:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)
        else:
            raise OSError(errno.ENOLCK, "no locks on this system")
    except OSError as error:
        if error.errno in BUSY:
            return False
        raise CaveatError(
            f"cannot be locked ({error.strerror})",
            where=str(path),
            do="put the ledger on a disk of this machine",
            code="privacy.lock.unsupported",
        ) from None
    return True
