"""Cut numbers into groups: quantiles, equal widths, natural breaks, and the bins of a histogram.

All functions work on the distinct values of a column and how often each occurs, never on the rows.
Limits are those of R (quantiles of type 7, `seq` for equal widths), as synthpop cuts.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Style", "breaks", "cut", "interval_labels", "pretty"]

Style = Literal["quantile", "equal", "fisher"]
Floats = NDArray[np.float64]

# With fewer quantile groups than this, groups of equal width say more.
FEWEST_GROUPS = 3
# Natural breaks compare all pairs of values: more values than this are thinned to quantiles.
MOST_NATURAL = 2000


def breaks(values: Floats, counts: NDArray[np.int64], n: int, style: Style = "quantile") -> Floats:
    """Return the limits of `n` groups of values.

    Parameters
    ----------
    values
        The distinct values, sorted.
    counts
        How often each occurs; values that never occur are ignored.
    n
        Number of groups. Fewer result where quantiles coincide.
    style
        "quantile": equal numbers of rows, and equal widths where fewer than three groups would be
        left. "equal": equal widths. "fisher": the least sum of squares within groups.

    Examples
    --------
    >>> breaks(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 1, 1, 1, 1]), 4).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> breaks(np.array([0.0, 21.0]), np.array([9, 1]), 5).tolist()
    [0.0, 4.2, 8.4, 12.600000000000001, 16.8, 21.0]
    """
    values, counts = values[counts > 0], counts[counts > 0]
    if len(values) < 2:
        return values
    if style == "fisher":
        return _natural(values, counts, n)
    if style == "quantile":
        limits = np.unique(_quantiles(values, counts, np.linspace(0, 1, n + 1)))
        if len(limits) > FEWEST_GROUPS:
            return limits
    return np.unique(values[0] + np.arange(n + 1) * ((values[-1] - values[0]) / n))


def _quantiles(values: Floats, counts: NDArray[np.int64], shares: Floats) -> Floats:
    """Return quantiles that are linear between order statistics (type 7 of Hyndman and Fan)."""
    ends = np.cumsum(counts)
    place = (ends[-1] - 1) * shares
    # A place that is whole but for rounding must hit the value itself.
    place = np.where(np.abs(place - np.rint(place)) < 1e-9, np.rint(place), place)
    low = np.floor(place)
    below = values[np.searchsorted(ends, low, side="right")]
    above = values[np.searchsorted(ends, np.minimum(low + 1, ends[-1] - 1), side="right")]
    return np.asarray(below + (place - low) * (above - below))


def _natural(values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
    """Return the limits of the groups with the least sum of squares, by dynamic programming."""
    if len(values) > MOST_NATURAL:
        values = np.unique(_quantiles(values, counts, np.linspace(0, 1, MOST_NATURAL)))
        counts = np.ones(len(values), np.int64)
    n = min(n, len(values))
    mass, first, second = (
        np.concatenate([[0.0], np.cumsum(counts * values**power)]) for power in (0, 1, 2)
    )

    def within(start: NDArray[np.intp], stop: int) -> Floats:
        total = first[stop] - first[start]
        return np.asarray(second[stop] - second[start] - total**2 / (mass[stop] - mass[start]))

    cost = np.array([within(np.array([0]), stop)[0] for stop in range(1, len(values) + 1)])
    back = []
    for groups in range(2, n + 1):
        best, cut_at = np.full(len(values), np.inf), np.zeros(len(values), np.intp)
        for stop in range(groups, len(values) + 1):
            starts = np.arange(groups - 1, stop)
            costs = cost[starts - 1] + within(starts, stop)
            cut_at[stop - 1] = starts[np.argmin(costs)]
            best[stop - 1] = costs.min()
        cost = best
        back.append(cut_at)
    stop, limits = len(values), [values[-1]]
    for cut_at in reversed(back):
        stop = int(cut_at[stop - 1])
        limits.append(values[stop])
    return np.array([values[0], *limits[:0:-1], values[-1]])


def cut(values: Floats, limits: Floats) -> NDArray[np.int64]:
    """Return the group of each value: intervals closed on the left, the last one on both sides.

    Examples
    --------
    >>> cut(np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 5.0])).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(limits[1:-1], values, side="right").astype(np.int64)


def interval_labels(limits: Floats) -> list[str]:
    """Return the groups in words.

    Examples
    --------
    >>> interval_labels(np.array([16.0, 28.0, 97.0]))
    ['[16,28)', '[28,97]']
    """
    edges = [f"{limit:.8g}" for limit in limits]
    if len(edges) < 2:
        return edges
    labels = [f"[{low},{high})" for low, high in pairwise(edges)]
    return [*labels[:-1], labels[-1][:-1] + "]"]


def pretty(low: float, high: float, n: int) -> Floats:
    """Return about `n` intervals with round limits that cover a range.

    The step is 1, 2 or 5 times a power of ten, chosen as in Becker, Chambers and Wilks (1988):
    a larger step is preferred up to a bias.

    Examples
    --------
    >>> pretty(16, 97, 10).tolist()
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    step = (high - low) / n
    unit = base = 10.0 ** math.floor(math.log10(step))
    for factor, bias in ((2.0, 1.5), (5.0, 2.75), (10.0, 1.5)):
        if factor * base - step < bias * (step - unit):
            unit = factor * base
    tiny = 1e-10
    first, last = math.floor(low / unit + tiny), math.ceil(high / unit - tiny)
    return np.asarray(np.arange(first, last + 1) * unit, dtype=np.float64)
