"""The log-likelihood of the release in every adjacent data set: those that differ in one record.

Records that are equal in all columns of the plan have equal adjacent data sets: one is done.
Private releases are judged by the noisy tables they were made from (see
:mod:`caveat.attack.private`). Plans made of plain trees are done by updating the trees (see
:mod:`caveat.attack.updates`), those of guarded trees by moving counts (see
:mod:`caveat.attack.guarded`), all others by fitting the generator again in every world. All give
the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.attack.guarded import GuardedChanges, can_move
from caveat.attack.updates import Updates, can_update
from caveat.attack.worlds import Evidence, Worlds, in_threads, refuse_impossible
from caveat.errors import CaveatError
from caveat.risk import key_cells
from caveat.synthesis.pairs import SAMPLED
from caveat.table import Column, Table

__all__ = ["FROM_THESE", "Done", "refuse_without", "with_each_value", "with_rows", "without_each"]

Done = Callable[[float], None]
FROM_THESE = "with the original as it is"
WITHOUT = "with and without each of the records"


def _kinds_of_records(
    worlds: Worlds, records: Sequence[int] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one record of each kind, and the kind of each of the given records."""
    names = [*worlds.plan.columns, *([worlds.plan.weights] if worlds.plan.weights else [])]
    names += [SAMPLED] if worlds.plan.choice is not None else []
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
    refuse: bool = True,
) -> tuple[float, NDArray[np.float64]]:
    """Return the log-likelihood of the release, and without each of the records.

    Refused is a release that is impossible in all of these worlds, unless ``refuse`` says that
    they are only some of those that count. ``refit`` asks for fits from scratch where an update
    would do; the result is the same.
    """
    if worlds.original.n_rows < 2:
        raise CaveatError(
            "the table has one record",
            do="there is nothing left without it",
            code="data.record.too-few",
        )
    first, kind = _kinds_of_records(worlds, records)
    if worlds.tables is not None:
        return 0.0, worlds.tables.logs(first, None, done)[kind]
    if can_move(worlds.plan) and not refit:
        guarded = GuardedChanges(worlds)
        logs, base = guarded.logs(first, None, threads, done), guarded.base
    elif can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.without(first, threads, done)
        base = updates.base
    else:
        base = worlds.evidence(worlds.original, ())
        others = in_threads(
            lambda record: worlds.evidence(worlds.without(record)), first.tolist(), threads, done
        )
        logs = np.array([item.log_likelihood for item in others])
    if refuse and np.isneginf(logs).all():
        refuse_impossible([base], WITHOUT)
    return base.log_likelihood, logs[kind]


def refuse_without(worlds: Worlds, logs: NDArray[np.float64]) -> None:
    """Refuse a release that is impossible with and without each of the records."""
    if np.isneginf(logs).all():
        refuse_impossible([worlds.evidence(worlds.original, ())], WITHOUT)


def _changed(
    worlds: Worlds,
    records: NDArray[np.int64],
    cells: Mapping[str, Column],
    threads: int | None,
    done: Done | None,
) -> NDArray[np.float64]:
    """Return the log-likelihood with other cells in one record of each world."""
    come = worlds.original.take(records).with_columns(dict(cells))
    if worlds.tables is not None:
        return worlds.tables.logs_of(records, come, done)
    changes = GuardedChanges(worlds)
    refuse_impossible([changes.base], FROM_THESE)
    return changes.logs(records, come, threads, done)


def with_rows(
    worlds: Worlds, record: int, rows: Table, threads: int | None = None, done: Done | None = None
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each of the given rows as the record's cells.

    Refused is a release that is impossible with all of them.
    """
    if can_move(worlds.plan) or worlds.tables is not None:
        return _changed(worlds, np.full(rows.n_rows, record), rows.columns, threads, done)
    names = rows.names
    codes = np.stack([rows[name].codes for name in names], axis=1)
    changed = [dict(zip(names, row, strict=True)) for row in codes.tolist()]
    evidence = in_threads(
        lambda cells: worlds.evidence(worlds.changed(record, cells), names), changed, threads, done
    )
    refuse_impossible(evidence, "whatever the unknown values are")
    return np.array([item.log_likelihood for item in evidence])


def with_each_value(
    worlds: Worlds,
    target: str,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
    *,
    refit: bool = False,
    codes: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each level of a column in each record.

    One line per record, one entry per code of the target. ``codes`` are those that are tried; of
    others only the own code of a record has a value, the rest is NaN.
    """
    first, kind = _kinds_of_records(worlds, records)
    tried = np.arange(worlds.original[target].n_levels) if codes is None else np.unique(codes)
    logs, base = _with_codes(worlds, target, first, tried, threads, done, refit)
    if codes is None:
        return logs[kind]
    found = np.full((len(first), worlds.original[target].n_levels), np.nan)
    found[:, tried] = logs
    own = worlds.original[target].codes[first].astype(np.int64)
    lacking = np.flatnonzero(~np.isin(own, tried))
    found[lacking, own[lacking]] = base
    return found[kind]


def _with_codes(
    worlds: Worlds,
    target: str,
    first: NDArray[np.int64],
    tried: NDArray[np.int64],
    threads: int | None,
    done: Done | None,
    refit: bool,
) -> tuple[NDArray[np.float64], float]:
    """Return the log-likelihood with each of some codes in each record, and with the own one."""
    if can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.with_values(target, first, threads, done, tried)
        refuse_impossible([updates.base], FROM_THESE)
        return logs, updates.base.log_likelihood
    own = worlds.original[target].codes
    if worlds.tables is not None:
        cells = {target: worlds.original[target].with_codes(np.tile(tried, len(first)))}
        logs = _changed(worlds, np.repeat(first, len(tried)), cells, threads, done)
        return logs.reshape(len(first), len(tried)), 0.0
    if can_move(worlds.plan) and not refit:
        changes = GuardedChanges(worlds)
        refuse_impossible([changes.base], FROM_THESE)
        logs = changes.logs_of_values(target, first, tried, threads, done)
        return logs, changes.base.log_likelihood
    base = worlds.evidence(worlds.original, ())
    refuse_impossible([base], FROM_THESE)

    def one(item: tuple[int, int]) -> Evidence:
        record, code = item
        if code == own[record]:
            return base
        return worlds.evidence(worlds.changed(record, {target: code}), [target])

    items = [(record, code) for record in first.tolist() for code in tried.tolist()]
    evidence = in_threads(one, items, threads, done)
    logs = np.array([item.log_likelihood for item in evidence])
    return logs.reshape(len(first), len(tried)), base.log_likelihood
