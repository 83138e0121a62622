"""Both tables as rows of one, sampled if large: boosted trees or transport tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.registry import Late
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.table.linked import Members, draw_groups
from caveat.tree import Predictors
from caveat.utility.pair import Category, WeightedPair, Weights

ROWS = 50_000
"""Rows of each table that models are fitted to; smaller tables are taken whole."""

FEWEST = 100
"""Rows that models need at least, where somebody says how many they get."""

TWIN_ROWS = 20_000
"""Resamples of a table with more rows than this share the permutations of the first one."""

SEED = 26  # the same for every table: samples of the same rows are the same
Floats = NDArray[np.float64]


def sample_of(pair: WeightedPair, most: int | None = None) -> WeightedPair:
    """Return the pair that models are fitted to: itself, or a sample of its larger tables.

    `most` is a smaller number of rows than the usual one.
    """
    rows = _most(pair) if most is None else min(most, _most(pair))
    if max(pair.n_original, pair.n_synthetic) <= rows:
        return pair
    return pair.once(("sample", rows), lambda: _sample(pair, rows))


def null_pair(pair: WeightedPair) -> WeightedPair:
    """Return the pair whose permutations a pair is held against: itself, or its twin.

    Resamples of one table, permuted, are all alike: of a large one they are permuted once.
    """
    large = sample_of(pair) is not pair or pair.n_original > TWIN_ROWS
    return pair.twin if large and pair.twin is not None else pair


def _most(pair: WeightedPair) -> int:
    return ROWS if pair.model_rows is None else pair.model_rows


def _sample(pair: WeightedPair, most: int) -> WeightedPair:
    groups = pair.groups
    ours = _drawn(pair.n_original, None if groups is None else groups.original, 0, most)
    theirs = _drawn(pair.n_synthetic, None if groups is None else groups.synthetic, 1, most)
    if groups is not None:
        groups = replace(
            groups,
            original=groups.original.of_rows(ours),
            synthetic=groups.synthetic.of_rows(theirs),
            control=None,
        )
    return WeightedPair(
        pair.original.take(ours),
        pair.synthetic.take(theirs),
        weights=None if pair.weights is None else pair.weights[ours],
        groups=groups,
    )


def _drawn(n: int, members: Members | None, side: int, most: int) -> NDArray[np.int64]:
    """Return the rows of a sample, in their order."""
    if n <= most:
        return np.arange(n)
    rng = rng_of(SEED, side)
    if members is not None and members.n_groups > 1:
        return np.flatnonzero(draw_groups(members, most, rng))
    return np.sort(rng.choice(n, most, replace=False))


def sampled_note(
    pair: WeightedPair, error: float | None = None, most: int | None = None
) -> tuple[Note, ...]:
    """Say what was sampled, and how large the error of that is where it is known."""
    sample = sample_of(pair, most)
    if sample is pair:
        return ()
    rows = {
        "ours": sample.n_original, "all_ours": pair.n_original,
        "theirs": sample.n_synthetic, "all_theirs": pair.n_synthetic,
    }  # fmt: skip
    if error is None:
        return (
            Note(
                "sampled-rows-only",
                "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} synthetic "
                "rows, drawn at random",
                public=True,
                **rows,
            ),
        )
    return (
        Note(
            "sampled-rows",
            "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} synthetic rows, "
            "drawn at random; standard error of the sampling {error:.2g}",
            public=True,
            error=error,
            **rows,
        ),
    )


def pmse_error(pair: WeightedPair, scores: Floats) -> float:
    """Return the standard error of pMSE for drawing the sample, given the shape of the model.

    Σ (s − c m)² / m over groups of m rows, s of them synthetic, changes with one row more by
    (p − c)² + 2 (p − c)(y − p), where p = s / m and y says whether the row is synthetic. The mean
    of that is pMSE, and its spread over the rows the error.
    """
    sample = sample_of(pair)
    n, k = sample.n_original, sample.n_synthetic
    y = np.arange(n + k) < k
    c = k / (n + k)
    change = (scores - c) ** 2 + 2 * (scores - c) * (y - scores)
    if sample.weights is not None:  # a heavy row changes more
        change[k:] = (change[k:] - change[k:].mean()) * sample.weights
    return float(np.hypot(*_errors(pair, change[k:] * (1 - c), change[:k] * c)))


def auc_error(pair: WeightedPair, scores: Floats) -> float:
    """Return the standard error of an area under the curve (DeLong), given the model."""
    k = sample_of(pair).n_synthetic
    theirs, ours = scores[:k], scores[k:]
    rank = scipy.stats.rankdata(scores)
    below = (rank[:k] - scipy.stats.rankdata(theirs)) / len(ours)
    above = (rank[k:] - scipy.stats.rankdata(ours)) / len(theirs)
    return float(np.hypot(*_errors(pair, above, below)))


def _errors(pair: WeightedPair, ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return the standard error of the mean over each sample; 0 of a table that is whole."""
    whole = pair.n_original, pair.n_synthetic
    first, second = (
        float(x.std() * np.sqrt(max(0.0, 1 - len(x) / n) / len(x)))
        for x, n in zip((ours, theirs), whole, strict=True)
    )
    return first, second


# -------------------------------------------------------------------------------------------------
# Both tables stacked, as the propensity models see them.
#
# The synthetic rows come first. A number stays a number: its missing cells are set to 0 and every
# way to be missing becomes a 0/1 column after all the others, as in synthpop's ``utility.gen``.
# For other columns a way to be missing is a level.


@dataclass(frozen=True, eq=False)
class Stacked:
    """Columns of codes over the synthetic rows and then the original ones.

    Attributes
    ----------
    names
        Names of the columns, those for missing cells included.
    codes
        One array for each column; every code occurs.
    values
        The number that each code of a column stands for, ``None`` for categories.
    ordered
        Whether the order of the codes has a meaning.
    is_synthetic
        Which rows are synthetic.
    """

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int64], ...]
    values: tuple[NDArray[np.float64] | None, ...]
    ordered: tuple[bool, ...]
    is_synthetic: NDArray[np.bool_]

    __repr__ = without_values

    @property
    def n_levels(self) -> list[int]:
        """Number of codes of each column."""
        return [int(codes.max()) + 1 for codes in self.codes]

    def predictors(self) -> Predictors:
        """Return the columns as the tree engine wants them."""
        unsigned = [codes.astype(np.uint32) for codes in self.codes]
        return Predictors(unsigned, self.n_levels, self.ordered)

    def n_terms(self, order: int) -> int:
        """Return the number of columns that `design` has."""
        widths = [
            levels - 1 if numbers is None else 1
            for levels, numbers in zip(self.n_levels, self.values, strict=True)
        ]
        # Coefficient k of Π (1 + w x) is the number of products of k columns.
        products = np.ones(1)
        for width in widths:
            products = np.convolve(products, [1.0, width])
        return int(products[: order + 2].sum())

    def pooled(self, most: int) -> Stacked:
        """Return the columns with their rare levels pooled, so that a regression has few terms.

        Levels of categories that few rows have become one level of their column: fewer than the
        smallest number of rows that leaves at most ``most`` main effects.

        Examples
        --------
        >>> towns = {"town": ["a"] * 4 + ["b"] * 3 + ["c", "d", "e"]}
        >>> stack(WeightedPair.of(towns, towns)).pooled(3).n_levels
        [3]
        """
        counts = [np.bincount(codes) for codes in self.codes]
        factors = [number is None for number in self.values]
        held = [c for c, is_factor in zip(counts, factors, strict=True) if is_factor]
        numbers = 1 + len(counts) - len(held)

        def terms(fewest: int) -> int:
            found = ((c >= fewest).sum() + (c < fewest).any() - 1 for c in held)
            return numbers + int(sum(found))

        sizes = np.unique(np.concatenate([*held, np.ones(1, np.int64)])) + 1
        fewest = next((int(size) for size in sizes if terms(int(size)) <= most), None)
        if fewest is None:
            raise CaveatError(
                f"the logistic model would have {self.n_terms(0):,} columns, {numbers:,} of them "
                "for numbers",
                do="choose fewer variables",
                code="measure.model.too-large",
            )
        codes = list(self.codes)
        for i, (own, is_factor) in enumerate(zip(counts, factors, strict=True)):
            if is_factor and (own < fewest).sum() > 1:
                rare = own < fewest
                codes[i] = np.where(rare, len(own) - rare.sum(), np.cumsum(~rare) - 1)[codes[i]]
        return replace(self, codes=tuple(codes))

    def design(self, order: int) -> NDArray[np.float64]:
        """Return the columns of a regression: a constant, main effects, products up to `order`.

        Parameters
        ----------
        order
            0 for main effects, 1 for products of two columns, and so on.
        """
        blocks = [
            _dummies(codes, levels) if numbers is None else numbers[codes][:, None]
            for codes, numbers, levels in zip(self.codes, self.values, self.n_levels, strict=True)
        ]
        terms = [(i, block) for i, block in enumerate(blocks)]
        parts, last = [np.ones((len(self.is_synthetic), 1)), *blocks], terms
        for _ in range(order):
            last = [
                (j, _products(a, blocks[j])) for i, a in last for j in range(i + 1, len(blocks))
            ]
            parts += [block for _, block in last]
        return np.concatenate(parts, axis=1)


def _dummies(codes: NDArray[np.int64], levels: int) -> NDArray[np.float64]:
    return np.asarray(codes[:, None] == np.arange(1, levels), dtype=np.float64)


def _products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def stack(
    pair: WeightedPair, names: Sequence[str] | None = None, groups: int | None = None
) -> Stacked:
    """Stack two tables.

    Parameters
    ----------
    pair
        The two tables.
    names
        The columns to use; all unless given.
    groups
        Cut numbers into this many groups and use them as categories.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m"], "age": [31, None, 52]}
    >>> both = stack(WeightedPair.of(people, people))
    >>> both.names, both.values[1].tolist()
    (('sex', 'age', 'age: empty'), [0.0, 31.0, 52.0])
    """
    chosen = pair.choose(names)
    columns: list[_StackedColumn] = []
    indicators: list[_StackedColumn] = []
    for name in chosen:
        ours, theirs = pair.columns(name)
        if groups is not None and ours.kind.is_number:
            columns.append(_grouped(name, pair.categories(groups)[name]))
            continue
        codes = np.concatenate([theirs.codes, ours.codes]).astype(np.int64)
        if ours.kind.is_number:
            columns.append(_number(name, codes, ours))
            indicators += _indicators(name, codes, ours)
        else:
            columns.append(_StackedColumn(name, *_used(codes, None), ordered=ours.kind.has_order))
    every = [*columns, *indicators]
    origin = np.arange(pair.n_synthetic + pair.n_original) < pair.n_synthetic
    return Stacked(
        tuple(c.name for c in every),
        tuple(c.codes for c in every),
        tuple(c.values for c in every),
        tuple(c.ordered for c in every),
        origin,
    )


def stacked_weights(pair: WeightedPair) -> Weights:
    """Return the weights of the stacked rows: 1 for the synthetic ones; None without weights."""
    if pair.weights is None:
        return None
    return np.concatenate([np.ones(pair.n_synthetic), pair.weights])


@dataclass(frozen=True, eq=False)
class _StackedColumn:
    name: str
    codes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    ordered: bool

    __repr__ = without_values


def _used(
    codes: NDArray[np.int64], values: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return codes without gaps, in the same order."""
    used = np.bincount(codes) > 0
    kept = None if values is None else values[: len(used)][used]
    return (np.cumsum(used) - 1)[codes], kept


def _grouped(name: str, column: Category) -> _StackedColumn:
    codes = np.concatenate([column.synthetic, column.original]).astype(np.int64)
    return _StackedColumn(name, *_used(codes, None), ordered=False)


def _number(name: str, codes: NDArray[np.int64], column: Column) -> _StackedColumn:
    values = np.concatenate([column.numbers, np.zeros(len(column.missing))])
    distinct, position = np.unique(values, return_inverse=True)
    return _StackedColumn(name, *_used(position[codes], distinct), ordered=True)


def _indicators(name: str, codes: NDArray[np.int64], column: Column) -> list[_StackedColumn]:
    found = []
    for j, way in enumerate(column.missing):
        hit = (codes == len(column.levels) + j).astype(np.int64)
        if 0 < hit.sum() < len(hit):
            found.append(_StackedColumn(f"{name}: {way}", hit, np.array([0.0, 1.0]), ordered=True))
    return found


# -------------------------------------------------------------------------------------------------
# Tables as matrices for scikit-learn: numbers, and categories as codes or as 0/1 columns.


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


# -------------------------------------------------------------------------------------------------
# Detection: how well boosted trees tell synthetic from original rows they were not trained on.


_ensemble = Late("sklearn.ensemble")
_metrics = Late("sklearn.metrics")
_model_selection = Late("sklearn.model_selection")


@dataclass(frozen=True, eq=False)
class Detection:
    """Out-of-fold scores of boosted trees.

    Attributes
    ----------
    scores
        The probability to be synthetic, from a model that did not see the row; synthetic rows
        first.
    is_synthetic
        Which rows are synthetic.
    aucs
        Area under the ROC curve in each fold.
    """

    scores: NDArray[np.float64]
    is_synthetic: NDArray[np.bool_]
    aucs: NDArray[np.float64]

    __repr__ = without_values

    @property
    def auc(self) -> float:
        """Mean over the folds: ½ if nothing can be told apart, 1 if everything."""
        return float(self.aucs.mean())

    @property
    def leaks(self) -> bool:
        """Whether the mean lies more than three standard errors below ½.

        Rows that stand in both tables make a model guess wrong on purpose: it has seen the twin of
        a test row under the other label. A value below ½ is a hint of copies, not of quality.
        """
        n = int(self.is_synthetic.sum())
        m = len(self.is_synthetic) - n
        return bool(self.auc < 0.5 - 3 * np.sqrt((n + m + 1) / (12 * n * m)))


def detection(pair: WeightedPair, *, folds: int = 3, seed: int = 0) -> Detection:
    """Train boosted trees on shuffled folds of both tables.

    Parameters
    ----------
    pair
        The two tables.
    folds
        Number of folds.
    seed
        Seed of the folds.
    """
    is_synthetic = np.arange(pair.n_synthetic + pair.n_original)
    return detector(pair, folds=folds, seed=seed)(is_synthetic < pair.n_synthetic)


def detector(
    pair: WeightedPair,
    names: Sequence[str] | None = None,
    *,
    folds: int = 3,
    seed: int = 0,
) -> Callable[[NDArray[np.bool_]], Detection]:
    """Prepare what does not depend on which rows are called synthetic."""
    encoder = Encoder(pair, pair.choose(names), dense=False)
    x = np.concatenate([encoder.matrix(t) for t in (pair.synthetic, pair.original)])
    weights = stacked_weights(pair)

    def detect(response: NDArray[np.bool_]) -> Detection:
        scores, aucs = np.empty(len(x)), []
        for train, test in _folds(pair, response, folds, seed):
            model = _ensemble.HistGradientBoostingClassifier(
                categorical_features=encoder.categorical, max_iter=60, random_state=seed
            )
            # Threads that wait for a busy core burn many times the time that they save.
            with threadpool_limits(limits=1):
                model.fit(x[train], response[train], None if weights is None else weights[train])
                scores[test] = model.predict_proba(x[test])[:, 1]
            weight = None if weights is None else weights[test]
            aucs.append(_metrics.roc_auc_score(response[test], scores[test], sample_weight=weight))
        return Detection(scores, response, np.array(aucs))

    return detect


def _folds(
    pair: WeightedPair, response: NDArray[np.bool_], folds: int, seed: int
) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
    """Return rows to train on and to test on; rows that belong together are on one side."""
    if pair.groups is None:
        shuffled = _model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed)
        return list(shuffled.split(np.empty(len(response)), response))
    rng = rng_of(seed)

    def fold_of(members: Members) -> NDArray[np.int64]:
        filled, place = np.unique(members.group, return_inverse=True)
        return np.asarray((rng.permutation(len(filled)) % folds)[place])

    fold = np.concatenate([fold_of(pair.groups.synthetic), fold_of(pair.groups.original)])
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]


# -------------------------------------------------------------------------------------------------
# The joint Wasserstein distance: how far rows must be moved to turn one table into the other.


TRANSPORT_ROWS = 1_000  # the cost of an exact assignment grows with the cube


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


def transport(pair: WeightedPair, rows: int = TRANSPORT_ROWS) -> Transport:
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
