"""The hockey-stick divergence: by how much a discrete mechanism breaks e^ε, exactly.

δ(ε) = Σ max(0, P(b) − e^ε Q(b)) over all outputs b is the smallest δ for which P and Q, the
outputs for two neighbouring tables, are (ε, δ)-indistinguishable in that direction.

The Poisson mechanism (Jackson, Mitra, Francis and Dove) draws b ~ Poisson(a + α) for the count a of
every cell. Neighbours differ by one unit in one cell.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from caveat.errors import CaveatError
from caveat.privacy._checks import check_epsilon, check_positive

__all__ = ["delta_of", "poisson_delta", "poisson_hockey_stick"]

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
    first, second = _distribution(p), _distribution(q)
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


def _distribution(values: ArrayLike) -> NDArray[np.float64]:
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
