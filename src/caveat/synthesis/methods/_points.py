"""The points of a grid within its cells: round numbers first, then the number itself.

In a cell a degree of roundness r has the share (n_r + ½) / (n + R/2): n are the records of the
whole column in the cell, R the degrees that have points there. A point of it is found by halving
(see :mod:`caveat.synthesis.methods._halving`). So heaps come back with their share, those at round
numbers first of all, and a number that only one person has is one among many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.grid import Grid
from caveat.synthesis.methods._checks import check_codes, check_number, check_numbers, need
from caveat.synthesis.methods._halving import changed_points, draw_points, log_points

__all__ = ["AT_DEGREE", "Points"]

AT_DEGREE = 0.5
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Points:
    """How often each point of a grid occurs.

    Parameters
    ----------
    grid
        The grid.
    points, weights
        The points that occur, rising, and the weight of their records.
    spread
        Records' worth of an even spread at every halving.
    """

    grid: Grid
    points: Ints
    weights: Floats
    spread: float

    __repr__ = without_values

    @classmethod
    def of(cls, grid: Grid, values: Floats, weights: Floats, spread: float) -> Points:
        """Count the points of values."""
        points, place = np.unique(grid.point_of(values), return_inverse=True)
        counts = np.bincount(place, weights, len(points)).astype(np.float64)
        return cls(grid, points, counts, spread)

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "grid": self.grid.state(),
            "points": self.points,
            "weights": self.weights,
            "spread": self.spread,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Points:
        """Return the points from a file, or raise ValueError if they are none."""
        grid, points = Grid.from_state(state["grid"]), state["points"]
        check_numbers(state["weights"], points.shape, low=0.0)
        check_codes(points - grid.first, grid.n_points, rising=True)
        check_number(state["spread"], low=0.0)
        need(state["spread"] > 0, "no spread")
        return cls(grid, points, state["weights"], float(state["spread"]))

    @cached_property
    def by_degree(self) -> Floats:
        """Weight of each cell (line) and roundness (column)."""
        counts = np.zeros(self.grid.points_in.shape)
        np.add.at(counts, self._place(self.points), self.weights)
        return counts

    @cached_property
    def _degree_shares(self) -> Floats:
        there = self.grid.points_in > 0
        shares = np.where(there, self.by_degree + AT_DEGREE, 0.0)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), AT_DEGREE))

    @cached_property
    def _grid(self) -> tuple[Any, ...]:
        """What the kernels know of the grid: cells, round numbers, special values by roundness."""
        special = self._by_roundness(self.grid.special_points)
        return (self.grid.edges, self.grid.ladder, *special, self.spread)

    @cached_property
    def _held(self) -> Arrays:
        return self._weighed(self.points, self.weights)

    def _weighed(self, points: Ints, weights: Floats) -> Arrays:
        """Return points by roundness, their summed weights, and where each roundness begins."""
        order = np.argsort(self.grid.roundness_of(points), kind="stable")
        held, at = self._by_roundness(points)
        return held, np.append(0.0, np.cumsum(weights[order])), at

    def _by_roundness(self, points: Ints) -> tuple[Ints, Ints]:
        degrees = self.grid.roundness_of(points)
        order = np.argsort(degrees, kind="stable")
        return points[order], np.searchsorted(degrees[order], np.arange(len(self.grid.ladder) + 1))

    def log_prob(self, values: Floats) -> Floats:
        """Return the log probability of each value within its cell."""
        grid = self.grid
        points = grid.point_of(values)
        cells, degrees = self._place(points)
        special = grid.is_special(points)
        with np.errstate(divide="ignore"):
            logs = np.log(self._degree_shares[cells, degrees])
        logs = logs + log_points(points, cells, degrees, self._grid, self._held)
        off = ~np.isclose(grid.values_of(points), values, rtol=0, atol=grid.step / 2)
        return np.where(off | special, -np.inf, logs)

    def _place(self, points: Ints) -> tuple[Ints, Ints]:
        """Return cell and roundness of each point."""
        cells = np.searchsorted(self.grid.edges, points, "right") - 1
        return cells, self.grid.roundness_of(points)

    def changes(
        self, released: Floats, gone: tuple[Floats, Floats], come: tuple[Floats, Floats]
    ) -> Floats:
        """Return what records that go and come do to the log probability of released values.

        ``gone`` and ``come`` are their numbers and weights, 0 for one that takes no part.
        """
        grid = self.grid
        theirs, times = np.unique(grid.point_of(released), return_counts=True)
        seen = np.zeros(grid.points_in.shape)
        np.add.at(seen, self._place(theirs), times)
        sides = []
        for numbers, weights in (gone, come):
            points = grid.point_of(numbers)
            sides.append((points, *self._place(points), weights))
        changed = changed_points(
            *sides, self._grid, self._held, self._weighed(theirs, times.astype(np.float64))
        )
        # The share of a degree is n_r + 1/2, divided by n + R/2.
        rounds = (grid.points_in > 0).sum(axis=1) * AT_DEGREE
        levels = (
            ([s[1] for s in sides], self.by_degree.sum(axis=1), rounds, seen.sum(axis=1), -1.0),
            ([s[1] * len(grid.ladder) + s[2] for s in sides], self.by_degree.ravel(),
             np.full(seen.size, AT_DEGREE), seen.ravel(), 1.0),
        )  # fmt: skip
        for (old, new), counts, extra, times_seen, sign in levels:
            moved = (old, gone[1]), (new, come[1])
            changed = changed + sign * _log_changes(counts + extra, counts, times_seen, *moved)
        return np.asarray(changed)

    def draw(self, cells: Ints, rng: np.random.Generator) -> Floats:
        """Draw a value in each of these cells."""
        grid = self.grid
        if grid.n_cells == grid.n_points and not grid.special:
            return grid.values_of(grid.first + cells)
        upto = np.cumsum(self._degree_shares, axis=1)
        goal = rng.random(len(cells)) * upto[cells, -1]
        degree = (goal[:, None] >= upto[cells]).sum(axis=1)
        points = draw_points(cells, degree, rng.random(len(cells)), self._grid, self._held)
        return grid.values_of(points)


def _log_changes(
    terms: Floats,
    counts: Floats,
    seen: Floats,
    gone: tuple[Ints, Floats],
    come: tuple[Ints, Floats],
) -> Floats:
    """Return for each world the change of the sum of seen x log(term) when weights move."""
    (old, down), (new, up) = gone, come
    same = old == new
    total = np.zeros(len(old))
    for keys, weights in ((old, np.where(same, up, 0.0) - down), (new, np.where(same, 0.0, up))):
        used = weights != 0
        place = keys[used]
        # a count that a weight takes away entirely is 0, whatever rounding leaves of it
        after = terms[place] - counts[place] + np.maximum(counts[place] + weights[used], 0.0)
        total[used] += seen[place] * (np.log(after) - np.log(terms[place]))
    return total
