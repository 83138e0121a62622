"""Which workers are meant: an address, a number of processes, a client, or workers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from caveat.cluster.local import Processes, Threads, processes
from caveat.cluster.scheduler import DaskWorkers, connected, is_client
from caveat.cluster.workers import Workers
from caveat.errors import CaveatError

__all__ = ["LOCAL", "check_address", "work_folder", "workers_of"]

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
