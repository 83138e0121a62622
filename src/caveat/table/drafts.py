"""Drafts and locks: outputs before they get their names, and what killed runs have left of them.

A draft lies in a private folder beside its target, whose name says what it is, together with
whatever the library that writes it puts beside it. The folder is locked while its writer lives, so
that the next run there finds the drafts that nobody will finish, and removes them. Only who holds
the lock of a file removes it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from caveat.errors import CaveatError
from caveat.stopping import UNFINISHED, held

fcntl: Any = None
with suppress(ImportError):  # without such locks a draft is old after a day
    import fcntl

__all__ = [
    "DAY",
    "LOCK",
    "PREFIX",
    "clear_up",
    "draft_of",
    "ending",
    "exclusive",
    "is_abandoned",
    "locked_folder",
    "make_locked",
    "make_private",
    "open_private",
    "release",
    "wait_for_writer",
]

PREFIX = ".caveat-draft-confidential-"
"""Every draft is called so: also that of a synthetic table is not for release."""

LOCK = ".lock"  # the file in the folder of a draft that its writer locks
LONGEST = 100  # bytes of the target's name in that of a draft: file systems allow 255 in all
DAY = 24 * 60 * 60
PATIENCE = 600.0
"""Seconds that a writer waits for another one."""

STEP = 0.02


def ending(target: Path) -> str:
    """Return the end of a target's name that is part of its draft's."""
    name = target.name
    while len(os.fsencode(name)) > LONGEST:
        name = name[1:]
    return name


# -------------------------------------------------------------------------------------------------
# Drafts


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Provide the path of a draft, and remove what is there afterwards.

    Parameters
    ----------
    target
        The file or folder that the draft becomes when it is renamed.

    Yields
    ------
    Path
        A path of the target's name in a new folder that only this user can enter. Nothing is there.
    """
    clear_up(target.parent)
    name = f"{PREFIX}{{}}-{ending(target)}"
    with locked_folder(target.parent, name) as folder:
        yield folder / target.name


@contextmanager
def locked_folder(place: Path, name: str) -> Iterator[Path]:
    """Provide a new private folder that is locked and, at the end, removed.

    Parameters
    ----------
    place
        The folder around it.
    name
        Its name, with ``{}`` for a random part.
    """
    folder, lock = _new_folder(place, name)
    try:
        yield folder
    finally:
        with held():
            shutil.rmtree(folder, ignore_errors=True)
            UNFINISHED.discard(folder)
            release(lock)


def _new_folder(place: Path, name: str) -> tuple[Path, int | None]:
    while True:
        with held():
            folder = place / name.replace("{}", secrets.token_hex(6), 1)
            folder.mkdir(mode=0o700)
            try:
                lock = make_locked(folder / LOCK)
            except FileNotFoundError:
                continue
            except OSError:
                folder.rmdir()
                raise
            # Somebody who clears up may have come before the lock.
            if (folder / LOCK).exists():
                UNFINISHED.add(folder)
                return folder, lock
            release(lock)


def make_private(draft: Path, target: Path, *, confidential: bool) -> None:
    """Set the permissions of a draft before it gets its name; this is where they are decided.

    What may leave has the permissions that the system gives to a new file. What is confidential is
    for this user alone. Neither is open to more people than what it replaces.
    """
    mode = stat.S_IMODE(draft.stat().st_mode)
    allowed = mode & 0o700 if confidential else mode
    with suppress(OSError):  # there is no earlier one
        allowed &= stat.S_IMODE(target.stat().st_mode)
    if allowed != mode:
        draft.chmod(allowed)


def open_private(path: Path) -> BinaryIO:
    """Open a file to be written from its beginning; a new one is for this user alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def clear_up(folder: Path, prefix: str = PREFIX) -> bool:
    """Remove the drafts in a folder whose writers have ended without doing so.

    Returns
    -------
    bool
        Whether there were any.
    """
    removed = False
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.name.startswith(prefix) and not entry.is_symlink():
                removed |= _remove_abandoned(Path(entry.path), entry.is_dir(follow_symlinks=False))
    return removed


def _remove_abandoned(draft: Path, is_folder: bool) -> bool:
    with suppress(OSError):
        found = draft.lstat()
        if hasattr(os, "getuid") and found.st_uid != os.getuid():
            return False
        if is_folder and LOCK not in (inside := [path.name for path in draft.iterdir()]):
            # Without content it may be about to be locked, with content it has lost its lock.
            if inside or time.time() - found.st_mtime > DAY:
                shutil.rmtree(draft)
                return True
            return False
        with is_abandoned(draft / LOCK if is_folder else draft) as abandoned:
            if abandoned:
                shutil.rmtree(draft) if is_folder else draft.unlink()
                return True
    return False


# -------------------------------------------------------------------------------------------------
# Locks


def make_locked(path: Path) -> int | None:
    """Make a file and lock it until it is released, or the process ends in any way.

    Returns
    -------
    int or None
        What is to be released; None where there are no locks.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
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


@contextmanager
def is_abandoned(locked: Path) -> Iterator[bool]:
    """Say whether the writer that locks a file has ended; inside nobody else can lock it."""
    if fcntl is None:
        yield time.time() - locked.stat().st_mtime > DAY
        return
    opened = os.open(locked, os.O_RDWR)
    try:
        yield _take(opened, time.time() - os.fstat(opened).st_mtime > DAY) and _is(opened, locked)
    finally:
        os.close(opened)


def _take(opened: int, otherwise: bool) -> bool:
    """Lock an opened file unless somebody else does; where there are no locks, say otherwise."""
    if fcntl is None:
        return otherwise
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return otherwise
    return True


def _is(opened: int, path: Path) -> bool:
    """Whether an opened file still has its name: another one may have it meanwhile."""
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except OSError:
        return False


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Let no other process that does the same write to a target meanwhile.

    Another writer is waited for, at most `PATIENCE` seconds. What is locked is a file beside the
    target, so that the target itself can change places with a draft.
    """
    lock = _lock_beside(target)
    until = time.monotonic() + PATIENCE
    while (opened := _opened_lock(lock)) is None:
        if time.monotonic() > until:
            raise _busy(target)
        time.sleep(STEP)
    try:
        yield
    finally:
        with held():
            lock.unlink(missing_ok=True)
            UNFINISHED.discard(lock)
            release(opened)


def wait_for_writer(target: Path) -> None:
    """Wait while another process holds the target in `exclusive`; nothing is made for it."""
    lock = _lock_beside(target)
    until = time.monotonic() + PATIENCE
    with suppress(OSError):
        while lock.exists():
            with is_abandoned(lock) as abandoned:
                if abandoned:
                    return
            if time.monotonic() > until:
                raise _busy(target)
            time.sleep(STEP)


def _lock_beside(target: Path) -> Path:
    return target.with_name(f"{PREFIX}lock-{ending(target)}")


def _opened_lock(lock: Path) -> int | None:
    """Return a lock file, made or found, if it is ours now."""
    with held():
        is_new = True
        try:
            opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            is_new = False
            try:
                opened = os.open(lock, os.O_RDWR)
            except (FileNotFoundError, PermissionError):  # gone, or another user's
                return None
        old = time.time() - os.fstat(opened).st_mtime > DAY
        if _take(opened, is_new or old) and _is(opened, lock):
            UNFINISHED.add(lock)
            return opened
        os.close(opened)
        return None


def _busy(target: Path) -> CaveatError:
    return CaveatError(
        f"another run has been writing to it for {PATIENCE:.0f} seconds",
        where=str(target),
        do="wait for it and try again, or choose another name",
        code="command.output.busy",
    )
