"""Whether two tables can be about the same things: how much of a column they have in common.

Measured against the wrong file, every risk is zero. What two tables must share is judged on the
rows of the synthetic one: a release may lack values of the original, and may be short, but what it
holds should occur there. Values of categories must be the same. Numbers and dates need only lie in
the range of the original, since smoothing and noise make new ones; whole numbers that repeat in
both tables are codes, and must be the same again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.column import Column, Kind
from caveat.table.table import Table

__all__ = ["RIGHT_FILE", "chance_of_nothing", "common_share", "doubt", "refuse_other_table",
           "refuse_strangers"]  # fmt: skip

# With less than this share in common, the tables hardly belong together.
ENOUGH = 0.5
RIGHT_FILE = "is it the right file?"
"""How every doubt ends."""
# Nothing in common is no sign of a wrong file where it happens by chance so often,
CHANCE = 0.01
# for a release only where so few cells have a value: what it holds comes from the original.
FEW = 20
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


def chance_of_nothing(ours: Column, theirs: Column) -> float:
    """Return how probable it is that two samples of the same people have no value in common.

    The values of both are shared out at random again. No number of theirs lies within the range of
    ours where ours follow each other in the order of all; no class is in both where all its cells
    are on one side.

    Examples
    --------
    >>> both = Table.from_frame({"x": ["a", "a", "b", None], "y": [1.5, 2.5, 3.5, None]})
    >>> chances = [chance_of_nothing(both[n].take([0, 1]), both[n].take([2, 3])) for n in "xy"]
    >>> [round(chance, 6) for chance in chances]  # 5/9 and 2/3
    [0.555556, 0.666667]
    """
    n = len(ours.levels)
    o, s = ours.counts[:n], theirs.counts[:n]
    many, others = int(o.sum()), int(s.sum())
    if not many or not others:
        return 1.0
    if ours.kind.is_number and not _are_codes(ours, o, s):
        ways = math.lgamma(many + others + 1) - math.lgamma(many + 1) - math.lgamma(others + 1)
        return math.exp(math.log(others + 1) - ways)
    share = many / (many + others)
    return float(np.prod(share ** (o + s) + (1 - share) ** (o + s), where=o + s > 0))


def refuse_strangers(
    original: Table, copies: Sequence[Table], names: Sequence[str], control: Table | None = None
) -> None:
    """Refuse a table that has no value of a column in common with the original.

    Where few people have a value at all, or all values differ, that happens by chance, and is no
    reason to refuse the table.

    Parameters
    ----------
    original, copies, control
        Tables on the same levels.
    names
        The columns that a measure rests on, such as keys and targets.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"]})
    >>> refuse_strangers(people, [people], ["sex"])
    """
    for position, table in enumerate((*copies, *([] if control is None else [control])), 1):
        for name in names:
            ours, theirs = original[name], table[name]
            few = position > len(copies) or min(map(_n_ordinary, (ours, theirs))) < FEW
            if common_share(ours, theirs) or (few and chance_of_nothing(ours, theirs) >= CHANCE):
                continue
            raise CaveatError(
                f"table {position} of those compared has no value in common with the original",
                column=name,
                do="check that both are the right files, or leave the column out",
                code="data.value.mismatch",
            )


def _n_ordinary(column: Column) -> int:
    return int(column.counts[: len(column.levels)].sum())


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
                code="data.table.mismatch",
            )
