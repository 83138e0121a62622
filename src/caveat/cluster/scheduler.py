"""Workers of a Dask cluster, and which workers an address means."""

from __future__ import annotations

import logging
import os
import pkgutil
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from caveat.cluster.workers import (
    AHEAD,
    Processes,
    Threads,
    Workers,
    answer,
    call,
    in_order,
    own_version,
    processes,
)
from caveat.errors import CaveatError

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 5.0
"""Seconds in which a scheduler, or one that was lost, must answer."""
ALONE = 60.0
"""Seconds after which a cluster that has lost all its workers is given up."""
LOOK = 2.0  # seconds between two looks whether there are any

MAY = os.R_OK | os.W_OK | os.X_OK
SAME = ("caveat", "numpy", "numba")
"""What must have the same version everywhere, for the same bytes."""


def is_client(given: Any) -> bool:
    """Say whether this is a client of a Dask cluster, without loading Dask."""
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(given).__mro__}
    return "distributed.client.Client" in names


@contextmanager
def connected(address: str, place: Path | None = None) -> Iterator[DaskWorkers]:
    """Give the workers of the scheduler at an address; the connection ends afterwards."""
    distributed = _distributed()
    logger = logging.getLogger("distributed")
    before = logger.level
    # What is lost is said here, in one sentence.
    logger.setLevel(logging.CRITICAL)
    try:
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError):
            raise CaveatError(
                "there is no scheduler that answers",
                where=f"cluster {address}",
                do="check the address and that the cluster runs, or use local:N",
                code="cluster.scheduler.absent",
            ) from None
        try:
            yield DaskWorkers(client, place)
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=PATIENCE)
    finally:
        logger.setLevel(before)


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise CaveatError(
            "Dask is not installed",
            where="cluster",
            do="install caveat[cluster], or use local:N",
            code="command.package.not-installed",
        ) from None


class DaskWorkers:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client
        A client of it.
    place
        Where folders for the work are made; all workers must see it.
    """

    def __init__(self, client: Any, place: Path | None = None) -> None:
        self.client = client
        self.place = place
        self.where = f"cluster {client.scheduler.address}"
        self._check_versions()

    @property
    def number(self) -> int:
        """How many tasks are done at the same time."""
        threads: Mapping[str, int] = self._ask(self.client.nthreads)
        return max(1, sum(threads.values()))

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Give the results of a task in the order of the items."""
        version = own_version()
        sent: list[Any] = []

        def submit(item: Item) -> Any:
            # A name that is never used again: Dask would hand out the result of an earlier run.
            key = f"caveat-{task.__name__}-{os.urandom(8).hex()}"
            send = self.client.submit
            future = self._ask(send, call, version, task, item, key=key, pure=False)
            sent.append(future)
            return future

        def take(waiting: deque[Any]) -> Result:
            result: Result = answer(self._result(waiting[0]))
            sent.remove(waiting[0])
            return result

        try:
            yield from in_order(submit, take, items, AHEAD * self.number)
        finally:
            if sent:
                with suppress(Exception):  # the scheduler may be gone
                    self.client.cancel(sent, force=True)

    def _result(self, future: Any) -> Any:
        distributed = _distributed()
        alone_since: float | None = None
        while True:
            try:
                return self._ask(future.result, timeout=LOOK)
            except distributed.KilledWorker as error:
                raise CaveatError(
                    f"{error.allowed_failures + 1} workers have ended at the same task",
                    where=self.where,
                    do="look whether their machines have run out of memory",
                    code="cluster.worker.failed",
                ) from None
            except (TimeoutError, distributed.TimeoutError):
                now = time.monotonic()
                if self._ask(self.client.nthreads):
                    alone_since = None
                elif now - (alone_since or now) > ALONE:
                    raise self._none_left() from None
                else:
                    alone_since = alone_since or now

    def _ask(self, what: Callable[..., Any], *given: Any, **how: Any) -> Any:
        """Ask the scheduler something; say so if it has gone."""
        gone = (import_module("distributed.comm").CommClosedError, CancelledError, ConnectionError)
        try:
            if self.client.status not in ("running", "connecting"):
                raise self._lost()
            return what(*given, **how)
        except gone:
            raise self._lost() from None
        except ModuleNotFoundError as error:
            if error.name != "caveat":
                raise
            raise CaveatError(
                "a worker has no caveat",
                where=self.where,
                do="install the same version there",
                code="cluster.worker.not-installed",
            ) from None

    def _lost(self) -> CaveatError:
        return CaveatError(
            "the connection to the scheduler was lost",
            where=self.where,
            do="see why it has ended, and run the command again",
            code="cluster.scheduler.interrupted",
        )

    def _none_left(self) -> CaveatError:
        return CaveatError(
            "the cluster has no workers",
            where=self.where,
            do="start some, and try again",
            code="cluster.worker.absent",
        )

    def _on_each(self, what: Callable[..., Any], *given: Any) -> Mapping[str, Any]:
        """Return what each worker says; a function of Python's own needs nothing installed."""
        said: Mapping[str, Any] = self._ask(self.client.run, what, *given, on_error="return")
        return said

    def _check_versions(self) -> None:
        """Refuse workers that have other versions than this process, or no Caveat at all."""
        for name in SAME:
            mine = own_version(name)
            said = self._on_each(pkgutil.resolve_name, f"{name}:__version__")
            if not said:
                raise self._none_left()
            for worker, theirs in said.items():
                if theirs == mine:
                    continue
                has = f"no {name}" if isinstance(theirs, Exception) else f"{name} {theirs}"
                raise CaveatError(
                    f"the worker {worker} has {has}, and this process has {mine}",
                    where=self.where,
                    do="install the same versions everywhere",
                    code="cluster.version.mismatch",
                )

    def everywhere(self, task: Callable[[Item], object], item: Item) -> None:
        """Do something in each worker."""
        self._on_each(task, item)

    def check(self, folder: Path) -> None:
        """Refuse a folder that a worker does not see."""
        for worker, seen in self._on_each(os.access, str(folder), MAY).items():
            if seen is not True:
                raise CaveatError(
                    f"the worker {worker} does not see this folder, or may not use it",
                    where=str(folder.parent),
                    do="name a folder that all machines share (--work)",
                    code="cluster.folder.unreadable",
                )


# -------------------------------------------------------------------------------------------------
# Which workers are meant: an address, a number of processes, a client, or workers.


LOCAL = "local:"
MOST = 1024  # processes; more are a slip of the finger
ADDRESS = re.compile(r"([a-z]+://)?[^\s:/]+(:\d{1,5})|\[[0-9a-fA-F:]+\]:\d{1,5}")
MEANT = "give the address of a scheduler (tcp://host:8786), or local:N for N processes"


def check_address(text: str) -> int | None:
    """Refuse what is neither an address nor local:N; return N, or None for an address.

    Examples
    --------
    >>> check_address("local:2"), check_address("tcp://node1:8786")
    (2, None)
    """
    if text.startswith(LOCAL):
        number = text.removeprefix(LOCAL)
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= MOST:
            raise CaveatError(
                f"{text!r} does not say how many processes",
                where="cluster",
                do=f"write local:2, or another number up to {MOST:,}",
                code="cluster.address.malformed",
            )
        return int(number)
    if not ADDRESS.fullmatch(text):
        raise CaveatError(
            f"{text!r} is no address", where="cluster", do=MEANT, code="cluster.address.malformed"
        )
    return None


def work_folder(cluster: Any, work: str | Path | None, output: Path | None) -> Path | None:
    """Return where working files go: where the output goes if machines must share them.

    Examples
    --------
    >>> work_folder("head:8786", None, Path("/data/out.csv")).name
    'data'
    >>> work_folder("local:2", None, Path("/data/out.csv")) is None
    True
    """
    if work is not None:
        return Path(work)
    # Who has a cluster keeps data where all its machines see them.
    remote = isinstance(cluster, str) and check_address(cluster) is None
    return (output or Path("here")).absolute().parent if remote else None


@contextmanager
def workers_of(cluster: Any, place: str | Path | None = None) -> Iterator[Workers | None]:
    """Give the workers that somebody has named; what was started for it ends afterwards.

    Parameters
    ----------
    cluster
        The address of a scheduler, ``local:N``, a Dask client, or workers; None for none.
    place
        Where folders for the work are made. On a cluster all workers must see it.

    Examples
    --------
    >>> with workers_of("local:2") as workers:
    ...     workers.number
    2
    """
    with _opened(cluster, None if place is None else Path(place)) as workers:
        yield workers


def _opened(cluster: Any, place: Path | None) -> AbstractContextManager[Workers | None]:
    if cluster is None or isinstance(cluster, Threads | Processes | DaskWorkers):
        return nullcontext(cluster)
    if isinstance(cluster, str):
        number = check_address(cluster)
        return connected(cluster, place) if number is None else processes(number, place)
    if is_client(cluster):
        return nullcontext(DaskWorkers(cluster, place))
    raise CaveatError(
        f"a {type(cluster).__name__} does no work",
        where="cluster",
        do=f"{MEANT}, or a Dask client",
        code="cluster.address.type",
    )
