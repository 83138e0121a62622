"""Smoothing of drawn numbers, so that the values of real people do not come out as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

__all__ = ["SMOOTHINGS", "kernel", "spline"]

Numbers = NDArray[np.float64]


def kernel(
    drawn: Numbers, known: Numbers, counts: NDArray[Any], rng: np.random.Generator
) -> Numbers:
    """Add Gaussian noise with Silverman's bandwidth; the result stays in the observed range.

    The bandwidth is 0.9 min(s, IQR/1.34) n^(-1/5), with s the standard deviation of the n original
    values.
    """
    n = counts.sum()
    mean = np.average(known, weights=counts)
    deviation = np.sqrt(np.average((known - mean) ** 2, weights=counts) * n / max(n - 1, 1))
    low, high = np.interp([0.25, 0.75], np.cumsum(counts) / n, known)
    spreads = [s for s in (deviation, (high - low) / 1.34) if s > 0]
    bandwidth = 0.9 * min(spreads, default=0.0) * n**-0.2
    noisy = drawn + bandwidth * rng.standard_normal(len(drawn))
    # Reflected at the ends of the range: clipping would pile values up on the two extreme records.
    inside = known[0] + np.abs(noisy - known[0])
    return np.asarray(np.clip(known[-1] - np.abs(known[-1] - inside), known[0], known[-1]))


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
    curve = PchipInterpolator((lower + upper) / 2, known)
    place = np.clip(np.searchsorted(known, drawn), 0, len(known) - 1)
    rank = lower[place] + (upper - lower)[place] * rng.random(len(drawn))
    ends = ((lower + upper) / 2)[[0, -1]]
    return np.asarray(curve(np.clip(rank, *ends)))


SMOOTHINGS: dict[str, Callable[[Numbers, Numbers, NDArray[Any], np.random.Generator], Numbers]] = {
    "kernel": kernel,
    "spline": spline,
}
