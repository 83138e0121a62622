"""Where work leaves its files: a private folder for confidential ones, gone when it has ended.

It is locked while the process that made it lives. One that was killed outright cannot clear up:
the next one that makes such a folder does it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caveat.table.atomic import check_folder, unwritable
from caveat.table.drafts import clear_up, locked_folder

__all__ = ["PREFIX", "workplace"]

PREFIX = "caveat-work-confidential-"


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
    clear_up(place, PREFIX)
    folder = locked_folder(place, f"{PREFIX}{{}}")
    with unwritable(place):
        made = folder.__enter__()
    try:
        yield made
    finally:
        folder.__exit__(None, None, None)
