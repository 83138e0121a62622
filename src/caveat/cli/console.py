"""What the commands share: where to print, and how to show progress and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from caveat.errors import CaveatWarning

__all__ = ["error", "notes", "out", "progress", "remark", "set_quiet"]

out = Console(highlight=False, soft_wrap=False)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


def set_quiet(quiet: bool) -> None:
    """Silence remarks and progress bars."""
    _err.quiet = quiet


def remark(message: str) -> None:
    """Say something about the run that is not a result."""
    _err.print(message, markup=False)


def error(message: str) -> None:
    """Say what is wrong, even when quiet."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"caveat: {message}", markup=False)


@contextmanager
def notes() -> Iterator[None]:
    """Print what the block warns of, each as a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        yield
    for warning in caught:
        remark(f"note: {warning.message}")


@contextmanager
def progress(disable: bool = False) -> Iterator[Progress]:
    """Show progress bars with an estimate; nothing is shown when not on a terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=_err,
        transient=True,
        disable=disable or _err.quiet or not _err.is_terminal,
    )
    with bar:
        yield bar
