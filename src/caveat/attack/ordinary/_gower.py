"""Nearest records by Gower's distance, without a matrix of all distances.

The distance of two records is the mean over columns of 0/1 for categories and |difference|/range,
at most 1, for numbers. A comparison stops as soon as it cannot be among the nearest any more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.ordinary.encoding import Floats, Mixed, in_blocks
from caveat.risk._kernel import kernel

__all__ = ["Nearest", "nearest", "nearest_credit"]

Ints = NDArray[np.int64]


class Nearest(NamedTuple):
    """Distances (0 to 1, smallest first) and positions of the nearest records of each query."""

    distance: Floats
    position: Ints


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
        Orders the data at random before the search: records at equal distance are chosen by
        lot. Without it the first ones in the table win, which is for distances only: rows of a
        release may be sorted as the original is.
    own
        For each query the position in ``data`` of the record itself, which is left out.
    """
    n = len(data)
    order = np.arange(n) if rng is None else rng.permutation(n)
    k = min(k, n - (own is not None))
    place = np.full(len(query), -1) if own is None else np.argsort(order)[own]
    shuffled = data if rng is None else data.take(order)

    def block(rows: slice) -> tuple[Floats, Ints]:
        part = query.take(rows)
        distance = np.full((len(part), k), np.inf)
        position = np.zeros((len(part), k), np.int64)
        _nearest(*part, *shuffled, place[rows], distance, position)
        return distance, position

    if k < 1 or not len(query):
        return Nearest(np.zeros((len(query), 0)), np.zeros((len(query), 0), np.int64))
    distances, positions = zip(*in_blocks(block, len(query)), strict=True)
    return Nearest(np.concatenate(distances) / data.width, order[np.concatenate(positions)])


def nearest_credit(
    query: Mixed,
    data: Mixed,
    status: tuple[Ints, Ints],
    value: tuple[Floats, Floats],
    width: Floats,
) -> Floats:
    """Return the share of the nearest records (all at the least distance) whose secret is right.

    Parameters
    ----------
    query, data
        Rows of the two sides.
    status
        What must be equal in the secret, for queries and data.
    value
        A number that may be near, for queries and data.
    width
        How far the number may lie off, for each query.
    """

    def block(rows: slice) -> Floats:
        part = query.take(rows)
        out = np.zeros(len(part))
        _credit(
            *part, *data, status[0][rows], status[1], value[0][rows], value[1], width[rows], out
        )
        return out

    return np.concatenate(in_blocks(block, len(query))) if len(query) else np.zeros(0)


@kernel
def _distance(i, j, numbers, codes, others, other_codes, limit):  # type: ignore[no-untyped-def]
    """Return the sum over columns, or something above the limit as soon as that is certain."""
    total = 0.0
    for c in range(codes.shape[1]):
        if codes[i, c] != other_codes[j, c]:
            total += 1.0
            if total > limit:
                return total
    for c in range(numbers.shape[1]):
        total += min(abs(numbers[i, c] - others[j, c]), 1.0)
        if total > limit:
            return total
    return total


@kernel
def _nearest(numbers, codes, others, other_codes, own, distance, position):  # type: ignore[no-untyped-def]
    k = distance.shape[1]
    for i in range(len(codes)):
        for j in range(len(other_codes)):
            if j == own[i]:
                continue
            last = distance[i, k - 1]
            d = _distance(i, j, numbers, codes, others, other_codes, last)
            if d >= last:
                continue
            place = k - 1
            while place > 0 and distance[i, place - 1] > d:
                distance[i, place] = distance[i, place - 1]
                position[i, place] = position[i, place - 1]
                place -= 1
            distance[i, place] = d
            position[i, place] = j


@kernel
def _credit(  # type: ignore[no-untyped-def]
    numbers, codes, others, other_codes, status, statuses, value, values, width, out
):
    for i in range(len(codes)):
        least, found, right = np.inf, 0, 0
        for j in range(len(other_codes)):
            d = _distance(i, j, numbers, codes, others, other_codes, least)
            if d > least:
                continue
            if d < least:
                least, found, right = d, 0, 0
            found += 1
            if statuses[j] == status[i] and abs(values[j] - value[i]) <= width[i]:
                right += 1
        out[i] = right / found
