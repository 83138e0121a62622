"""Nearest neighbours without a matrix of all distances.

Each kernel finds for every query the smallest distance to the data, and the largest ``own`` value
among the data at that distance. Points are tuples of arrays with one row per point.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from caveat.kernel import kernel

__all__ = ["BLOCK", "TIE", "Floats", "Points", "closer", "jaccard", "nearest", "nearest_by_tree"]

Floats = NDArray[np.float64]
Points = tuple[NDArray[Any], ...]
BLOCK = 256
# Distances that differ by less than this share are equal: rounding must not decide who is closer.
TIE = 1e-9


def nearest(
    distance: Callable[..., None],
    query: Points,
    data: Points,
    own: Floats,
    *,
    apart: bool = False,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the smallest distances, and the largest ``own`` at that distance.

    Parameters
    ----------
    distance
        One of the kernels of this module.
    query, data
        Points of the same space.
    own
        One number per data point.
    apart
        Query and data are the same points, and no point is its own neighbour.
    threads
        Blocks of queries at the same time; all cores by default. The result does not depend on it.
    """
    n = len(query[0])
    itself = np.arange(n) if apart else np.full(n, -1)
    query, data = (tuple(map(np.ascontiguousarray, points)) for points in (query, data))
    best, largest = np.full(n, np.inf), np.zeros(n)

    def work(start: int) -> None:
        rows = slice(start, start + BLOCK)
        parts = (part[rows] for part in query)
        distance(*parts, itself[rows], *data, own, best[rows], largest[rows])

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(work, range(0, n, BLOCK)))
    return best, largest


def nearest_by_tree(
    query: Points, data: Points, own: Floats, *, apart: bool = False, threads: int | None = None
) -> tuple[Floats, Floats]:
    """Return squared Euclidean distances and the largest ``own``, by a k-d tree.

    The arguments are those of `nearest`; the data points must be distinct, and two or more.
    """
    tree = cKDTree(data[0])
    gaps, rows = tree.query(query[0], k=2, workers=threads or -1)
    if apart:  # each point is its own first neighbour
        return gaps[:, 1] ** 2, own[rows[:, 1]]
    reach = gaps[:, 0] * (1 + TIE)
    largest = own[rows[:, 0]]
    for i in np.flatnonzero(gaps[:, 1] <= reach):
        largest[i] = own[tree.query_ball_point(query[0][i], reach[i])].max(initial=largest[i])
    return gaps[:, 0] ** 2, largest


@kernel
def closer(distance, own, smallest, most):  # type: ignore[no-untyped-def]
    """Take one more point into account."""
    if distance < smallest * (1 - TIE) or smallest == np.inf:
        return distance, own
    if distance <= smallest * (1 + TIE):
        return min(distance, smallest), max(own, most)
    return smallest, most


@kernel
def jaccard(query, itself, data, own, best, largest):  # type: ignore[no-untyped-def]
    """1 minus the share of ones that both have among the ones that either has; 0 without any."""
    for i in range(len(query)):
        smallest, most = np.inf, 0.0
        for j in range(len(data)):
            if j == itself[i]:
                continue
            both, either = 0, 0
            for k in range(query.shape[1]):
                both += query[i, k] & data[j, k]
                either += query[i, k] | data[j, k]
            distance = 1.0 - both / either if either > 0 else 0.0
            smallest, most = closer(distance, own[j], smallest, most)
        best[i], largest[i] = smallest, most
