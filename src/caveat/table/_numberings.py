"""Whether whole numbers were given out one after the other, and whether groups share them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.table._values import HALF, Values
from caveat.table.column import Column
from caveat.table.table import Table

__all__ = [
    "EVEN_GROUPS", "SHORT", "have_same_digits", "is_dense", "is_numbering", "is_shared", "rounded",
    "stand_together", "unevenness",
]  # fmt: skip

# Running numbers leave out at most every second number; short ones hardly any.
DENSE, DENSE_SHORT, SHORT = 2.0, 1.25, 50
# Numbers that were given have the same number of digits; with fewer than LONG they are also spread
# evenly: the largest distance to the even distribution. In a short table that may be chance, unless
# there are SURE digits.
DIGITS, LONG, SURE, EVEN, EVEN_GROUPS = 5, 7, 9, 0.25, 0.1
# A larger share of multiples of ten means that somebody rounded: an amount, no number of a record.
ROUNDED = 0.3
# Groups and other columns that are looked at when there are very many.
GROUPS_LOOKED_AT, OTHERS_LOOKED_AT = 2000, 200
# A column that is the same within all groups must hardly be so by chance (natural logarithm), and
# with few groups nobody can say whether it only follows their order.
CHANCE, LEAST_GROUPS = 10.0, 30
# What most groups have says nothing: the chance that two groups agree.
SAME = 0.8


def rounded(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether so many are multiples of ten that somebody rounded."""
    tens = of.counts[of.rest][levels % 10 == 0].sum()
    return bool(tens > ROUNDED * of.rest_rows)


def is_numbering(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether the numbers of nearly all records look given out."""
    steps = np.diff(levels)
    if of.n == of.rest_rows and len(steps) and steps.min() == steps.max():
        return True
    if rounded(of, levels):
        return False
    codes = of.column.codes[~of.column.is_missing].astype(np.int64)
    moves = np.diff(codes)
    in_order = bool(np.all(moves > 0) or np.all(moves < 0))
    even = unevenness(levels) < (EVEN if len(levels) >= SHORT else EVEN_GROUPS)
    return is_dense(levels) or (in_order and even) or have_same_digits(of, levels)


def is_dense(levels: NDArray[np.int64]) -> bool:
    """Whether hardly any number between the first and the last is left out."""
    span = float(levels[-1]) - float(levels[0]) + 1
    return span <= len(levels) * (DENSE if len(levels) >= SHORT else DENSE_SHORT)


def have_same_digits(of: Values, levels: NDArray[np.int64]) -> bool:
    """Whether the numbers are equally long and spread evenly."""
    digits, least = len(str(levels[-1])), len(str(levels[0]))
    if levels[0] <= 0 or digits < DIGITS or least < min(digits, SURE):
        return False
    if len(levels) < SHORT and digits < SURE:
        return False
    return not rounded(of, levels) and (digits >= LONG or unevenness(levels) < EVEN)


def unevenness(levels: NDArray[np.int64]) -> float:
    """Return the largest distance between the distribution of the levels and an even one."""
    n = len(levels)
    place = (levels - levels[0]) / max(float(levels[-1]) - float(levels[0]), 1.0)
    return float(np.abs(place - np.arange(n) / max(n - 1, 1)).max())


def stand_together(column: Column) -> bool:
    """Whether equal values stand in blocks, as members of a household do."""
    blocks = 1 + int((column.codes[1:] != column.codes[:-1]).sum())
    return blocks == int((column.counts > 0).sum())


def is_shared(of: Values, table: Table) -> bool:
    """Whether another column is the same within each group, as a household has one size.

    Groups of the values themselves, such as classes of ages, do not count: they follow the order.
    """
    column = of.column
    counts = column.counts[: len(column.levels)]
    several = np.flatnonzero((counts > 1) & (counts <= of.counts[of.rest].max()))
    chosen = np.zeros(column.n_levels, dtype=bool)
    chosen[several[:: max(1, len(several) // GROUPS_LOOKED_AT)]] = True
    rows = np.flatnonzero(chosen[column.codes])
    rows = rows[np.argsort(column.codes[rows], kind="stable")]
    first = np.append(True, np.diff(column.codes[rows].astype(np.int64)) != 0)
    start = np.flatnonzero(first)[np.cumsum(first) - 1]
    others = [other for name, other in table.columns.items() if name != of.name]
    return any(_is_same_within(other, rows, start, first) for other in others[:OTHERS_LOOKED_AT])


def _is_same_within(
    other: Column, rows: NDArray[np.int64], start: NDArray[np.int64], first: NDArray[np.bool_]
) -> bool:
    codes = other.codes[rows]
    if not np.array_equal(codes, codes[start]):
        return False
    per_group = codes[first]
    groups, used = len(per_group), np.bincount(per_group)
    equal = float(((used / max(groups, 1)) ** 2).sum())
    if groups < LEAST_GROUPS or equal > SAME or np.count_nonzero(used) > HALF * groups:
        return False
    runs = 1 + int((per_group[1:] != per_group[:-1]).sum())
    in_disorder = runs >= HALF * groups * (1 - equal)
    return in_disorder and (len(rows) - groups) * -np.log(equal) >= CHANCE
