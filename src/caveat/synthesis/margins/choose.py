"""Which pairs of columns are tabulated: the spanning tree with the largest mutual information.

This is Chow and Liu's tree: among all trees of pairs the one under which the records are most
probable. It is chosen from the records themselves, so that it is no private choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.margins.clearing import Clearing, cleared_counts
from caveat.synthesis.margins.tables import places, within

__all__ = ["mutual_information", "spanning_tree"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SAME = 1e-12
"""Mutual information that differs by less is the same; the first pair of columns is taken then."""


def spanning_tree(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    weights: Floats | None = None,
    rules: Clearing | None = None,
) -> list[tuple[str, ...]]:
    """Return the pairs of a tree over all columns; a column that fits into no table stands alone.

    Parameters
    ----------
    cells, sizes
        The cell of each record in each column, and how many cells a column has.
    weights
        Survey weights; None when every record counts once.
    rules
        The rules that the tables will be cleared by; one of which nothing is left is not taken.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> spanning_tree({"a": a, "b": b, "c": a}, {"a": 2, "b": 2, "c": 2})
    [('a', 'b'), ('a', 'c')]
    """
    names = list(cells)
    pairs = [p for p in combinations(names, 2) if within([sizes[name] for name in p])]
    worth = {p: mutual_information(cells, sizes, p, weights, rules) for p in pairs}
    pairs = [p for p in pairs if worth[p] > -np.inf]
    ranked = sorted(pairs, key=lambda p: -round(worth[p] / SAME))  # stable: ties as they stand
    tree = _kruskal(names, ranked)
    paired = {name for pair in tree for name in pair}
    alone = [(name,) for name in names if name not in paired]
    return sorted([*tree, *alone], key=lambda margin: [names.index(name) for name in margin])


def _kruskal(names: Sequence[str], ranked: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the first pairs that close no circle."""
    part = {name: name for name in names}
    tree: list[tuple[str, ...]] = []
    for one, other in ranked:
        if part[one] != part[other]:
            tree.append((one, other))
            old, new = part[other], part[one]
            part = {name: new if at == old else at for name, at in part.items()}
    return tree


def mutual_information(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    pair: tuple[str, str],
    weights: Floats | None = None,
    rules: Clearing | None = None,
) -> float:
    """Return how much two columns say about each other, in nats, less what chance alone gives.

    Of n records with r and c cells chance gives (r - 1)(c - 1) / 2n (Miller 1955). Without this a
    column with many levels would seem to say most about every other. Weighted records count as
    (Σw)² / Σw².

    Of a table that is cleared it is what the published cells say, times the share of the records
    in them, less the share of all others: a table that is suppressed for the most part says little.
    One of which nothing is left says nothing: -inf.

    Examples
    --------
    >>> cells = {"a": np.array([0, 0, 1, 1]), "b": np.array([1, 1, 0, 0])}
    >>> round(mutual_information(cells, {"a": 2, "b": 2}, ("a", "b")), 4)  # log 2 - 1/8
    0.5681
    """
    place, size = places(cells, sizes, pair), sizes[pair[0]] * sizes[pair[1]]
    total = float(len(place)) if weights is None else float(weights.sum())
    if rules is None:
        held, counts = _counted(place, size, weights)
    else:
        table = cleared_counts(cells, sizes, [pair], rules, weights)[pair].ravel()
        held = np.flatnonzero(table)
        counts = table[held]
    if not len(held):
        return 0.0 if rules is None else -np.inf
    n = total if weights is None else total**2 / float(np.square(weights).sum())
    joint = counts / counts.sum()
    one, other = held // sizes[pair[1]], held % sizes[pair[1]]
    rows, columns = np.bincount(one, joint), np.bincount(other, joint)
    found = np.sum(joint * np.log(joint / (rows[one] * columns[other])))
    found -= (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * n)
    share = min(float(counts.sum()) / total, 1.0)
    return float(found) if rules is None else float(found * share - (1 - share))


def _counted(place: Ints, size: int, weights: Floats | None) -> tuple[Ints, Floats]:
    """Return the cells with records, and how many these are."""
    if size <= 4 * len(place):
        held, counts = np.arange(size), np.bincount(place, weights, size).astype(np.float64)
    else:  # large tables are mostly empty
        held, at = np.unique(place, return_inverse=True)
        counts = np.bincount(at, weights, len(held)).astype(np.float64)
    there = counts > 0
    return held[there], counts[there]
