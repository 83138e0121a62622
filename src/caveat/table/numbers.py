"""What the numbers of a column look like."""

from __future__ import annotations

import numpy as np

from caveat.table.column import Column, Kind

__all__ = ["decimals_of"]

MOST_DECIMALS = 12


def decimals_of(column: Column) -> int:
    """Return how many decimal places the numbers of a column have."""
    if column.kind is not Kind.NUMERIC:
        return 0
    for places in range(MOST_DECIMALS):
        if np.array_equal(np.round(column.numbers, places), column.numbers):
            return places
    return 15
