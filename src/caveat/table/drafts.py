"""Drafts: files and folders before they get their names, and what killed runs have left of them.

A draft lies beside its target under a name that says what it is. It is locked while its writer
lives, so that the next run in the folder knows which drafts nobody will finish, and removes them.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from caveat.stopping import UNFINISHED, held

fcntl: Any = None
with suppress(ImportError):  # without such locks a draft is old after a day
    import fcntl

__all__ = [
    "DAY",
    "PREFIX",
    "clear_up",
    "ending",
    "file_draft",
    "is_abandoned",
    "make_locked",
    "name_beside",
    "release",
]

PREFIX = ".caveat-draft-confidential-"
"""Every draft is called so: also that of a synthetic table is not for release."""

LONGEST = 100  # bytes of the target's name in that of a draft: file systems allow 255 in all
DAY = 24 * 60 * 60


def name_beside(target: Path, prefix: str = PREFIX) -> Path:
    """Return a new name beside a target, which ends as the target's does."""
    return target.with_name(f"{prefix}{secrets.token_hex(6)}-{ending(target)}")


def ending(target: Path) -> str:
    """Return the end of a target's name that is part of its draft's."""
    name = target.name
    while len(os.fsencode(name)) > LONGEST:
        name = name[1:]
    return name


@contextmanager
def file_draft(target: Path) -> Iterator[Path]:
    """Give an empty draft of a file, and remove it afterwards unless it has got another name."""
    clear_up(target.parent)
    draft, opened = _new(target)
    try:
        yield draft
    finally:
        with held():
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            UNFINISHED.discard(draft)
            release(opened)


def _new(target: Path) -> tuple[Path, int | None]:
    with held():
        while True:
            draft = name_beside(target)
            UNFINISHED.add(draft)
            opened = make_locked(draft)
            # Somebody who clears up may have come before the lock.
            if draft.exists():
                return draft, opened
            release(opened)


def make_locked(path: Path) -> int | None:
    """Make a file and lock it until it is released, or the process ends in any way.

    Returns
    -------
    int or None
        What is to be released; None where there are no locks.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
    except (AttributeError, OSError):  # not every system and network has them
        os.close(opened)
        return None
    return opened


def release(opened: int | None) -> None:
    """Give a lock up."""
    if opened is not None:
        os.close(opened)


def clear_up(folder: Path) -> None:
    """Remove the drafts of files in a folder whose writers have ended without doing so."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.name.startswith(PREFIX) and entry.is_file(follow_symlinks=False):
                _remove_abandoned(Path(entry.path))


def _remove_abandoned(draft: Path) -> None:
    with suppress(OSError), is_abandoned(draft) as abandoned:
        if abandoned:
            draft.unlink()


@contextmanager
def is_abandoned(locked: Path) -> Iterator[bool]:
    """Say whether the writer that locks a file has ended; inside nobody else can lock it."""
    if fcntl is None:
        yield time.time() - locked.stat().st_mtime > DAY
        return
    opened = os.open(locked, os.O_RDWR)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:
            free = time.time() - os.fstat(opened).st_mtime > DAY
        yield free
    finally:
        os.close(opened)
