"""The nearest record by Euclidean distance, without a matrix of all distances.

Records are vectors whose first coordinates are decided by categories: by the first category, then
by the first two, and so on; numbers come last. The records are sorted by their categories, so that
all records that share the categories met so far are passed over at once when these are too far away
already, and by the first number within equal categories. What is passed over cannot be nearer: the
result is that of comparing all with all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.attack.ordinary._gower import Ints, Nearest, lot, lots, prefixes
from caveat.attack.ordinary.encoding import Codes, Floats, dense, in_blocks, level_values
from caveat.kernel import kernel
from caveat.table import Table

__all__ = ["Part", "Vectors", "categories_first", "closest", "place", "staircase", "whitened"]

# Variances below this share of the largest, and lengths below its root, are rounding errors.
NOTHING = 1e-10


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


class Part(NamedTuple):
    """What one column adds to the vectors: a row for each level, from some coordinate on."""

    name: str
    start: int
    levels: Floats


def categories_first(table: Table) -> tuple[list[str], list[str]]:
    """Return the names of categories, and those of columns with an order.

    The categories in which two records differ least often come first: where they differ at all,
    Mahalanobis' distance and weights by entropy make this the largest difference.
    """
    ordered = [name for name in table.names if table[name].kind.has_order]
    categories = [name for name in table.names if name not in ordered]
    categories.sort(key=lambda name: -float(np.square(table[name].counts, dtype=np.float64).sum()))
    return categories, ordered


def place(table: Table, parts: Sequence[Part], ends: Ints) -> Vectors:
    """Return the rows of a table as vectors; the first parts are those of the categories.

    Sums are taken column by column: equal records have vectors equal to the last digit, which a
    product of matrices does not promise.
    """
    width = max((part.start + part.levels.shape[1] for part in parts), default=0)
    values = np.zeros((len(table), width))
    for name, start, levels in parts:
        values[:, start : start + levels.shape[1]] += levels[table[name].codes]
    codes = [table[part.name].codes for part in parts[: len(ends)]]
    stacked = np.stack(codes, axis=1) if codes else np.zeros((len(table), 0))
    return Vectors(stacked.astype(np.int32), values, ends)


def whitened(scale: Table, tables: Sequence[Table]) -> list[Vectors]:
    """Return vectors whose Euclidean distance is Mahalanobis' distance.

    Parameters
    ----------
    scale
        The table whose covariance, of standardised numbers and 0/1 columns, is the measure.
    tables
        Tables on common levels.
    """
    categories, ordered = categories_first(scale)
    names = [*categories, *ordered]
    inputs = [level_values(scale[name]) for name in names]
    with threadpool_limits(1):
        covariance = np.atleast_2d(np.cov(dense(scale, [scale], names)[0], rowvar=False))
        variances, directions = np.linalg.eigh(covariance)
    kept = variances > max(float(variances.max(initial=0.0)), 1e-300) * NOTHING
    turn, sizes = staircase(
        directions[:, kept] / np.sqrt(variances[kept]), [part.shape[1] for part in inputs]
    )
    parts, row, start = [], 0, 0
    for name, levels, size in zip(names, inputs, sizes, strict=True):
        parts.append(Part(name, start, levels @ turn[row : row + levels.shape[1], start:]))
        row, start = row + levels.shape[1], start + size
    ends = np.cumsum(sizes[: len(categories)], dtype=np.int64)
    return [place(table, parts, ends) for table in tables]


def staircase(turn: Floats, widths: Sequence[int]) -> tuple[Floats, list[int]]:
    """Rotate what a matrix maps to, so that the first coordinates depend on the first inputs only.

    Parameters
    ----------
    turn
        A matrix of full column rank with a row for each input: x ↦ x·turn.
    widths
        The inputs come in groups of these sizes.

    Returns
    -------
    The matrix times a rotation, and for each group the number of coordinates that depend on it and
    perhaps on groups before it, but on none after it.
    """
    taken = np.zeros((turn.shape[1], 0))
    groups: list[Floats] = []
    stop = len(turn)
    for width in reversed(widths):
        rows = turn[stop - width : stop]
        stop -= width
        # What later groups do not reach yet; twice, against rounding.
        left = rows - (rows @ taken) @ taken.T
        left -= (left @ taken) @ taken.T
        _, length, new = np.linalg.svd(left, full_matrices=False)
        groups.append(new[length > np.sqrt(NOTHING) * np.linalg.norm(rows)].T)
        taken = np.concatenate([taken, groups[-1]], axis=1)
    groups.reverse()
    return turn @ np.concatenate(groups, axis=1), [group.shape[1] for group in groups]


def closest(
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
        Decides between rows at equal distance by lot, as :func:`~caveat.attack.ordinary._gower.\
nearest` does. Without it the first in the table wins.
    own
        For each query the position in ``data`` of the record itself, which is left out.
    """
    n, m = len(data.values), len(query.values)
    if n - (own is not None) < 1 or not m:
        return Nearest(np.zeros((m, 0)), np.zeros((m, 0), np.int64))
    order = np.lexsort(data.sorting) if data.values.shape[1] else np.arange(n)
    codes, values = data.codes[order], data.values[order]
    first, jump = prefixes(codes)
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
