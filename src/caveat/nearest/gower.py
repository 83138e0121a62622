"""Nearest records by Gower's distance, exact and without a matrix of all distances.

The distance is a sum over columns: 1 for categories that differ, and the difference of numbers, at
most 1 each. Records that agree in all categories make a group. A query looks at its own group; only
if it has not found enough there that is nearer than 1 at the groups that differ in one category,
which are found by leaving out one column at a time; and only if not enough is nearer than 2 at all
others. Within a group it walks outwards from its own place on the first number.

Attackers ask for the k nearest, one of equals by lot; the distance filter for the smallest distance
and the largest value among those that are equal but for rounding. Both are this search: they
differ in the rank of a record among equals and in the slack that makes distances equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.ties import TIE, Codes, Floats, Ints, Nearest, in_blocks, lot, lots
from caveat.table.cells import key_cells

__all__ = ["Mixed", "gower_nearest", "gower_smallest"]

GROUPS = 2_048  # groups whose categories are compared together
FEW = 1 << 16


class Mixed(NamedTuple):
    """Rows of one table: numbers in units of their range, and codes of categories from 0.

    The difference of two numbers is cut to 1. A number that is missing is one that lies far from
    all others.
    """

    numbers: Floats
    codes: Codes

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def take(self, rows: NDArray[np.int64] | slice) -> Mixed:
        """Return some of the rows."""
        return Mixed(self.numbers[rows], self.codes[rows])

    @property
    def width(self) -> int:
        """Number of parts that a distance is the sum of."""
        return max(int(self.numbers.shape[1] + self.codes.shape[1]), 1)


class _OneOff(NamedTuple):
    """Which groups agree with a query in all categories but one.

    Attributes
    ----------
    cell
        For each column that is left out, and each query: its combination of the other columns.
    starts, groups
        The groups that have combination i are ``groups[starts[i]:starts[i + 1]]``.
    """

    cell: Ints
    starts: Ints
    groups: Ints


def gower_nearest(
    query: Mixed,
    data: Mixed,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest records of each query; distances are means over columns, 0 to 1.

    Parameters
    ----------
    query, data
        Rows of the two sides.
    k
        How many; at most the number of records.
    rng
        Decides between records at equal distance by lot. Without it the first in the table wins,
        which is for distances only: a release may be sorted as the original is.
    own
        For each query the position in ``data`` of the record itself, which is left out.
    """
    k = min(k, data.n - (own is not None))
    rank = np.arange(data.n, dtype=np.uint64)
    found = _nearest(query, data, max(k, 0), lots(query.n, rng), rank, own)
    return Nearest(found.distance / data.width, found.position)


def gower_smallest(
    query: Mixed, data: Mixed, value: Floats, *, apart: bool = False, threads: int | None = None
) -> tuple[Floats, Floats]:
    """Return the smallest distances (sums over columns), and the largest value at that distance.

    Parameters
    ----------
    query, data
        Rows of the two sides. A search ends soonest where the number that differs most is first.
    value, apart, threads
        As for :func:`caveat.nearest.smallest.tree_smallest`.
    """
    rank = np.empty(data.n, np.uint64)
    rank[np.argsort(-value, kind="stable")] = np.arange(data.n, dtype=np.uint64)
    own = np.arange(query.n) if apart else None
    found = _nearest(query, data, 1, lots(query.n, None), rank, own, TIE, threads)
    return found.distance[:, 0], value[found.position[:, 0]]


def _nearest(
    query: Mixed,
    data: Mixed,
    k: int,
    keys: NDArray[np.uint64],
    rank: NDArray[np.uint64],
    own: Ints | None,
    slack: float = 0.0,
    threads: int | None = None,
) -> Nearest:
    """Return the k nearest; between equals, up to a share of ``slack``, the lot of ranks decides.

    With slack, k is 1: of many that are nearly equal there is no order.
    """
    distance, position = np.full((query.n, k), np.inf), np.zeros((query.n, k), np.int64)
    if not k or not query.n:
        return Nearest(distance, position)
    numbers, offered = (
        side.numbers if side.numbers.shape[1] else np.zeros((side.n, 1)) for side in (query, data)
    )
    (mine, theirs), n_groups = _groups(query.codes, data.codes)
    order = np.lexsort((offered[:, 0], theirs))
    starts = np.searchsorted(theirs[order], np.arange(n_groups + 1))
    first = order[np.minimum(starts[:-1], len(order) - 1)]  # an empty group is never looked at
    near = _but_one(query.codes, data.codes[first], np.flatnonzero(np.diff(starts)))
    most = max(query.codes.max(initial=0), data.codes.max(initial=0))
    small = np.uint16 if most < FEW else np.int32
    codes = query.codes.astype(small)
    kinds = np.ascontiguousarray(data.codes[first].T.astype(small))
    itself = np.full(query.n, -1) if own is None else np.argsort(order)[own]
    numbers, offered = np.ascontiguousarray(numbers), np.ascontiguousarray(offered[order])
    rank = rank[order]

    def block(rows: slice) -> None:
        _search(
            numbers[rows], codes[rows], mine[rows], near.cell[:, rows], keys[rows], itself[rows],
            offered, rank, starts, kinds, near.starts, near.groups, slack,
            distance[rows], position[rows],
        )  # fmt: skip

    in_blocks(block, query.n, threads)
    return Nearest(distance, order[position])


def _groups(*tables: NDArray[Any]) -> tuple[list[Ints], int]:
    """Return the combination of codes of each row, table by table, and their number."""
    if not tables[0].shape[1]:
        return [np.zeros(len(table), np.int64) for table in tables], 1
    sizes = [
        1 + max(int(t[:, j].max(initial=0)) for t in tables) for j in range(tables[0].shape[1])
    ]
    return key_cells([list(table.T.astype(np.int64)) for table in tables], sizes)


def _but_one(codes: NDArray[Any], kinds: NDArray[Any], filled: Ints) -> _OneOff:
    """Find the groups that agree in all categories but one; ``filled`` are those with records."""
    cell = np.zeros((codes.shape[1], len(codes)), np.int64)
    starts, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    n_cells = n_items = 0
    for j in range(codes.shape[1]):
        others = [k for k in range(codes.shape[1]) if k != j]
        (mine, theirs), n = _groups(codes[:, others], kinds[filled][:, others])
        order = np.argsort(theirs, kind="stable")
        cell[j] = mine + n_cells
        starts.append(np.searchsorted(theirs[order], np.arange(n)) + n_items)
        groups.append(filled[order])
        n_cells, n_items = n_cells + n, n_items + len(filled)
    starts.append(np.array([n_items]))
    return _OneOff(cell, np.concatenate(starts), np.concatenate(groups))


@kernel
def _outwards(place, left, right, low, high, data):  # type: ignore[no-untyped-def]
    """Return the next point on the way out from a place on the first number, and its gap."""
    gap_left = place - data[left, 0] if left >= low else np.inf
    gap_right = data[right, 0] - place if right < high else np.inf
    if gap_left < gap_right:
        return left, gap_left, left - 1, right
    return right, gap_right, left, right + 1


@kernel
def _insert(d, j, key, rank, slack, distance, position):  # type: ignore[no-untyped-def]
    """Take one more record into account that is no further away than the last one found."""
    place = len(distance) - 1
    mine = lot(key, rank[j])
    if d >= distance[place] * (1 - slack):
        d = min(d, distance[place])
        if lot(key, rank[position[place]]) <= mine:
            distance[place] = d
            return
    while place > 0 and (
        distance[place - 1] > d
        or (distance[place - 1] == d and lot(key, rank[position[place - 1]]) > mine)
    ):
        distance[place], position[place] = distance[place - 1], position[place - 1]
        place -= 1
    distance[place], position[place] = d, j


@kernel
def _look(query, base, low, high, key, itself, data, rank, slack, distance, position):  # type: ignore[no-untyped-def]
    """Look at one group; the categories that differ count ``base``."""
    right = low + np.searchsorted(data[low:high, 0], query[0])
    left = right - 1
    last = distance[-1]
    while left >= low or right < high:
        j, gap, left, right = _outwards(query[0], left, right, low, high, data)
        if base + min(gap, 1.0) > last * (1 + slack):
            break
        if j == itself:
            continue
        total = base
        for k in range(len(query)):
            total += min(abs(query[k] - data[j, k]), 1.0)
            if total > last * (1 + slack):
                break
        if total <= last * (1 + slack):
            _insert(total, j, key, rank, slack, distance, position)
            last = distance[-1]


@kernel
def _differences(kinds, first, last, codes, differing):  # type: ignore[no-untyped-def]
    """Count the categories in which groups differ from a query; the inner loop is vectorised."""
    differing[: last - first] = 0
    for j in range(len(codes)):
        code = codes[j]
        row = kinds[j, first:last]
        for k in range(last - first):
            differing[k] += np.uint16(row[k] != code)


@kernel
def _search(  # type: ignore[no-untyped-def]
    numbers, codes, group, cell, keys, itself, data, rank, starts, kinds, near_starts, near, slack,
    distances, positions,
):  # fmt: skip
    """Fill ``distances`` and ``positions`` for a block of queries."""
    n_columns = codes.shape[1]
    differing = np.empty(GROUPS, np.uint16)
    for i in range(len(numbers)):
        query, key, me, distance, position = (
            numbers[i], keys[i], itself[i], distances[i], positions[i]
        )  # fmt: skip
        low, high = starts[group[i]], starts[group[i] + 1]
        _look(query, 0.0, low, high, key, me, data, rank, slack, distance, position)
        if distance[-1] * (1 + slack) >= 1.0:
            for j in range(n_columns):
                for place in range(near_starts[cell[j, i]], near_starts[cell[j, i] + 1]):
                    g = near[place]
                    if kinds[j, g] != codes[i, j]:
                        low, high = starts[g], starts[g + 1]
                        _look(query, 1.0, low, high, key, me, data, rank, slack, distance, position)
        if distance[-1] * (1 + slack) >= 2.0:
            for first in range(0, kinds.shape[1], len(differing)):
                last = min(first + len(differing), kinds.shape[1])
                _differences(kinds, first, last, codes[i], differing)
                for g in range(first, last):
                    base = float(differing[g - first])
                    if base >= 2.0 and base <= distance[-1] * (1 + slack):
                        low, high = starts[g], starts[g + 1]
                        _look(
                            query, base, low, high, key, me, data, rank, slack, distance, position
                        )
