"""What a generator costs: processor time and memory, of this process and of those it starts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["Cost", "measured"]

T = TypeVar("T")
MEGABYTE = 1e6
PAUSE = 0.02  # seconds between two looks at the memory


@dataclass(frozen=True)
class Cost:
    """What it took to fit a generator and to draw its copies.

    Parameters
    ----------
    cpu, wall
        Seconds of processor time, all threads and child processes together; seconds that passed.
    megabytes
        The most memory beyond what was taken before; None where the system does not tell.
    """

    cpu: float
    wall: float
    megabytes: float | None


def measured(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do some work and say what it took."""
    before, start, cpu = _resident(), time.perf_counter(), _cpu()
    highest, ended = before or 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not ended.wait(PAUSE):
            highest = max(highest, _resident() or 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = work()
    finally:
        ended.set()
        watcher.join()
    more = None if before is None else (max(highest, _resident() or 0) - before) / MEGABYTE
    return result, Cost(_cpu() - cpu, time.perf_counter() - start, more)


def _cpu() -> float:
    return sum(os.times()[:4])  # user and system, of this process and of its children


def _resident() -> int | None:
    """Return the bytes of this process in memory, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
