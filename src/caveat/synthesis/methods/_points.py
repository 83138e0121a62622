"""The points of a grid within its cells: round numbers first, then the number itself.

In a cell a degree of roundness r has the share (n_r + ½) / (n + R/2), and a point of it the share
(n_v + 1) / (n_r + G): n are the records of the whole column in the cell, R the degrees that have
points there, G the points of this one. So heaps at round numbers come back with their share, and a
number that only one person has is one among many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.grid import Grid
from caveat.synthesis.methods._checks import check_codes, check_numbers

__all__ = ["AT_DEGREE", "AT_POINT", "Points"]

AT_DEGREE = 0.5
AT_POINT = 1.0
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Points:
    """How often each point of a grid occurs.

    Parameters
    ----------
    grid
        The grid.
    points, weights
        The points that occur, rising, and the weight of their records.
    """

    grid: Grid
    points: Ints
    weights: Floats

    __repr__ = without_values

    @classmethod
    def of(cls, grid: Grid, values: Floats, weights: Floats) -> Points:
        """Count the points of values."""
        points, place = np.unique(grid.point_of(values), return_inverse=True)
        return cls(grid, points, np.bincount(place, weights, len(points)).astype(np.float64))

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {"grid": self.grid.state(), "points": self.points, "weights": self.weights}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Points:
        """Return the points from a file, or raise ValueError if they are none."""
        grid, points = Grid.from_state(state["grid"]), state["points"]
        check_numbers(state["weights"], points.shape, low=0.0)
        check_codes(points - grid.first, grid.n_points, rising=True)
        return cls(grid, points, state["weights"])

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Cell and roundness of the points that occur."""
        cells = np.searchsorted(self.grid.edges, self.points, "right") - 1
        return cells, self.grid.roundness_of(self.points)

    @cached_property
    def by_degree(self) -> Floats:
        """Weight of each cell (line) and roundness (column)."""
        counts = np.zeros(self.grid.points_in.shape)
        np.add.at(counts, self._places, self.weights)
        return counts

    @cached_property
    def _degree_shares(self) -> Floats:
        there = self.grid.points_in > 0
        shares = np.where(there, self.by_degree + AT_DEGREE, 0.0)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), AT_DEGREE))

    def log_prob(self, values: Floats) -> Floats:
        """Return the log probability of each value within its cell."""
        grid = self.grid
        points = grid.point_of(values)
        cells = np.searchsorted(grid.edges, points, "right") - 1
        degree = grid.roundness_of(points)
        place = np.clip(np.searchsorted(self.points, points), 0, max(len(self.points) - 1, 0))
        known = self.points[place] == points if len(self.points) else np.zeros(len(points), bool)
        weight = np.where(known, self.weights[place] if len(self.points) else 0.0, 0.0)
        size = self.by_degree[cells, degree] + AT_POINT * grid.points_in[cells, degree]
        with np.errstate(divide="ignore"):
            logs = np.log(self._degree_shares[cells, degree]) + np.log((weight + AT_POINT) / size)
        off = ~np.isclose(grid.values_of(points), values, rtol=0, atol=grid.step / 2)
        return np.where(off | grid.is_special(points), -np.inf, logs)

    def changes(
        self, released: Floats, gone: tuple[Floats, Floats], come: tuple[Floats, Floats]
    ) -> Floats:
        """Return what records that go and come do to the log probability of released values.

        ``gone`` and ``come`` are their numbers and weights, 0 for one that takes no part.
        """
        grid = self.grid
        held, times = np.unique(grid.point_of(released), return_counts=True)
        known = np.union1d(held, self.points)
        mine, theirs = np.zeros(len(known)), np.zeros(len(known))
        mine[np.searchsorted(known, self.points)] = self.weights
        theirs[np.searchsorted(known, held)] = times
        cells, degrees, _ = self._keys(known, known)
        points_in = grid.points_in.ravel().astype(np.float64)
        in_cell = np.bincount(cells, theirs, grid.n_cells)
        in_degree = np.bincount(degrees, theirs, len(points_in))
        of_cell, of_degree = self.by_degree.sum(axis=1), self.by_degree.ravel()
        rounds = (grid.points_in > 0).sum(axis=1) * AT_DEGREE
        keys = [self._keys(known, grid.point_of(numbers)) for numbers, _ in (gone, come)]
        # A share is a product of n_r + 1/2 and n_v + 1, divided by n + R/2 and n_r + G.
        levels = (
            (0, of_cell, rounds, in_cell, -1.0),
            (1, of_degree, np.full(len(of_degree), AT_DEGREE), in_degree, 1.0),
            (1, of_degree, AT_POINT * points_in, in_degree, -1.0),
            (2, mine, np.full(len(known), AT_POINT), theirs, 1.0),
        )
        total = np.zeros(len(gone[0]))
        for place, counts, extra, seen, sign in levels:
            sides = [(own[place], moved) for own, (_, moved) in zip(keys, (gone, come), strict=True)]
            total += sign * _log_changes(counts + extra, counts, seen, *sides)
        return total

    def _keys(self, known: Ints, points: Ints) -> tuple[Ints, Ints, Ints]:
        """Return cell, cell with roundness, and place among known points (-1 for others)."""
        cells = np.searchsorted(self.grid.edges, points, "right") - 1
        degrees = cells * len(self.grid.ladder) + self.grid.roundness_of(points)
        place = np.clip(np.searchsorted(known, points), 0, len(known) - 1)
        return cells, degrees, np.where(known[place] == points, place, -1)

    def draw(self, cells: Ints, rng: np.random.Generator) -> Floats:
        """Draw a value in each of these cells."""
        grid = self.grid
        if grid.n_cells == grid.n_points and not grid.special:
            return grid.values_of(grid.first + cells)
        upto = np.cumsum(self._degree_shares, axis=1)
        goal = rng.random(len(cells)) * upto[cells, -1]
        degree = (goal[:, None] >= upto[cells]).sum(axis=1)
        held = self.by_degree[cells, degree]
        spread = AT_POINT * grid.points_in[cells, degree]
        again = rng.random(len(cells)) * (held + spread) < held
        points = np.empty(len(cells), np.int64)
        points[again] = self._held(cells[again], degree[again], rng)
        points[~again] = self._any(cells[~again], degree[~again], rng)
        return grid.values_of(points)

    def _held(self, cells: Ints, degree: Ints, rng: np.random.Generator) -> Ints:
        """Draw among the points that occur, with their shares."""
        own_cells, own_degree = self._places
        order = np.lexsort((self.points, own_degree, own_cells))
        upto = np.cumsum(self.weights[order])
        group = own_cells[order] * len(self.grid.ladder) + own_degree[order]
        wanted = cells * len(self.grid.ladder) + degree
        start = np.searchsorted(group, wanted, "left")
        stop = np.searchsorted(group, wanted, "right")
        base = np.append(0.0, upto)[start]
        goal = base + rng.random(len(cells)) * (upto[stop - 1] - base)
        place = np.clip(np.searchsorted(upto, goal, "right"), start, stop - 1)
        return np.asarray(self.points[order][place])

    def _any(self, cells: Ints, degree: Ints, rng: np.random.Generator) -> Ints:
        """Draw evenly among all points of a roundness in a cell."""
        grid = self.grid
        step = grid.ladder[degree]
        low = -(-grid.edges[cells] // step)
        high = -(-grid.edges[cells + 1] // step)
        points: NDArray[Any] = np.zeros(len(cells), np.int64)
        left = np.arange(len(cells))
        while len(left):
            tried = rng.integers(low[left], high[left]) * step[left]
            points[left] = tried
            bad = (grid.roundness_of(tried) != degree[left]) | grid.is_special(tried)
            left = left[bad]
        return points


def _log_changes(
    terms: Floats, counts: Floats, seen: Floats, gone: tuple[Ints, Floats], come: tuple[Ints, Floats]
) -> Floats:
    """Return for each world the change of the sum of seen x log(term) when weights move."""
    (old, down), (new, up) = gone, come
    same = old == new
    total = np.zeros(len(old))
    for keys, weights in ((old, np.where(same, up, 0.0) - down), (new, np.where(same, 0.0, up))):
        used = (keys >= 0) & (weights != 0)
        place = keys[used]
        # a count that a weight takes away entirely is 0, whatever rounding leaves of it
        after = terms[place] - counts[place] + np.maximum(counts[place] + weights[used], 0.0)
        total[used] += seen[place] * (np.log(after) - np.log(terms[place]))
    return total
