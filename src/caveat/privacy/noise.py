"""Noise for promises, and what it keeps: ε and δ, exactly or from a ρ that adds up."""

from __future__ import annotations

import functools
import math
import os
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from caveat.errors import CaveatError

__all__ = [
    "choice_rho",
    "choose",
    "delta_of",
    "discrete_gaussian",
    "discrete_gaussian_log_pmf",
    "epsilon_of",
    "gaussian_rho",
    "poisson_counts",
    "poisson_delta",
    "poisson_hockey_stick",
    "rho_of",
    "simple_rho",
]


def check_epsilon(epsilon: float) -> float:
    """Return an ε that promises something, or say what is wrong with it."""
    return check_positive(epsilon, "epsilon", "give an epsilon above 0, such as 1")


def check_positive(value: float, name: str, do: str) -> float:
    """Return a finite number above 0, or say that it is none."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise CaveatError(
            f"{name} is no finite number above 0", do=do, code="privacy.setting.range"
        )
    return float(value)


def check_delta(delta: float) -> float:
    """Return a δ that promises something, or say what is wrong with it."""
    if not _is_number(delta) or not 0 < delta < 1:
        raise CaveatError(
            "delta is no number between 0 and 1",
            do="give one far below 1 / number of records, such as 1e-9",
            code="privacy.setting.range",
        )
    return float(delta)


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)


# -------------------------------------------------------------------------------------------------
# Zero-concentrated differential privacy (zCDP): one number ρ for a release, which adds up.
#
# A mechanism with ρ promises (ε, δ) for every δ at once. The tight conversion is the smallest of
# the bounds by Rényi divergences of all orders (Canonne, Kamath and Steinke 2020, Proposition
# 12), the simple one is ε = ρ + 2 √(ρ log 1/δ) (Bun and Steinke 2016). Both are bounds: the tight
# one is smaller, so that the same ε allows more ρ.


CLOSE = 1e-12
"""How near the root of an equation is found, of logarithms."""


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε that ρ promises at δ, by the tight conversion.

    Examples
    --------
    >>> round(epsilon_of(0.01321536, 1e-8), 4)
    0.8707
    """
    rho = check_positive(rho, "rho", "give a rho above 0, such as 0.01")
    return max(0.0, _bound(rho, -math.log(check_delta(delta))))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ that promises (ε, δ), by the tight conversion.

    Examples
    --------
    >>> round(rho_of(1, 1e-8), 6)
    0.017205
    """
    epsilon, log_inverse = check_epsilon(epsilon), -math.log(check_delta(delta))
    low = simple_rho(epsilon, delta)  # its bound is never smaller, so this much is allowed
    high = 2 * low
    while _bound(high, log_inverse) <= epsilon:
        low, high = high, 2 * high

    def excess(log_rho: float) -> float:
        return _bound(math.exp(log_rho), log_inverse) - epsilon

    rho = math.exp(scipy.optimize.brentq(excess, math.log(low), math.log(high), xtol=CLOSE))
    # The last digits are on the safe side.
    step = CLOSE
    while _bound(rho, log_inverse) > epsilon:
        rho, step = rho * (1 - step), min(2 * step, 0.5)
    return max(rho, low)


def simple_rho(epsilon: float, delta: float) -> float:
    """Return the ρ that solves ε = ρ + 2 √(ρ log 1/δ), which promises (ε, δ).

    Examples
    --------
    >>> round(simple_rho(1, 1e-8), 8)
    0.01321536
    """
    epsilon, log_inverse = check_epsilon(epsilon), -math.log(check_delta(delta))
    # (√(l + ε) − √l)² without the difference of two numbers that are nearly the same.
    return (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2


def gaussian_rho(sensitivity: float, sigma: float) -> float:
    """Return the ρ of Gaussian noise, discrete or not: s² / 2σ².

    Parameters
    ----------
    sensitivity
        How far all counts together move for one unit, in Euclidean distance.
    sigma
        The scale of the noise.

    Examples
    --------
    >>> gaussian_rho(1, 4)
    0.03125
    """
    sensitivity = check_positive(sensitivity, "the sensitivity", "give a number above 0")
    return (sensitivity / check_positive(sigma, "sigma", "give a number above 0")) ** 2 / 2


def choice_rho(epsilon: float) -> float:
    """Return the ρ of a choice by the exponential mechanism with ε: ε² / 8.

    Examples
    --------
    >>> choice_rho(0.5)
    0.03125
    """
    return check_epsilon(epsilon) ** 2 / 8


def _bound(rho: float, log_inverse: float) -> float:
    """Return the smallest bound over all orders 1 + x; it may lie below 0.

    The bound of an order is (1 + x)ρ + log(x / (1 + x)) + (log(1/δ) − log(1 + x)) / x. Its slope is
    0 where ρx² + log(1 + x) = log(1/δ), and only there. An order that is missed by a little gives
    a larger bound, never a wrong one. All is computed in u = log x, where nothing overflows.
    """
    log_rho = math.log(rho)

    def slope(u: float) -> float:
        return math.exp(min(2 * u + log_rho, 700.0)) + _softplus(u) - log_inverse

    low = math.log(2 * log_inverse / (1 + math.sqrt(1 + 4 * rho * log_inverse)))
    high = min((math.log(log_inverse) - log_rho) / 2, max(log_inverse, low))
    u = scipy.optimize.brentq(slope, low - 1e-6, high + 1e-6, xtol=CLOSE)
    rest = (log_inverse - _softplus(u)) * math.exp(-u)
    return rho + math.exp(u + log_rho) - _softplus(-u) + rest


def _softplus(u: float) -> float:
    """Return log(1 + eᵘ)."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


# -------------------------------------------------------------------------------------------------
# The hockey-stick divergence: by how much a discrete mechanism breaks e^ε, exactly.
#
# δ(ε) = Σ max(0, P(b) − e^ε Q(b)) over all outputs b is the smallest δ for which P and Q, the
# outputs for two neighbouring tables, are (ε, δ)-indistinguishable in that direction.
#
# The Poisson mechanism (Jackson, Mitra, Francis and Dove) draws b ~ Poisson(a + α) for the count
# a of every cell. Neighbours differ by one unit in one cell.


BLOCK = 4096  # counts that are looked at together
SMALLEST = 1e-3  # below this ε nothing is promised


def delta_of(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Return Σ max(0, p − e^ε q) for two distributions over the same outputs.

    It is one direction; the promise of a mechanism takes the larger of both.

    Parameters
    ----------
    p, q
        Probabilities of the same outputs, in the same order.
    epsilon
        The ε that is promised up to δ; 0 gives half the distance of the two in total.

    Examples
    --------
    >>> delta_of([0.75, 0.25], [0.25, 0.75], 0)
    0.5
    >>> round(delta_of([0.75, 0.25], [0.25, 0.75], 1), 4)
    0.0704
    """
    if epsilon != 0:
        epsilon = check_epsilon(epsilon)
    first, second = _probabilities(p), _probabilities(q)
    if first.shape != second.shape:
        raise CaveatError(
            "the two distributions have different numbers of outputs",
            do="give the probabilities of the same outputs, 0 where there is none",
            code="privacy.probability.mismatch",
        )
    found = first > 0
    # By logarithms, since e^ε overflows long before the product does.
    with np.errstate(divide="ignore"):
        loss = np.log(first[found]) - np.log(second[found]) - epsilon
    return float(np.sum(np.where(loss > 0, -first[found] * np.expm1(-np.maximum(loss, 0)), 0.0)))


def poisson_delta(epsilon: float, alpha: float) -> float:
    """Return the probability that the Poisson mechanism's ratio is outside e^±ε.

    It is the δ of probabilistic differential privacy, which implies (ε, δ). From ε = 1 on it is
    equation 9 of the paper, 1 − F(floor((1 + ε) / log((1 + α) / α))) with F of mean 1 + α. Below,
    a small output gives away as much as a large one, both sides count, and the worst count need
    not be 1: the largest over all counts and both directions is taken. Below ε = 0.001 it is 1.

    Examples
    --------
    >>> round(poisson_delta(2, 1), 4)
    0.0527
    >>> round(poisson_delta(0.5, 1), 4)
    0.5519
    """
    epsilon, alpha = check_epsilon(epsilon), _check_alpha(alpha)
    if epsilon < SMALLEST:
        return 1.0
    worst, start = 0.0, 1
    while start == 1 or worst < _rest(epsilon, alpha + start):
        counts = np.arange(start, start + BLOCK, dtype=np.float64)
        worst = max(worst, float(np.max(_outside(epsilon, alpha, counts))))
        start += BLOCK
    return min(worst, 1.0)


def poisson_hockey_stick(epsilon: float, alpha: float) -> float:
    """Return the smallest δ for which the Poisson mechanism is (ε, δ)-differentially private.

    The count 1 beside 0 is the worst: Poisson(a + α) beside Poisson(a − 1 + α) is that pair after
    an independent Poisson(a − 1) was added to both, and what is done to outputs alone gives nothing
    away. Both directions are computed.

    Examples
    --------
    >>> round(poisson_hockey_stick(3, 0.1), 4)
    0.207
    >>> round(poisson_hockey_stick(2, 1), 4)
    0.0256
    """
    epsilon, alpha = check_epsilon(epsilon), _check_alpha(alpha)
    log_ratio = math.log1p(1 / alpha)
    # The person's presence shows in outputs above the first bound, her absence below the second.
    high = math.floor((1 + epsilon) / log_ratio)
    present = _beyond(
        scipy.special.pdtrc(high, 1 + alpha), epsilon, scipy.special.pdtrc(high, alpha)
    )
    low = math.ceil((1 - epsilon) / log_ratio) - 1
    if low < 0:
        return present
    return max(
        present,
        _beyond(scipy.special.pdtr(low, alpha), epsilon, scipy.special.pdtr(low, 1 + alpha)),
    )


def _beyond(ours: float, epsilon: float, theirs: float) -> float:
    if theirs == 0:
        return float(ours)
    return max(0.0, float(ours) - math.exp(epsilon + math.log(theirs)))


def _probabilities(values: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    total = float(np.sum(found))
    if found.ndim != 1 or not np.all(found >= 0) or not abs(total - 1) < 1e-9:
        raise CaveatError(
            "these are no probabilities",
            do="give one number from 0 for each output, in all 1",
            code="privacy.probability.range",
        )
    return found


def _check_alpha(alpha: float) -> float:
    return check_positive(
        alpha, "the alpha of the Poisson mechanism", "give a number above 0, such as 1"
    )


def _outside(epsilon: float, alpha: float, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each count a the probability of |b L − 1| > ε, the larger of both directions."""
    less = counts - 1 + alpha
    mean = less + 1
    with np.errstate(over="ignore"):
        log_ratio = np.log1p(1 / less)
    low = np.ceil((1 - epsilon) / log_ratio) - 1
    high = np.floor((1 + epsilon) / log_ratio)
    # With an ε from 1 on no output is too small.
    below = [
        np.where(low >= 0, scipy.special.pdtr(np.maximum(low, 0), m), 0.0) for m in (mean, less)
    ]
    above = [scipy.special.pdtrc(high, m) for m in (mean, less)]
    worse: NDArray[np.float64] = np.maximum(below[0] + above[0], below[1] + above[1])
    return worse


def _rest(epsilon: float, mean: float) -> float:
    """Return a bound for all counts whose mean is at least this one, by Chernoff's inequality.

    With 1 / L between mean − 1 and mean, an output outside is at least so far from either mean.
    """
    far = epsilon * (mean - 1) - 1
    if far <= 0:
        return 1.0
    above = math.exp(-(far**2) / (2 * (mean + far / 3)))
    below = math.exp(-(far**2) / (2 * mean)) if epsilon < 1 else 0.0
    return min(1.0, above + below)


# -------------------------------------------------------------------------------------------------
# Noise for promises: whole numbers, drawn from the operating system's entropy.
#
# There is no seed: a seed is a key that undoes the noise. Nothing here adds a floating-point
# number to a count, whose last digits would give away what was added to what.


Ints = NDArray[np.int64]

LARGEST = 12  # of the powers of two of which a mean of Poisson draws is made
DIGITS = 60  # of probabilities, of which the first 64 bits are used
MOST = 2**53  # a count, so that sums stay whole


def discrete_gaussian(counts: Ints, sigma: float) -> Ints:
    """Return counts plus independent discrete Gaussian noise.

    P(k) ∝ exp(−k² / 2σ²) for whole k, sampled exactly by OpenDP. Its promise is
    :func:`~caveat.privacy.noise.gaussian_rho`. Results may be negative.

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
    :func:`~caveat.privacy.noise.choice_rho`. Sampled exactly by OpenDP as the largest score after
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
        What is added to every count; see :func:`~caveat.privacy.noise.poisson_delta`.
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
