"""Tasks for workers, which load them by their name."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.synthesis import synthesizer


def double(number: int) -> int:
    return 2 * number


def slow_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0)
    return number


def refuse_two(number: int) -> int:
    if number == 2:
        raise CaveatError(
            "two is too many",
            where="here",
            do="use one",
            column="x",
            row=3,
            code="test.thing.failed",
        )
    return number


def fail(number: int) -> int:
    raise ZeroDivisionError(number)


def process_of(number: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def end_once(item: tuple[str, int]) -> int:
    """End the worker at the third task, the first time that one comes to it."""
    folder, number = item
    mark = Path(folder) / "ended"
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def end_always(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def wait_for(item: tuple[str, int]) -> int:
    """Say that the task has begun, and wait until a file is there."""
    folder, number = item
    (Path(folder) / f"begun-{number}").touch()
    deadline = time.monotonic() + 600
    while not (Path(folder) / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return number


def on_a_full_disk(task: Callable[[Any], Any], item: Any) -> Any:
    """Do a task as if the disk had room for four kilobytes, after everything was compiled."""
    import resource

    task(item)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        return task(item)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fit_on_a_full_disk(item: Any) -> Any:
    folder, number = item
    shutil.rmtree(Path(folder) / f"{number:05}", ignore_errors=True)
    return on_a_full_disk(synthesizer.fit_one, item)


def draw_on_a_full_disk(item: Any) -> Any:
    return on_a_full_disk(synthesizer.draw_one, item)
