"""The cells of a synthetic column while a block of rows is being made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.coding import ORDINARY, Coding, Part
from caveat.synthesis.methods import Inputs
from caveat.table import Column, Kind
from caveat.table.align import common_levels

__all__ = ["Cells", "empty_inputs", "inputs_of", "whole_numbers", "without_unknown"]


# The largest whole number of 64 bits that floating point has, and the days of the calendar.
MOST_WHOLE = float(2**63 - 1024)
FIRST_DAY, LAST_DAY = -719_162.0, 2_932_896.0
TICKS = {"D": 1.0, "s": 86_400.0, "ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}


@dataclass(frozen=True)
class Cells:
    """Codes of the original dictionary, or numbers that need not be in it.

    Parameters
    ----------
    coding
        How the column is modelled.
    codes
        The codes, or None when there are numbers.
    kinds, numbers
        The kind of each cell and the number of the ordinary ones; None when there are codes.
    """

    coding: Coding
    codes: NDArray[Any] | None = None
    kinds: NDArray[Any] | None = None
    numbers: NDArray[np.float64] | None = None

    __repr__ = without_values

    @cached_property
    def parts(self) -> list[Part]:
        """The variables that these cells are for the columns that follow."""
        if self.codes is not None:
            return self.coding.parts(self.codes)
        assert self.numbers is not None
        kinds = np.zeros(len(self.numbers), np.uint8) if self.kinds is None else self.kinds
        return self.coding.parts_of_numbers(kinds, self.numbers)

    @cached_property
    def column(self) -> Column:
        """The cells as a column."""
        original = self.coding.column
        if self.codes is not None:
            return original.with_codes(self.codes)
        assert self.numbers is not None
        return _column_of_numbers(self.coding, self.kinds, self.numbers)

    def holds(self, code: int) -> NDArray[np.bool_]:
        """Return which cells have the value that a code of the dictionary stands for."""
        if self.codes is not None:
            return np.asarray(self.codes == code)
        assert self.numbers is not None
        kind = int(self.coding.kind_of[code])
        if kind != ORDINARY:
            return np.zeros(len(self.numbers), bool) if self.kinds is None else self.kinds == kind
        ordinary = True if self.kinds is None else self.kinds == ORDINARY
        return np.asarray(ordinary & (self.numbers == self.coding.column.numbers[code]))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells have a value that the coding knows."""
        if self.codes is not None:
            return np.asarray(self.codes < self.coding.column.n_levels)
        assert self.numbers is not None
        if self.kinds is None:
            return np.ones(len(self.numbers), bool)
        return np.asarray(self.kinds < self.coding.n_kinds)

    def equal(self, other: Cells) -> NDArray[np.bool_]:
        """Return which cells have the same value as those of others with the same coding."""
        if self.codes is not None and other.codes is not None:
            return np.asarray(self.codes == other.codes)
        ours, theirs = self.as_numbers(), other.as_numbers()
        same = ours.kinds is None or theirs.kinds is None or ours.kinds == theirs.kinds
        special = False if ours.kinds is None else ours.kinds != ORDINARY
        return np.asarray(same & (special | (ours.numbers == theirs.numbers)))

    def take(self, rows: NDArray[Any] | slice) -> Cells:
        """Return the cells of some rows."""
        codes, kinds, numbers = (
            None if held is None else held[rows] for held in (self.codes, self.kinds, self.numbers)
        )
        return replace(self, codes=codes, kinds=kinds, numbers=numbers)

    def as_numbers(self) -> Cells:
        """Return the same cells as kinds and numbers."""
        if self.codes is None:
            return self
        kinds = self.coding.kind_of[self.codes] if self.coding.two_step else None
        values = self.coding.numbers[self.coding.value_of[self.codes]]
        return Cells(self.coding, kinds=kinds, numbers=values)

    @classmethod
    def stack(cls, blocks: Sequence[Cells]) -> Cells:
        """Return the cells of several blocks under each other."""
        if all(block.codes is not None for block in blocks):
            coding = blocks[0].coding
            parts = [block.codes for block in blocks if block.codes is not None]
            if any(block.coding is not coding for block in blocks):
                # Blocks of a derived column have a dictionary each.
                columns = common_levels([block.column for block in blocks], "")
                coding, parts = replace(coding, column=columns[0]), [c.codes for c in columns]
            return Cells(coding, codes=np.concatenate(parts))
        blocks = [block.as_numbers() for block in blocks]
        numbers = np.concatenate([b.numbers for b in blocks if b.numbers is not None])
        kinds = [b.kinds for b in blocks if b.kinds is not None]
        return replace(blocks[0], kinds=np.concatenate(kinds) if kinds else None, numbers=numbers)


def _column_of_numbers(
    coding: Coding, kinds: NDArray[Any] | None, numbers: NDArray[np.float64]
) -> Column:
    """Return a column with a dictionary of its own for numbers that may be new."""
    original = coding.column
    ordinary = np.ones(len(numbers), dtype=bool) if kinds is None else kinds == ORDINARY
    # The special values that are no missing ones go back among the numbers.
    special = coding.special_numbers
    values = numbers.copy() if original.kind is Kind.NUMERIC else whole_numbers(numbers, original)
    if kinds is not None:
        for position, number in enumerate(special):
            values[kinds == 1 + position] = number
        ordinary |= (kinds > ORDINARY) & (kinds <= len(special))
    levels, codes = np.unique(values[ordinary], return_inverse=True)
    full = np.empty(len(numbers), dtype=np.int64)
    full[ordinary] = codes
    if kinds is not None:
        full[~ordinary] = len(levels) + kinds[~ordinary].astype(np.int64) - 1 - len(special)
    if original.kind is not Kind.NUMERIC:
        levels = levels.astype(np.int64)
    if original.levels.dtype.kind == "M":
        levels = levels.view(original.levels.dtype)
    return replace(original, codes=full, levels=levels)


def whole_numbers(numbers: NDArray[np.float64], original: Column) -> NDArray[np.float64]:
    """Return the nearest whole numbers that cells of an integer or a date can hold.

    A regression has no ends: what it draws may lie beyond the year 9999.
    """
    low, high = -MOST_WHOLE, MOST_WHOLE
    if original.levels.dtype.kind == "M":
        ticks = TICKS[np.datetime_data(original.levels.dtype)[0]]
        low, high = max(low, FIRST_DAY * ticks), min(high, LAST_DAY * ticks)
    return np.clip(np.rint(np.nan_to_num(numbers)), low, high)


def without_unknown(cells: Cells) -> Cells:
    """Return cells in which values that the model does not know stand for the first level.

    Their own probability is zero already; what follows only has to be computable.
    """
    if cells.codes is None:
        if cells.kinds is None:
            return cells
        return replace(cells, kinds=np.where(cells.kinds < cells.coding.n_kinds, cells.kinds, 0))
    return replace(
        cells, codes=np.where(cells.codes < cells.coding.column.n_levels, cells.codes, 0)
    )


def empty_inputs(codings: Mapping[str, Coding], names: Sequence[str]) -> Inputs:
    """Return the named columns as predictors without a row."""
    none = np.zeros(0, np.uint8)
    return inputs_of({name: Cells(codings[name], codes=none) for name in names}, names, 0)


def inputs_of(
    cells: Mapping[str, Cells], names: Sequence[str], n_rows: int, shared: Any = None
) -> Inputs:
    """Return the named columns as predictors: whole columns first, then numbers with their kinds.

    This is the order in which synthpop hands them to its trees; it decides ties.
    """
    whole = [cells[name].parts for name in names if len(cells[name].parts) == 1]
    split = [cells[name].parts for name in names if len(cells[name].parts) == 2]
    is_whole = bool(names) and len(cells[names[-1]].parts) == 1
    parts = tuple(part for parts in whole + split for part in parts)
    return Inputs(parts, n_rows, shared, len(whole) - 1 if is_whole else -1)
