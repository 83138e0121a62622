"""The strong attacker on workers: batches of records, each a task.

The worlds of a record do not depend on which others are attacked with it, so that every number is
the one that this process would compute alone. The original, the releases and the plan go into
files that all workers see; the log-likelihoods come back the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done, refuse_without, with_each_value, without_each
from caveat.attack.worlds import Worlds
from caveat.cluster import Workers, workers_now
from caveat.cluster.workers import Kept, shared_folder
from caveat.synthesis.store import load_plan, save_plan
from caveat.table.code_files import open_array, open_code_files, write_code_files
from caveat.table.drafts import unwritable

__all__ = ["each_value", "each_without", "forget_worlds", "one_batch"]

Floats = NDArray[np.float64]

BATCHES = 4
"""Batches for each worker: what one that is lost was at is short, and nobody waits long."""
ORIGINAL, RELEASE, PLAN, RECORDS = "original", "release-", "plan.caveat", "records.npy"
CODES = "codes.npy"


def each_value(
    worlds: Worlds,
    target: str,
    records: NDArray[np.int64],
    threads: int | None,
    done: Done | None,
    codes: NDArray[np.int64] | None = None,
) -> Floats:
    """Return what :func:`with_each_value` does, computed where work is to run."""
    workers = workers_now()
    if workers is None or worlds.tables is not None:
        return with_each_value(worlds, target, records, threads, done, codes=codes)
    return np.concatenate(list(_on(workers, worlds, target, records, done, codes)))


def each_without(
    worlds: Worlds, records: NDArray[np.int64], threads: int | None, done: Done | None
) -> tuple[float, Floats]:
    """Return what :func:`without_each` does, computed where work is to run."""
    workers = workers_now()
    if workers is None or worlds.tables is not None or worlds.original.n_rows < 2:
        return without_each(worlds, records, threads, done)
    found = list(_on(workers, worlds, "", records, done))
    logs = np.concatenate([part[1:] for part in found])
    refuse_without(worlds, logs)
    return float(found[0][0]), logs


def _on(
    workers: Workers,
    worlds: Worlds,
    target: str,
    records: NDArray[np.int64],
    done: Done | None,
    codes: NDArray[np.int64] | None = None,
) -> Iterator[Floats]:
    """Give the results of the batches in the order of the records."""
    with shared_folder(workers, forget_worlds) as folder:
        for number, table in enumerate((worlds.original, *worlds.releases)):
            place = folder / (f"{RELEASE}{number - 1:05}" if number else ORIGINAL)
            place.mkdir()
            write_code_files(table, place)
        save_plan(folder / PLAN, worlds.plan, worlds.seed)
        with unwritable(folder):
            np.save(folder / RECORDS, records, allow_pickle=False)
            if codes is not None:
                np.save(folder / CODES, codes, allow_pickle=False)
        size = max(1, -(-len(records) // (BATCHES * workers.number)))
        items = [(str(folder), target, start, size) for start in range(0, len(records), size)]
        for start in workers.map(one_batch, items):
            path = folder / f"{start}.npy"
            yield open_array(path)
            path.unlink()
            if done is not None:
                done(min(size, len(records) - start) / len(records))


def _worlds(folder: str) -> tuple[Worlds, NDArray[np.int64]]:
    place = Path(folder)
    plan, seed = load_plan(place / PLAN)
    releases = [open_code_files(path) for path in sorted(place.glob(f"{RELEASE}*"))]
    worlds = Worlds(open_code_files(place / ORIGINAL), plan, releases, seed)
    return worlds, open_array(place / RECORDS)


_WORLDS = Kept(_worlds)


def one_batch(item: tuple[str, str, int, int]) -> int:
    """Attack a batch of records: the task of a worker.

    With a target the log-likelihood with each of its values, else the one of the release and then
    those without each record.
    """
    folder, target, start, size = item
    worlds, records = _WORLDS.of(folder)
    batch = records[start : start + size]
    logs: Any
    if target:
        tried = Path(folder) / CODES
        codes = open_array(tried) if tried.exists() else None
        logs = with_each_value(worlds, target, batch, 1, codes=codes)
    else:
        base, without = without_each(worlds, batch, 1, refuse=False)
        logs = np.append(base, without)
    made = Path(folder) / f"{token_hex(6)}.npy"
    with unwritable(made):
        np.save(made, logs, allow_pickle=False)
        made.replace(Path(folder) / f"{start}.npy")
    return start


def forget_worlds(folder: str) -> None:
    """Let a worker forget the data that it has attacked."""
    _WORLDS.forget(folder)
