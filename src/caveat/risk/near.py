"""Columns parted into what must be equal (categories, how a number is missing) and what is near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from caveat.errors import CaveatError
from caveat.nearest import Floats, Ints, Split
from caveat.table import Column, Table

__all__ = ["split"]


def split(table: Table, columns: Sequence[str], tolerance: Mapping[str, float]) -> Split:
    """Part the columns of a table; those with a tolerance must hold numbers."""
    equal, levels, numbers = [], [], []
    for name in columns:
        column = table[name]
        if name not in tolerance:
            equal.append(column.codes)
            levels.append(column.n_levels)
            continue
        if not column.kind.is_number:
            raise CaveatError(
                "a tolerance needs numbers",
                column=name,
                do="drop it or mend the kind",
                code="attack.tolerance.unsupported",
            )
        status, values = _number(column)
        if column.missing:
            equal.append(status)
            levels.append(1 + len(column.missing))
        numbers.append(values)
    matrix = np.stack(numbers, axis=1) if numbers else np.zeros((len(table), 0))
    if not equal:
        equal, levels = [np.zeros(len(table), np.uint8)], [1]
    return Split(equal, levels, matrix)


def _number(column: Column) -> tuple[Ints, Floats]:
    """Return the way a cell is missing (0 if it is not) and its number."""
    n = len(column.levels)
    status = np.concatenate([np.zeros(n, np.int64), 1 + np.arange(len(column.missing))])
    values = np.concatenate([column.numbers, np.zeros(len(column.missing))])
    return status[column.codes], values[column.codes]
