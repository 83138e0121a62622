"""What the error rates of a test of membership say about ε."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["bound_at", "epsilon_bound", "estimate_at"]

Floats = NDArray[np.float64]


def bound_at(inside: Floats, outside: Floats, cut: float, level: float, delta: float) -> float:
    """Return the lower bound of ε that follows from the errors at a threshold."""
    hits, alarms = int((inside >= cut).sum()), int((outside >= cut).sum())
    return epsilon_bound(hits, len(inside), alarms, len(outside), level, delta)


def estimate_at(inside: Floats, outside: Floats, cut: float, delta: float = 0.0) -> float:
    """Return the ε that the error rates at a threshold suggest, with half a count added."""
    hit = ((inside >= cut).sum() + 0.5) / (len(inside) + 1)
    alarm = ((outside >= cut).sum() + 0.5) / (len(outside) + 1)
    least = np.finfo(float).tiny
    shown, hidden = max(hit - delta, least), max(1 - alarm - delta, least)
    return float(max(math.log(shown / alarm), math.log(hidden / (1 - hit))))


def epsilon_bound(
    hits: int,
    n_inside: int,
    alarms: int,
    n_outside: int,
    level: float = 0.05,
    delta: float = 0.0,
) -> float:
    """Return a lower bound of ε, of 95 % unless told, from the hits and false alarms of one test.

    A mechanism that is (ε, δ)-differentially private has hit rate <= exp(ε) x false alarm rate + δ,
    and the same for the complements. Both rates are at the unfavourable end of their one-sided
    Clopper-Pearson limits, each of which is wrong with a probability of half the level.

    Examples
    --------
    >>> round(epsilon_bound(500, 1000, 0, 1000), 3)
    4.846
    >>> round(epsilon_bound(500, 1000, 0, 1000, delta=0.3), 3)
    3.824
    """

    def ratio(upper: int, n_upper: int, lower: int, n_lower: int) -> float:
        least = scipy.stats.beta.ppf(level / 2, upper, n_upper - upper + 1) if upper else 0.0
        most = (
            scipy.stats.beta.ppf(1 - level / 2, lower + 1, n_lower - lower)
            if lower < n_lower
            else 1.0
        )
        return math.log((least - delta) / most) if least > delta else -math.inf

    return max(
        0.0,
        ratio(hits, n_inside, alarms, n_outside),
        ratio(n_outside - alarms, n_outside, n_inside - hits, n_inside),
    )
