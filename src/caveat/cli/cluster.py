"""``--cluster`` and ``--work``: where a command lets its work run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from caveat.cluster import running_on, workers_of
from caveat.cluster.address import work_folder
from caveat.table.code_files import CodeFiles
from caveat.table.frames import workplace

__all__ = ["ClusterOption", "WorkOption", "code_folders", "on_cluster"]

ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS|local:N",
        help="Let the workers of this Dask scheduler do the work (tcp://host:8786), or N processes "
        "of this machine. The same bytes.",
    ),
]
WorkOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="For large data: a folder in which the table is kept as files while it is needed, and "
        "not in memory. All machines of a cluster must see it. [with an address: where the output "
        "goes]",
    ),
]


@contextmanager
def on_cluster(cluster: str | None, work: Path | None, beside: Path | None) -> Iterator[None]:
    """Let what can be shared out inside run on the workers that are named.

    Parameters
    ----------
    cluster
        The address of a scheduler, or ``local:N``; None for the threads of this process.
    work
        The folder for working files.
    beside
        An output, whose folder it is if none is named; without one the current folder.
    """
    if cluster is None:
        yield
        return
    with workers_of(cluster, work_folder(cluster, work, beside)) as workers, running_on(workers):
        yield


@contextmanager
def code_folders(work: Path | None) -> Iterator[Callable[[], CodeFiles | None]]:
    """Give what makes a folder for the codes of each table that is read; nothing in memory."""
    if work is None:
        yield lambda: None
        return
    numbers = count()
    with workplace(work) as folder:

        def made() -> CodeFiles:
            place = folder / f"table-{next(numbers)}"
            place.mkdir()
            return CodeFiles(place)

        yield made
