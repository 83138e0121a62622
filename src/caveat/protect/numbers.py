"""Protections of numbers: coded, rounded, smoothed, averaged, disturbed and noised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import (
    Floats,
    Protected,
    Step,
    complete_matrix,
    number_column,
    numbers_of,
    with_numbers,
)
from caveat.risk import key_cells
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table import Table

Smoother = Callable[[Floats, Floats, NDArray[Any], np.random.Generator], Floats]


def code_extremes(
    synthetic: Table,
    *,
    top: Mapping[str, float] | None = None,
    bottom: Mapping[str, float] | None = None,
) -> Protected:
    """Replace numbers above the top by the top, and numbers below the bottom by the bottom.

    Examples
    --------
    >>> release = Table.from_frame({"income": [500, 900, 25000]})
    >>> code_extremes(release, top={"income": 5000}).table["income"].values.tolist()
    [500, 900, 5000]
    """
    top, bottom = dict(top or {}), dict(bottom or {})
    columns, counts = {}, {}
    for name in dict.fromkeys([*bottom, *top]):
        low, high = bottom.get(name, -np.inf), top.get(name, np.inf)
        if not low < high:
            raise CaveatError(
                "the bottom is not below the top",
                column=name,
                do="mend the limits",
                code="protection.setting.range",
            )
        column = number_column(synthetic, name, "coding of extremes")
        numbers = numbers_of(column)
        columns[name] = with_numbers(column, np.clip(numbers, low, high))
        counts[f"{name}: at the top"] = int((numbers > high).sum())
        counts[f"{name}: at the bottom"] = int((numbers < low).sum())
    step = Step("code_extremes", {"top": top, "bottom": bottom}, counts)
    return Protected(synthetic.with_columns(columns), step)


def round_numbers(synthetic: Table, base: Mapping[str, float]) -> Protected:
    """Round numbers to multiples of a base; halves go to the even multiple.

    Examples
    --------
    >>> release = Table.from_frame({"income": [512, 949, 25000]})
    >>> round_numbers(release, {"income": 100}).table["income"].values.tolist()
    [500, 900, 25000]
    """
    columns, counts = {}, {}
    for name, width in base.items():
        if not width > 0:
            raise CaveatError(
                "the base is not above 0",
                column=name,
                do="give 10, say",
                code="protection.setting.range",
            )
        column = number_column(synthetic, name, "rounding")
        numbers = numbers_of(column)
        rounded = np.round(numbers / width) * width
        columns[name] = with_numbers(column, rounded)
        counts[f"{name}: changed"] = int((rounded[~column.is_missing] != numbers[
            ~column.is_missing]).sum())  # fmt: skip
    step = Step("round_numbers", {"base": dict(base)}, counts)
    return Protected(synthetic.with_columns(columns), step)


def smooth(
    synthetic: Table,
    columns: Sequence[str],
    smoother: Smoother,
    *,
    by: Sequence[str] = (),
    seed: int = 0,
) -> Protected:
    """Smooth numbers, so that values of real people do not come out as they are.

    Parameters
    ----------
    synthetic
        The release. Bandwidths are found from it, not from the original.
    columns
        The numbers to smooth.
    smoother
        A function of values, the distinct values, their counts and a random generator; see
        ``caveat.synthesis.coding``.
    by
        Smooth within each combination of these columns.
    seed
        Seed of the draws.
    """
    groups = _groups(synthetic, by)
    out, counts = {}, {}
    for position, name in enumerate(columns):
        column = number_column(synthetic, name, "smoothing")
        numbers = numbers_of(column)
        smoothed = numbers.copy()
        rng = rng_of(seed, position)
        for rows in groups:
            here = rows[~np.isnan(numbers[rows])]
            if len(here):
                known, times = np.unique(numbers[here], return_counts=True)
                smoothed[here] = smoother(numbers[here], known, times, rng)
        out[name] = with_numbers(column, smoothed)
        kept = np.isin(out[name].levels, column.levels)
        counts[f"{name}: values of the release that remain"] = int(kept.sum())
    parameters = {"columns": list(columns), "by": list(by), "smoother": smoother.__name__}
    return Protected(synthetic.with_columns(out), Step("smooth", parameters, counts, seed))


def _groups(table: Table, by: Sequence[str]) -> list[NDArray[np.intp]]:
    if not by:
        return [np.arange(table.n_rows)]
    (cells,), n = key_cells([[table[k].codes for k in by]], [table[k].n_levels for k in by])
    order = np.argsort(cells, kind="stable")
    return np.split(order, np.searchsorted(cells[order], np.arange(1, n)))


# -------------------------------------------------------------------------------------------------
# Stochastic rounding of counts: no small count is shown, and the expectation stays.
#
# A count z with 0 < z < k becomes k with probability z/k and 0 otherwise; its mean is z and its
# variance z (k − z) (Brenzel et al. 2024, eq. 1).


def stochastic_round(counts: NDArray[Any], k: int = 3, *, seed: int = 0) -> NDArray[np.int64]:
    """Round the small counts of a table at random.

    Parameters
    ----------
    counts
        Whole numbers, 0 or more, of any shape.
    k
        Counts from 1 to k − 1 are rounded to 0 or k.
    seed
        Keep one seed per table: several roundings of the same table average out, and show it.

    Notes
    -----
    Cells are rounded one by one, so margins must be computed from the rounded cells. True margins
    beside them would allow to recover the cells.

    Examples
    --------
    >>> stochastic_round(np.array([0, 1, 2, 3, 40]), 3, seed=1).tolist()
    [0, 0, 3, 3, 40]
    """
    table = np.asarray(counts)
    if table.dtype.kind not in "iu" or (table.size and int(table.min()) < 0):
        raise CaveatError(
            "counts must be whole numbers, 0 or more",
            where="stochastic rounding",
            code="protection.value.type",
        )
    if k < 1:
        raise CaveatError(
            "the threshold must be 1 or more",
            where="stochastic rounding",
            code="protection.setting.range",
        )
    up = rng_of(seed).random(table.shape) * k < table
    return np.where(table < k, np.where(up, k, 0), table).astype(np.int64)


def rounded_table(counts: NDArray[Any], k: int = 3, *, seed: int = 0) -> NDArray[np.int64]:
    """Round the small cells of a table at random, with all margins from the rounded cells.

    The table has one more place on each axis, its total. Totals of true counts beside rounded cells
    would give the cells away; these add up, have the true totals as their means, and their
    variances are the sums of z (k − z) over the small cells.

    Parameters
    ----------
    counts, k, seed
        As for :func:`stochastic_round`.

    Examples
    --------
    >>> rounded_table(np.array([[0, 1, 9], [2, 2, 40]]), 3, seed=1).tolist()
    [[0, 0, 9, 9], [0, 3, 40, 43], [0, 3, 49, 52]]
    """
    table = stochastic_round(counts, k, seed=seed)
    for axis in range(table.ndim):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


# -------------------------------------------------------------------------------------------------
# Microaggregation by MDAV: numbers replaced by the means of groups of k or more alike records.


def mdav(points: Floats, k: int) -> NDArray[np.int64]:
    """Return the group of each point: groups of k to 2k − 1 points, ⌊n/k⌋ of them.

    While 3k points or more remain, a group is formed around the point r farthest from their centre
    and one around the point farthest from r. From 2k to 3k − 1 points make two groups, fewer one.

    Examples
    --------
    >>> mdav(np.array([[0.0], [0.1], [5.0], [5.1], [5.2]]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    n = len(points)
    if not 1 <= k <= n:
        raise CaveatError(
            "the size of the groups does not fit",
            where="microaggregation",
            do=f"use 1 to {n}",
            code="protection.setting.range",
        )
    group = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    next_group = 0

    def take_around(centre: Floats) -> None:
        nonlocal left, next_group
        nearest = np.argsort(_squared(points[left], centre), kind="stable")[:k]
        group[left[nearest]] = next_group
        next_group += 1
        left = np.delete(left, nearest)

    while len(left) >= 3 * k:
        first = points[left[np.argmax(_squared(points[left], points[left].mean(axis=0)))]]
        take_around(first)
        take_around(points[left[np.argmax(_squared(points[left], first))]])
    if len(left) >= 2 * k:
        take_around(points[left[np.argmax(_squared(points[left], points[left].mean(axis=0)))]])
    group[left] = next_group
    _, dense = np.unique(group, return_inverse=True)
    first_row = np.full(dense.max() + 1, n)
    np.minimum.at(first_row, dense, np.arange(n))
    # Numbered by their first member, so that the numbers do not depend on how they were found.
    rank = np.empty_like(first_row)
    rank[np.argsort(first_row)] = np.arange(len(first_row))
    return np.asarray(rank[dense])


def _squared(points: Floats, centre: Floats) -> Floats:
    return np.asarray(((points - centre) ** 2).sum(axis=1))


def microaggregate(
    synthetic: Table, columns: Sequence[str], *, k: int = 3, standardise: bool = True
) -> Protected:
    """Replace numbers by the means of groups of at least k records.

    Parameters
    ----------
    synthetic
        The table.
    columns
        Numbers without missing cells, grouped together.
    k
        Smallest group.
    standardise
        Measure distances in standard deviations; otherwise in the columns' own units, where the
        largest one decides.

    Notes
    -----
    Whole numbers stay whole: their means are rounded.
    """
    points = complete_matrix(synthetic, columns, "microaggregation")
    spread = points.std(axis=0)
    scaled = points / np.where(spread > 0, spread, 1.0) if standardise else points
    group = mdav(scaled, k)
    sizes = np.bincount(group)
    means = np.stack([np.bincount(group, column) / sizes for column in points.T], axis=1)
    out = {name: with_numbers(synthetic[name], means[group, j]) for j, name in enumerate(columns)}
    step = Step(
        "microaggregate",
        {"columns": list(columns), "k": k, "standardise": standardise},
        {
            "groups": len(sizes),
            "cells": len(sizes) * len(columns),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
    )
    return Protected(synthetic.with_columns(out), step)


# -------------------------------------------------------------------------------------------------
# Spectral anonymisation: singular vectors disturbed one by one (Perkonoja and Virta 2024).
#
# X − 1m' = U D V'; each column of U is permuted (P), given random signs (J), or turned by a
# random orthogonal matrix (O), and the product is taken again. Means and covariances survive
# approximately.


Way = Literal["P", "J", "O"]
REFLECTED = Note(
    "reflected",
    "J releases reflections of the original rows: a share of about 2^-p are exact copies, and all "
    "2^p candidates of any row can be listed from the release itself; not for release",
)


def disturb(points: Floats, way: Way, rng: np.random.Generator) -> Floats:
    """Return disturbed points.

    A random orthogonal matrix times a unit vector is a random point of the sphere; so O draws
    normal numbers and scales them to length 1, at a cost of n times p.
    """
    mean = points.mean(axis=0)
    u, d, vt = np.linalg.svd(points - mean, full_matrices=False)
    if way == "P":
        u = rng.permuted(u, axis=0)
    elif way == "J":
        u = u * rng.choice([-1.0, 1.0], size=u.shape)
    elif way == "O":
        normal = rng.standard_normal((len(points), len(d)))
        u = normal / np.linalg.norm(normal, axis=0)
    else:
        raise CaveatError(
            f"there is no way {way!r}",
            where="spectral",
            do="use P, J or O",
            code="protection.setting.unknown",
        )
    return np.asarray(u * d @ vt + mean)


def spectral(
    synthetic: Table, columns: Sequence[str], *, way: Way = "O", seed: int = 0
) -> Protected:
    """Disturb numbers so that means and covariances stay about the same.

    Parameters
    ----------
    synthetic
        The release. The other columns are kept as they stand, but the rows of the disturbed ones
        no longer belong to them: their dependence is lost.
    columns
        Numbers without missing cells.
    way
        "P" permutes the singular vectors (the mean stays exactly), "J" changes signs, "O" turns
        them: what is left is a normal sample with about the same mean and covariance.
    seed
        Seed of the draws.

    Notes
    -----
    Ranges are not kept: negative incomes can appear. Columns of whole numbers are rounded. There is
    no formal guarantee.
    """
    points = complete_matrix(synthetic, columns, "spectral anonymisation")
    if len(points) < 2:
        raise CaveatError(
            "spectral anonymisation needs two rows or more",
            where="spectral",
            code="data.record.too-few",
        )
    rng = rng_of(seed)
    disturbed = disturb(points, way, rng)
    notes: tuple[Note, ...] = ()
    if way == "J":
        disturbed = rng.permutation(disturbed)
        notes = (REFLECTED,)
    out = {name: with_numbers(synthetic[name], disturbed[:, j]) for j, name in enumerate(columns)}
    step = Step(
        "spectral",
        {"columns": list(columns), "way": way},
        {"rows": len(points), "columns": len(columns)},
        seed,
        notes=notes,
    )
    return Protected(synthetic.with_columns(out), step)


# -------------------------------------------------------------------------------------------------
# Noise on numbers, so much that no value can be attributed with more than a given probability.
#
# Our reading of "elemental correct attribution probability" (arXiv 2310.06571, of which a summary
# without formulas was at hand): an attacker sees a released value y = x + e, knows the density g
# of the noise, the distribution f of the variable in the population and its size N, and asks
# which of the N persons the value comes from. The one with value x has the posterior probability
#
#     a(y | x) = g(y − x) / (g(y − x) + (N − 1) (g * f)(y)),
#
# and ECAP(x) is its mean over the noise, ∫ g(y − x) a(y | x) dy: the chance that somebody who
# guesses by these probabilities attributes a released x rightly. A population that is given by
# its values includes the person herself: the others then are N (g * f)(y) − g(y − x).


Shape = Literal["gaussian", "laplace", "uniform"]
# All with standard deviation 1, so that scales can be compared.
QUANTILES: Mapping[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda p: scipy.stats.norm().ppf(p),
    "laplace": lambda p: scipy.stats.laplace(scale=np.sqrt(0.5)).ppf(p),
    "uniform": lambda p: scipy.stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)).ppf(p),
}
DENSITIES: Mapping[str, Callable[[Floats], Floats]] = {
    "gaussian": lambda e: np.exp(-0.5 * e * e) / np.sqrt(2 * np.pi),
    "laplace": lambda e: np.exp(-np.sqrt(2) * np.abs(e)) / np.sqrt(2),
    "uniform": lambda e: (np.abs(e) <= np.sqrt(3)) / np.sqrt(12),
}
NODES = 128  # midpoints of equal probability over which the mean over the noise is taken
MOST_VALUES = 1_000  # distinct values by which a population is represented
CANDIDATES = 64  # values among which the worst is looked for at each scale
CELLS = 1 << 22
NO_NOISE = 1e-6  # times the range: stands for none


@dataclass(frozen=True)
class Population:
    """What is known about a variable in the population.

    Parameters
    ----------
    size
        Number of persons, N.
    values
        Values of the population, or of a sample that stands for it.
    normal
        Mean and standard deviation of a normal distribution, instead of values.
    """

    size: int
    values: NDArray[Any] | None = None
    normal: tuple[float, float] | None = None

    __repr__ = without_values

    def __post_init__(self) -> None:
        if self.size < 2:
            raise CaveatError(
                "the population must have two persons or more",
                where="size",
                code="protection.setting.range",
            )
        if (self.values is None) == (self.normal is None):
            raise CaveatError(
                "a population has values or a normal distribution, one of the two",
                code="protection.setting.conflict",
            )
        if self.normal is not None and not self.normal[1] > 0:
            raise CaveatError(
                "the standard deviation must be above 0",
                where="normal",
                code="protection.setting.range",
            )

    def smeared(self, shape: Shape, scale: float) -> Callable[[Floats], Floats]:
        """Return the density of values with noise, g * f."""
        if self.normal is not None:
            mean, deviation = self.normal
            return lambda y: _smeared_normal(y - mean, deviation, shape, scale)
        levels, counts = _represented(np.asarray(self.values, dtype=np.float64))
        shares = counts / counts.sum()

        def empirical(y: Floats) -> Floats:
            out = np.empty(len(y))
            step = max(1, CELLS // len(levels))
            for start in range(0, len(y), step):
                block = slice(start, start + step)
                gaps = (y[block, None] - levels) / scale
                out[block] = DENSITIES[shape](gaps) @ shares / scale
            return out

        return empirical


def _smeared_normal(z: Floats, deviation: float, shape: Shape, scale: float) -> Floats:
    """Return the density of a normal variable with mean 0 plus noise, in closed form."""
    if shape == "gaussian":
        total = np.hypot(deviation, scale)
        return np.asarray(DENSITIES[shape](z / total) / total)
    if shape == "uniform":
        half = np.sqrt(3) * scale
        return np.asarray(
            (
                scipy.special.ndtr((z + half) / deviation)
                - scipy.special.ndtr((z - half) / deviation)
            )
            / (2 * half)
        )
    b = scale / np.sqrt(2)
    ends = [
        scipy.special.log_ndtr(sign * z / deviation - deviation / b) - sign * z / b
        for sign in (1, -1)
    ]
    return np.asarray(np.exp(np.logaddexp(*ends) + deviation**2 / (2 * b * b)) / (2 * b))


def _nodes(shape: Shape) -> Floats:
    """Return noise of standard deviation 1 at the midpoints of intervals of equal probability."""
    return QUANTILES[shape]((np.arange(NODES) + 0.5) / NODES)


def _represented(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return distinct values and counts; very many values are thinned to equal shares."""
    levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(levels) <= MOST_VALUES:
        return levels, counts
    ranks = (np.arange(MOST_VALUES) + 0.5) / MOST_VALUES
    return np.unique(np.quantile(values[~np.isnan(values)], ranks), return_counts=True)


def ecap(values: Floats, population: Population, scale: float, shape: Shape = "gaussian") -> Floats:
    """Return ECAP of each value for noise with the given standard deviation.

    Examples
    --------
    >>> people = Population(1000, normal=(0.0, 1.0))
    >>> ecap(np.array([0.0, 4.0]), people, 0.1).round(3).tolist()
    [0.007, 0.926]
    """
    nodes = scale * _nodes(shape)
    density = DENSITIES[shape](nodes / scale) / scale
    smeared = population.smeared(shape, scale)
    y = np.asarray(values, dtype=np.float64)[:, None] + nodes
    everybody = smeared(y.reshape(-1)).reshape(y.shape)
    if population.values is None:
        others = (population.size - 1) * everybody
    else:  # the person herself is one of the values
        others = np.maximum(population.size * everybody - density, 0.0)
    return np.asarray((density / (density + others)).mean(axis=1))


def scale_for(
    values: Floats, population: Population, limit: float = 0.2, shape: Shape = "gaussian"
) -> float:
    """Return the smallest noise (its standard deviation) at which no value's ECAP is above a limit.

    Where ECAP is not monotone in the noise, the result meets the limit but need not be the
    smallest.
    """
    if not 1 / population.size < limit < 1:
        raise CaveatError(
            f"no noise brings the probability down to {limit:g} in a population of "
            f"{population.size:,}",
            where="limit",
            do=f"choose a limit above {1 / population.size:.3g} and below 1",
            code="protection.setting.range",
        )
    levels = np.unique(values[~np.isnan(values)])
    spread = float(np.ptp(levels)) or 1.0

    def worst(scale: float) -> float:
        # Where few others are near, attribution is easiest; only these are looked at.
        density = population.smeared(shape, scale)(levels)
        few = levels[np.argsort(density, kind="stable")[:CANDIDATES]]
        return float(ecap(few, population, scale, shape).max())

    low, high = 0.0, spread / 100
    while worst(high) > limit:
        low, high = high, 2 * high
        if high > 1e6 * spread:
            raise CaveatError(
                "no noise meets the limit",
                where="limit",
                do="allow more",
                code="protection.limit.failed",
            )
    if not low and worst(spread * NO_NOISE) <= limit:
        return 0.0  # so many share each value that no noise is needed
    for _ in range(20):
        middle = (low + high) / 2
        if worst(middle) > limit:
            low = middle
        else:
            high = middle
    return high


def add_noise(
    original: Table,
    synthetic: Table,
    populations: Mapping[str, Population],
    *,
    limit: float = 0.2,
    shape: Shape = "gaussian",
    seed: int = 0,
) -> Protected:
    """Add independent noise to numbers until ECAP of every original value is within a limit.

    Parameters
    ----------
    original, synthetic
        The original and the release.
    populations
        What is known about each variable in the population; these are the columns that get noise.
    limit
        Largest probability with which an original value may be attributed.
    shape
        "gaussian", "laplace" or "uniform".
    seed
        Seed of the noise.

    Notes
    -----
    Whole numbers are rounded after the noise, which only adds to it. Missing cells stay missing.
    The scale depends on the most isolated original value: publish it only rounded up.
    """
    if shape not in QUANTILES:
        raise CaveatError(
            f"there is no noise {shape!r}",
            where="shape",
            do=f"use {', '.join(QUANTILES)}",
            code="protection.setting.unknown",
        )
    out, counts = {}, {}
    for position, (name, population) in enumerate(populations.items()):
        column = number_column(synthetic, name, "noise")
        levels = np.unique(numbers_of(number_column(original, name, "noise")))
        levels = levels[~np.isnan(levels)]
        scale = scale_for(levels, population, limit, shape)
        chance = rng_of(seed, position).random(len(column))
        noise = scale * QUANTILES[shape](chance)
        out[name] = with_numbers(column, numbers_of(column) + noise)
        counts[f"{name}: standard deviation of the noise"] = scale
        least = scale or NO_NOISE * (float(np.ptp(levels)) or 1.0)
        counts[f"{name}: largest ECAP"] = float(ecap(levels, population, least, shape).max())
    parameters = {
        "columns": list(populations),
        "population": {name: p.size for name, p in populations.items()},
        "limit": limit,
        "shape": shape,
    }
    step = Step("add_noise", parameters, counts, seed, reads_original=True)
    return Protected(synthetic.with_columns(out), step)
