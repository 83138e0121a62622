"""Small eliminations in fractions, where no number can be too large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush

__all__ = ["Sparse", "combination", "reduced"]

Sparse = dict[int, Fraction]


def reduced(column: Sparse, pivots: Mapping[int, Sparse]) -> Sparse:
    """Return what is left of a column without multiples of the pivots, each under its top row.

    Examples
    --------
    >>> reduced({0: Fraction(1), 2: Fraction(1)}, {0: {0: Fraction(2), 1: Fraction(2)}})
    {2: Fraction(1, 1), 1: Fraction(-1, 1)}
    """
    left = dict(column)
    waiting = [row for row in left if row in pivots]
    heapify(waiting)
    while waiting:
        top = heappop(waiting)
        if top not in left:  # gone with another, or waiting twice
            continue
        pivot = pivots[top]
        share = left[top] / pivot[top]
        for row, value in pivot.items():
            if row not in left and row in pivots:
                heappush(waiting, row)
            rest = left.get(row, 0) - share * value
            if rest:
                left[row] = Fraction(rest)
            else:
                left.pop(row, None)
    return left


def combination(known: Sequence[Sparse], target: Sparse) -> list[Fraction] | None:
    """Return how much of each known column makes the target; None if they cannot.

    Examples
    --------
    >>> one, two = {0: Fraction(1)}, {0: Fraction(1), 1: Fraction(2)}
    >>> combination([one, two], {1: Fraction(1)})
    [Fraction(-1, 2), Fraction(1, 2)]
    """
    # Each column carries below its rows which known columns it is made of.
    mark = 1 + max([row for column in [*known, target] for row in column], default=0)
    pivots: dict[int, Sparse] = {}
    for i, column in enumerate(known):
        left = reduced({**column, mark + i: Fraction(1)}, pivots)
        if min(left) < mark:
            pivots[min(left)] = left
    left = reduced(target, pivots)
    if any(row < mark for row in left):
        return None
    return [-left.get(mark + i, Fraction(0)) for i in range(len(known))]
