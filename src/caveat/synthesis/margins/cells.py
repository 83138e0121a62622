"""The cells of a column in a table of counts: its levels, or for numbers the cells of the grid.

A number that is modelled in two steps has one cell more for each way to be missing and for each
special value: the cells of the grid come first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.coding import ORDINARY, Coding
from caveat.table import Table

__all__ = ["cells_of", "lookup_of", "n_cells_of", "ordinary_of"]

Ints = NDArray[np.int64]


def ordinary_of(coding: Coding) -> int:
    """Return the number of cells that are ordinary values."""
    return coding.column.n_levels if coding.grid is None else coding.grid.n_cells


def n_cells_of(coding: Coding) -> int:
    """Return the number of cells of a column."""
    return ordinary_of(coding) + (coding.n_kinds - 1 if coding.two_step else 0)


def lookup_of(coding: Coding) -> Ints:
    """Return the cell of each code of a column."""
    column, grid = coding.column, coding.grid
    if grid is None:
        return np.arange(column.n_levels)
    numbers = np.append(column.numbers, np.zeros(len(column.missing)))
    cells = grid.cell_of(numbers)
    if not coding.two_step:
        return cells
    kinds = coding.kind_of.astype(np.int64)
    return np.where(kinds == ORDINARY, cells, grid.n_cells + kinds - 1)


def cells_of(codings: Mapping[str, Coding], table: Table) -> dict[str, Ints]:
    """Return the cell of each row in each of the columns."""
    return {name: lookup_of(coding)[table[name].codes] for name, coding in codings.items()}
