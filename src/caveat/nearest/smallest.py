"""The smallest distance to the data, and the largest value among the data at that distance.

Two searches without a matrix of all distances: a k-d tree for vectors, and one by one for sets.
That for mixed columns is :func:`caveat.nearest.gower.gower_smallest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.ties import TIE, Floats, in_blocks

__all__ = ["jaccard_smallest", "tree_smallest"]


def tree_smallest(
    query: Floats, data: Floats, value: Floats, *, apart: bool = False, threads: int | None = None
) -> tuple[Floats, Floats]:
    """Return squared Euclidean distances and the largest value, by a k-d tree.

    Parameters
    ----------
    query, data
        One row per point; the data points must be distinct, and two or more.
    value
        One number per data point.
    apart
        Query and data are the same points, and no point is its own neighbour.
    threads
        Blocks of queries at the same time; all cores by default. The result does not depend on it.
    """
    tree = scipy.spatial.cKDTree(data)
    gaps, rows = tree.query(query, k=2, workers=threads or -1)
    if apart:  # each point is its own first neighbour
        return gaps[:, 1] ** 2, value[rows[:, 1]]
    reach = gaps[:, 0] * (1 + TIE)
    largest = value[rows[:, 0]]
    for i in np.flatnonzero(gaps[:, 1] <= reach):
        largest[i] = value[tree.query_ball_point(query[i], reach[i])].max(initial=largest[i])
    return gaps[:, 0] ** 2, largest


def jaccard_smallest(
    query: NDArray[Any],
    data: NDArray[Any],
    value: Floats,
    *,
    apart: bool = False,
    threads: int | None = None,
) -> tuple[Floats, Floats]:
    """Return Jaccard's distances of rows of 0 and 1, and the largest value.

    The distance is 1 minus the share of ones that both have among the ones that either has; 0
    without any. The arguments are those of :func:`tree_smallest`.
    """
    n = len(query)
    itself = np.arange(n) if apart else np.full(n, -1)
    query, data = np.ascontiguousarray(query), np.ascontiguousarray(data)
    best, largest = np.full(n, np.inf), np.zeros(n)

    def block(rows: slice) -> None:
        _jaccard(query[rows], itself[rows], data, value, best[rows], largest[rows])

    in_blocks(block, n, threads)
    return best, largest


@kernel
def _closer(distance, value, smallest, most):  # type: ignore[no-untyped-def]
    """Take one more point into account."""
    if distance < smallest * (1 - TIE) or smallest == np.inf:
        return distance, value
    if distance <= smallest * (1 + TIE):
        return min(distance, smallest), max(value, most)
    return smallest, most


@kernel
def _jaccard(query, itself, data, value, best, largest):  # type: ignore[no-untyped-def]
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
            smallest, most = _closer(distance, value[j], smallest, most)
        best[i], largest[i] = smallest, most
