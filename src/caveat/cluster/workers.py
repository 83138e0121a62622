"""What a group of workers is: something that does tasks and hands the results back in order.

A task is a function of a module with one argument that can be pickled and names files and numbers,
never a table: what is confidential goes through files that all workers see, and nowhere else. Where
the work runs changes no number, so that everything that is asked to run on workers gives the same
bytes as without them.
"""

from __future__ import annotations

import pkgutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from caveat.errors import CaveatError

__all__ = [
    "AHEAD",
    "Refused",
    "Workers",
    "answer",
    "call",
    "in_order",
    "own_version",
    "running_on",
    "workers_now",
]

Item = TypeVar("Item")
Result = TypeVar("Result")
Waiting = TypeVar("Waiting")

AHEAD = 4
"""Tasks for each worker that are handed out before the first result is taken."""


class Workers(Protocol):
    """Somebody who does tasks."""

    @property
    def number(self) -> int:
        """How many tasks are done at the same time."""

    @property
    def place(self) -> Path | None:
        """Where folders are made that all workers see; None for the usual one of this machine."""

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give the results of a task in the order of the items.

        Parameters
        ----------
        task
            A function of a module.
        items
            Its arguments: names of folders, and numbers.
        """

    def everywhere(self, task: Callable[[Item], object], item: Item) -> None:
        """Do something in each process that stays when the work is done: let it forget it."""

    def check(self, folder: Path) -> None:
        """Refuse a folder that a worker does not see."""


_NOW: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextmanager
def running_on(workers: Workers | None) -> Iterator[None]:
    """Let what can be shared out inside run on these workers.

    Parameters
    ----------
    workers
        None for the threads of this process.
    """
    before = _NOW.set(workers)
    try:
        yield
    finally:
        _NOW.reset(before)


def workers_now() -> Workers | None:
    """Return the workers that work is to run on; None for the threads of this process."""
    return _NOW.get()


def own_version(name: str = "caveat") -> str:
    """Return the version of a package that this process has."""
    return str(pkgutil.resolve_name(f"{name}:__version__"))


class Refused(NamedTuple):
    """A mistake of the user's that a worker has found, on its way back."""

    parts: dict[str, Any]


def call(version: str, task: Callable[[Item], Result], item: Item) -> Result | Refused:
    """Do a task where it was sent to; what the user can mend comes back as a value.

    Parameters
    ----------
    version
        The version of Caveat that has sent it: another one may give other bytes.
    task, item
        The task.
    """
    if own_version() != version:
        mismatch = CaveatError(
            f"a worker has caveat {own_version()}, and this is {version}",
            where="cluster",
            do="install the same version everywhere",
            code="cluster.version.mismatch",
        )
        return Refused(mismatch.parts)
    try:
        return task(item)
    except CaveatError as error:
        return Refused(error.parts)


def answer(result: Result | Refused) -> Result:
    """Return the result of a task, or raise what its worker has found."""
    if isinstance(result, Refused):
        raise CaveatError(**result.parts)
    return result


def in_order(
    submit: Callable[[Item], Waiting],
    take: Callable[[deque[Waiting]], Result],
    items: Iterable[Item],
    ahead: int,
) -> Iterator[Result]:
    """Hand tasks out, not too many at once, and give the results in their order.

    Parameters
    ----------
    submit
        Hands one out.
    take
        Waits for the first of those that were handed out, and returns its result.
    items
        The arguments.
    ahead
        So many are handed out before a result is waited for.

    Examples
    --------
    >>> list(in_order(abs, lambda waiting: waiting[0], [-1, 2, -3], ahead=2))
    [1, 2, 3]
    """
    waiting: deque[Waiting] = deque()
    for item in items:
        waiting.append(submit(item))
        if len(waiting) >= ahead:
            yield take(waiting)
            waiting.popleft()
    while waiting:
        yield take(waiting)
        waiting.popleft()
