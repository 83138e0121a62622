"""Noisy, rounded or partly suppressed tables of a tree become shares that agree with each other.

Cleared tables are scaled, so that what was suppressed stays away (:func:`rescale`). Of noisy ones
every cell may be somebody's (:func:`reconcile`). Each column has several estimates of its own
distribution there: its own table, and the sums of every pair it is in. They are averaged with the
inverse of their variances and brought to the nearest shares. Each pair is then the nearest
non-negative table with the two distributions it has to agree with: the most probable one, if the
noise is that of a Gaussian mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.margins.tables import Tables

__all__ = ["nearest_shares", "nearest_table", "reconcile", "rescale", "total_of"]

Floats = NDArray[np.float64]

MOST_ROUNDS = 5_000
NEAR = 1e-10
"""Shares of a table are as near to their sums as this when the rounds end."""


def reconcile(
    tables: Tables,
    sizes: Mapping[str, int],
    variances: Mapping[tuple[str, ...], float] | None = None,
) -> Tables:
    """Return shares of columns and pairs that sum to 1 and agree on every column they share.

    Parameters
    ----------
    tables
        Counts of single columns and of pairs that form a tree, or several; they may be negative.
    sizes
        Number of cells of each column.
    variances
        Variance of a count of each table; all the same by default.

    Examples
    --------
    >>> pair = np.array([[5.0, -1.0], [1.0, 3.0]])
    >>> shares = reconcile({("a", "b"): pair}, {"a": 2, "b": 2})
    >>> shares["a",].tolist(), shares["b",].tolist(), shares["a", "b"].round(3).tolist()
    ([0.5, 0.5], [0.75, 0.25], [[0.5, 0.0], [0.25, 0.25]])
    """
    noise = {names: 1.0 if variances is None else variances[names] for names in tables}
    total = total_of(tables, noise)
    shares: Tables = {}
    for name in dict.fromkeys(name for names in tables for name in names):
        if total <= 0:  # nothing is known
            shares[name,] = np.full(sizes[name], 1 / sizes[name])
            continue
        told = [_sums(n, counts, name, noise[n]) for n, counts in tables.items() if name in n]
        weights = [1 / variance for _, variance in told]
        counts = np.average([sums for sums, _ in told], axis=0, weights=weights)
        shares[name,] = nearest_shares(counts / total)
    for names, counts in tables.items():
        if len(names) == 2:
            lines, columns = (shares[name,] for name in names)
            shares[names] = nearest_table(counts / (total if total > 0 else 1.0), lines, columns)
    return shares


def rescale(tables: Tables) -> Tables:
    """Return shares of a tree of pairs that sum to 1, agree, and are 0 where the tables are.

    The first table is kept; each further one is scaled to what is known of the column it hangs on.

    Examples
    --------
    >>> tables = {("a", "b"): np.array([[30, 0], [0, 10]]), ("b", "c"): np.array([[5, 0], [5, 10]])}
    >>> rescale(tables)["b", "c"].tolist()
    [[0.75, 0.0], [0.08333333333333333, 0.16666666666666666]]
    """
    known: dict[str, Floats] = {}
    found: Tables = {}
    waiting = dict(tables)
    while waiting:
        key = next((k for k in waiting if any(name in known for name in k)), next(iter(waiting)))
        table = np.asarray(waiting.pop(key), np.float64)
        shares = table / max(table.sum(), np.finfo(float).tiny)
        for axis, name in enumerate(key):
            if name in known:
                lines = np.moveaxis(shares, axis, 0)
                own = lines.sum(axis=tuple(range(1, lines.ndim)))
                overall = lines.sum(axis=0)
                scaled = [
                    want * (line / mine if mine > 0 else overall)
                    for want, line, mine in zip(known[name], lines, own, strict=True)
                ]
                shares = np.moveaxis(np.array(scaled), 0, axis)
        for axis, name in enumerate(key):
            others = tuple(a for a in range(len(key)) if a != axis)
            known.setdefault(name, shares.sum(axis=others))
        found[key] = shares
    return found


def total_of(tables: Tables, noise: Mapping[tuple[str, ...], float]) -> float:
    """Return the number of records: the mean over the tables, surer ones weighing more."""
    weights = [1 / (noise[names] * counts.size) for names, counts in tables.items()]
    sums = [float(counts.sum()) for counts in tables.values()]
    return max(float(np.average(sums, weights=weights)), 0.0)


def _sums(
    names: tuple[str, ...], counts: NDArray[Any], name: str, variance: float
) -> tuple[Floats, float]:
    """Return what a table says about one of its columns, and the variance of such a sum."""
    others = tuple(axis for axis, other in enumerate(names) if other != name)
    sums = np.asarray(counts.sum(axis=others), np.float64)
    return sums, variance * counts.size / len(sums)


def nearest_shares(values: Floats) -> Floats:
    """Return the shares that are nearest to these numbers.

    Examples
    --------
    >>> nearest_shares(np.array([0.7, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    shares = np.maximum(values - above[np.flatnonzero(falling > above)[-1]], 0.0)
    return np.asarray(shares / shares.sum())


def nearest_table(table: Floats, lines: Floats, columns: Floats) -> Floats:
    """Return the non-negative table nearest to this one that has the given sums.

    It is found by projecting in turn on the tables with these sums and on those without a negative
    cell (Dykstra's algorithm).
    """
    shape = table.shape
    now, below = np.asarray(table, np.float64), np.zeros(shape)
    for _ in range(MOST_ROUNDS):
        of_lines, of_columns = lines - now.sum(axis=1), columns - now.sum(axis=0)
        off = max(np.abs(of_lines).max(), np.abs(of_columns).max())
        if off <= NEAR and now.min() >= 0:
            break
        moved = now + of_lines[:, None] / shape[1] + of_columns / shape[0]
        moved -= of_lines.sum() / (shape[0] * shape[1]) - below
        now = np.maximum(moved, 0.0)
        below = moved - now
    # The last rounds can be slow: the lines are scaled, and in each line what a column has too much
    # goes to the columns that have too little.
    now = now * _ratio(lines, now.sum(axis=1))[:, None]
    sums = now.sum(axis=0)
    taken = now * _ratio(np.maximum(sums - columns, 0.0), sums)
    given = np.maximum(columns - sums, 0.0)
    return np.asarray(now - taken + np.outer(taken.sum(axis=1), _ratio(given, given.sum())))


def _ratio(wanted: Floats, found: Floats) -> Floats:
    ones = np.ones(np.broadcast_shapes(wanted.shape, np.shape(found)))
    return np.divide(wanted, found, out=ones, where=np.asarray(found) > 0)
