"""Private values: numbers that exactly one record of the original has, and rare levels.

Who knows such a value knows the person; a synthetic table that holds it has taken it from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from caveat.table.column import Column
from caveat.table.identifying import as_numbers
from caveat.table.rare import K, has_open_vocabulary, level_texts, rare_levels
from caveat.table.table import Table

__all__ = [
    "REMARKABLE",
    "PrivateNumbers",
    "chance_alone",
    "quantities",
    "remark_on",
    "share_alone",
]

# From this share of the released values on, it is said.
REMARKABLE = 0.05


def quantities(column: Column) -> Column | None:
    """Return a column of numbers or dates as such, None for others."""
    return column if column.kind.is_number else as_numbers(column)


def share_alone(column: Column) -> float:
    """Return the share of the records that have a number which nobody else has, or a rare level.

    Examples
    --------
    >>> share_alone(Table.from_frame({"pay": [800, 800, 950, 1200]})["pay"])
    0.5
    """
    numbers = quantities(column)
    if not len(column):
        return 0.0
    if numbers is None:
        return float(column.counts[: len(column.levels)][_rare(column)].sum() / len(column))
    return len(_alone(numbers)) / len(column)


def chance_alone(column: Column) -> float:
    """Return the share of other records of the same population that would count by chance.

    Each record is counted against all others: it counts if exactly one of them has its number, or
    if they have its level and few of them do.

    Examples
    --------
    >>> chance_alone(Table.from_frame({"pay": [800, 800, 950, 1200]})["pay"])
    0.5
    """
    if not len(column):
        return 0.0
    numbers = quantities(column)
    if numbers is not None:
        counts = numbers.counts[: len(numbers.levels)]
        return float(counts[counts == 2].sum() / len(column))
    counts = column.counts[: len(column.levels)]
    would = (counts > 1) & (counts <= K) & has_open_vocabulary(column)
    return 0.0 if column.closed else float(counts[would].sum() / len(column))


def _alone(numbers: Column) -> NDArray[np.float64]:
    alone: NDArray[np.float64] = numbers.numbers[numbers.counts[: len(numbers.levels)] == 1]
    return alone


def _rare(column: Column) -> NDArray[np.bool_]:
    """Return which levels of a column of texts few records have."""
    if not has_open_vocabulary(column):
        return np.zeros(len(column.levels), bool)
    return rare_levels(column)


class PrivateNumbers:
    """Counts the released values that exactly one original record has, and rare levels.

    Parameters
    ----------
    original
        The original table.
    names
        The released columns.

    Examples
    --------
    >>> original = Table.from_frame({"pay": [800, 800, 950, 1200], "town": ["A", "B", "B", "A"]})
    >>> count = PrivateNumbers(original, ["pay", "town"])
    >>> count.add(Table.from_frame({"pay": [800, 1200, 1200, 1200], "town": ["A", "C", "A", "C"]}))
    >>> count.shares
    {'pay': 0.75, 'town': 0.5}
    """

    def __init__(self, original: Table, names: Iterable[str]) -> None:
        found = {name: quantities(original[name]) for name in names if name in original}
        self.alone = {name: _alone(column) for name, column in found.items() if column is not None}
        rare = {n: level_texts(original[n])[_rare(original[n])] for n in found if found[n] is None}
        self.rare = {name: texts for name, texts in rare.items() if len(texts)}
        self.hits = dict.fromkeys((*self.alone, *self.rare), 0)
        self.rows = 0

    def add(self, released: Table) -> None:
        """Count the values of a released table, or of a block of it."""
        self.rows += released.n_rows
        for name, alone in self.alone.items():
            column = quantities(released[name])
            if column is None or not len(alone):
                continue
            private = np.isin(column.numbers, alone)
            self.hits[name] += int(column.counts[: len(column.levels)][private].sum())
        for name, texts in self.rare.items():
            private = np.isin(level_texts(released[name]), texts)
            self.hits[name] += int(released[name].counts[: len(private)][private].sum())

    @property
    def shares(self) -> dict[str, float]:
        """The share of the released values that belong to exactly one person, by column."""
        return {name: hits / max(self.rows, 1) for name, hits in self.hits.items()}


def remark_on(shares: Mapping[str, float]) -> str | None:
    """Return one sentence about the columns with many private numbers; None if there are none."""
    worst = sorted((n for n in shares if shares[n] >= REMARKABLE), key=lambda n: -shares[n])
    if not worst:
        return None
    which = ", ".join(f"{name} {100 * shares[name]:.0f} %" for name in worst)
    return (
        f"released numbers that exactly one original record has, or levels that fewer than {K} "
        f'have: {which}; round or smooth numbers (smoothing = "density" or "kernel"), pool levels'
    )
