"""What workers are and share: threads and processes of this machine."""

from __future__ import annotations

import os
import pkgutil
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from caveat.errors import CaveatError
from caveat.stopping import SIGNALS
from caveat.table.frames import workplace

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


# -------------------------------------------------------------------------------------------------
# Workers on this machine: threads of this process, or processes that end with it.


MOST_DEATHS = 3
"""A task whose worker has ended so often is not tried again."""


@dataclass(frozen=True)
class Threads:
    """Threads of this process.

    Parameters
    ----------
    number
        How many.
    place
        Where folders for the work are made.
    """

    number: int
    place: Path | None = None

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give the results of a task in the order of the items."""
        with ThreadPoolExecutor(self.number) as pool:
            try:
                yield from in_order(
                    lambda item: pool.submit(task, item),
                    lambda waiting: waiting[0].result(),
                    items,
                    AHEAD * self.number,
                )
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def everywhere(self, task: Callable[[Item], object], item: Item) -> None:
        """Do something in this process."""
        task(item)

    def check(self, folder: Path) -> None:
        """Refuse nothing: threads see what their process sees."""


class Processes:
    """Processes of this machine. One that ends costs the tasks that it was at.

    Parameters
    ----------
    number
        How many.
    place
        Where folders for the work are made.
    """

    def __init__(self, number: int, place: Path | None = None) -> None:
        self.number = number
        self.place = place
        self._pool: ProcessPoolExecutor | None = None

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give the results of a task in the order of the items."""
        version, deaths = own_version(), 0

        def submit(item: Item) -> _Sent:
            return _Sent(item, self._submit(version, task, item))

        def take(waiting: deque[_Sent]) -> Result:
            nonlocal deaths
            while True:
                try:
                    result: Result = answer(waiting[0].future.result())
                except BrokenProcessPool:
                    deaths += 1
                    if deaths > MOST_DEATHS:
                        raise _died() from None
                    # The pool goes down with one of its processes: what is not ready is sent again.
                    self.close()
                    for sent in waiting:
                        if not _is_ready(sent.future):
                            sent.future = self._submit(version, task, sent.item)
                else:
                    deaths = 0
                    return result

        try:
            yield from in_order(submit, take, items, AHEAD * self.number)
        except BaseException:
            self.close()
            raise

    def _submit(self, *work: Any) -> Future[Any]:
        for _ in range(MOST_DEATHS):
            if self._pool is None:
                # Not forked: threads and compiled kernels do not survive that.
                self._pool = ProcessPoolExecutor(
                    self.number, get_context("spawn"), initializer=_begin
                )
            try:
                return self._pool.submit(call, *work)
            except BrokenProcessPool:
                self.close()
        raise _died()

    @property
    def pids(self) -> list[int]:
        """The processes that are there."""
        return [] if self._pool is None else list(self._pool._processes or ())

    def everywhere(self, task: Callable[[Item], object], item: Item) -> None:
        """Do nothing: these processes end with the work."""

    def check(self, folder: Path) -> None:
        """Refuse nothing: processes of this machine see what this one sees."""

    def close(self) -> None:
        """End the processes; what they are at is not waited for."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        there = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in there:
            with suppress(OSError, ValueError):
                process.terminate()
        for process in there:
            with suppress(OSError, ValueError, AssertionError):
                process.join()


@dataclass
class _Sent:
    """A task that was handed out."""

    item: Any
    future: Future[Any]


def _is_ready(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _died() -> CaveatError:
    return CaveatError(
        f"a worker process has ended {MOST_DEATHS + 1} times at the same task",
        where="cluster",
        do="look whether the machine has run out of memory, and use fewer workers",
        code="cluster.worker.failed",
    )


def _begin() -> None:
    """Leave signals to the process that started this one, and end with it in any case."""
    for sign in SIGNALS:
        if sign != getattr(signal, "SIGTERM", None):
            signal.signal(sign, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def threads(number: int, place: Path | None = None) -> Iterator[Threads]:
    """Give threads of this process as workers.

    Examples
    --------
    >>> with threads(2) as workers:
    ...     list(workers.map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    yield Threads(number, place)


@contextmanager
def processes(number: int, place: Path | None = None) -> Iterator[Processes]:
    """Give processes as workers; they are gone afterwards."""
    workers = Processes(number, place)
    try:
        yield workers
    finally:
        workers.close()


# -------------------------------------------------------------------------------------------------
# What workers share: a folder that all of them see, and what each has made of it for its tasks.


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
