"""How variables go together: correlations of any kinds, Kendall's tau, principal components."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import Weights

__all__ = [
    "Associations",
    "association_matrix",
    "associations",
    "kendall_difference",
    "pca_ks",
    "pearson_matrix",
]

Floats = NDArray[np.float64]
COMPONENTS = 5
DENSE_CELLS = 1 << 16  # so many are counted at once even for few rows
PIECE = 1 << 16  # rows that are turned into numbers at once


@dataclass(frozen=True, eq=False)
class Associations:
    """The association of every pair of variables in both tables.

    Attributes
    ----------
    names
        The variables.
    original, synthetic
        Pearson's correlation for two numbers, the correlation ratio for a number and a category,
        Cramér's V for two categories; not a number where a variable is constant.
    """

    names: tuple[str, ...]
    original: Floats
    synthetic: Floats

    __repr__ = without_values

    @property
    def difference(self) -> Floats:
        """Synthetic minus original."""
        return self.synthetic - self.original

    def _pairs(self) -> Floats:
        found = self.difference[np.triu_indices(len(self.names), 1)]
        return np.asarray(found[np.isfinite(found)])

    @property
    def mean_absolute(self) -> float | None:
        """Mean absolute difference over all pairs."""
        pairs = self._pairs()
        return float(np.abs(pairs).mean()) if len(pairs) else None

    @property
    def largest(self) -> float | None:
        """Largest absolute difference."""
        pairs = self._pairs()
        return float(np.abs(pairs).max()) if len(pairs) else None

    @property
    def distance(self) -> float:
        """Euclidean (Frobenius) distance of the two matrices."""
        return float(np.sqrt(2 * (self._pairs() ** 2).sum()))


def associations(pair: WeightedPair) -> Associations:
    """Return the associations in both tables.

    Examples
    --------
    >>> people = {"a": [1, 2, 3, 4], "b": [2, 4, 6, 8], "c": list("xxyy")}
    >>> found = associations(WeightedPair.of(people, people))
    >>> found.original.round(3).tolist()
    [[1.0, 1.0, 0.894], [1.0, 1.0, 0.894], [0.894, 0.894, 1.0]]
    """
    ours = pair.once_of_original(
        "associations", lambda: association_matrix(pair.original, pair.weights)
    )
    return Associations(pair.names, ours, association_matrix(pair.synthetic))


def association_matrix(table: Table, weights: Weights = None) -> Floats:
    """Return the association of every pair of columns.

    Missing cells are left out for numbers, pair by pair, and are levels of categories. Weights sum
    to the number of rows.
    """
    names = table.names
    numbers = [i for i, n in enumerate(names) if table[n].kind.is_number]
    others = [i for i in range(len(names)) if i not in numbers]
    matrix = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(matrix, 1.0)
    if numbers:
        columns = [table[names[i]] for i in numbers]
        matrix[np.ix_(numbers, numbers)] = pearson_matrix(columns, weights)
    codes = {i: table[names[i]].compact().codes for i in others}
    for j in numbers if others else ():
        ratio = _ratios(table[names[j]].cell_numbers, weights)
        for i in others:
            matrix[i, j] = matrix[j, i] = ratio(codes[i])
    sizes = {i: np.bincount(codes[i], weights) for i in others}
    for i, j in combinations(others, 2):
        matrix[i, j] = matrix[j, i] = _cramer(codes[i], codes[j], weights, sizes[i], sizes[j])
    return matrix


def pearson_matrix(columns: Sequence[Column], weights: Weights) -> Floats:
    """Return Pearson correlations over the rows that both columns have, piece by piece."""
    lookups = [np.append(c.numbers, np.full(len(c.missing), np.nan)) for c in columns]
    size, rows = len(columns), len(columns[0])

    def pieces() -> Iterator[tuple[Floats, NDArray[np.bool_], Weights]]:
        for start in range(0, rows, PIECE):
            here = slice(start, start + PIECE)
            cells = [x[c.codes[here]] for x, c in zip(lookups, columns, strict=True)]
            x = np.column_stack(cells)
            yield x, np.isfinite(x), None if weights is None else weights[here]

    held_rows, total = np.zeros(size, np.int64), np.zeros(size)
    for x, held, _ in pieces():
        held_rows += held.sum(axis=0)
        total += np.where(held, x, 0.0).sum(axis=0)
    mean = total / np.maximum(held_rows, 1)
    n, sums, squares, cross = (np.zeros((size, size)) for _ in range(4))
    for x, held, w in pieces():
        z, m = np.where(held, x - mean, 0.0), held.astype(np.float64)
        mw, zw = (m, z) if w is None else (m * w[:, None], z * w[:, None])
        n += mw.T @ m
        sums += zw.T @ m
        squares += (z**2).T @ mw
        cross += zw.T @ z
    with np.errstate(invalid="ignore", divide="ignore"):
        cross -= sums * sums.T / n
        spread = squares - sums**2 / n
        tiny = spread <= 1e-12 * np.maximum(squares, 1e-300)
        result = cross / np.sqrt(spread * spread.T)
    result[tiny | tiny.T] = np.nan
    return np.clip(result, -1.0, 1.0)


def _ratios(values: Floats, weights: Weights) -> Callable[[NDArray[np.integer]], float]:
    """Return what gives the correlation ratio η of a number with the codes of a category.

    It is the share of the number's spread that is between the categories, rooted.
    """
    held = np.isfinite(values)
    whole = bool(held.all())
    y, w = (values, weights) if whole else (values[held], None)
    if weights is not None and not whole:
        w = weights[held]
    if len(y):
        y = y - np.average(y, weights=w)
    weighed = y if w is None else w * y
    total = float((y**2 if w is None else w * y**2).sum())

    def ratio(codes: NDArray[np.integer]) -> float:
        if not total > 0:
            return float("nan")
        groups = codes if whole else codes[held]
        size = np.bincount(groups, w)
        if np.count_nonzero(size) < 2:
            return float("nan")
        sums = np.bincount(groups, weighed)
        between = float((sums[size > 0] ** 2 / size[size > 0]).sum())
        return float(np.sqrt(min(1.0, between / total)))

    return ratio


def _cramer(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    weights: Weights,
    sizes: NDArray[Any],
    others: NDArray[Any],
) -> float:
    """Return Cramér's V, without correction for bias; the last two are how often codes occur."""
    rows, columns = len(sizes), len(others)
    if min(rows, columns) < 2:
        return float("nan")
    # Only cells that occur: the full table of two long factors would not fit into memory.
    joint = a.astype(np.int64)
    joint *= columns
    joint += b
    if rows * columns <= max(DENSE_CELLS, len(a)):
        counts = np.bincount(joint, weights)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    else:
        cells, place = np.unique(joint, return_inverse=True)
        counts = np.bincount(place, weights)
    i, j = np.divmod(cells, columns)
    expected = sizes[i] * (others[j] / len(a))
    chi = float((counts**2 / expected).sum()) - len(a)
    return float(np.sqrt(max(0.0, chi) / (len(a) * (min(rows, columns) - 1))))


def kendall_difference(pair: WeightedPair) -> float | None:
    """Return the median absolute difference of Kendall's tau-b over all pairs with an order.

    Rows that lack one of the two values are left out. ``None`` with fewer than two such columns.
    """
    names = [n for n in pair.names if pair.original[n].kind.has_order]
    gaps = []
    for a, b in combinations(names, 2):
        found = []
        for table in (pair.original, pair.synthetic):
            held = ~(table[a].is_missing | table[b].is_missing)
            codes = table[a].codes[held], table[b].codes[held]
            varied = all(len(c) and c.min() < c.max() for c in codes)
            found.append(float(scipy.stats.kendalltau(*codes).statistic) if varied else np.nan)
        gaps.append(abs(found[0] - found[1]))
    usable = [gap for gap in gaps if np.isfinite(gap)]
    return float(np.median(usable)) if usable else None


def pca_ks(pair: WeightedPair) -> list[float]:
    """Return the Kolmogorov–Smirnov distance on each of the first principal components.

    Columns with an order are standardised in each table separately, missing cells set to the mean;
    the components are those of the original (up to five). Empty with fewer than two such columns.
    """
    names = [n for n in pair.names if pair.original[n].kind.has_order]
    axes, kept, ours = pair.once_of_original(
        "components", lambda: _components(pair.original, names, pair.weights)
    )
    theirs = _projected(pair.synthetic, kept, axes, None)
    return [_ks(a, b) for a, b in zip(ours, theirs, strict=True)]


class _Line(NamedTuple):
    """Numbers in order, and the share of all at or below each place, 0 first; None if equal."""

    values: Floats
    below: Floats | None


def _components(
    table: Table, names: Sequence[str], weights: Weights
) -> tuple[Floats, list[str], list[_Line]]:
    """Return the first principal axes, the columns that vary, and the rows on each axis."""
    scales = {name: _standardised(table[name], weights) for name in names}
    kept = [name for name in names if scales[name][table[name].counts > 0].any()]
    if len(kept) < 2:
        return np.empty((len(kept), 0)), kept, []
    roots = None if weights is None else np.sqrt(weights)
    parts = []
    for here, x in _pieces(table, [(name, scales[name]) for name in kept]):
        parts.append(x if roots is None else x * roots[here, None])
        if table.n_rows > PIECE:  # what is left of the rows has the same components
            parts[-1] = np.asarray(np.linalg.qr(parts[-1], mode="r"))
    _, _, axes = np.linalg.svd(np.concatenate(parts), full_matrices=False)
    axes = axes[:COMPONENTS].T
    return axes, kept, _projected(table, kept, axes, weights)


def _projected(table: Table, names: Sequence[str], axes: Floats, weights: Weights) -> list[_Line]:
    """Return the rows of a table on each axis."""
    scales = [(name, _standardised(table[name], weights)) for name in names]
    found = np.empty((axes.shape[1], table.n_rows))
    for here, x in _pieces(table, scales) if axes.shape[1] else ():
        found[:, here] = (x @ axes).T
    if weights is None:
        return [_Line(np.sort(values), None) for values in found]
    orders = [np.argsort(values, kind="stable") for values in found]
    below = [np.append(0.0, np.cumsum(weights[order])) / weights.sum() for order in orders]
    return [_Line(v[order], b) for v, order, b in zip(found, orders, below, strict=True)]


def _pieces(table: Table, scales: Sequence[tuple[str, Floats]]) -> Iterator[tuple[slice, Floats]]:
    """Return some rows at a time, the codes of each column turned into numbers."""
    for start in range(0, table.n_rows, PIECE):
        here = slice(start, start + PIECE)
        yield here, np.column_stack([scale[table[name].codes[here]] for name, scale in scales])


def _standardised(column: Column, weights: Weights) -> Floats:
    """Return the number of each code, with mean 0 and variance 1 over all cells that have one.

    Constant and missing cells are 0.
    """
    order = np.arange(len(column.levels), dtype=np.float64)
    levels = column.numbers if column.kind.is_number else order
    scale = np.append(levels, np.full(len(column.missing), np.nan))
    x = scale[column.codes]
    held = np.isfinite(x)
    if not held.any():
        return np.zeros(len(scale))
    x, w = x[held], None if weights is None else weights[held]
    mean, spread = np.average(x, weights=w), _deviation(x, w)
    return np.asarray(np.where(np.isfinite(scale), scale - mean, 0.0) / (spread or np.inf))


def _deviation(x: Floats, weights: Weights) -> float:
    if weights is None:
        return float(x.std())
    mean = np.average(x, weights=weights)
    return float(np.sqrt(np.average((x - mean) ** 2, weights=weights)))


def _ks(ours: _Line, theirs: _Line) -> float:
    """Return the largest distance of two distribution functions."""
    n, m = len(ours.values), len(theirs.values)
    both = np.concatenate([ours.values, theirs.values])
    order = np.argsort(both, kind="stable")  # two rising runs are merged
    both = both[order]
    last = np.append(both[1:] != both[:-1], True)  # of equal ones
    place = np.cumsum(order < n)[last]
    there = np.flatnonzero(last) + 1 - place
    here = place / n if ours.below is None else ours.below[place]
    return float(np.abs(here - there / m).max())
