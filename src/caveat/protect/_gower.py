"""Nearest neighbours by Gower's distance, exact and without a matrix of all distances.

The distance is a sum over columns: 1 for categories that differ, and the difference of numbers, at
most 1 each. Records that agree in all categories make a group. A query looks at its own group; only
if nothing there is nearer than 1 at the groups that differ in one category, which are found by
leaving out one column at a time; and only if nothing there is nearer than 2 at all others. Within a
group it walks outwards from its own place on the first number.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.kernel import kernel
from caveat.protect._nearest import BLOCK, TIE, Floats, Points, closer
from caveat.risk import key_cells

__all__ = ["nearest_by_gower"]

Ints = NDArray[np.int64]
GROUPS = 2_048  # groups whose categories are compared together
FEW = 1 << 16


class _Neighbours(NamedTuple):
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


def nearest_by_gower(
    query: Points, data: Points, own: Floats, *, apart: bool = False, threads: int | None = None
) -> tuple[Floats, Floats]:
    """Return the smallest distances, and the largest ``own`` at that distance.

    Parameters
    ----------
    query, data
        Numbers in units of their range, and codes of categories from 0. The numbers that differ
        most should come first.
    own, apart, threads
        As for :func:`caveat.protect._nearest.nearest`.
    """
    numbers, codes = query
    offered, offered_codes = data
    (mine, theirs), n_groups = _groups(codes, offered_codes)
    order = np.lexsort((offered[:, 0], theirs))
    starts = np.searchsorted(theirs[order], np.arange(n_groups + 1))
    first = order[np.minimum(starts[:-1], len(order) - 1)]  # an empty group is never looked at
    near = _but_one(codes, offered_codes[first], np.flatnonzero(np.diff(starts)))
    small = np.uint16 if max(codes.max(initial=0), offered_codes.max(initial=0)) < FEW else np.int32
    codes, kinds = codes.astype(small), np.ascontiguousarray(offered_codes[first].T.astype(small))
    itself = np.full(len(codes), -1, dtype=np.int64)
    if apart:
        itself[order] = np.arange(len(order))
    sorted_numbers, sorted_own = np.ascontiguousarray(offered[order]), own[order]
    best, largest = np.full(len(codes), np.inf), np.zeros(len(codes))

    def work(start: int) -> None:
        rows = slice(start, start + BLOCK)
        _search(
            numbers[rows], codes[rows], mine[rows], near.cell[:, rows], itself[rows],
            sorted_numbers, sorted_own, starts, kinds, near.starts, near.groups,
            best[rows], largest[rows],
        )  # fmt: skip

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(work, range(0, len(codes), BLOCK)))
    return best, largest


def _groups(*tables: NDArray[Any]) -> tuple[list[Ints], int]:
    """Return the combination of codes of each row, table by table, and their number."""
    if not tables[0].shape[1]:
        return [np.zeros(len(table), np.int64) for table in tables], 1
    sizes = [
        1 + max(int(t[:, j].max(initial=0)) for t in tables) for j in range(tables[0].shape[1])
    ]
    return key_cells([list(table.T.astype(np.int64)) for table in tables], sizes)


def _but_one(codes: NDArray[Any], kinds: NDArray[Any], filled: Ints) -> _Neighbours:
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
    return _Neighbours(cell, np.concatenate(starts), np.concatenate(groups))


@kernel
def _outwards(place, left, right, low, high, data):  # type: ignore[no-untyped-def]
    """Return the next point on the way out from a place on the first number, and its gap."""
    gap_left = place - data[left, 0] if left >= low else np.inf
    gap_right = data[right, 0] - place if right < high else np.inf
    if gap_left < gap_right:
        return left, gap_left, left - 1, right
    return right, gap_right, left, right + 1


@kernel
def _look(query, base, low, high, itself, data, own, smallest, most):  # type: ignore[no-untyped-def]
    """Look at one group; the categories that differ count ``base``."""
    right = low + np.searchsorted(data[low:high, 0], query[0])
    left = right - 1
    while left >= low or right < high:
        j, gap, left, right = _outwards(query[0], left, right, low, high, data)
        if base + min(gap, 1.0) > smallest * (1 + TIE):
            break
        if j == itself:
            continue
        total = base
        for k in range(len(query)):
            total += min(abs(query[k] - data[j, k]), 1.0)
            if total > smallest * (1 + TIE):
                break
        smallest, most = closer(total, own[j], smallest, most)
    return smallest, most


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
    numbers, codes, group, cell, itself, data, own, starts, kinds, near_starts, near, best, largest
):
    """Fill ``best`` and ``largest`` for a block of queries."""
    n_columns = codes.shape[1]
    differing = np.empty(GROUPS, np.uint16)
    for i in range(len(numbers)):
        query, me = numbers[i], itself[i]
        low, high = starts[group[i]], starts[group[i] + 1]
        smallest, most = _look(query, 0.0, low, high, me, data, own, np.inf, 0.0)
        if smallest * (1 + TIE) >= 1.0:
            for j in range(n_columns):
                for place in range(near_starts[cell[j, i]], near_starts[cell[j, i] + 1]):
                    g = near[place]
                    if kinds[j, g] != codes[i, j]:
                        low, high = starts[g], starts[g + 1]
                        smallest, most = _look(query, 1.0, low, high, me, data, own, smallest, most)
        if smallest * (1 + TIE) >= 2.0:
            for first in range(0, kinds.shape[1], len(differing)):
                last = min(first + len(differing), kinds.shape[1])
                _differences(kinds, first, last, codes[i], differing)
                for g in range(first, last):
                    base = float(differing[g - first])
                    if base >= 2.0 and base <= smallest * (1 + TIE):
                        low, high = starts[g], starts[g + 1]
                        smallest, most = _look(
                            query, base, low, high, me, data, own, smallest, most
                        )
        best[i], largest[i] = smallest, most
