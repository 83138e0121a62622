"""The log-likelihood of the release in every data set that differs in one record.

Records that are equal in all columns of the plan have equal neighbours; each kind is done once.
The generator is fitted again in every world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.attack.worlds import Evidence, Worlds, in_threads, refuse_impossible
from caveat.errors import CaveatError
from caveat.risk import key_cells

__all__ = ["base_evidence", "kinds_of_records", "with_each_value", "without_each"]

Done = Callable[[int], None]


def base_evidence(worlds: Worlds) -> Evidence:
    """Return the evidence for the original itself, or say why the release cannot be from it."""
    evidence = worlds.evidence(worlds.original, ())
    refuse_impossible([evidence])
    return evidence


def kinds_of_records(
    worlds: Worlds, records: Sequence[int] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one record of each kind, and the kind of each of the given records."""
    names = [*worlds.plan.columns, *([worlds.plan.weights] if worlds.plan.weights else [])]
    chosen = np.asarray(records, dtype=np.int64)
    table = worlds.original.take(chosen)
    (cells,), n = key_cells(
        [[table[name].codes for name in names]], [table[name].n_levels for name in names]
    )
    first = np.empty(n, dtype=np.int64)
    first[cells[::-1]] = chosen[::-1]
    return first, cells


def without_each(
    worlds: Worlds,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release without each of the records."""
    if worlds.original.n_rows < 2:
        raise CaveatError("the table has one record", do="there is nothing left without it")
    first, kind = kinds_of_records(worlds, records)
    evidence = in_threads(
        lambda record: worlds.evidence(worlds.without(record)), first.tolist(), threads, done
    )
    return np.array([item.log_likelihood for item in evidence])[kind]


def with_each_value(
    worlds: Worlds,
    target: str,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each level of a column in each record.

    One line per record, one entry per code of the target.
    """
    first, kind = kinds_of_records(worlds, records)
    own = worlds.original[target].codes
    base = worlds.evidence(worlds.original, ())
    n_levels = worlds.original[target].n_levels

    def one(item: tuple[int, int]) -> Evidence:
        record, code = item
        if code == own[record]:
            return base
        return worlds.evidence(worlds.changed(record, {target: code}), [target])

    items = [(record, code) for record in first.tolist() for code in range(n_levels)]
    evidence = in_threads(one, items, threads, done)
    logs = np.array([item.log_likelihood for item in evidence])
    return logs.reshape(len(first), n_levels)[kind]
