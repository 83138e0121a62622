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
        self, released: Floats, worlds: Ints, numbers: Floats, weights: Floats, n_worlds: int
    ) -> Floats:
        """Return for each world what records do to the log probability of released values.

        ``worlds``, ``numbers`` and ``weights``, negative if they go, are those of the records.
        """
        grid = self.grid
        theirs, times = np.unique(grid.point_of(released), return_counts=True)
        seen = np.zeros(grid.points_in.shape)
        np.add.at(seen, self._place(theirs), times)
        points = grid.point_of(numbers)
        cells, degrees = self._place(points)
        order = np.lexsort((points, degrees, cells, worlds))
        moves = tuple(part[order] for part in (worlds, cells, degrees, points, weights))
        their_weights = self._weighed(theirs, times.astype(np.float64))
        changed = changed_points(moves, n_worlds, self._grid, self._held, their_weights)
        # The share of a degree is n_r + 1/2, divided by n + R/2.
        rounds = (grid.points_in > 0).sum(axis=1) * AT_DEGREE
        levels = (
            (cells, self.by_degree.sum(axis=1), rounds, seen.sum(axis=1), -1.0),
            (cells * len(grid.ladder) + degrees, self.by_degree.ravel(),
             np.full(seen.size, AT_DEGREE), seen.ravel(), 1.0),
        )  # fmt: skip
        for keys, counts, extra, times_seen, sign in levels:
            moved = worlds, keys, weights
            changed = changed + sign * _log_changes(counts, extra, times_seen, moved, n_worlds)
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
    counts: Floats, extra: Floats, seen: Floats, moved: tuple[Ints, Ints, Floats], n_worlds: int
) -> Floats:
    """Return for each world the change of the sum of seen x log(count + extra)."""
    worlds, keys, weights = moved
    pairs, place = np.unique(worlds * len(counts) + keys, return_inverse=True)
    world, key = np.divmod(pairs, len(counts))
    # a count that weights take away entirely is 0, whatever rounding leaves of it
    after = np.maximum(counts[key] + np.bincount(place, weights, len(pairs)), 0.0)
    logs = np.log(after + extra[key]) - np.log(counts[key] + extra[key])
    return np.asarray(np.bincount(world, seen[key] * logs, n_worlds), np.float64)
