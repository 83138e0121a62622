"""The fitted model of one column: kind first, then number, then smoothing and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.expressions import Expression
from caveat.synthesis.cells import Cells, without_unknown
from caveat.synthesis.coding import ORDINARY, Coding
from caveat.synthesis.methods import Fitted, Inputs, LeafModel, NumberModel, Target
from caveat.synthesis.methods._checks import check_codes, need
from caveat.synthesis.plan import WITHOUT_MODEL, ColumnPlan
from caveat.synthesis.smoothing import SMOOTHINGS, spread_out
from caveat.table import Kind
from caveat.table.align import recode_to

__all__ = ["ON_A_GRID", "ColumnModel"]

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
