"""Distances between two tables of counts, and the score over all tables of k variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from caveat.table.table import Codes
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import Tables
from caveat.utility.weighting import Weights

__all__ = [
    "aitchison",
    "count_errors",
    "hellinger",
    "k_marginal_by_group",
    "k_marginal_score",
]

Numbers = NDArray[np.integer] | NDArray[np.float64]


def hellinger(observed: Numbers, synthetic: Numbers) -> float:
    """Return √(½ Σ (√p − √q)²) of two tables of counts, each normalised to 1.

    Examples
    --------
    >>> hellinger(np.array([1, 0]), np.array([0, 1]))
    1.0
    """
    p, q = observed / observed.sum(), synthetic / synthetic.sum()
    return math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2)


def aitchison(observed: Numbers, synthetic: Numbers, added: float = 0.5) -> float:
    """Return the distance between the centred log-ratios of two tables of counts.

    Parameters
    ----------
    observed, synthetic
        Counts of the same cells; cells that both tables lack are left out.
    added
        Added to every cell if any of them is empty: the distance is not defined otherwise.

    Examples
    --------
    >>> round(aitchison(np.array([1, 1]), np.array([1, np.e])), 6)
    0.707107
    """
    held = (observed > 0) | (synthetic > 0)
    o, s = observed[held].astype(np.float64), synthetic[held].astype(np.float64)
    if (o == 0).any() or (s == 0).any():
        o, s = o + added, s + added
    ratios = np.log(o) - np.log(s)
    return float(np.linalg.norm(ratios - ratios.mean()))


def count_errors(observed: Numbers, synthetic: Numbers) -> dict[str, float]:
    """Return MAE, RMSE and MAPE of the synthetic counts, scaled to the original's total.

    MAPE is over the cells that the original has; cells that neither table has do not count.

    Examples
    --------
    >>> count_errors(np.array([10, 20]), np.array([15, 15]))
    {'MAE': 5.0, 'RMSE': 5.0, 'MAPE': 0.375}
    """
    held = (observed > 0) | (synthetic > 0)
    o = observed[held].astype(np.float64)
    error = synthetic[held] * (o.sum() / synthetic.sum()) - o
    return {
        "MAE": float(np.abs(error).mean()),
        "RMSE": math.sqrt(float((error**2).mean())),
        "MAPE": float((np.abs(error[o > 0]) / o[o > 0]).mean()),
    }


def k_marginal_score(tables: Tables) -> float:
    """Return (2 − mean Σ |p − q|) · 500 over tables: 1000 if all are equal, 0 if none overlaps."""
    return (2 - tables.mean("MabsDD")) * 500


def k_marginal_by_group(
    pair: WeightedPair, by: str, ways: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the k-marginal score within each group of records, and how many originals it has.

    Shares are those of the group. A group that the release lacks scores 0, one that the original
    lacks has no score (not a number). Numbers are cut in 20 groups over all records.

    Parameters
    ----------
    pair
        The two tables.
    by
        The variable whose levels are the groups; a number is cut in 5 groups.
    ways
        Number of variables in each table, beside the one that makes the groups.

    Examples
    --------
    >>> people = {"sex": list("ffmm"), "ill": list("nynn")}
    >>> release = {"sex": list("ffmm"), "ill": list("nyny")}
    >>> k_marginal_by_group(WeightedPair.of(people, release), "sex", 1)[0].tolist()
    [1000.0, 500.0]
    """
    groups = pair.categories(5)[pair.choose([by])[0]]
    columns = [column for name, column in pair.categories(20).items() if name != by]
    size, sides = groups.n_levels, (groups.original, groups.synthetic)
    there = np.bincount(groups.original, minlength=size)
    gap, tables = np.zeros(size), 0
    for chosen in combinations(columns, ways):
        cells = _cells([c.original for c in chosen], [c.synthetic for c in chosen])
        n = int(max(part.max() for part in cells)) + 1
        p, q = (
            _within(group.astype(np.int64) * n + cell, size, n, weights)
            for group, cell, weights in zip(sides, cells, (pair.weights, None), strict=True)
        )
        gap += np.where(q.any(axis=1), np.abs(p - q).sum(axis=1), 2.0)
        tables += 1
    if not tables:
        return np.full(size, np.nan), there
    return np.where(there > 0, (2 - gap / tables) * 500, np.nan), there


def _cells(ours: Sequence[Codes], theirs: Sequence[Codes]) -> list[NDArray[np.int64]]:
    """Return the number of each row's combination of codes, of those that occur."""
    both = [np.concatenate(sides).astype(np.int64) for sides in zip(ours, theirs, strict=True)]
    _, cells = np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)
    return np.split(cells.ravel(), [len(ours[0])])


def _within(cells: NDArray[np.int64], groups: int, n: int, weights: Weights) -> NDArray[np.float64]:
    """Return the shares of each group's cells."""
    counts = np.bincount(cells, weights, groups * n).reshape(groups, n).astype(np.float64)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))
