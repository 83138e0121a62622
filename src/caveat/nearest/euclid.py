"""The nearest record by Euclidean distance, without a matrix of all distances.

Records are vectors whose first coordinates are decided by categories: by the first category, then
by the first two, and so on; numbers come last. The records are sorted by their categories, so that
all records that share the categories met so far are passed over at once when these are too far away
already, and by the first number within equal categories. What is passed over cannot be nearer: the
result is that of comparing all with all. Vectors without categories have a faster way, a k-d tree:
:func:`caveat.nearest.smallest.tree_smallest`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.ties import Codes, Floats, Ints, Nearest, in_blocks, lot, lots

__all__ = ["Vectors", "euclid_nearest"]


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
