"""Columns that follow from others: recomputed for each synthetic record, never drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.expressions import Expression
from caveat.synthesis.cells import Cells, whole_numbers
from caveat.synthesis.column_model import ColumnModel
from caveat.table import Column, Kind, Missing

__all__ = ["computed", "derive"]


def derive(model: ColumnModel, before: Mapping[str, Cells], n_rows: int) -> Cells:
    """Compute the cells of a derived column; where an input is missing the result is missing."""
    expression = Expression(model.entry.settings.formula)
    values = expression.evaluate({name: cells.column for name, cells in before.items()})
    made = computed(model.coding.column, np.broadcast_to(values, n_rows), model.decimals)
    return Cells(replace(model.coding, column=made), codes=made.codes)


def computed(column: Column, values: NDArray[Any], decimals: int) -> Column:
    """Return computed values, NaN where they are missing, as a column of the same kind."""
    values = values.astype(np.float64)
    n_rows = len(values)
    unknown = np.isnan(values) | np.isinf(values)
    if column.kind is Kind.BOOLEAN:
        # both levels, whichever of them the original has
        levels, codes = np.array([False, True]), np.where(unknown, 0, values != 0).astype(np.int64)
    else:
        known = np.asarray(np.where(unknown, 0.0, values), np.float64)
        rounded = np.round(known, decimals)
        if column.kind in (Kind.INTEGER, Kind.DATE, Kind.DATETIME):
            rounded = whole_numbers(rounded, column)
        levels, codes = np.unique(rounded[~unknown], return_inverse=True)
        codes, found = np.zeros(n_rows, dtype=np.int64), codes
        codes[~unknown] = found
        if column.kind is Kind.INTEGER:
            levels = levels.astype(np.int64)
        if column.levels.dtype.kind == "M":
            levels = levels.astype(np.int64).view(column.levels.dtype)
    missing = column.missing or ((Missing(),) if unknown.any() else ())
    # Any way to be missing will do; the first is the empty cell wherever there is one.
    codes[unknown] = len(levels)
    return replace(column, codes=codes, levels=levels, missing=missing)
