"""The values of a column that occur, as the judgement of identifying columns counts them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.table.column import Column

__all__ = ["GROUP_SHARE", "HALF", "LEAST_ROWS", "LOOKED_AT", "MANY", "NEARLY_ALL", "Values"]

# Shorter tables say nothing about the form of values: in six rows all is distinct.
LEAST_ROWS = 20
# More levels than this are many.
MANY = 20
# A value with more than this share of the rows, and more rows than that, says "none" or "unknown".
HEAP_SHARE, HEAP_ROWS = 0.05, 5
# Nearly every record has a value of its own: among numbers, among texts and dates.
NEARLY_ALL, HALF = 0.9, 0.5
# Keys of groups have at least this share of distinct values.
GROUP_SHARE = 0.1
# Levels that are looked at when there are very many.
LOOKED_AT = 2000


@dataclass(frozen=True)
class Values:
    """The values of a column that occur."""

    column: Column
    name: str
    __repr__ = without_values

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each level occurs that does."""
        counts = self.column.counts[: len(self.column.levels)]
        return counts[counts > 0]

    @cached_property
    def levels(self) -> NDArray[Any]:
        """The ordinary levels that occur."""
        used = self.column.counts[: len(self.column.levels)] > 0
        return self.column.levels if used.all() else self.column.levels[used]

    @property
    def rows(self) -> int:
        """Number of records that have a value."""
        return int(self.counts.sum())

    @cached_property
    def rest(self) -> NDArray[np.bool_]:
        """The levels that do not say "none", "unknown" or 0 for many records at once."""
        return self.counts <= max(HEAP_SHARE * self.rows, HEAP_ROWS)

    @cached_property
    def n(self) -> int:
        """How many such levels there are."""
        return int(self.rest.sum())

    @cached_property
    def rest_rows(self) -> int:
        """Number of records that have one of them."""
        return int(self.counts[self.rest].sum())

    def at_least(self, share: float) -> bool:
        """Whether the number of such levels is this share of their rows."""
        return self.n >= share * self.rest_rows

    @cached_property
    def some(self) -> NDArray[Any]:
        """Levels to look at: all, or evenly spread ones."""
        return self.levels[:: max(1, len(self.levels) // LOOKED_AT)]

    @property
    def different(self) -> str:
        """How many values differ, in words."""
        if self.n == self.rows:
            return f"all {self.rows:,} values are different"
        return f"{self.n:,} different values in {self.rest_rows:,} rows"
