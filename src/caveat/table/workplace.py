"""Where work leaves its files: a private folder for confidential ones, gone when it has ended.

It is locked while the process that made it lives. One that was killed outright cannot clear up:
the next one that makes such a folder does it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from caveat.stopping import UNFINISHED, held
from caveat.table.atomic import check_folder, unwritable
from caveat.table.drafts import DAY, is_abandoned, make_locked, release

__all__ = ["PREFIX", "workplace"]

PREFIX = "caveat-work-confidential-"
LOCK = ".lock"


@contextmanager
def workplace(place: Path | None = None) -> Iterator[Path]:
    """Give a folder that nobody else may look into, and remove it afterwards.

    Parameters
    ----------
    place
        Where it is made; in the usual place for temporary files by default.
    """
    place = Path(tempfile.gettempdir()) if place is None else place.absolute()
    check_folder(place)
    _clear_up(place)
    with unwritable(place):
        folder, lock = _new(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        UNFINISHED.discard(folder)
        release(lock)


def _new(place: Path) -> tuple[Path, int | None]:
    while True:
        with held():
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            UNFINISHED.add(folder)
            with suppress(FileNotFoundError):
                lock = make_locked(folder / LOCK)
                # Somebody who clears up may have come before the lock.
                if folder.exists():
                    return folder, lock
                release(lock)
            UNFINISHED.discard(folder)


def _clear_up(place: Path) -> None:
    """Remove the folders of this user whose makers have ended without doing so."""
    with suppress(OSError):
        for entry in list(os.scandir(place)):
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_abandoned(Path(entry.path))


def _remove_abandoned(folder: Path) -> None:
    with suppress(OSError):
        made = folder.lstat()
        if hasattr(os, "getuid") and made.st_uid != os.getuid():
            return
        if not (folder / LOCK).exists():  # killed, or about to be locked
            if time.time() - made.st_mtime > DAY:
                shutil.rmtree(folder)
            return
        with is_abandoned(folder / LOCK) as abandoned:
            if abandoned:
                shutil.rmtree(folder)
