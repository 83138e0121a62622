"""Whether two tables can be about the same things: how much of a column they have in common.

Measured against the wrong file, every risk is zero. What two tables must share is judged on the
rows of the synthetic one: a release may lack values of the original, and may be short, but what it
holds should occur there. Values of categories must be the same. Numbers and dates need only lie in
the range of the original, since smoothing and noise make new ones; whole numbers that repeat in
both tables are codes, and must be the same again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.column import Column, Kind
from caveat.table.table import Table

__all__ = ["RIGHT_FILE", "common_share", "doubt", "refuse_other_table", "refuse_strangers"]

# With less than this share in common, the tables hardly belong together.
ENOUGH = 0.5
RIGHT_FILE = "is it the right file?"
"""How every doubt ends."""
# Whole numbers that occur so often on average are codes or counts, not measurements.
REPEATS = 5


def common_share(ours: Column, theirs: Column) -> float:
    """Return the share of the synthetic cells whose value the original has.

    Missing cells count only where one of the tables has nothing else: two tables that share
    nothing but blanks have nothing in common.

    Parameters
    ----------
    ours, theirs
        The column in the original and in the synthetic table, on the same levels.
    """
    n = len(ours.levels)
    o, s = ours.counts, theirs.counts
    if o[:n].any() and s[:n].any():
        o, s = o[:n], s[:n]
        if ours.kind.is_number and not _are_codes(ours, o, s):
            return _within(ours.numbers, o, s)
    total = int(s.sum())
    return float(s[o > 0].sum() / total) if total and o.any() else 1.0


def doubt(ours: Column, theirs: Column) -> str:
    """Return why the two tables hardly belong together, in words; empty if there is no doubt.

    Identifiers and free text of a release ought to be others than those of the original.
    """
    share = common_share(ours, theirs)
    if share >= ENOUGH or ours.kind in (Kind.ID, Kind.TEXT):
        return ""
    cells = "less than half of the synthetic cells have" if share else "no synthetic cell has"
    return f"{cells} a value that occurs in the original: {RIGHT_FILE}"


def _are_codes(column: Column, o: NDArray[np.int64], s: NDArray[np.int64]) -> bool:
    if column.levels.dtype.kind not in "iuf":
        return False
    numbers = column.levels[(o > 0) | (s > 0)]
    whole = bool((numbers == np.round(numbers)).all())
    return whole and all(c.sum() >= REPEATS * np.count_nonzero(c) for c in (o, s))


def _within(numbers: NDArray[np.float64], o: NDArray[np.int64], s: NDArray[np.int64]) -> float:
    held = numbers[o > 0]
    inside = (numbers >= held.min()) & (numbers <= held.max())
    return float(s[inside].sum() / s.sum())


def refuse_strangers(original: Table, others: Sequence[Table], names: Sequence[str]) -> None:
    """Refuse a table that has no value of a column in common with the original.

    Parameters
    ----------
    original, others
        Tables on the same levels.
    names
        The columns that a measure rests on, such as keys and targets.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"]})
    >>> refuse_strangers(people, [people], ["sex"])
    """
    for position, table in enumerate(others, 1):
        for name in names:
            if common_share(original[name], table[name]) == 0:
                raise CaveatError(
                    f"table {position} of those compared has no value in common with the original",
                    column=name,
                    do="check that both are the right files, or leave the column out",
                )


def refuse_other_table(original: Table, others: Sequence[Table]) -> None:
    """Refuse a table of which no column has a value in common with the original.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"]})
    >>> refuse_other_table(people, [people])
    """
    for position, table in enumerate(others, 1):
        if all(common_share(original[name], table[name]) == 0 for name in original):
            raise CaveatError(
                f"no column of table {position} of those compared has a value in common with the "
                "original",
                do="check that both are the right files",
            )
