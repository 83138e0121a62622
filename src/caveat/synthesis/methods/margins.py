"""Draws from shares of tables: a cell given the cells of the columns that it hangs on.

Nothing but shares of cells is known. A number is drawn as a cell of its range, and then evenly as
a point of the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.coding import ORDINARY, Part
from caveat.synthesis.grid import Grid
from caveat.synthesis.methods._checks import check_numbers, need
from caveat.synthesis.methods.base import Inputs, Settings, State, Target

__all__ = ["Margins"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Margins:
    """Shares of the cells of a column within each cell of its parents.

    Parameters
    ----------
    shares
        One line for each cell of the parents. A table of nothing but zeros draws nothing: every
        value is impossible.
    parents
        The number of cells of each parent.
    split
        How many of the parents, the last ones, are numbers in two steps.
    grid
        The points of a number; None for classes.
    """

    shares: Floats
    parents: tuple[int, ...] = ()
    split: int = 0
    grid: Grid | None = None

    __repr__ = without_values

    @property
    def makes_numbers(self) -> bool:
        """Whether points of a grid are drawn."""
        return self.grid is not None

    @classmethod
    def of_shares(cls, joint: NDArray[Any], split: int = 0, grid: Grid | None = None) -> Self:
        """Return the model from a table whose last axis is the column, the others its parents.

        Cells of the parents that the table has nothing in get the shares of the whole column.

        Examples
        --------
        >>> model = Margins.of_shares(np.array([[3.0, 1.0], [0.0, 0.0]]))
        >>> model.shares.tolist()
        [[0.75, 0.25], [0.75, 0.25]]
        """
        parents = tuple(int(n) for n in joint.shape[:-1])
        lines = np.asarray(joint, np.float64).reshape(-1, joint.shape[-1])
        totals = lines.sum(axis=1, keepdims=True)
        whole = lines.sum(axis=0)
        whole = whole / max(whole.sum(), np.finfo(float).tiny)
        shares = np.divide(lines, totals, out=np.tile(whole, (len(lines), 1)), where=totals > 0)
        return cls(shares, parents, split, grid)

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Refuse: shares come from tables, see :meth:`of_shares`."""
        del inputs, target, settings, rng
        raise TypeError("use of_shares")

    @cached_property
    def _cumulative(self) -> Floats:
        return np.cumsum(self.shares, axis=1)

    @cached_property
    def _points(self) -> Ints:
        """Number of points of each cell, special values apart."""
        assert self.grid is not None
        return np.asarray(self.grid.points_in.sum(axis=1))

    def _line(self, inputs: Inputs) -> Ints:
        """Return the cell of the parents of each row."""
        whole = len(inputs.parts) - 2 * self.split
        cells = [_cells(part) for part in inputs.parts[:whole]]
        for number, kind in zip(inputs.parts[whole::2], inputs.parts[whole + 1 :: 2], strict=True):
            assert number.grid is not None
            other = number.grid.n_cells + kind.codes.astype(np.int64) - 1
            cells.append(np.where(kind.codes == ORDINARY, _cells(number), other))
        line = np.zeros(inputs.n_rows, np.int64)
        for size, cell in zip(self.parents, cells, strict=True):
            line = line * size + cell
        return line

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a code for each row, or a number."""
        line = self._line(inputs)
        total = self._cumulative[line, -1]
        point = np.minimum(rng.random(inputs.n_rows) * total, np.nextafter(total, 0))
        low, high = np.zeros_like(line), np.full_like(line, self.shares.shape[1] - 1)
        while np.any(low < high):  # the first cell whose cumulative share lies above the point
            middle = (low + high) // 2
            beyond = self._cumulative[line, middle] <= point
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low if self.grid is None else self._numbers(low, rng)

    def _numbers(self, cells: Ints, rng: np.random.Generator) -> Floats:
        """Return an even draw among the points of each cell."""
        assert self.grid is not None
        n = self._points[cells]
        nth = np.minimum((rng.random(len(cells)) * n).astype(np.int64), n - 1)
        # Special values are no points: count the others.
        special = self.grid.special_points
        first = self.grid.edges[cells]
        rank = first - np.searchsorted(special, first) + nth
        after = np.searchsorted(special - np.arange(len(special)), rank, "right")
        return self.grid.values_of(rank + after)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> Floats:
        """Return the log probability of each code."""
        need(self.grid is None, "codes of a number")
        return self._log(inputs, codes)

    def _log(self, inputs: Inputs, cells: NDArray[Any]) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares[self._line(inputs), cells]))

    def log_prob_of_numbers(self, inputs: Inputs, values: Floats) -> Floats:
        """Return the log probability of each number."""
        grid = self.grid
        assert grid is not None
        points, cells = grid.point_of(values), grid.cell_of(values)
        off = ~np.isclose(grid.values_of(points), values, rtol=0, atol=grid.step / 2)
        impossible = off | grid.is_special(points)
        even = np.log(np.maximum(self._points, 1))[cells]
        return np.where(impossible, -np.inf, self._log(inputs, cells) - even)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need shares of the cells of this target for all cells of these inputs."""
        need(type(self.split) is int and 0 <= 2 * self.split <= len(inputs.parts), "other parents")
        need(self.parents == sizes_of(inputs.parts, self.split), "other parents")
        need(self.grid == target.grid, "another range")
        n = target.n_levels if self.grid is None else self.grid.n_cells
        lines = 1
        for size in self.parents:
            lines *= size
        check_numbers(self.shares, (lines, n), low=0.0)
        sums = self.shares.sum(axis=1)
        need(n and (np.allclose(sums, 1, rtol=0, atol=1e-9) or not sums.any()), "no shares")

    def state(self) -> State:
        """Return the shares and what they are shares of."""
        return {
            "shares": self.shares,
            "parents": list(self.parents),
            "split": self.split,
            "grid": None if self.grid is None else self.grid.state(),
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its shares."""
        grid = None if state["grid"] is None else Grid.from_state(state["grid"])
        return cls(state["shares"], tuple(state["parents"]), state["split"], grid)


def sizes_of(parts: Sequence[Part], split: int) -> tuple[int, ...]:
    """Return the number of cells of each parent."""
    whole = len(parts) - 2 * split
    sizes = [_n_cells(part) for part in parts[:whole]]
    pairs = zip(parts[whole::2], parts[whole + 1 :: 2], strict=True)
    return (*sizes, *(_n_cells(number) + kind.n_levels - 1 for number, kind in pairs))


def _n_cells(part: Part) -> int:
    return part.n_levels if part.grid is None else part.grid.n_cells


def _cells(part: Part) -> Ints:
    """Return the cell of each row."""
    if part.grid is None:
        return part.codes.astype(np.int64)
    if part.exact is None and part.numbers is not None:
        return np.asarray(part.grid.cell_of(part.numbers)[part.codes])
    return part.grid.cell_of(part.values)
