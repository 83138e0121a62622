"""Nearest records by Euclidean distance, the smallest distance, and who wins between equals."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.compiling import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Result = TypeVar("Result")

# Distances that differ by less than this share are equal: rounding must not decide who is closer.
TIE = 1e-9
# Queries that one thread takes at a time; the result does not depend on it.
BLOCK = 512


class Nearest(NamedTuple):
    """Distances (smallest first) and positions of the nearest records of each query."""

    distance: Floats
    position: Ints


def in_blocks(
    function: Callable[[slice], Result], n: int, threads: int | None = None
) -> list[Result]:
    """Call a function that lets other threads run on blocks of 0 … n, in order."""
    blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
    with ThreadPoolExecutor(threads or cpu_count() or 1) as pool:
        return list(pool.map(function, blocks))


def lots(n: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Return a key for each query: two people who find the same equals draw each for themselves.

    Without ``rng`` the keys are 0: the first row wins.
    """
    if rng is None:
        return np.zeros(n, np.uint64)
    return rng.integers(1, 2**64, n, dtype=np.uint64, endpoint=False)


@kernel
def lot(key, row):  # type: ignore[no-untyped-def]
    """Return a number for a query and a row that decides between equals; the row itself for 0."""
    if key == 0:
        return row
    # The finaliser of SplitMix64: every bit of the sum moves every bit of the result.
    x = key + (row + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# -------------------------------------------------------------------------------------------------
# The nearest record by Euclidean distance, without a matrix of all distances.
#
# Records are vectors whose first coordinates are decided by categories: by the first category,
# then by the first two, and so on; numbers come last. The records are sorted by their categories,
# so that all records that share the categories met so far are passed over at once when these are
# too far away already, and by the first number within equal categories. What is passed over
# cannot be nearer: the result is that of comparing all with all. Vectors without categories have
# a faster way, a k-d tree: :func:`caveat.nearest.vectors.tree_smallest`.


class Vectors(NamedTuple):
    """Rows of a table as vectors.

    Attributes
    ----------
    codes
        Categories, one column each.
    values
        The vectors.
    ends
        For each category the number of coordinates that it and those before it decide.
    """

    codes: Codes
    values: Floats
    ends: Ints

    @property
    def sorting(self) -> list[NDArray[np.generic]]:
        """What rows are sorted by, the most important last: the first number, then categories."""
        start = int(self.ends[-1]) if len(self.ends) else 0
        return [*self.values[:, start:].T[:1], *self.codes.T[::-1]]


def euclid_nearest(
    query: Vectors,
    data: Vectors,
    *,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the nearest row of ``data`` for each query.

    Parameters
    ----------
    query, data
        Rows of the two sides.
    rng
        Decides between rows at equal distance by lot. Without it the first in the table wins.
    own
        For each query the position in ``data`` of the record itself, which is left out.
    """
    n, m = len(data.values), len(query.values)
    if n - (own is not None) < 1 or not m:
        return Nearest(np.zeros((m, 0)), np.zeros((m, 0), np.int64))
    order = np.lexsort(data.sorting) if data.values.shape[1] else np.arange(n)
    codes, values = data.codes[order], data.values[order]
    first, jump = _prefixes(codes)
    keys, row = lots(m, rng), order.astype(np.uint64)
    itself = np.full(m, -1) if own is None else np.argsort(order)[own]
    start = _insertion(query, data)

    def block(rows: slice) -> tuple[Floats, Ints]:
        size = rows.stop - rows.start
        distance, position = np.empty(size), np.empty(size, np.int64)
        _search(
            query.codes[rows], query.values[rows], codes, values, data.ends, first, jump,
            start[rows], keys[rows], row, itself[rows], distance, position,
        )  # fmt: skip
        return distance, position

    distances, positions = zip(*in_blocks(block, m), strict=True)
    return Nearest(np.concatenate(distances)[:, None], order[np.concatenate(positions)][:, None])


def _prefixes(codes: Codes) -> tuple[Ints, Ints]:
    """Describe rows sorted by their codes as a tree.

    Returns
    -------
    For each row the first column in which it differs from the row before; and for each row and
    column the next row that differs in that column or one before it.
    """
    n, width = codes.shape
    first = np.zeros(n, np.int64)
    differs = codes[1:] != codes[:-1]
    first[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1) if width else 0, width)
    jump = np.empty((n, width), np.int64)
    for column in range(width):
        starts = np.flatnonzero(first <= column)
        jump[:, column] = np.append(starts, n)[np.searchsorted(starts, np.arange(n), side="right")]
    return first, jump


def _insertion(query: Vectors, data: Vectors) -> Ints:
    """Return where each query would stand among the sorted rows: near records like it."""
    n = len(data.values)
    if not data.values.shape[1]:
        return np.zeros(len(query.values), np.int64)
    both = [np.concatenate(pair) for pair in zip(data.sorting, query.sorting, strict=True)]
    order = np.lexsort(both)
    asked = order >= n
    out = np.zeros(len(query.values), np.int64)
    out[order[asked] - n] = np.minimum(np.cumsum(~asked)[asked], n - 1)
    return out


@kernel
def _search(  # type: ignore[no-untyped-def]
    codes,
    values,
    other_codes,
    others,
    ends,
    first,
    jump,
    starts,
    keys,
    row,
    own,
    distance,
    position,
):
    n, width = other_codes.shape
    numbers = ends[-1] if width else 0
    partial, alike = np.zeros(width + 1), np.ones(width + 1, np.bool_)
    for i in range(len(codes)):
        last, best, key = np.inf, -1, keys[i]
        # From the likes of the query to the end, then the rest: the first rows are near already.
        for sweep in range(2):
            j, stop = (starts[i], n) if sweep == 0 else (0, starts[i])
            depth = 0
            while j < stop:
                d, same, c = partial[depth], alike[depth], depth
                while c < width and d <= last:
                    same = same and codes[i, c] == other_codes[j, c]
                    if not same:
                        for k in range(ends[c - 1] if c else 0, ends[c]):
                            d += (values[i, k] - others[j, k]) ** 2
                    c += 1
                    partial[c], alike[c] = d, same
                if d > last:
                    j = jump[j, c - 1]
                else:
                    end = jump[j, width - 1] if width else n
                    j, best, last = _row_by_row(
                        values[i], others, numbers, d, j, min(end, stop),
                        key, row, own[i], best, last,
                    )  # fmt: skip
                if j < n:
                    depth = first[j]
        distance[i] = np.sqrt(last)
        position[i] = best


@kernel
def _row_by_row(value, others, numbers, start, j, stop, key, row, own, best, last):  # type: ignore[no-untyped-def]
    """Compare with rows of equal categories, sorted by the first number; say where to go on."""
    total = others.shape[1]
    while j < stop:
        d = start
        for k in range(numbers, total):
            d += (value[k] - others[j, k]) ** 2
            if d > last:
                break
        if d > last:
            step = start + (value[numbers] - others[j, numbers]) ** 2
            if step > last:
                if others[j, numbers] > value[numbers]:
                    return stop, best, last
                j = _within_reach(value[numbers], others, numbers, start, j, stop, last)
                continue
        elif j != own and (d < last or lot(key, row[j]) < lot(key, row[best])):
            best, last = j, d
        j += 1
    return stop, best, last


@kernel
def _within_reach(value, others, numbers, start, low, high, last):  # type: ignore[no-untyped-def]
    """Return the first row whose first number is not too far below, by halving."""
    while high - low > 1:
        middle = (low + high) // 2
        x = others[middle, numbers]
        if x < value and start + (value - x) ** 2 > last:
            low = middle
        else:
            high = middle
    return high


# -------------------------------------------------------------------------------------------------
# The smallest distance to the data, and the largest value among the data at that distance.
#
# Two searches without a matrix of all distances: a k-d tree for vectors, and one by one for sets.
# That for mixed columns is :func:`caveat.nearest.cells.gower_smallest`.


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
