# mypy: disable-error-code="no-untyped-def"
"""The order in which classes without one stand in the hierarchy: common ones first, but drawn.

So rare classes are decided together. The order is drawn class by class, each with probability
proportional to exp(n / scale) among those that are left, and that probability is part of the
structure's.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel

__all__ = ["MOST_RANKED", "draw_ranking", "log_ranking", "ranking_changes"]

SCALE = 5.0
"""Records by which a class must lead to come e times as often before another."""

MOST_RANKED = 300
"""Classes beyond which their order is that of the dictionary."""


def draw_ranking(counts: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the place of each class. Noise by Gumbel's law and sorting gives just this draw."""
    order = np.argsort(-(counts / SCALE + rng.gumbel(size=len(counts))), kind="stable")
    place = np.empty(len(counts), np.int64)
    place[order] = np.arange(len(counts))
    return place


@inner
def log_of(counts, order):
    """Return the log probability of an order."""
    total, left = 0.0, -np.inf
    for i in range(len(order) - 1, -1, -1):
        x = counts[order[i]] / SCALE
        top = max(x, left)
        left = top + math.log(math.exp(x - top) + math.exp(left - top))
        total += x - left
    return total


@kernel
def log_ranking(counts, place):
    """Return the log probability of the places of classes."""
    return log_of(counts, np.argsort(place))


@kernel
def ranking_changes(counts, place, classes, weights, starts):
    """Return for each world the change of the log probability.

    ``classes`` and ``weights``, negative if they go, are those of the records that move; those of
    one world stand together from its start on.
    """
    order, now = np.argsort(place), counts.copy()
    base = log_of(counts, order)
    changes = np.zeros(len(starts) - 1)
    for i in range(len(changes)):
        begin, end = starts[i], starts[i + 1]
        if begin == end:
            continue
        for j in range(begin, end):
            now[classes[j]] += weights[j]
        changes[i] = log_of(now, order) - base
        for j in range(begin, end):
            now[classes[j]] = counts[classes[j]]
    return changes
