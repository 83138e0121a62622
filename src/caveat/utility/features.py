"""Tables as matrices for scikit-learn: numbers, and categories as codes or as 0/1 columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.table import Column, Table
from caveat.utility.pair import WeightedPair

__all__ = ["Encoder"]

Floats = NDArray[np.float64]

# Boosted trees take at most 255 categories; the rarest share one code.
MOST_CATEGORIES = 250


class Encoder:
    """Turns tables on the levels of a pair into matrices.

    Parameters
    ----------
    pair
        The tables that decide the columns.
    names
        The columns to use.
    dense
        For linear models: categories become 0/1 columns and missing numbers the mean with 0/1
        columns beside them. Otherwise, for trees, categories are codes and missing numbers lie
        below all others, with a column that says which way if there are several.
    """

    def __init__(self, pair: WeightedPair, names: Sequence[str], *, dense: bool) -> None:
        self._lookups: list[tuple[str, Floats]] = []
        flags: list[bool] = []
        for name in names:
            ours, theirs = pair.columns(name)
            make = _dense if dense else _sparse
            for lookup, categorical in make(ours, ours.counts + theirs.counts):
                self._lookups.append((name, lookup))
                flags.append(categorical)
        self.categorical = np.array(flags, dtype=bool)

    def matrix(self, table: Table) -> Floats:
        """Return one row per record."""
        return np.column_stack([lookup[table[name].codes] for name, lookup in self._lookups])


def _levels(column: Column) -> Floats:
    if column.kind.is_number:
        return column.numbers
    return np.arange(len(column.levels), dtype=np.float64)


def _sparse(column: Column, counts: NDArray[np.int64]) -> list[tuple[Floats, bool]]:
    ways = len(column.missing)
    if column.kind.has_order:
        levels = _levels(column)
        # Trees see the order only: below all others, missing cells are one split away.
        below = levels.min() - 1 if len(levels) else 0.0
        found = [(np.append(levels, np.full(ways, below)), False)]
        if ways > 1:
            found.append((np.append(np.zeros(len(column.levels)), np.arange(ways) + 1.0), True))
        return found
    rank = np.empty(len(counts))
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return [(np.minimum(rank, MOST_CATEGORIES - 1), True)]


def _dense(column: Column, counts: NDArray[np.int64]) -> list[tuple[Floats, bool]]:
    n, ways = len(column.levels), len(column.missing)
    codes = np.arange(n + ways)
    if not column.kind.has_order:
        used = [code for code in codes if counts[code]]
        return [((codes == code).astype(np.float64), False) for code in used[1:]]
    held, levels = counts[:n], _levels(column)
    mean = float(levels @ held / held.sum()) if held.sum() else 0.0
    missing = [((codes == n + j).astype(np.float64), False) for j in range(ways)]
    return [(np.append(levels, np.full(ways, mean)), False), *missing]
