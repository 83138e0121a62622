"""The fitted model of one column, and the cells that it fills while a block of rows is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from caveat.expressions import Expression
from caveat.showing import without_values
from caveat.synthesis.coding import ORDINARY, SMOOTHINGS, Coding, Part, spread_out
from caveat.synthesis.methods import Fitted, Inputs, LeafModel, NumberModel, Target
from caveat.synthesis.methods.base import check_codes, need
from caveat.synthesis.options import WITHOUT_MODEL
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Column, Kind, Missing
from caveat.table.align import common_levels, recode_to

__all__ = [
    "ON_A_GRID",
    "Cells",
    "ColumnModel",
    "computed",
    "derive",
    "empty_inputs",
    "inputs_of",
    "whole_numbers",
    "without_unknown",
]


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


# -------------------------------------------------------------------------------------------------
# The fitted model of one column: kind first, then number, then smoothing and rules.


MOST_DECIMALS = 15
ON_A_GRID = ("guarded", "margins")
"""Methods that draw numbers as points of a grid."""

REDRAWS = 50  # tries to meet an order rule before the bound itself is taken


@dataclass(frozen=True)
class ColumnModel:
    """What is needed to draw a column and to say how probable a value is.

    Parameters
    ----------
    entry
        The plan of the column.
    coding
        How the column is modelled.
    kinds
        The model of the kinds of a two-step column, else None.
    values
        The model of the values; None where no original row takes part in it.
    fixed
        Conditions, and the code or the column whose value holds where they do.
    lower
        Columns that this one must not fall below.
    original
        The codes of the original, for columns that are copied or constant.
    decimals
        Decimal places of the numbers.
    counts
        How often each number occurs, for smoothing.
    """

    entry: ColumnPlan
    coding: Coding
    kinds: Fitted | None = None
    values: Fitted | None = None
    fixed: tuple[tuple[Expression, int | str], ...] = ()
    lower: tuple[str, ...] = ()
    original: NDArray[Any] | None = None
    decimals: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    __repr__ = without_values

    def check(self, inputs: Inputs, n_rows: int) -> None:
        """Raise ValueError unless the column can be drawn from such inputs.

        Parameters
        ----------
        inputs
            The predictors, without a row.
        n_rows
            Number of original records.
        """
        coding, method = self.coding, self.entry.settings.method
        need(type(self.decimals) is int and 0 <= self.decimals <= MOST_DECIMALS, "no decimals")
        length = {"copy": n_rows, "constant": 1}.get(method)
        if length is not None:
            check_codes(self.original, coding.column.n_levels, length)
        need((self.original is None) == (length is None), "cells against the method")
        if method in WITHOUT_MODEL:
            need(self.kinds is None and self.values is None, "a model against the method")
            check_codes(self.counts, 0, 0)
            return
        target = self._target()
        if method == "margins":
            check_codes(self.counts, 0, 0)  # nothing is known but shares
        else:
            check_codes(self.counts, n_rows + 1, target.n_levels)
            need((self.values is not None) <= self.counts.sum() <= n_rows, "counts of other rows")
        need((self.kinds is not None) == coding.two_step, "kinds against the dictionary")
        need(self.values is not None or coding.two_step, "no model")
        if self.kinds is not None:
            self.kinds.check(inputs, Target(target.codes, coding.n_kinds))
        if self.values is not None:
            self.values.check(inputs, target)

    def _target(self) -> Target:
        """Return the variable that the values are, without a row."""
        none, coding = np.zeros(0, np.uint8), self.coding
        if not coding.is_number:
            ordered = coding.column.kind is Kind.ORDERED
            return Target(none, coding.column.n_levels, ordered=ordered)
        numbers = coding.numbers
        return Target(none, len(numbers), numbers, True, decimals=self.decimals, grid=coding.grid)

    def draw(self, inputs: Inputs, before: Mapping[str, Cells], rng: np.random.Generator) -> Cells:
        """Draw the cells of a block of rows."""
        kinds = None if self.kinds is None else self.kinds.draw(inputs, rng)
        cells = self._values(inputs, kinds, rng)
        for name in self.lower:
            cells = self._not_below(cells, before[name], inputs, kinds, rng)
        for condition, wanted in self.fixed:
            holds = condition.holds({n: c.column for n, c in before.items()})
            if holds.any():
                other = self._wanted(wanted, before, inputs.n_rows)
                # A value that only the other column has is no value of this one.
                known = other.known
                cells = _choose(holds & known, without_unknown(other), cells)
        return cells

    def _values(
        self, inputs: Inputs, kinds: NDArray[Any] | None, rng: np.random.Generator
    ) -> Cells:
        if self.values is None:
            drawn = np.zeros(inputs.n_rows, dtype=np.int64)
        else:
            drawn = self.values.draw(inputs, rng)
        if self.makes_numbers:
            numbers = np.asarray(drawn, np.float64)
            if self.entry.settings.method not in ON_A_GRID:  # its points have their own decimals
                numbers = np.round(numbers, self.decimals)
            return Cells(self.coding, kinds=kinds, numbers=numbers)
        smoothing = self.entry.settings.smoothing
        if smoothing and self.coding.is_number and self.values is not None:
            numbers = self._smoothed(self.coding.numbers[drawn], inputs, smoothing, rng)
            return Cells(self.coding, kinds=kinds, numbers=np.round(numbers, self.decimals))
        return Cells(self.coding, codes=self.coding.join(kinds, drawn))

    def _smoothed(
        self, drawn: NDArray[np.float64], inputs: Inputs, how: str, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Move drawn numbers, so that they are not those of the donors."""
        used = self.counts > 0
        known, counts = self.coding.numbers[used], self.counts[used]
        if how == "density":
            widths = cast(LeafModel, self.values).bandwidths(inputs)
            return spread_out(drawn, widths, known[0], known[-1], rng)
        return SMOOTHINGS[how](drawn, known, counts, rng)

    def _not_below(
        self,
        cells: Cells,
        lower: Cells,
        inputs: Inputs,
        kinds: NDArray[Any] | None,
        rng: np.random.Generator,
    ) -> Cells:
        """Draw again where the order rule is broken; what stays broken gets the bound itself."""
        # NaN where there is no number, so that no comparison is true there
        bound = lower.column.cell_numbers
        for _ in range(REDRAWS):
            broken = cells.column.cell_numbers < bound
            if not broken.any():
                return cells
            again = self._values(inputs, kinds, rng)
            cells = _choose(broken, again, cells)
        broken = cells.column.cell_numbers < bound
        raised = cells.as_numbers()
        assert raised.numbers is not None
        return Cells(
            self.coding, kinds=raised.kinds, numbers=np.where(broken, bound, raised.numbers)
        )

    def _wanted(self, wanted: int | str, before: Mapping[str, Cells], n: int) -> Cells:
        """Return what a rule gives: a code in all rows, or the cells of another column."""
        if isinstance(wanted, int):
            return Cells(self.coding, codes=np.full(n, wanted))
        other = before[wanted].column
        if self.coding.is_number:
            kinds, numbers = self.coding.split(other)
            return Cells(self.coding, kinds=kinds, numbers=numbers)
        return Cells(self.coding, codes=recode_to(other, self.coding.column))

    @property
    def makes_numbers(self) -> bool:
        """Whether cells are drawn as numbers that need not be in the dictionary."""
        return self.values is not None and self.values.makes_numbers

    @property
    def log_structure(self) -> float:
        """Log probability of the structures that were drawn; 0 where nothing is."""
        fits = (self.kinds, self.values)
        return sum(getattr(fitted, "log_structure", 0.0) for fitted in fits)

    def log_prob(
        self, inputs: Inputs, cells: Cells, before: Mapping[str, Cells]
    ) -> NDArray[np.float64] | str:
        """Return the log probability of each cell, or the reason why there is none."""
        if self.entry.settings.smoothing and self.coding.is_number:
            return "smoothed numbers have a density, not a probability"
        if self.lower:
            return "drawing again until an order rule holds changes the probabilities"
        if cells.codes is None:
            result = self._log_prob_of_numbers(inputs, cells)
        else:
            known = cells.codes < self.coding.column.n_levels
            result = self._log_prob(inputs, np.where(known, cells.codes, 0))
            result = None if result is None else np.where(known, result, -np.inf)
        if result is None:
            return f"the method {self.entry.settings.method} gives no probability"
        for condition, wanted in self.fixed:
            holds = condition.holds({n: c.column for n, c in before.items()})
            if isinstance(wanted, int):
                met = cells.holds(wanted)
            else:
                other = self._wanted(wanted, before, inputs.n_rows)
                met, holds = cells.equal(other), holds & other.known
            result = np.where(holds, np.where(met, 0.0, -np.inf), result)
        return result

    def _log_prob_of_numbers(self, inputs: Inputs, cells: Cells) -> NDArray[np.float64] | None:
        """Return the log probability of cells that need not be in the dictionary."""
        assert cells.numbers is not None
        model = cast(NumberModel, self.values)
        values = model.log_prob_of_numbers(inputs, cells.numbers)
        if values is None or self.kinds is None or cells.kinds is None:
            return values
        possible = cells.kinds < self.coding.n_kinds
        kinds = np.where(possible, cells.kinds, ORDINARY)
        total = self.kinds.log_prob(inputs, kinds)
        ordinary = self.kinds.log_prob(inputs, np.full_like(kinds, ORDINARY))
        if total is None or ordinary is None:
            return None
        # A special value can also be a number that was drawn and happens to equal it.
        number = kinds <= len(self.coding.special)
        drawn = np.where(number, ordinary + values, -np.inf)
        result = np.where(kinds == ORDINARY, drawn, np.logaddexp(total, drawn))
        return np.where(possible, result, -np.inf)

    def _log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64] | None:
        if not self.coding.two_step:
            return None if self.values is None else self.values.log_prob(inputs, codes)
        assert self.kinds is not None
        kinds = self.coding.kind_of[codes]
        total = self.kinds.log_prob(inputs, kinds)
        ordinary = kinds == ORDINARY
        if total is None or not ordinary.any():
            return total
        if self.values is None:
            return np.where(ordinary, -np.inf, total)
        values = self.values.log_prob(inputs, self.coding.value_of[codes])
        return None if values is None else np.where(ordinary, total + values, total)


def _choose(mask: NDArray[np.bool_], yes: Cells, no: Cells) -> Cells:
    """Return cells of the one where the mask is true, of the other elsewhere."""
    if yes.codes is not None and no.codes is not None:
        return Cells(yes.coding, codes=np.where(mask, yes.codes, no.codes))
    yes, no = yes.as_numbers(), no.as_numbers()
    assert yes.numbers is not None
    assert no.numbers is not None
    kinds = None
    if yes.kinds is not None and no.kinds is not None:
        kinds = np.where(mask, yes.kinds, no.kinds)
    return Cells(yes.coding, kinds=kinds, numbers=np.where(mask, yes.numbers, no.numbers))


# -------------------------------------------------------------------------------------------------
# Columns that follow from others: recomputed for each synthetic record, never drawn.


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
