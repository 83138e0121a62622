"""How variables go together, and which correlations of the original a release keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table import Column, Kind, Table
from caveat.utility.pair import WeightedPair, Weights, effective_size
from caveat.utility.stacked import sample_of

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


# -------------------------------------------------------------------------------------------------
# Which correlations of the original a release keeps: a share that does not depend on the rows.
#
# Every two columns have a coefficient: Pearson's and Spearman's for two numbers, the correlation
# ratio for a number and a category, Cramér's V for two categories. The last two are corrected for
# the bias that many levels on few records give them, so that chance alone is 0 whatever the
# number of records. A coefficient is *measurable* where it is at least ``LEAST`` and differs from
# 0 at the 1 % level. It is *kept* where the release has it with the same sign, at least half as
# strong, and no more than ``TOLERANCE`` away.


TOLERANCE = 0.1
"""The largest difference of a coefficient that is kept."""
LEAST = 0.1
"""The smallest coefficient of the original that is looked at."""
LEVEL = 0.01
MOST_COLUMNS = 300
"""Columns whose pairs are looked at; of more columns so many are drawn at random."""

ROWS = 20_000
"""Rows of each table that coefficients are computed from."""

SEED = 39  # the same for every table
PEARSON, SPEARMAN, RATIO, CRAMER = "Pearson", "Spearman", "correlation ratio", "Cramér's V"
Bools = NDArray[np.bool_]


class Relation(NamedTuple):
    """One coefficient of two columns.

    Attributes
    ----------
    names
        The columns.
    coefficient
        Its name.
    original, synthetic
        Its value in the original and in the release; 0 in a release in which a column is constant.
    """

    names: tuple[str, str]
    coefficient: str
    original: float
    synthetic: float

    @property
    def gap(self) -> float:
        """Absolute difference."""
        return abs(self.synthetic - self.original)


@dataclass(frozen=True, eq=False)
class Strengths:
    """The coefficients of one table.

    Attributes
    ----------
    names
        The columns.
    values
        Two matrices: Pearson's with correlation ratios and Cramér's V, and Spearman's; not a number
        where there is no such coefficient.
    measurable
        Which of them are at least ``LEAST`` and differ from 0.
    """

    names: tuple[str, ...]
    values: Floats
    measurable: Bools

    __repr__ = without_values

    @property
    def strongest(self) -> Floats:
        """The largest absolute measurable coefficient of every two columns, 0 without one."""
        found = np.where(self.measurable, np.abs(np.nan_to_num(self.values)), 0.0)
        return np.asarray(found.max(axis=0))


@dataclass(frozen=True, eq=False)
class Correlations:
    """The coefficients of both tables, pair by pair.

    Attributes
    ----------
    is_number
        Which columns are numbers.
    ours, theirs
        The coefficients of the original and of the release.
    n_columns
        Columns of the tables; more than were looked at if these were drawn.
    """

    is_number: Bools
    ours: Strengths
    theirs: Strengths
    n_columns: int

    __repr__ = without_values

    @property
    def names(self) -> tuple[str, ...]:
        """The columns whose pairs were looked at."""
        return self.ours.names

    @property
    def measurable(self) -> int:
        """Number of pairs with a measurable coefficient in the original."""
        return self._count(self.ours.measurable)

    @property
    def kept(self) -> int:
        """Number of these pairs whose measurable coefficients are all kept."""
        return self.measurable - self._count(self.ours.measurable & ~self._close)

    @property
    def share(self) -> float | None:
        """Share of the measurable pairs that are kept; ``None`` if there are none."""
        return self.kept / self.measurable if self.measurable else None

    @cached_property
    def _close(self) -> Bools:
        ours, theirs = self.ours.values, np.nan_to_num(self.theirs.values)
        near = np.abs(theirs - ours) <= TOLERANCE
        return np.asarray(near & (theirs * np.sign(ours) >= np.abs(ours) / 2))

    def _count(self, which: Bools) -> int:
        """Return the number of pairs with any of their coefficients."""
        return int(np.triu(np.any(which, axis=0), 1).sum())

    def not_kept(self) -> list[Relation]:
        """Return the pairs not to trust, the largest difference first.

        A pair is listed once, with the coefficient that differs most: measurable in the original
        and not kept, or measurable in the release only and more than twice ``TOLERANCE`` away.
        """
        theirs = np.nan_to_num(self.theirs.values)
        gap = np.abs(theirs - np.nan_to_num(self.ours.values))
        lost = self.ours.measurable & ~self._close
        new = self.theirs.measurable & ~self.ours.measurable & (gap > 2 * TOLERANCE)
        gap = np.where((lost | new) & np.isfinite(self.ours.values), gap, -1.0)
        layer = gap.argmax(axis=0)
        gap = gap.max(axis=0)
        places = np.argwhere(np.triu(gap > 0, 1))
        found = [self._relation(int(layer[i, j]), int(i), int(j)) for i, j in places]
        return sorted(found, key=lambda r: (-r.gap, r.names))

    def _relation(self, layer: int, i: int, j: int) -> Relation:
        numbers = int(self.is_number[i]) + int(self.is_number[j])
        word = SPEARMAN if layer else (CRAMER, RATIO, PEARSON)[numbers]
        values = (float(np.nan_to_num(s.values[layer, i, j])) for s in (self.ours, self.theirs))
        return Relation((self.names[i], self.names[j]), word, *values)


def correlations(pair: WeightedPair) -> Correlations:
    """Return the coefficients of both tables.

    Tables with more than ``ROWS`` rows are sampled, whole groups where rows belong together, and of
    more than ``MOST_COLUMNS`` columns so many are drawn at random.

    Examples
    --------
    >>> people = {"a": list(range(30)), "b": [2 * i for i in range(30)], "c": list("xyz") * 10}
    >>> found = correlations(WeightedPair.of(people, people))
    >>> found.kept, found.measurable
    (1, 1)
    """
    sample, names = sample_of(pair, ROWS), _chosen(pair.names)
    members = None if sample.groups is None else sample.groups.synthetic
    theirs = _strengths(
        sample.synthetic.select(names), None, None if members is None else members.n_filled
    )
    is_number = np.array([pair.original[name].kind.is_number for name in names])
    return Correlations(is_number, strengths_of(pair), theirs, len(pair.names))


def strengths_of(pair: WeightedPair) -> Strengths:
    """Return the coefficients of the original, computed once."""

    def found() -> Strengths:
        sample = sample_of(pair, ROWS)
        members = None if sample.groups is None else sample.groups.original
        return _strengths(
            sample.original.select(_chosen(pair.names)),
            sample.weights,
            None if members is None else members.n_filled,
        )

    return pair.once_of_original("strengths", found)


def independent_pair(pair: WeightedPair) -> WeightedPair:
    """Return the sampled original against itself with every column shuffled by itself."""

    def shuffled() -> WeightedPair:
        sample = sample_of(pair, ROWS)
        table, rng = sample.original, rng_of(SEED, 1)
        columns = {name: table[name].take(rng.permutation(len(table))) for name in table}
        found = WeightedPair(table, Table(columns), weights=sample.weights, groups=sample.groups)
        return found.with_original_of(pair)

    return pair.once_of_original("independent", shuffled)


def _chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose pairs are looked at."""
    if len(names) <= MOST_COLUMNS:
        return tuple(names)
    places = np.sort(rng_of(SEED, 0).choice(len(names), MOST_COLUMNS, replace=False))
    return tuple(names[i] for i in places)


def _strengths(table: Table, weights: Weights, groups: int | None) -> Strengths:
    """Return corrected coefficients, and which of them are measurable.

    What counts is the number of groups where rows belong together, and Kish's effective number of
    records where they have weights.
    """
    names, n = table.names, len(table)
    size = float(n) if weights is None else effective_size(weights)
    independent = size if groups is None else min(size, groups)
    number = np.array([table[name].kind.is_number for name in names])
    values = np.full((2, len(names), len(names)), np.nan)
    values[0] = association_matrix(table, weights)
    ranked = [_ranks(table[name], weights) for name, is_one in zip(names, number, strict=True)
              if is_one]  # fmt: skip
    if ranked:
        places = np.flatnonzero(number)
        values[1][np.ix_(places, places)] = pearson_matrix(ranked, weights)
    held = _held_together([table[name] for name in names])
    levels = np.array([_n_levels(table[name]) for name in names], dtype=np.float64)
    is_ratio, is_cramer = number[:, None] ^ number, ~(number[:, None] | number)
    k = np.where(number[:, None], levels[None, :], levels[:, None])  # of a number and a category
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.ones_like(values)
        of_numbers = np.outer(number, number)
        p[:, of_numbers] = _p_of_correlation(values[:, of_numbers], independent * held[of_numbers])
        raw = values[0].copy()
        p[0][is_ratio] = _p_of_ratio(raw[is_ratio], k[is_ratio], (independent * held)[is_ratio])
        r, c = np.broadcast_arrays(levels[:, None], levels[None, :])
        p[0][is_cramer] = _p_of_cramer(raw[is_cramer], r[is_cramer], c[is_cramer], independent)
        rows = size * held
        values[0][is_ratio] = _corrected_ratio(raw[is_ratio], k[is_ratio], rows[is_ratio])
        values[0][is_cramer] = _corrected_cramer(raw[is_cramer], r[is_cramer], c[is_cramer], size)
    measurable = (np.abs(np.nan_to_num(values)) >= LEAST) & (p < LEVEL)
    measurable[:, np.eye(len(names), dtype=bool)] = False
    return Strengths(names, values, measurable)


def _held_together(columns: Sequence[Column]) -> Floats:
    """Return the share of the rows in which two columns have numbers; categories always count."""
    gaps = np.array([c.kind.is_number and bool(c.is_missing.any()) for c in columns])
    share = np.ones((len(columns), len(columns)))
    if gaps.any():
        rows = [~c.is_missing for c, gap in zip(columns, gaps, strict=True) if gap]
        cells = np.array([np.ones(len(columns[0])), *rows], dtype=np.float32)
        found = (cells @ cells.T).astype(np.float64) / len(columns[0])
        place = np.where(gaps, np.cumsum(gaps), 0)
        share = found[np.ix_(place, place)]
    return share


def _n_levels(column: Column) -> int:
    """Return how many levels occur, ways to be missing among them."""
    return int(np.count_nonzero(column.counts))


def _ranks(column: Column, weights: Weights) -> Column:
    """Return a column whose numbers are mid-ranks."""
    n = len(column.levels)
    counts = np.bincount(column.codes, weights, column.n_levels)[:n]
    order = np.argsort(column.numbers, kind="stable")
    ranks = np.empty(n)
    ranks[order] = np.cumsum(counts[order]) - counts[order] / 2
    return replace(column, levels=ranks, kind=Kind.NUMERIC, value_labels={})


def _p_of_correlation(r: Floats, n: Floats) -> Floats:
    """Return two-sided p-values by Fisher's transformation."""
    z = np.arctanh(np.clip(np.abs(r), 0.0, 1 - 1e-12)) * np.sqrt(np.maximum(n - 3, 0.0))
    return np.asarray(np.nan_to_num(2 * scipy.stats.norm.sf(z), nan=1.0))


def _p_of_ratio(ratio: Floats, k: Floats, n: Floats) -> Floats:
    between, within = ratio**2 / (k - 1), (1 - ratio**2) / (n - k)
    p = scipy.stats.f.sf(between / np.maximum(within, 1e-300), k - 1, np.maximum(n - k, 1e-9))
    return np.where((n > k) & (k > 1), np.nan_to_num(p, nan=1.0), 1.0)


def _p_of_cramer(v: Floats, r: Floats, c: Floats, n: float) -> Floats:
    df = (r - 1) * (c - 1)
    p = scipy.stats.chi2.sf(n * v**2 * (np.minimum(r, c) - 1), np.maximum(df, 1))
    return np.where((df >= 1) & (df <= n), np.nan_to_num(p, nan=1.0), 1.0)


def _corrected_ratio(ratio: Floats, k: Floats, n: Floats) -> Floats:
    """Return the root of epsilon squared: the correlation ratio without its bias."""
    found = 1 - (1 - ratio**2) * (n - 1) / (n - k)
    return np.where(n > k, np.sqrt(np.maximum(found, 0.0)), np.nan)


def _corrected_cramer(v: Floats, r: Floats, c: Floats, n: float) -> Floats:
    """Return Cramér's V without its bias (Bergsma 2013)."""
    phi = v**2 * (np.minimum(r, c) - 1) - (r - 1) * (c - 1) / (n - 1)
    r, c = (x - (x - 1) ** 2 / (n - 1) for x in (r, c))
    least = np.minimum(r, c) - 1
    found = np.sqrt(np.maximum(phi, 0.0) / np.maximum(least, 1e-300))
    return np.where(np.isnan(v) | (least <= 0), np.nan, np.minimum(found, 1.0))
