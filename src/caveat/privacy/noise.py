"""Noise for promises: whole numbers, drawn from the operating system's entropy.

There is no seed: a seed is a key that undoes the noise. Nothing here adds a floating-point number
to a count, whose last digits would give away what was added to what.
"""

from __future__ import annotations

import functools
import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from caveat.errors import CaveatError
from caveat.privacy._checks import check_epsilon, check_positive

__all__ = ["choose", "discrete_gaussian", "discrete_gaussian_log_pmf", "poisson_counts"]

Ints = NDArray[np.int64]

LARGEST = 12  # of the powers of two of which a mean of Poisson draws is made
DIGITS = 60  # of probabilities, of which the first 64 bits are used
MOST = 2**53  # a count, so that sums stay whole


def discrete_gaussian(counts: Ints, sigma: float) -> Ints:
    """Return counts plus independent discrete Gaussian noise.

    P(k) ∝ exp(−k² / 2σ²) for whole k, sampled exactly by OpenDP. Its promise is
    :func:`~caveat.privacy.zcdp.gaussian_rho`. Results may be negative.

    Parameters
    ----------
    counts
        Whole numbers, in any shape.
    sigma
        The scale of the noise.
    """
    values = _whole(counts, "the counts")
    scale = check_positive(sigma, "sigma", "give a number above 0")
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=float)
    noisy = dp.m.make_gaussian(*space, scale=scale)(values.ravel().tolist())
    return np.array(noisy, dtype=np.int64).reshape(values.shape)


def choose(scores: Ints, epsilon: float) -> int:
    """Return a position, the exponential mechanism: P(i) ∝ exp(ε · score / 2).

    It is ε-differentially private if one unit moves no score by more than 1, and has the ρ of
    :func:`~caveat.privacy.zcdp.choice_rho`. Sampled exactly by OpenDP as the largest score after
    Gumbel noise.

    Parameters
    ----------
    scores
        Whole numbers, one for each candidate. Scores on another scale are multiplied and rounded
        by the caller, who knows what that does to their sensitivity.
    epsilon
        The ε of this choice.
    """
    values = _whole(scores, "the scores")
    if values.ndim != 1 or not values.size:
        raise CaveatError(
            "there is nothing to choose from",
            do="give one score a candidate",
            code="privacy.score.empty",
        )
    scale = _at_least(2, check_epsilon(epsilon))
    return int(_chooser(scale)(values.tolist()))


def poisson_counts(counts: Ints, alpha: float) -> Ints:
    """Return independent draws b ~ Poisson(a + α), one for each count a.

    A draw is a sum of draws whose means are powers of two and the rest. Each inverts its
    distribution function, known to more than 64 bits, at 64 random bits: it differs from the exact
    distribution by less than 10⁻¹⁵ in all.

    Parameters
    ----------
    counts
        Whole numbers from 0, in any shape: all cells, also those with nobody in them.
    alpha
        What is added to every count; see :func:`~caveat.privacy.hockey_stick.poisson_delta`.
    """
    values = _whole(counts, "the counts")
    alpha = check_positive(
        alpha, "the alpha of the Poisson mechanism", "give a number above 0, such as 1"
    )
    whole = math.floor(alpha)
    if values.size and (values.min() < 0 or int(values.max()) + whole > MOST):
        raise CaveatError(
            "a count is below 0 or too large to be one",
            do="give counts of records",
            code="privacy.count.range",
        )
    means = values.ravel() + whole
    drawn = np.zeros(means.size, dtype=np.int64)
    rest = Fraction(alpha) - whole
    if rest:
        drawn += _invert(rest, means.size)
    for power in range(LARGEST):
        (held,) = np.nonzero(means >> power & 1)
        drawn[held] += _invert(Fraction(2**power), held.size)
    for cell in np.flatnonzero(means >> LARGEST):
        times = int(means[cell] >> LARGEST)
        drawn[cell] += int(np.sum(_invert(Fraction(2**LARGEST), times)))
    return drawn.reshape(values.shape)


def discrete_gaussian_log_pmf(k: ArrayLike, sigma: float) -> NDArray[np.float64]:
    """Return the logarithm of the probability of noise k, as an attacker computes it.

    Examples
    --------
    >>> [round(float(p), 4) for p in np.exp(discrete_gaussian_log_pmf([0, 1, -2], 1.0))]
    [0.3989, 0.242, 0.054]
    """
    scale = check_positive(sigma, "sigma", "give a number above 0")
    return -((np.asarray(k, dtype=np.float64) / scale) ** 2) / 2 - _log_total(scale)


def _log_total(sigma: float) -> float:
    """Return log Σ exp(−j² / 2σ²) by the one of two equal series that ends after few terms."""
    if sigma < 0.5:
        terms = (math.exp(-((j / sigma) ** 2) / 2) for j in range(1, 8))
        return math.log1p(2 * math.fsum(terms))
    terms = (math.exp(-2 * (math.pi * sigma * j) ** 2) for j in range(1, 8))
    return math.log(sigma * math.sqrt(2 * math.pi)) + math.log1p(2 * math.fsum(terms))


@functools.lru_cache(maxsize=8)
def _chooser(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.linf_distance(T=dp.i64)
    # With the other measure OpenDP would permute and flip, which is another distribution.
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)


def _whole(values: object, what: str) -> Ints:
    found = np.asarray(values)
    fits = found.dtype.kind == "i" or (found.dtype.kind == "u" and np.all(found < 2**63))
    if found.size and not fits:
        raise CaveatError(
            f"{what} are no whole numbers", do="give integers", code="privacy.value.type"
        )
    return found.astype(np.int64)


def _at_least(number: int, divisor: float) -> float:
    """Return the quotient, rounded up: never less noise than was asked for."""
    exact = number / Fraction(divisor)
    try:
        found = float(exact)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise CaveatError(
            "epsilon is so near 0 that any choice is a blind one",
            do="raise it",
            code="privacy.setting.too-small",
        )
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)


def _invert(mean: Fraction, size: int) -> Ints:
    """Return draws from a Poisson distribution with a mean of at most 2 ** LARGEST."""
    if not size:
        return np.zeros(0, dtype=np.int64)
    first, ends = _distribution(mean)
    bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    return first + np.searchsorted(ends, bits, side="right")


@functools.lru_cache(maxsize=64)
def _distribution(mean: Fraction) -> tuple[int, NDArray[np.uint64]]:
    """Return the first value that has a share of 2⁶⁴, and where the share of each value ends."""
    full = Decimal(2**64)
    ends: list[int] = []
    with localcontext() as context:
        context.prec = DIGITS
        exact = Decimal(mean.numerator) / Decimal(mean.denominator)
        share = (-exact).exp() * full
        total, value, first = share, 0, 0
        # Until what is left, less than two shares of the next value, is none of the 2⁶⁴.
        while value < mean or share > Decimal("0.01"):
            if int(total):
                ends.append(int(total))
            else:
                first = value + 1
            value += 1
            share = share * exact / value
            total += share
    return first, np.array([min(end, 2**64 - 1) for end in ends], dtype=np.uint64)


def _opendp() -> Any:
    """Return OpenDP with the parts on that it calls contributed; all of its mechanisms are."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise CaveatError(
            "this noise needs the package opendp, which is not installed",
            do="run: pip install 'caveat[dp]'",
            code="command.package.not-installed",
        ) from None
    dp.enable_features("contrib")
    return dp
