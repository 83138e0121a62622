"""Workers on this machine: threads of this process, or processes that end with it."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

from caveat.cluster.workers import AHEAD, answer, call, in_order, own_version
from caveat.errors import CaveatError
from caveat.stopping import SIGNALS

__all__ = ["Processes", "Threads", "processes", "threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

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
