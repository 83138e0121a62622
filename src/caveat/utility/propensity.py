"""Propensity scores: whether a model can tell the synthetic rows from the original ones.

Stack both tables, predict which rows are synthetic, and see how far the scores are from the share
``c`` of synthetic rows. Everything here follows Snoke, Raab, Nowok, Dibben and Slavkovic (2018) and
the functions ``utility.gen`` and ``utility.tab`` of synthpop.

With survey weights the original's rows count by their weights, scaled to sum to n, in the model and
in the mean that pMSE is. What is expected of a right synthesis stays as it is. Write X for the
design, y for the labels, W for the weights (1 for the k synthetic rows), N = n + k and c = k / N.
Near the truth pMSE = u'(X'WX)⁻¹u / N with u = X'W(y − c), that is (1 − c) times the sum of the
synthetic rows minus c times the weighted sum of the original ones. Given the original, only the
synthetic rows are drawn, and they are drawn from its weighted distribution, so that u is 0 on
average and has the variance (1 − c)² k Cov(x), while X'WX is about N E(xx'): the expectation is
df (1 − c)² c / N, as without weights. Weights that differ widely make the original a poorer picture
of the population (Kish's design effect), but it is this picture that a synthesis can reproduce and
is held against. A permutation of weighted rows would be at the mercy of the heavy ones; it is done
on as many rows of the original as before, drawn by their weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
from caveat.utility.detection import detector
from caveat.utility.logistic import fit_logistic, orthonormal_basis
from caveat.utility.main_effects import MainEffects
from caveat.utility.pair import WeightedPair
from caveat.utility.stacked import Stacked, stack, stacked_weights
from caveat.utility.weighting import Weights

__all__ = ["Null", "Propensity", "expected_pmse", "pairs_null", "permutation_null", "propensity"]

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
