"""Numbers of published tables: cells as numbers, and what the numbers are rounded to."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.written_cells import bound_of, decimal_of, number_of
from caveat.table import Column, Table

__all__ = [
    "SMALLEST_BASE",
    "Limits",
    "base_of",
    "has_decimals",
    "is_numeric",
    "last_place",
    "limits",
    "mostly_numbers",
    "numbers",
    "rounded_to",
    "written_decimal",
]

Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]
"""For each cell the least and the largest value that a bound in it leaves, infinite without one."""

# Fewer counts, or even ones, are multiples of a number by chance.
FEWEST_ROUNDED, SMALLEST_BASE = 6, 3
MOST_PLACES = 6


def _levels(column: Column) -> list[str]:
    """Return the different cells of a column of text."""
    return [str(level) for level in column.compact().levels.tolist()]


def written_decimal(table: Table) -> str | None:
    """Return the decimal sign of the numbers that a table writes as text; None if none tells."""
    columns = (table[name] for name in table.names)
    return decimal_of(_levels(column) for column in columns if not column.kind.is_number)


def _as_written(levels: list[str], decimal: str | None) -> list[float | None]:
    """Return cells as numbers, by the decimal sign that is given or else by the one that fits."""
    for sign in (decimal,) if decimal else (".", ","):
        found = [number_of(level, sign) for level in levels]
        if None not in found:
            return found
    return [number_of(level, decimal or ".") for level in levels]


def is_numeric(column: Column, decimal: str | None) -> bool:
    """Whether cells are numbers, but for signs of hidden ones."""
    return column.kind.is_number or None not in _as_written(_levels(column), decimal)


def mostly_numbers(column: Column, decimal: str | None = None) -> bool:
    """Whether most of the different cells are numbers, hidden ones left out."""
    if column.kind.is_number:
        return True
    found = [one for one in _as_written(_levels(column), decimal) if one is None or one == one]
    return 2 * found.count(None) < len(found)


def has_decimals(column: Column, decimal: str | None = None) -> bool:
    """Whether cells are numbers and some of them are not whole."""
    if not is_numeric(column, decimal):
        return False
    values = numbers(column, "", decimal)
    return bool(np.any(values[np.isfinite(values)] % 1 != 0))


def numbers(column: Column, name: str, decimal: str | None = None) -> Floats:
    """Return the cells as numbers, NaN where a cell is hidden or missing.

    Parameters
    ----------
    column
        The column, of numbers or of text.
    name
        Its name, for messages.
    decimal
        The decimal sign of numbers that are text; None to take the one that fits the column.
    """
    if column.kind.is_number:
        return column.cell_numbers
    found = _as_written([str(level) for level in column.levels.tolist()], decimal)
    for code, number in enumerate(found):
        rows = np.flatnonzero(column.codes == code)
        if number is None and len(rows):
            raise CaveatError(
                "a cell is neither a number nor hidden",
                column=name,
                row=int(rows[0]) + 1,
                code="outputs.cell.type",
            )
    of_level = [math.nan if number is None else number for number in found]
    return np.array([*of_level, *([math.nan] * len(column.missing))])[column.codes]


def limits(column: Column, decimal: str | None = None, *, whole: bool = True) -> Limits | None:
    """Return what bounds that are written in hidden cells leave for them; None if there are none.

    Parameters
    ----------
    column, decimal
        As for :func:`numbers`.
    whole
        Whether cells are counts: below 10 is then 9 at most.
    """
    if column.kind.is_number:
        return None
    levels = [str(level) for level in column.levels.tolist()]
    if decimal is None:
        fits = (sign for sign in (".", ",") if None not in (number_of(x, sign) for x in levels))
        decimal = next(fits, ".")
    ends = [_ends(bound_of(level, decimal), whole) for level in levels]
    low, high = np.array([*ends, *([(-math.inf, math.inf)] * len(column.missing))]).T
    found = low[column.codes], high[column.codes]
    return found if np.isfinite(found).any() else None


def _ends(bound: tuple[str, float] | None, whole: bool) -> tuple[float, float]:
    sign, number = bound or ("", 0.0)
    if sign[:1] == "<":
        return -math.inf, math.ceil(number) - 1 if whole and sign == "<" else number
    if sign[:1] == ">":
        return math.floor(number) + 1 if whole and sign == ">" else number, math.inf
    return -math.inf, math.inf


def base_of(declared: int | None, counts: Floats | None) -> int:
    """Return what counts are rounded to: what is said, or else a guess; 0 if they are not."""
    if declared is not None:
        return declared if declared > 1 else 0
    return 0 if counts is None else rounded_to(counts)


def rounded_to(counts: Floats) -> int:
    """Return the base that all counts are multiples of; 0 if they are not rounded.

    Examples
    --------
    >>> rounded_to(np.array([15, 20, 35, 5, 70, 45])), rounded_to(np.array([15, 20, 36, 5, 71, 45]))
    (5, 0)
    """
    whole = counts[np.isfinite(counts) & (counts != 0)]  # zero is a multiple of everything
    if len(whole) < FEWEST_ROUNDED or np.any(whole % 1 != 0):
        return 0
    base = reduce(math.gcd, whole.astype(np.int64).tolist(), 0)
    return base if base >= SMALLEST_BASE else 0


def last_place(values: Floats) -> float:
    """Return one unit of the last decimal place that values have; 0 for whole numbers.

    Examples
    --------
    >>> last_place(np.array([0.25, 3.5, np.nan])), last_place(np.array([3.0, 4.0]))
    (0.01, 0.0)
    """
    shown = values[np.isfinite(values)]
    for places in range(MOST_PLACES):
        if np.array_equal(np.round(shown, places), shown):
            return float(10.0**-places) if places else 0.0
    return 0.0
