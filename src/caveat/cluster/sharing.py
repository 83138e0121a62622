"""What workers share: a folder that all of them see, and what each has made of it for its tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from caveat.cluster.workers import Workers
from caveat.errors import CaveatError
from caveat.table.frames import workplace

__all__ = ["Kept", "shared_folder"]


class Kept:
    """What a process has made for its tasks, so that the next one need not make it again.

    Parameters
    ----------
    make
        Makes it for a folder.
    """

    def __init__(self, make: Callable[[str], Any]) -> None:
        self.make = make
        self.lock = threading.Lock()
        self.kept: dict[str, Any] = {}

    def of(self, folder: str) -> Any:
        """Return what belongs to a folder; what belongs to another one is forgotten."""
        with self.lock:
            if folder not in self.kept:
                self.kept.clear()
                self.kept[folder] = self.make(folder)
            return self.kept[folder]

    def forget(self, folder: str) -> None:
        """Let go of what belongs to a folder: it is confidential, and workers stay."""
        with self.lock:
            self.kept.pop(folder, None)


@contextmanager
def shared_folder(workers: Workers, forget: Callable[[str], object]) -> Iterator[Path]:
    """Give a folder that all workers see; afterwards it is gone, and they have forgotten it."""
    with workplace(workers.place) as folder:
        workers.check(folder)
        try:
            yield folder
        finally:
            with suppress(CaveatError):  # whoever is lost has forgotten it too
                workers.everywhere(forget, str(folder))
