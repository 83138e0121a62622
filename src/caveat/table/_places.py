"""Coordinates among the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from caveat.table._telling import may_say_place, says_place
from caveat.table._values import GROUP_SHARE, HALF, LEAST_ROWS, MANY, Values
from caveat.table.column import Kind

__all__ = ["find_coordinates"]

# Decimal places of degrees.
PLACES = (5, 8)
# So many of them use all their places: the last digit may be zero.
MOSTLY = 0.75
# Metres of a map are larger than this, and the largest less than so many times the smallest.
METRES, FAR = 10_000, 5
# Of three and more columns with so many places smaller ones are logarithms and rates, no degrees.
LOGARITHMS = 20


def find_coordinates(columns: Sequence[Values]) -> dict[str, str]:
    """Return the columns that are coordinates, with the reason: named so, or shaped as degrees."""
    numbers = [
        of
        for of in columns
        if of.column.kind in (Kind.NUMERIC, Kind.INTEGER) and of.rows >= LEAST_ROWS and of.n > MANY
    ]
    numbers = [of for of in numbers if of.at_least(GROUP_SHARE)]
    named = [
        of
        for of in numbers
        if says_place(of.name) or (may_say_place(of.name) and _is_far_from_origin(of))
    ]
    found = {}
    if len(named) > 1:
        found = {of.name: f"{of.different}, and the name says that it is a place" for of in named}
    place = {of.name: i for i, of in enumerate(columns)}
    free = [of for of in numbers if of.name not in found]
    like = [of for of in free if of.at_least(HALF) and _has_places(of)]
    for one, two in pairwise(like):
        adjacent = place[two.name] == place[one.name] + 1
        if adjacent and _is_on_earth(one, two, LOGARITHMS if len(like) > 2 else 0):
            for of in (one, two):
                found[of.name] = f"{of.different}, which read as degrees of a place on earth"
    return found


def _is_far_from_origin(of: Values) -> bool:
    """Whether numbers are metres of a map: large, and near each other for their size."""
    low, high = float(of.levels[0]), float(of.levels[-1])
    return low > METRES and high < FAR * low


def _has_places(of: Values) -> bool:
    """Whether numbers have as many decimal places as degrees are written with."""
    some = of.some.astype(np.float64)
    least, most = PLACES
    fine = np.round(some, least - 1) != some
    return bool(fine.mean() >= MOSTLY and np.array_equal(np.round(some, most), some))


def _is_on_earth(one: Values, two: Values, least: float) -> bool:
    """Whether two columns are degrees of a region: one far from zero for its size, and at least."""
    low = [float(np.abs(of.levels[[0, -1]]).min()) for of in (one, two)]
    span = [float(of.levels[-1] - of.levels[0]) for of in (one, two)]
    far = [float(np.abs(of.levels[[0, -1]]).max()) for of in (one, two)]
    tight = any(a > 2 * b for a, b in zip(low, span, strict=True))
    return tight and max(far) >= least and min(far) <= 90 and max(far) <= 180 and max(span) < 70
