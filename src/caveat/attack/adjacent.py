"""The log-likelihood of the release in every adjacent data set: those that differ in one record.

Records that are equal in all columns of the plan have equal adjacent data sets: one is done.
Plans made of plain trees are done by updating the trees (see :mod:`caveat.attack.updates`), all
others by fitting the generator again in every world. Both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.attack.updates import Updates, can_update
from caveat.attack.worlds import Evidence, Worlds, in_threads, refuse_impossible
from caveat.errors import CaveatError
from caveat.risk import key_cells

__all__ = ["Done", "with_each_value", "without_each"]

Done = Callable[[float], None]
FROM_THESE = "with the original as it is"


def _kinds_of_records(
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
    *,
    refit: bool = False,
) -> tuple[float, NDArray[np.float64]]:
    """Return the log-likelihood of the release, and without each of the records.

    Refused is a release that is impossible in all of these worlds. ``refit`` asks for fits from
    scratch where an update would do; the result is the same.
    """
    if worlds.original.n_rows < 2:
        raise CaveatError("the table has one record", do="there is nothing left without it")
    first, kind = _kinds_of_records(worlds, records)
    if can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.without(first, threads, done)
        base = updates.base
    else:
        base = worlds.evidence(worlds.original, ())
        others = in_threads(
            lambda record: worlds.evidence(worlds.without(record)), first.tolist(), threads, done
        )
        logs = np.array([item.log_likelihood for item in others])
    if np.isneginf(logs).all():
        refuse_impossible([base], "with and without each of the records")
    return base.log_likelihood, logs[kind]


def with_each_value(
    worlds: Worlds,
    target: str,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
    *,
    refit: bool = False,
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each level of a column in each record.

    One line per record, one entry per code of the target.
    """
    first, kind = _kinds_of_records(worlds, records)
    if can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.with_values(target, first, threads, done)
        refuse_impossible([updates.base], FROM_THESE)
        return logs[kind]
    own = worlds.original[target].codes
    base = worlds.evidence(worlds.original, ())
    refuse_impossible([base], FROM_THESE)
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
