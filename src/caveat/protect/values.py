"""Numbers in and out of columns of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table import Column, Kind, Table

__all__ = ["complete_matrix", "number_column", "numbers_of", "with_numbers"]

Floats = NDArray[np.float64]


def number_column(table: Table, name: str, what: str) -> Column:
    """Return a column of numbers, or say that the protection needs one."""
    column = table[name]
    if column.kind not in (Kind.NUMERIC, Kind.INTEGER):
        raise CaveatError(
            f"{what} needs numbers",
            column=name,
            do="leave it out or mend its kind",
            code="data.column.type",
        )
    return column


def numbers_of(column: Column) -> Floats:
    """Return the cells as numbers, NaN where they are missing."""
    return np.append(column.numbers, np.full(len(column.missing), np.nan))[column.codes]


def with_numbers(column: Column, numbers: Floats) -> Column:
    """Return a column with other numbers; cells that were missing stay missing as they are.

    Whole numbers stay whole: they are rounded, and the kind is kept.
    """
    ordinary = ~column.is_missing
    values = numbers[ordinary]
    if column.kind is Kind.INTEGER:
        values = np.round(values).astype(np.int64)
    declared = [m.code for m in column.missing if isinstance(m.code, int | float)]
    while (clash := np.isin(values, declared)).any():
        # A new number that equals a declared code would be read as missing.
        values[clash] = (
            values[clash] + 1 if values.dtype.kind == "i" else np.nextafter(values[clash], np.inf)
        )
    levels, codes = np.unique(values, return_inverse=True)
    out = column.codes.astype(np.int64) - len(column.levels) + len(levels)
    out[ordinary] = codes
    labels = {k: v for k, v in column.value_labels.items() if k in set(levels.tolist())}
    return replace(column, codes=out, levels=levels, value_labels=labels)


def complete_matrix(table: Table, names: Sequence[str], what: str) -> Floats:
    """Return columns of numbers as a matrix; a missing cell is an error."""
    if not names:
        raise CaveatError(
            f"{what} needs at least one column", do="name it", code="protection.column.absent"
        )
    columns = [number_column(table, name, what) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.is_missing.any():
            row = int(np.argmax(column.is_missing)) + 1
            raise CaveatError(
                f"{what} needs complete numbers",
                column=name,
                row=row,
                do="leave the column out, or fill its missing cells first",
                code="data.value.absent",
            )
    return np.stack([numbers_of(column) for column in columns], axis=1)
