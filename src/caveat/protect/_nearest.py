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

from caveat.risk._kernel import kernel

__all__ = ["TIE", "Floats", "Points", "gower", "jaccard", "nearest", "nearest_by_tree"]

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
        Points of the same space. The first coordinate bounds the distance from below, so that a
        query walks outwards from its own place and stops early.
    own
        One number per data point.
    apart
        Query and data are the same points, and no point is its own neighbour.
    threads
        Blocks of queries at the same time; all cores by default. The result does not depend on it.
    """
    n = len(query[0])
    order = np.argsort(data[0][:, 0], kind="stable")
    data = tuple(np.ascontiguousarray(part[order]) for part in data)
    query = tuple(np.ascontiguousarray(part) for part in query)
    own = own[order]
    itself = np.full(n, -1, dtype=np.int64)
    if apart:
        itself[order] = np.arange(n)
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
def _closer(distance, own, smallest, most):  # type: ignore[no-untyped-def]
    """Take one more point into account."""
    if distance < smallest * (1 - TIE) or smallest == np.inf:
        return distance, own
    if distance <= smallest * (1 + TIE):
        return min(distance, smallest), max(own, most)
    return smallest, most


@kernel
def _outwards(place, left, right, data):  # type: ignore[no-untyped-def]
    """Return the next point on the way out from a place on the first coordinate, and its gap."""
    gap_left = place - data[left, 0] if left >= 0 else np.inf
    gap_right = data[right, 0] - place if right < len(data) else np.inf
    if gap_left < gap_right:
        return left, gap_left, left - 1, right
    return right, gap_right, left, right + 1


@kernel
def gower(numbers, codes, itself, data, data_codes, own, best, largest):  # type: ignore[no-untyped-def]
    """Sum over the columns: differences of numbers, at most 1 each, and 1 for codes that differ."""
    for i in range(len(numbers)):
        right = np.searchsorted(data[:, 0], numbers[i, 0])
        left = right - 1
        smallest, most = np.inf, 0.0
        while left >= 0 or right < len(data):
            j, gap, left, right = _outwards(numbers[i, 0], left, right, data)
            if min(gap, 1.0) > smallest * (1 + TIE):
                break
            if j == itself[i]:
                continue
            total = 0.0
            for k in range(codes.shape[1]):
                if codes[i, k] != data_codes[j, k]:
                    total += 1.0
                    if total > smallest * (1 + TIE):
                        break
            for k in range(numbers.shape[1]):
                if total > smallest * (1 + TIE):
                    break
                total += min(abs(numbers[i, k] - data[j, k]), 1.0)
            smallest, most = _closer(total, own[j], smallest, most)
        best[i], largest[i] = smallest, most


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
            smallest, most = _closer(distance, own[j], smallest, most)
        best[i], largest[i] = smallest, most
