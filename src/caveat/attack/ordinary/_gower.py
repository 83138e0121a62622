"""Nearest records by Gower's distance, without a matrix of all distances.

The distance of two records is the mean over columns of 0/1 for categories and |difference|/range,
at most 1, for numbers. The records are sorted by their categories; where the categories met so far
already differ too much, all records that share them are passed over at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.ordinary.encoding import Codes, Floats, Mixed, in_blocks, mixed
from caveat.kernel import kernel
from caveat.table import Table

__all__ = ["Ints", "Nearest", "lot", "lots", "nearest", "nearest_rows", "prefixes"]

Ints = NDArray[np.int64]


class Nearest(NamedTuple):
    """Distances (0 to 1, smallest first) and positions of the nearest records of each query."""

    distance: Floats
    position: Ints


def nearest_rows(
    people: Table,
    data: Table,
    columns: Sequence[str],
    k: int,
    *,
    scale: Table,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest rows of ``data`` for each of the people; as :func:`nearest`.

    Parameters
    ----------
    people, data, scale
        Tables on common levels; ``scale`` is the one whose ranges are the units of numbers.
    columns
        The columns that are compared.
    k, rng, own
        As for :func:`nearest`.
    """
    query, offered = mixed([people, data], columns, scale)
    return nearest(query, offered, k, rng=rng, own=own)


def nearest(
    query: Mixed,
    data: Mixed,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest records of each query.

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
    n = data.n
    k = min(k, n - (own is not None))
    if k < 1 or not query.n:
        return Nearest(np.zeros((query.n, 0)), np.zeros((query.n, 0), np.int64))
    order = np.lexsort(data.codes.T[::-1]) if data.codes.shape[1] else np.arange(n)
    ordered = data.take(order)
    first, jump = prefixes(ordered.codes)
    keys = lots(query.n, rng)
    row = order.astype(np.uint64)
    place = np.full(query.n, -1) if own is None else np.argsort(order)[own]

    def block(rows: slice) -> tuple[Floats, Ints]:
        part = query.take(rows)
        distance = np.full((part.n, k), np.inf)
        position = np.zeros((part.n, k), np.int64)
        _search(*part, *ordered, first, jump, keys[rows], row, place[rows], distance, position)
        return distance, position

    distances, positions = zip(*in_blocks(block, query.n), strict=True)
    return Nearest(np.concatenate(distances) / data.width, order[np.concatenate(positions)])


def lots(n: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Return a key for each query: two people who find the same equals draw each for themselves.

    Without ``rng`` the keys are 0: the first row wins.
    """
    if rng is None:
        return np.zeros(n, np.uint64)
    return rng.integers(1, 2**64, n, dtype=np.uint64, endpoint=False)


def prefixes(codes: Codes) -> tuple[Ints, Ints]:
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


@kernel
def _search(  # type: ignore[no-untyped-def]
    numbers, codes, others, other_codes, first, jump, keys, row, own, distance, position
):
    k, n, width = distance.shape[1], len(other_codes), codes.shape[1]
    partial = np.zeros(width + 1)
    for i in range(len(codes)):
        last, key = np.inf, keys[i]
        j, depth = 0, 0
        while j < n:
            d, c = partial[depth], depth
            while c < width and d <= last:
                if codes[i, c] != other_codes[j, c]:
                    d += 1.0
                c += 1
                partial[c] = d
            if d > last:
                j = jump[j, c - 1]
            else:
                for c in range(numbers.shape[1]):
                    d += min(abs(numbers[i, c] - others[j, c]), 1.0)
                    if d > last:
                        break
                if j != own[i] and (
                    d < last or (d == last and lot(key, row[j]) < lot(key, row[position[i, k - 1]]))
                ):
                    place = k - 1
                    while place > 0 and (
                        distance[i, place - 1] > d
                        or (
                            distance[i, place - 1] == d
                            and lot(key, row[position[i, place - 1]]) > lot(key, row[j])
                        )
                    ):
                        distance[i, place] = distance[i, place - 1]
                        position[i, place] = position[i, place - 1]
                        place -= 1
                    distance[i, place] = d
                    position[i, place] = j
                    last = distance[i, k - 1]
                j += 1
            if j < n:
                depth = first[j]
