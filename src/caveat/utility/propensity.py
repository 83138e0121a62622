"""Propensity scores: whether a model can tell the synthetic rows from the original ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.tree import Control, grow
from caveat.utility.pair import WeightedPair, Weights
from caveat.utility.stacked import Stacked, detector, stack, stacked_weights

Floats = NDArray[np.float64]

# R's glm: relative change of the deviance, and the share of a column that must be new.
TOLERANCE = 1e-8
NEW_SHARE = 1e-11
MOST_STEPS = 25
# Beyond this linear predictor a probability is 0 or 1 to the last digit.
FARTHEST = 30.0


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression.

    Attributes
    ----------
    scores
        Fitted probabilities.
    rank
        Number of coefficients that could be estimated, the constant included.
    deviance
        Minus twice the log-likelihood.
    steps
        Number of iterations.
    converged
        Whether the deviance had settled.
    """

    scores: Floats
    rank: int
    deviance: float
    steps: int
    converged: bool

    __repr__ = without_values


def orthonormal_basis(design: Floats) -> Floats:
    """Return orthonormal columns that span the design.

    A column is left out when less than 1e-11 of its length is new, as R's ``glm`` does.

    Examples
    --------
    >>> orthonormal_basis(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]])).shape
    (2, 2)
    """
    base = np.empty((design.shape[0], min(design.shape)), order="F")
    rank = 0
    for column in design.T:
        length = float(np.linalg.norm(column))
        if length == 0 or rank == base.shape[1]:
            continue
        rest = column / length
        for _ in range(2):  # once more, to clean up rounding
            rest = rest - base[:, :rank] @ (base[:, :rank].T @ rest)
        new = float(np.linalg.norm(rest))
        if new >= NEW_SHARE:
            base[:, rank] = rest / new
            rank += 1
    return base[:, :rank]


def fit_logistic(
    basis: Floats, response: NDArray[np.bool_], weights: Floats | None = None
) -> Logistic:
    """Fit a logistic regression.

    Parameters
    ----------
    basis
        Orthonormal columns that span the design; see :func:`orthonormal_basis`.
    response
        Whether each observation is a success.
    weights
        How often each observation counts; once unless given.

    Examples
    --------
    >>> x = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> y = np.array([True, False, True, True])
    >>> fit_logistic(orthonormal_basis(x), y).scores[:2].round(6).tolist()
    [0.5, 0.5]
    """

    def step(working: Floats, weight: Floats) -> Floats:
        return np.asarray(basis @ _weighted_least_squares(basis, working, weight))

    return iterate(step, basis.shape[1], response, weights)


def iterate(
    step: Callable[[Floats, Floats], Floats],
    rank: int,
    response: NDArray[np.bool_],
    weights: Floats | None,
) -> Logistic:
    """Fit a logistic regression, given what fits a linear one.

    Parameters
    ----------
    step
        Takes a response and weights, and returns the fitted values of weighted least squares.
    rank
        Number of coefficients.
    response, weights
        As for :func:`fit_logistic`.
    """
    y = response.astype(np.float64)
    mean = (y + 0.5) / 2
    eta = np.log(mean / (1 - mean))
    deviance = _deviance(y, mean, weights)
    converged, steps = False, 0
    while not converged and steps < MOST_STEPS:
        steps += 1
        variance = mean * (1 - mean)
        working = eta + (y - mean) / variance
        eta = step(working, variance if weights is None else variance * weights)
        mean = 1 / (1 + np.exp(-np.clip(eta, -FARTHEST, FARTHEST)))
        before, deviance = deviance, _deviance(y, mean, weights)
        converged = abs(deviance - before) / (abs(deviance) + 0.1) < TOLERANCE
    return Logistic(mean, rank, deviance, steps, converged)


def _deviance(y: Floats, mean: Floats, weights: Floats | None) -> float:
    likelihood = np.log(np.where(y > 0, mean, 1 - mean))
    return float(-2 * (likelihood if weights is None else weights * likelihood).sum())


def _weighted_least_squares(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Solve the normal equations; on an orthonormal basis only the weights make them ill."""
    weighted = x * weight[:, None]
    normal = weighted.T @ x
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), weighted.T @ y))
    except scipy.linalg.LinAlgError:  # separated groups: weights of zero
        root = np.sqrt(weight)
        return np.asarray(scipy.linalg.lstsq(x * root[:, None], y * root)[0])


# -------------------------------------------------------------------------------------------------
# The main effects of a regression, kept as codes: its normal equations are sums over groups.
#
# A column of codes stands for all 0/1 columns of its levels, so that the products of two columns
# are a table of weights and no product of matrices. The design itself is never written down: a
# step of the regression takes a tenth of the time and no memory to speak of.


# What is new in a column is known well enough from products above this share of its square; below
# it the rows themselves are asked.
CLEAR = 1e-6
# Weights that leave less of a column than this separate the rows: better ask for a basis.
SEPARATED = 1e-10


class _UnclearError(Exception):
    """Products of columns are too inexact to tell."""


@dataclass(frozen=True, eq=False)
class _Effect:
    """One column: its codes, and the number of each code unless it is a category."""

    codes: NDArray[np.int64]
    levels: int
    numbers: Floats | None

    __repr__ = without_values

    @property
    def width(self) -> int:
        return self.levels - 1 if self.numbers is None else 1

    def sums(self, weighted: Floats) -> Floats:
        """Return the products of the columns that it stands for with a column."""
        if self.numbers is not None:
            return np.array([self.numbers[self.codes] @ weighted])
        return np.asarray(np.bincount(self.codes, weighted, self.levels)[1:], np.float64)

    def fitted(self, coefficients: Floats) -> Floats:
        """Return the sum of the columns that it stands for, each times its coefficient."""
        if self.numbers is not None:
            return np.asarray((self.numbers * coefficients[0])[self.codes])
        return np.asarray(np.append(0.0, coefficients)[self.codes])


class MainEffects:
    """A constant and the main effects of stacked columns.

    Parameters
    ----------
    data
        The columns; numbers are centred, which leaves the model as it is.

    Attributes
    ----------
    rank
        Number of coefficients that can be estimated; None if only the rows can tell.
    """

    def __init__(self, data: Stacked) -> None:
        self._rows = len(data.is_synthetic)
        self._effects = []
        clear = True
        for codes, levels, values in zip(data.codes, data.n_levels, data.values, strict=True):
            numbers = None
            if values is not None:
                counts = np.bincount(codes, minlength=levels)
                numbers = values - counts @ values / self._rows
                rest, length = counts @ numbers**2, counts @ values**2
                clear = clear and (levels == 1 or bool(rest > CLEAR * length))
                if levels == 1:
                    numbers = np.zeros(1)
            self._effects.append(_Effect(codes, levels, numbers))
        widths = [effect.width for effect in self._effects]
        self._starts = 1 + np.cumsum([0, *widths])
        self._kept = np.zeros(0, np.int64)
        self.rank: int | None = None
        if clear:
            try:
                self._kept = self._independent(self._products(np.ones(self._rows)))
                self.rank = len(self._kept)
            except _UnclearError:
                pass

    def fit(self, response: NDArray[np.bool_], weights: Weights = None) -> Logistic | None:
        """Fit a logistic regression; None if the weights of its steps make it inexact."""
        if self.rank is None:
            return None
        try:
            return iterate(self._step, self.rank, response, weights)
        except _UnclearError:
            return None

    def _blocks(self) -> Iterator[tuple[slice, _Effect]]:
        for start, effect in zip(self._starts, self._effects, strict=False):
            yield slice(int(start), int(start) + effect.width), effect

    def _products(self, weight: Floats) -> Floats:
        """Return the weighted products of all columns with each other."""
        found = np.zeros((self._starts[-1], self._starts[-1]))
        found[0, 0] = weight.sum()
        before: list[tuple[slice, _Effect]] = []
        for here, effect in self._blocks():
            weighted = weight if effect.numbers is None else weight * effect.numbers[effect.codes]
            found[0, here] = effect.sums(weight)
            if effect.numbers is None:
                found[here, here] = np.diag(found[0, here])
            else:
                found[here, here] = effect.sums(weighted)
            for there, other in before:
                if effect.numbers is None and other.numbers is None:
                    joint = other.codes * effect.levels + effect.codes
                    cells = np.bincount(joint, weight, other.levels * effect.levels)
                    found[there, here] = cells.reshape(other.levels, effect.levels)[1:, 1:]
                elif effect.numbers is None:
                    found[there, here] = effect.sums(weight * other.numbers[other.codes])  # type: ignore[index]
                else:
                    found[there, here] = other.sums(weighted)[:, None]
            before.append((here, effect))
        return np.triu(found) + np.triu(found, 1).T

    def _columns(self, weighted: Floats) -> Floats:
        """Return the products of all columns with a column."""
        parts = [effect.sums(weighted) for _, effect in self._blocks()]
        return np.concatenate([[weighted.sum()], *parts])

    def _fitted(self, coefficients: Floats) -> Floats:
        found = np.full(self._rows, coefficients[0])
        for here, effect in self._blocks():
            found += effect.fitted(coefficients[here])
        return found

    def _independent(self, products: Floats) -> NDArray[np.int64]:
        """Return the columns that are not made of those before them, as R's ``glm`` does."""
        lengths = np.sqrt(np.diag(products))
        scaled = products / np.outer(lengths, lengths).clip(1e-300)
        root = np.zeros_like(scaled)
        kept: list[int] = []
        for k in np.flatnonzero(lengths > 0).tolist():
            r = len(kept)
            part = np.zeros(0)
            if r:
                part = scipy.linalg.solve_triangular(root[:r, :r], scaled[kept, k], lower=True)
            left = 1.0 - float(part @ part)
            if left <= CLEAR:
                self._refuse_if_new(k, np.array(kept), products)
                continue
            root[r, :r], root[r, r] = part, np.sqrt(left)
            kept.append(k)
        return np.array(kept)

    def _refuse_if_new(self, k: int, kept: NDArray[np.int64], products: Floats) -> None:
        """See row by row whether a column is made of others; that it is not quite is unclear."""
        unit = np.zeros(len(products))
        unit[k] = 1.0
        rest = self._fitted(unit)
        length = float(np.linalg.norm(rest))
        factor = scipy.linalg.cho_factor(products[np.ix_(kept, kept)])
        for _ in range(2):  # once more, to clean up rounding
            unit[:] = 0.0
            unit[kept] = scipy.linalg.cho_solve(factor, self._columns(rest)[kept])
            rest = rest - self._fitted(unit)
        if float(np.linalg.norm(rest)) >= NEW_SHARE * length:
            raise _UnclearError

    def _step(self, working: Floats, weight: Floats) -> Floats:
        """Return the fitted values of a weighted regression."""
        normal = self._products(weight)[np.ix_(self._kept, self._kept)]
        lengths = np.sqrt(np.diag(normal))
        if not (lengths > 0).all():
            raise _UnclearError
        try:
            factor = scipy.linalg.cho_factor(normal / np.outer(lengths, lengths))
        except scipy.linalg.LinAlgError as error:
            raise _UnclearError from error
        if np.diag(factor[0]).min() ** 2 <= SEPARATED:
            raise _UnclearError
        right = self._columns(weight * working)[self._kept] / lengths
        coefficients = np.zeros(self._starts[-1])
        coefficients[self._kept] = scipy.linalg.cho_solve(factor, right) / lengths
        return self._fitted(coefficients)


# -------------------------------------------------------------------------------------------------
# Propensity scores: whether a model can tell the synthetic rows from the original ones.
#
# Stack both tables, predict which rows are synthetic, and see how far the scores are from the
# share ``c`` of synthetic rows. Everything here follows Snoke, Raab, Nowok, Dibben and Slavkovic
# (2018) and the functions ``utility.gen`` and ``utility.tab`` of synthpop.
#
# With survey weights the original's rows count by their weights, scaled to sum to n, in the model
# and in the mean that pMSE is. What is expected of a right synthesis stays as it is. Write X for
# the design, y for the labels, W for the weights (1 for the k synthetic rows), N = n + k and c =
# k / N. Near the truth pMSE = u'(X'WX)⁻¹u / N with u = X'W(y − c), that is (1 − c) times the sum
# of the synthetic rows minus c times the weighted sum of the original ones. Given the original,
# only the synthetic rows are drawn, and they are drawn from its weighted distribution, so that u
# is 0 on average and has the variance (1 − c)² k Cov(x), while X'WX is about N E(xx'): the
# expectation is df (1 − c)² c / N, as without weights. Weights that differ widely make the
# original a poorer picture of the population (Kish's design effect), but it is this picture that
# a synthesis can reproduce and is held against. A permutation of weighted rows would be at the
# mercy of the heavy ones; it is done on as many rows of the original as before, drawn by their
# weights.


Model = Literal["cart", "logit", "boosting"]
THREADS = min(2, os.cpu_count() or 1)
# Scores that differ by less than this are equal: rounding must not break ties.
SAME_SCORE = 12
# The design of a logistic model is refused beyond this many cells (0.8 GB).
MOST_CELLS = 100_000_000
# With no more than this it is written down, which is as fast.
FEW_CELLS = 2_000_000
# Main effects that a logistic model has at most: beyond it rare levels are pooled.
MOST_TERMS = 500
# Rows times pairs of columns that the normal equations of main effects are summed over.
MOST_PAIRS = 500_000_000
# Rows times squared terms of a design that is written down: beyond it rare levels are pooled.
MOST_PRODUCTS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Propensity:
    """The scores of one propensity model.

    Attributes
    ----------
    scores
        The probability to be synthetic, the synthetic rows first.
    is_synthetic
        Which rows are synthetic.
    model
        The model.
    df
        Coefficients of a logistic model besides the constant, leaves of a tree, 0 for boosting.
    converged
        Whether the model settled.
    weights
        How much each row counts, if they differ; those of the original sum to their number.
    pooled
        Rare levels that a logistic model does not tell apart, since it would have too many terms.
    """

    scores: NDArray[np.float64]
    is_synthetic: NDArray[np.bool_]
    model: Model
    df: int
    converged: bool = True
    weights: Weights = None
    pooled: int = 0

    __repr__ = without_values

    @property
    def share(self) -> float:
        """Share of synthetic rows, c."""
        return float(self.is_synthetic.mean())

    @property
    def pMSE(self) -> float:  # noqa: N802 - the name it has everywhere
        """Mean squared distance of the scores from c: 0 if nothing can be told apart."""
        return float(np.average((self.scores - self.share) ** 2, weights=self.weights))

    @property
    def PO50(self) -> float:  # noqa: N802
        """Share of rows told apart rightly by a score above ½, minus ½."""
        right = (self.scores > 0.5) == self.is_synthetic
        return float(np.average(right, weights=self.weights) - 0.5)

    @cached_property
    def _ranks(self) -> NDArray[np.float64]:
        return np.asarray(scipy.stats.rankdata(np.round(self.scores, SAME_SCORE)))

    @property
    def SPECKS(self) -> float:  # noqa: N802
        """Largest distance between the score distributions (Kolmogorov–Smirnov)."""
        ours, theirs = (np.cumsum(counts) for counts in self._counts())
        return float(np.abs(ours / ours[-1] - theirs / theirs[-1]).max())

    def _counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows of the original and the synthetic ones with each score."""
        _, place = np.unique(self._ranks, return_inverse=True)
        ours = ~self.is_synthetic if self.weights is None else self.weights * ~self.is_synthetic
        return np.bincount(place, ours), np.bincount(place, self.is_synthetic)

    @property
    def U(self) -> float:  # noqa: N802
        """Pairs in which the synthetic row has the higher score (Mann–Whitney), ties as halves."""
        if self.weights is not None:
            ours, theirs = self._counts()
            return float(theirs @ (np.cumsum(ours) - ours / 2))
        n = int(self.is_synthetic.sum())
        return float(self._ranks[self.is_synthetic].sum() - n * (n + 1) / 2)

    @property
    def AUC(self) -> float:  # noqa: N802
        """U over the number of pairs: ½ if nothing can be told apart."""
        n = int(self.is_synthetic.sum())
        return self.U / (n * (len(self.scores) - n))


def propensity(
    pair: WeightedPair,
    model: Model = "cart",
    *,
    names: Sequence[str] | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    interactions: int = 0,
    groups: int | None = None,
) -> Propensity:
    """Score every row of both tables.

    Parameters
    ----------
    pair
        The two tables.
    model
        "cart": a classification tree with rpart's rules. "logit": a logistic regression.
        "boosting": boosted trees that never score a row they were trained on.
    names
        The columns to use; all unless given.
    cp, minbucket
        Settings of the tree; the defaults are those of synthpop's ``utility.gen``. The value of
        pMSE depends on them: never compare values from different settings.
    interactions
        Products of columns in the logistic model: 0 none, 1 of two columns, 2 of three.
    groups
        Cut numbers into this many groups first; declared codes are groups of their own.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> propensity(WeightedPair.of(people, people)).pMSE
    0.0
    """
    score, is_synthetic = _scorer(pair, model, names, cp, minbucket, interactions, groups)
    return score(is_synthetic)


Scorer = Callable[[NDArray[np.bool_]], Propensity]


def _scorer(
    pair: WeightedPair,
    model: Model,
    names: Sequence[str] | None,
    cp: float,
    minbucket: int,
    interactions: int,
    groups: int | None,
) -> tuple[Scorer, NDArray[np.bool_]]:
    """Prepare what does not depend on which rows are synthetic; return also which are."""
    data, weights = stack(pair, names, groups), stacked_weights(pair)
    if model == "boosting":
        detect = detector(pair, names)

        def by_boosting(response: NDArray[np.bool_]) -> Propensity:
            return Propensity(detect(response).scores, response, model, 0, weights=weights)

        return by_boosting, data.is_synthetic
    if model == "logit":
        return _regression(data, weights, interactions), data.is_synthetic
    predictors = data.predictors()

    def by_tree(response: NDArray[np.bool_]) -> Propensity:
        codes = response.astype(np.uint8)
        control = Control(minbucket=minbucket, cp=cp)
        tree = grow(predictors, codes, 2, weights=weights, control=control)
        ones = tree.shares(predictors, np.ones_like(codes))
        return Propensity(ones, response, model, tree.n_leaves, weights=weights)

    return by_tree, data.is_synthetic


def _regression(data: Stacked, weights: Weights, interactions: int) -> Scorer:
    """Return what scores rows by a logistic regression, with a bound on its work.

    Rare levels are pooled where there are too many terms. Main effects are fitted from their sums;
    where these do not do, the design is written down, with fewer terms if it has many rows.
    """
    n_levels = sum(data.n_levels)
    if not interactions and data.n_terms(0) > MOST_TERMS:
        data = data.pooled(MOST_TERMS)
    n_rows, n_terms = len(data.is_synthetic), data.n_terms(interactions)
    if n_terms * n_rows > MOST_CELLS:
        raise CaveatError(
            f"the logistic model would have {n_terms:,} columns",
            do="choose fewer variables, or group the levels of long factors",
            code="measure.model.too-large",
        )
    large = n_terms * n_rows > FEW_CELLS and interactions == 0
    few_pairs = n_rows * len(data.codes) ** 2 / 2 <= MOST_PAIRS
    effects = MainEffects(data) if large and few_pairs else None

    @cache
    def written() -> tuple[NDArray[np.float64], int]:
        """Return a basis of the design, and how many rare levels were pooled."""
        most = int(np.sqrt(MOST_PRODUCTS / n_rows))
        smaller = data if interactions or n_terms <= most else data.pooled(most)
        pooled = n_levels - sum(smaller.n_levels)
        return orthonormal_basis(smaller.design(interactions)), pooled

    def score(response: NDArray[np.bool_]) -> Propensity:
        fit = None if effects is None else effects.fit(response, weights)
        pooled = n_levels - sum(data.n_levels)
        if fit is None:
            basis, pooled = written()
            with threadpool_limits(limits=1):
                fit = fit_logistic(basis, response, weights)
        return Propensity(
            fit.scores, response, "logit", fit.rank - 1, fit.converged, weights, pooled
        )

    return score


@dataclass(frozen=True, eq=False)
class Null:
    """What pMSE would be if the synthesis were right.

    Attributes
    ----------
    values
        pMSE of each repetition, as computed. synthpop halves their mean: a permutation (or a pair
        of synthetic copies) has two random halves where a synthesis has one.
    without_split
        Number of repetitions in which the tree did not split at all.
    """

    values: NDArray[np.float64]
    without_split: int = 0

    __repr__ = without_values

    @property
    def mean(self) -> float:
        """Mean over the repetitions, not halved."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean, for so many repetitions."""
        return float(self.values.std() / np.sqrt(len(self.values)))

    @property
    def halved(self) -> float:
        """The expectation of pMSE that synthpop divides by."""
        return self.mean / 2


def expected_pmse(df: int, n_original: int, n_synthetic: int) -> float:
    """Return the expectation of pMSE for a logistic model: df (1 − c)² c / N.

    Examples
    --------
    >>> round(expected_pmse(31, 5000, 5000), 7)
    0.0003875
    """
    total = n_original + n_synthetic
    c = n_synthetic / total
    return df * (1 - c) ** 2 * c / total


def permutation_null(
    pair: WeightedPair,
    model: Model = "cart",
    *,
    repetitions: int = 50,
    seed: int = 0,
    names: Sequence[str] | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    interactions: int = 0,
    groups: int | None = None,
) -> Null:
    """Return pMSE after shuffling which rows are synthetic, or which groups.

    The arguments are those of :func:`propensity`. Where rows belong together whole groups are
    shuffled: rows of one group are alike, and a model tells a group of one table from those of the
    other by that alone. With survey weights the rows of the original, or its groups, are redrawn by
    their weights first.
    """
    pair = pair.redrawn(rng_of(seed, repetitions))
    score, is_synthetic = _scorer(pair, model, names, cp, minbucket, interactions, groups)

    group = _stacked_groups(pair)
    first = is_synthetic if group is None else _first_of_each(group, is_synthetic)

    def shuffled(i: int) -> tuple[float, bool]:
        drawn = rng_of(seed, i).permutation(first)
        found = score(drawn if group is None else drawn[group])
        return found.pMSE, model == "cart" and found.df == 1

    # Trees are grown without the interpreter's lock; the other models have threads of their own.
    with ThreadPoolExecutor(THREADS if model == "cart" else 1) as pool:
        done = list(pool.map(shuffled, range(repetitions)))
    return Null(np.array([value for value, _ in done]), sum(bare for _, bare in done))


def _stacked_groups(pair: WeightedPair) -> NDArray[np.int64] | None:
    """Return the group of each stacked row, the synthetic rows first; None without groups."""
    if pair.groups is None:
        return None
    ours, theirs = pair.groups.original, pair.groups.synthetic
    group = np.concatenate([theirs.group, theirs.n_groups + ours.group])
    return np.asarray(np.unique(group, return_inverse=True)[1])


def _first_of_each(group: NDArray[np.int64], is_synthetic: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which groups are synthetic."""
    return np.asarray(is_synthetic[np.unique(group, return_index=True)[1]])


def pairs_null(pairs: Sequence[WeightedPair], model: Model = "cart", **settings: int) -> Null:
    """Return pMSE of every pair of synthetic copies.

    Parameters
    ----------
    pairs
        The pairs of the same original with each copy.
    model, **settings
        As for :func:`propensity`.

    Notes
    -----
    synthpop divides by half the mean (``Null.halved``); the pMSE ratio of Kolb, Tang and Giessing
    (2024) divides by the mean itself, so that it is half as large.
    """
    if len(pairs) < 2:
        raise CaveatError(
            "pairs of copies need at least two copies",
            do="give more copies",
            code="measure.copy.too-few",
        )
    values = [
        propensity(WeightedPair.of(a.synthetic, b.synthetic), model, **settings).pMSE  # type: ignore[arg-type]
        for a, b in combinations(pairs, 2)
    ]
    return Null(np.array(values))
