"""Smoothing of drawn numbers, so that the values of real people do not come out as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["SMOOTHINGS", "bandwidth", "kernel", "spline", "spread_out"]

Numbers = NDArray[np.float64]


def bandwidth(known: Numbers, weights: NDArray[Any], n: int) -> float:
    """Return Silverman's bandwidth, 0.9 min(s, IQR/1.34) n^(-1/5), of n weighted values.

    ``known`` are the distinct values, rising; s is their standard deviation. Of s and the
    interquartile range, one that is 0 is passed over; with both 0 the bandwidth is 0.

    Examples
    --------
    The quartiles of 0, 1, 2, 3, 4 are 1 and 3, so this is 0.9 · 2/1.34 · 5^(-1/5):

    >>> round(bandwidth(np.arange(5.0), np.ones(5), 5), 4)
    0.9736
    """
    mean = np.average(known, weights=weights)
    deviation = np.sqrt(np.average((known - mean) ** 2, weights=weights) * n / max(n - 1, 1))
    low, high = _quartiles(known, weights, n)
    spreads = [s for s in (deviation, (high - low) / 1.34) if s > 0]
    return float(0.9 * min(spreads, default=0.0) * n**-0.2)


def _quartiles(known: Numbers, weights: NDArray[Any], n: int) -> Numbers:
    """Return the two quartiles of n values, as R and numpy do: at a quarter of the n - 1 steps."""
    place = np.array([0.25, 0.75]) * (n - 1)
    # The k-th of the n values, from 0, is the first that k + 1 values do not exceed. The half
    # keeps rounded sums of shares on their side.
    upto = np.cumsum(weights) * (n / weights.sum())
    below, above = (
        known[np.searchsorted(upto, k + 0.5)] for k in (np.floor(place), np.ceil(place))
    )
    return np.asarray(below + (place % 1) * (above - below))


def spread_out(
    drawn: Numbers, width: Numbers | float, low: float, high: float, rng: np.random.Generator
) -> Numbers:
    """Add Gaussian noise of a given width; the result stays between two ends.

    It is reflected at the ends: clipping would pile values up on the two extreme records.
    """
    noisy = drawn + width * rng.standard_normal(len(drawn))
    inside = low + np.abs(noisy - low)
    return np.asarray(np.clip(high - np.abs(high - inside), low, high))


def kernel(
    drawn: Numbers, known: Numbers, counts: NDArray[Any], rng: np.random.Generator
) -> Numbers:
    """Add Gaussian noise with the bandwidth of all original values, within their range."""
    width = bandwidth(known, counts, int(counts.sum()))
    return spread_out(drawn, width, known[0], known[-1], rng)


def spline(
    drawn: Numbers, known: Numbers, counts: NDArray[Any], rng: np.random.Generator
) -> Numbers:
    """Move each value along a monotone curve through the observed quantiles.

    A value that covers the ranks from a to b gets a rank drawn between them, and becomes the value
    of the curve at that rank.
    """
    if len(known) < 2:
        return drawn
    upper = np.cumsum(counts) / counts.sum()
    lower = upper - counts / counts.sum()
    curve = scipy.interpolate.PchipInterpolator((lower + upper) / 2, known)
    place = np.clip(np.searchsorted(known, drawn), 0, len(known) - 1)
    rank = lower[place] + (upper - lower)[place] * rng.random(len(drawn))
    ends = ((lower + upper) / 2)[[0, -1]]
    return np.asarray(curve(np.clip(rank, *ends)))


SMOOTHINGS: dict[str, Callable[[Numbers, Numbers, NDArray[Any], np.random.Generator], Numbers]] = {
    "kernel": kernel,
    "spline": spline,
}
