"""The records in which columns of a wide table are compared, and their cells in a few codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis._pairs import BINS
from caveat.table import Column, Kind, Table
from caveat.table.align import recode_to

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = ["SAMPLED", "Bins", "Moved", "sampled", "with_sample"]

Ints = NDArray[np.int64]

SAMPLED = "\0sampled"
"""A column that says which records are compared, where records come and go."""

APART = 4  # codes of a number that are kept for ways to be missing and special values
SEED = 26  # of the sample of records: everybody can draw it


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns in at most 16 codes each, by their dictionaries and what is public about them.

    Parameters
    ----------
    columns
        The columns of the table that the choice was made for. Others may have more levels.
    entries
        Their plans.
    """

    columns: Mapping[str, Column]
    entries: Mapping[str, ColumnPlan]

    __repr__ = without_values

    def of(self, name: str, column: Column) -> NDArray[np.uint8]:
        """Return the code of each cell of a column."""
        entry, known = self.entries[name], self.columns[name]
        if known.kind.is_number and len(known.levels) > 1:
            codes = _number_bins(column, known, entry)
        else:
            codes = _class_bins(column, known)
        return codes.astype(np.uint8)[column.codes]


def _number_bins(column: Column, known: Column, entry: ColumnPlan) -> Ints:
    """Return the bin of each code of a number: cells of its range, or of its dictionary."""
    special = np.isin(column.levels, list(entry.special))
    n_apart = min(len(entry.special) + len(column.missing), APART)
    room = BINS - n_apart
    if entry.grid is not None:
        cells, n_cells = entry.grid.cell_of(column.numbers), entry.grid.n_cells
    else:
        places = np.searchsorted(known.numbers, column.numbers, "right") - 1
        cells, n_cells = np.maximum(places, 0), len(known.numbers)
    cells = cells * room // n_cells if n_cells > room else cells
    apart = np.concatenate([special, np.ones(len(column.missing), bool)])
    found = np.concatenate([cells, np.zeros(len(column.missing), np.int64)])
    found[apart] = np.minimum(room + np.arange(apart.sum()), BINS - 1)
    return found


def _class_bins(column: Column, known: Column) -> Ints:
    """Return the bin of each code of a class: itself, or its part of the dictionary."""
    codes: Ints = np.arange(column.n_levels)
    if not column.has_same_levels(known):
        every = column.with_codes(codes)
        codes = np.minimum(recode_to(every, known).astype(np.int64), known.n_levels - 1)
    if known.n_levels <= BINS:
        return codes
    n, room = len(known.levels), BINS - (len(known.missing) > 0)
    return np.where(codes < n, codes * room // max(n, 1), BINS - 1)


def with_sample(table: Table, rows: int) -> Table:
    """Return the table with a column that says which records are compared."""
    if SAMPLED in table:
        return table
    codes = sampled(table, rows).astype(np.uint8)
    return table.with_columns({SAMPLED: Column(codes, np.arange(2), Kind.INTEGER)})


def sampled(table: Table, rows: int) -> NDArray[np.bool_]:
    """Return which records are compared: as many at places that hang on their number alone."""
    if SAMPLED in table:
        return np.asarray(table[SAMPLED].codes == 1)
    if table.n_rows <= rows:
        return np.ones(table.n_rows, bool)
    mask = np.zeros(table.n_rows, bool)
    mask[np.random.default_rng(SEED).choice(table.n_rows, rows, replace=False)] = True
    return mask


@dataclass(frozen=True, eq=False)
class Moved:
    """Sampled records that go and come in some worlds.

    Parameters
    ----------
    codes
        A line for each, in bins.
    steps
        -1 for those that go, 1 for those that come.
    at
        Where those of each world begin, and their end.
    """

    codes: NDArray[np.uint8]
    steps: Ints
    at: Ints

    __repr__ = without_values

    @classmethod
    def none(cls, n_columns: int) -> Moved:
        """Return no world at all."""
        return cls(np.zeros((0, n_columns), np.uint8), np.zeros(0, np.int64), np.zeros(1, np.int64))
