"""How variables go together: correlations of any kinds, Kendall's tau, principal components."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.table import Table
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import Weights

__all__ = ["Associations", "association_matrix", "associations", "kendall_difference", "pca_ks"]

Floats = NDArray[np.float64]
COMPONENTS = 5
DENSE_CELLS = 1 << 16  # so many are counted at once even for few rows


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
    return Associations(
        pair.names,
        association_matrix(pair.original, pair.weights),
        association_matrix(pair.synthetic),
    )


def association_matrix(table: Table, weights: Weights = None) -> Floats:
    """Return the association of every pair of columns.

    Missing cells are left out for numbers, pair by pair, and are levels of categories. Weights sum
    to the number of rows.
    """
    names = table.names
    numbers = [i for i, n in enumerate(names) if table[n].kind.is_number]
    matrix = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(matrix, 1.0)
    values = _values(table, [names[i] for i in numbers])
    if numbers:
        matrix[np.ix_(numbers, numbers)] = _pearson(values, weights)
    others = [i for i in range(len(names)) if i not in numbers]
    codes = {i: table[names[i]].compact().codes for i in others}
    for i in others:
        for k, j in enumerate(numbers):
            matrix[i, j] = matrix[j, i] = _ratio(codes[i], values[:, k], weights)
    for i, j in combinations(others, 2):
        matrix[i, j] = matrix[j, i] = _cramer(codes[i], codes[j], weights)
    return matrix


def _values(table: Table, names: list[str]) -> Floats:
    """Return numbers with NaN for missing cells, one column per name."""
    columns = [
        np.append(table[n].numbers, np.full(len(table[n].missing), np.nan))[table[n].codes]
        for n in names
    ]
    return np.column_stack(columns) if names else np.empty((table.n_rows, 0))


def _pearson(x: Floats, weights: Weights) -> Floats:
    """Return Pearson correlations over the rows that both columns have."""
    held = np.isfinite(x)
    z = np.where(held, x - np.nanmean(np.where(held.any(axis=0), x, 0.0), axis=0), 0.0)
    m = held.astype(np.float64)
    mw, zw = (m, z) if weights is None else (m * weights[:, None], z * weights[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        n = mw.T @ m
        sums, squares = zw.T @ m, (z**2).T @ mw
        cross = zw.T @ z - sums * sums.T / n
        spread = squares - sums**2 / n
        tiny = spread <= 1e-12 * np.maximum(squares, 1e-300)
        result = cross / np.sqrt(spread * spread.T)
    result[tiny | tiny.T] = np.nan
    return np.clip(result, -1.0, 1.0)


def _ratio(codes: NDArray[np.integer], values: Floats, weights: Weights) -> float:
    """Return the correlation ratio η: the share of a number's spread between categories, rooted."""
    held = np.isfinite(values)
    y, groups = values[held], codes[held]
    w = None if weights is None else weights[held]
    if not len(y):
        return float("nan")
    y = y - np.average(y, weights=w)
    total = float((y**2 if w is None else w * y**2).sum())
    size = np.bincount(groups, w)
    if total <= 0 or np.count_nonzero(size) < 2:
        return float("nan")
    sums = np.bincount(groups, y if w is None else w * y)
    between = float((sums[size > 0] ** 2 / size[size > 0]).sum())
    return float(np.sqrt(min(1.0, between / total)))


def _cramer(a: NDArray[np.integer], b: NDArray[np.integer], weights: Weights) -> float:
    """Return Cramér's V, without correction for bias."""
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    if min(rows, columns) < 2:
        return float("nan")
    # Only cells that occur: the full table of two long factors would not fit into memory.
    joint = a.astype(np.int64) * columns + b
    if rows * columns <= max(DENSE_CELLS, len(a)):
        cells = np.flatnonzero(np.bincount(joint))
        counts = np.bincount(joint, weights)[cells]
    else:
        cells, place = np.unique(joint, return_inverse=True)
        counts = np.bincount(place, weights)
    i, j = np.divmod(cells, columns)
    expected = np.bincount(a, weights)[i] * (np.bincount(b, weights)[j] / len(a))
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
    weights = pair.weights
    x = _standardised(pair.original, names, weights)
    y = _standardised(pair.synthetic, names, None)
    kept = x.any(axis=0)
    if kept.sum() < 2:
        return []
    counted = x if weights is None else x * np.sqrt(weights)[:, None]
    _, _, axes = np.linalg.svd(counted[:, kept], full_matrices=False)
    axes = axes[:COMPONENTS].T
    return [
        _ks(a, b, weights)
        for a, b in zip((x[:, kept] @ axes).T, (y[:, kept] @ axes).T, strict=True)
    ]


def _standardised(table: Table, names: list[str], weights: Weights) -> Floats:
    """Return columns with mean 0 and variance 1; constant and missing cells are 0."""
    if not names:
        return np.zeros((table.n_rows, 0))
    columns = []
    for name in names:
        column = table[name]
        order = np.arange(len(column.levels), dtype=np.float64)
        levels = column.numbers if column.kind.is_number else order
        x = np.append(levels, np.full(len(column.missing), np.nan))[column.codes]
        held = np.isfinite(x)
        w = None if weights is None else weights[held]
        mean = np.average(x[held], weights=w) if held.any() else 0.0
        spread = _deviation(x[held], w) if held.any() else 0.0
        columns.append(np.where(held, x - mean, 0.0) / (spread or np.inf))
    return np.column_stack(columns)


def _deviation(x: Floats, weights: Weights) -> float:
    if weights is None:
        return float(x.std())
    mean = np.average(x, weights=weights)
    return float(np.sqrt(np.average((x - mean) ** 2, weights=weights)))


def _ks(a: Floats, b: Floats, weights: Weights) -> float:
    order = np.argsort(a, kind="stable")
    first, second = a[order], np.sort(b)
    points = np.concatenate([first, second])  # in order: each is looked for near the last
    place = np.searchsorted(first, points, side="right")
    ours = place / len(a)
    if weights is not None:
        below = np.append(0.0, np.cumsum(weights[order])) / weights.sum()
        ours = below[place]
    theirs = np.searchsorted(second, points, side="right") / len(b)
    return float(np.abs(ours - theirs).max())
