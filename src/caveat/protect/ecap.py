"""Noise on numbers, so much that no value can be attributed with more than a given probability.

Our reading of "elemental correct attribution probability" (arXiv 2310.06571, of which a summary
without formulas was at hand): an attacker sees a released value y = x + e, knows the density g of
the noise, the distribution f of the variable in the population and its size N, and asks which of
the N persons the value comes from. The one with value x has the posterior probability

    a(y | x) = g(y − x) / (g(y − x) + (N − 1) (g * f)(y)),

and ECAP(x) is its mean over the noise, ∫ g(y − x) a(y | x) dy: the chance that somebody who guesses
by these probabilities attributes a released x rightly. A population that is given by its values
includes the person herself: the others then are N (g * f)(y) − g(y − x).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.protect.values import Floats, number_column, numbers_of, with_numbers
from caveat.seeds import rng_of
from caveat.table import Table

__all__ = ["Population", "add_noise", "ecap", "scale_for"]

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
