"""The joint Wasserstein distance: how far rows must be moved to turn one table into the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.table import Column, Table
from caveat.utility.pair import WeightedPair

__all__ = ["Transport", "transport"]

Floats = NDArray[np.float64]

ROWS = 1_000  # the cost of an exact assignment grows with the cube


class Transport(NamedTuple):
    """The least cost of pairing the rows of two tables.

    Attributes
    ----------
    cost
        Mean squared Euclidean distance within the pairs.
    rows
        Number of pairs.
    """

    cost: float
    rows: int


def transport(pair: WeightedPair, rows: int = ROWS) -> Transport:
    """Return the exact optimal transport between as many rows of both tables.

    Numbers are scaled to 0 to 1 over both tables, categories and ways to be missing are 0/1
    columns. Two rows that differ in one category and nothing else are √2 apart.

    Parameters
    ----------
    pair
        The two tables.
    rows
        At most so many rows. Of a longer table, or the longer of two, every so many-th row in the
        order of its values is taken: no chance, and the same rows of equal tables.

    Examples
    --------
    >>> found = transport(WeightedPair.of({"x": [0, 4]}, {"x": [4, 1]}))
    >>> found.cost, found.rows
    (0.03125, 2)
    """
    size = min(pair.n_original, pair.n_synthetic, rows)
    parts = [_places(*pair.columns(name)) for name in pair.names]
    ours, theirs = (
        np.concatenate([p[table[n].codes] for n, p in zip(pair.names, parts, strict=True)], axis=1)
        for table in (_spread(pair.original, size), _spread(pair.synthetic, size))
    )
    cost = scipy.spatial.distance.cdist(ours, theirs, "sqeuclidean")
    return Transport(float(cost[scipy.optimize.linear_sum_assignment(cost)].mean()), size)


def _places(ours: Column, theirs: Column) -> Floats:
    """Return a row for each level of a column."""
    n = len(ours.levels)
    if not ours.kind.is_number:
        return np.eye(ours.n_levels)
    found = np.zeros((ours.n_levels, 1 + len(ours.missing)))
    there = (ours.counts + theirs.counts)[:n] > 0
    if there.any():
        low, high = ours.numbers[there].min(), ours.numbers[there].max()
        found[:n, 0] = (ours.numbers - low) / (high - low) if high > low else 0.0
    found[n:, 1:] = np.eye(len(ours.missing))
    return found


def _spread(table: Table, size: int) -> Table:
    """Return so many rows, evenly through the table in the order of its values."""
    if table.n_rows == size:
        return table
    order = np.lexsort([table[name].codes for name in reversed(table.names)])
    return table.take(order[((np.arange(size) + 0.5) * table.n_rows / size).astype(np.int64)])
