# mypy: disable-error-code="no-untyped-def"
"""Guarded trees: draws that do not hang on single records, and the points of their grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel
from caveat.showing import without_values
from caveat.synthesis.coding import Grid, Part
from caveat.synthesis.methods.base import (
    Fitted,
    Inputs,
    LeafModel,
    Method,
    NumberModel,
    Settings,
    State,
    Target,
    check_codes,
    check_number,
    check_numbers,
    need,
)
from caveat.table.table import count_codes
from caveat.tree.guarded import Candidates, Guard, GuardedTree, Response, Sample, grow_guarded

__all__ = ["GUARDS", "Guarded", "Stratified", "guard_of", "predictor_codes", "sample_of"]


MOST_WAITING = 128
"""Halves that wait while others are done: two for each halving of 2^63 points."""


@inner
def ceiling(a, b):
    return -((-a) // b)


@inner
def below(values, start, stop, limit):
    """Return the first place from start on whose value is not below the limit."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < limit:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def size(low, high, degree, ladder, apart, apart_at):
    """Return how many multiples from low up to high have exactly this roundness, special apart."""
    step = ladder[degree]
    n = high - low
    if degree + 1 < len(ladder):
        upper = ladder[degree + 1]
        n -= ceiling(high * step, upper) - ceiling(low * step, upper)
    first, last = apart_at[degree], apart_at[degree + 1]
    return n - (below(apart, first, last, high * step) - below(apart, first, last, low * step))


@inner
def weight(low, high, degree, ladder, points, upto, points_at):
    """Return the weight of the records between two multiples."""
    first, last = points_at[degree], points_at[degree + 1]
    step = ladder[degree]
    return (
        upto[below(points, first, last, high * step)] - upto[below(points, first, last, low * step)]
    )


@inner
def left_share(left, both, g_left, g, spread):
    """Return the share of the left half."""
    return (left + spread * g_left / g) / (both + spread)


@kernel
def log_points(values, cells, degrees, grid, held):
    """Return the log probability of each point, given its cell and roundness."""
    edges, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    logs = np.zeros(len(values))
    for i in range(len(values)):
        d = degrees[i]
        step = ladder[d]
        low, high = ceiling(edges[cells[i]], step), ceiling(edges[cells[i] + 1], step)
        while high - low > 1:
            middle = (low + high) // 2
            g = size(low, high, d, ladder, apart, apart_at)
            g_left = size(low, middle, d, ladder, apart, apart_at)
            both = weight(low, high, d, ladder, points, upto, points_at)
            left = weight(low, middle, d, ladder, points, upto, points_at)
            p = left_share(left, both, g_left, g, spread)
            if values[i] < middle * step:
                high = middle
            else:
                low = middle
                p = 1.0 - p
            if g_left < g and g_left > 0:
                logs[i] += math.log(p)
    return logs


@kernel
def draw_points(cells, degrees, numbers, grid, held):
    """Return a point for each cell and roundness, by one uniform number."""
    edges, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    drawn = np.zeros(len(cells), np.int64)
    for i in range(len(cells)):
        d, u = degrees[i], numbers[i]
        step = ladder[d]
        low, high = ceiling(edges[cells[i]], step), ceiling(edges[cells[i] + 1], step)
        while high - low > 1:
            middle = (low + high) // 2
            g = size(low, high, d, ladder, apart, apart_at)
            g_left = size(low, middle, d, ladder, apart, apart_at)
            if g_left == 0:
                low = middle
                continue
            if g_left == g:
                high = middle
                continue
            both = weight(low, high, d, ladder, points, upto, points_at)
            left = weight(low, middle, d, ladder, points, upto, points_at)
            p = left_share(left, both, g_left, g, spread)
            if u < p:
                high = middle
                u = u / p
            else:
                low = middle
                u = (u - p) / (1.0 - p)
        drawn[i] = low * step
    return drawn


@inner
def branch_change(branch, degree, weights, at, grid, held, released):
    """Return the change of the released points' log probability at one halving.

    ``weights`` of records move, those before ``at`` in the left half.
    """
    low, middle, high = branch
    _, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    theirs, seen, seen_at = released
    g = size(low, high, degree, ladder, apart, apart_at)
    g_left = size(low, middle, degree, ladder, apart, apart_at)
    if g_left == 0 or g_left == g:
        return 0.0
    z = weight(low, high, degree, ladder, theirs, seen, seen_at)
    z_left = weight(low, middle, degree, ladder, theirs, seen, seen_at)
    both = weight(low, high, degree, ladder, points, upto, points_at)
    left = weight(low, middle, degree, ladder, points, upto, points_at)
    p = left_share(left, both, g_left, g, spread)
    for j in range(len(weights)):
        both += weights[j]
        left += weights[j] if j < at else 0.0
    q = left_share(max(left, 0.0), max(both, 0.0), g_left, g, spread)
    return z_left * (math.log(q) - math.log(p)) + (z - z_left) * (math.log1p(-q) - math.log1p(-p))


@inner
def cell_change(values, weights, cell, degree, grid, held, released, waiting):
    """Return the change when records with rising values in one cell and roundness move."""
    step, change, n = grid[1][degree], 0.0, 1
    waiting[0] = ceiling(grid[0][cell], step), ceiling(grid[0][cell + 1], step), 0, len(values)
    while n > 0:
        n -= 1
        low, high, begin, end = waiting[n]
        if begin == end or high - low < 2:
            continue
        if weight(low, high, degree, grid[1], *released) == 0.0:
            continue
        middle, at = (low + high) // 2, begin
        while at < end and values[at] < middle * step:
            at += 1
        change += branch_change((low, middle, high), degree, weights[begin:end], at - begin, grid,
                                held, released)  # fmt: skip
        waiting[n] = middle, high, at, end
        waiting[n + 1] = low, middle, begin, at
        n += 2
    return change


@kernel
def changed_points(moves, n_worlds, grid, held, released):
    """Return for each world the change when records move.

    ``moves`` are worlds, cells, roundness, points and weights (negative if they go), in this order.
    """
    worlds, cells, degrees, values, weights = moves
    changes = np.zeros(n_worlds)
    waiting = np.empty((MOST_WAITING, 4), np.int64)
    begin = 0
    for j in range(1, len(worlds) + 1):
        together = j < len(worlds) and worlds[j] == worlds[begin]
        if together and cells[j] == cells[begin] and degrees[j] == degrees[begin]:
            continue
        changes[worlds[begin]] += cell_change(values[begin:j], weights[begin:j], cells[begin],
                                              degrees[begin], grid, held, released,
                                              waiting)  # fmt: skip
        begin = j
    return changes


# -------------------------------------------------------------------------------------------------
# The points of a grid within its cells: round numbers first, then the number itself.
#
# In a cell a degree of roundness r has the share (n_r + ½) / (n + R/2): n are the records of the
# whole column in the cell, R the degrees that have points there. A point of it is found by
# halving (see :mod:`caveat.synthesis.methods.guarded`). So heaps come back with their share,
# those at round numbers first of all, and a number that only one person has is one among many.


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


# -------------------------------------------------------------------------------------------------
# Guarded trees: draws that do not hang on single records.
#
# Nothing but counts comes from the data. A number is drawn as a cell of its declared range, then
# as a point within the cell.


GUARDS = {
    "light": Guard(temperature=0.5, smallest=90, backoff=3, floor=1),
    "standard": Guard(),
    "strong": Guard(temperature=2, smallest=220, backoff=10, floor=3),
}
"""The settings behind the three positions of the dial."""


@dataclass(frozen=True)
class Guarded:
    """A guarded tree, and for numbers the points within its cells."""

    tree: GuardedTree
    points: Points | None = None

    __repr__ = without_values

    @property
    def makes_numbers(self) -> bool:
        """Whether points of a grid are drawn."""
        return self.points is not None

    @property
    def log_structure(self) -> float:
        """The log probability that the data give this structure."""
        return self.tree.log_structure

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Draw the structure of the tree and count the records in it."""
        sample = sample_of(inputs, target)
        guard, found = guard_of(settings), candidates_of(inputs)
        tree = grow_guarded(sample, found, _response(target), guard, rng)
        return cls(tree, _points(target, sample, guard.backoff))

    def counted_on(self, inputs: Inputs, target: Target) -> Self:
        """Return the same structure with the counts, and the probability, of other records."""
        sample = sample_of(inputs, target)
        spread = 0.0 if self.points is None else self.points.spread
        points = _points(target, sample, spread)
        return replace(self, tree=self.tree.counted_on(sample), points=points)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a code for each row, or a number."""
        codes = self.tree.draw(predictor_codes(inputs), rng)
        return codes if self.points is None else self.points.draw(codes, rng)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log probability of each code."""
        need(self.points is None, "codes of a number")
        return self.tree.log_prob(predictor_codes(inputs), codes)

    def log_prob_of_numbers(
        self, inputs: Inputs, values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log probability of each number."""
        assert self.points is not None
        cells = self.points.grid.cell_of(values)
        return self.tree.log_prob(predictor_codes(inputs), cells) + self.points.log_prob(values)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a tree for these inputs and this target."""
        own, other = self.tree.candidates, candidates_of(inputs)
        need(np.array_equal(own.n_levels, other.n_levels), "other predictors")
        need(np.array_equal(own.ordered, other.ordered), "other predictors")
        need(self.tree.response == _response(target), "a tree for another response")
        need((None if self.points is None else self.points.grid) == target.grid, "another range")

    def state(self) -> State:
        """Return the arrays of the tree, and the points that occur."""
        points = None if self.points is None else self.points.state()
        return {"tree": self.tree.arrays(), "points": points}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its arrays."""
        points = None if state["points"] is None else Points.from_state(state["points"])
        return cls(GuardedTree.from_arrays(state["tree"]), points)


def _response(target: Target) -> Response:
    if target.grid is None:
        return Response(target.n_levels, has_order=target.ordered)
    return Response(target.grid.n_cells, is_number=True, has_order=True)


def _points(target: Target, sample: Sample, spread: float) -> Points | None:
    if target.grid is None:
        return None
    assert target.numbers is not None
    codes = target.codes if target.rows is None else target.codes[target.rows]
    if target.weights is None:  # whole numbers have one sum, in whatever order
        counts = count_codes(codes, target.n_levels).astype(np.float64)
        found = np.flatnonzero(counts)
        return Points.of(target.grid, target.numbers[found], counts[found], spread)
    return Points.of(target.grid, target.numbers[codes], sample.weights, spread)


def sample_of(inputs: Inputs, target: Target) -> Sample:
    """Return the records that take part, in codes that are public."""
    rows: Any = slice(None) if target.rows is None else target.rows
    codes = predictor_codes(inputs, rows)
    response = target.codes[rows]
    if target.grid is None:
        response = response.astype(np.int64)
    else:
        assert target.numbers is not None
        response = target.grid.cell_of(target.numbers)[response]
    weights = np.ones(len(response)) if target.weights is None else target.weights[rows]
    return Sample(codes, response, np.asarray(weights, np.float64))


def predictor_codes(
    inputs: Inputs, rows: slice | NDArray[np.int64] = slice(None)
) -> NDArray[np.uint16]:
    """Return the predictors of some rows in public codes, one line each."""
    n_rows = inputs.n_rows if isinstance(rows, slice) else len(rows)
    codes = np.empty((len(inputs.parts), n_rows), np.uint16)
    for line, part in zip(codes, inputs.parts, strict=True):
        line[:] = _public(part.take(rows))[0]
    return codes


def candidates_of(inputs: Inputs) -> Candidates:
    """Return the splits on these predictors."""
    empty = inputs.take(slice(0, 0))
    return Candidates([_public(p)[1] for p in empty.parts], [p.ordered for p in empty.parts])


def _public(part: Part) -> tuple[NDArray[np.uint16], int]:
    """Return the codes of a predictor, and how many there are: cells for numbers."""
    grid: Grid | None = part.grid
    if grid is None:
        return part.codes.astype(np.uint16), part.n_levels
    if part.exact is None and part.numbers is not None:
        return grid.cell_of(part.numbers).astype(np.uint16)[part.codes], grid.n_cells
    return grid.cell_of(part.values).astype(np.uint16), grid.n_cells


def guard_of(settings: Settings) -> Guard:
    """Return the numbers behind the dial, with those that the settings give themselves."""
    given = {
        name: getattr(settings, name)
        for name in ("temperature", "smallest", "backoff", "floor", "depth")
        if getattr(settings, name) is not None
    }
    return replace(GUARDS[settings.guard], **given)


# -------------------------------------------------------------------------------------------------
# One model for each level of a column.


def _inside(inputs: Inputs, target: Target, stratum: int) -> Target:
    """Return the target with the rows of one stratum."""
    rows = np.arange(inputs.n_rows) if target.rows is None else target.rows
    return replace(target, rows=rows[inputs.parts[inputs.last].codes[rows] == stratum])


@dataclass(frozen=True)
class Stratified:
    """Models by stratum; the last of the named columns says which stratum a row is in.

    A stratum without a training row of its own uses the model of all rows (stratum -1). Guarded
    trees have one for every level.
    """

    models: dict[int, Fitted]

    __repr__ = without_values

    @property
    def makes_numbers(self) -> bool:
        """Whether the models of the strata make numbers."""
        return next(iter(self.models.values())).makes_numbers

    @classmethod
    def fit(
        cls,
        method: type[Method],
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Fit one model of the given method in each stratum, and one for all rows."""
        if settings.method == "guarded":
            # Who is in the data must not decide which models there are.
            levels = range(inputs.parts[inputs.last].n_levels)
            parts = [_inside(inputs, target, stratum) for stratum in levels]
            fits = [method.fit(inputs, part, settings, rng) for part in parts]
            return cls(dict(enumerate(fits)))
        strata = inputs.parts[inputs.last].codes
        models: dict[int, Fitted] = {-1: method.fit(inputs, target, settings, rng)}
        for stratum in np.unique(strata if target.rows is None else strata[target.rows]).tolist():
            part = _inside(inputs, target, stratum)
            models[stratum] = method.fit(inputs, part, settings, rng)
        return cls(models)

    def counted_on(self, inputs: Inputs, target: Target) -> Self:
        """Return the same structures with the counts, and the probability, of other records."""
        return replace(
            self,
            models={
                stratum: cast(Guarded, model).counted_on(inputs, _inside(inputs, target, stratum))
                for stratum, model in self.models.items()
            },
        )

    @property
    def log_structure(self) -> float:
        """The log probability that the data give these structures."""
        return sum(getattr(model, "log_structure", 0.0) for model in self.models.values())

    def _by_stratum(self, inputs: Inputs) -> list[tuple[Fitted, NDArray[np.int64]]]:
        strata = inputs.parts[inputs.last].codes
        return [
            (
                self.models[stratum if stratum in self.models else -1],
                np.flatnonzero(strata == stratum),
            )
            for stratum in np.unique(strata).tolist()
        ]

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw each row from the model of its stratum."""
        drawn = np.zeros(inputs.n_rows, dtype=np.float64 if self.makes_numbers else np.int64)
        for model, rows in self._by_stratum(inputs):
            drawn[rows] = model.draw(inputs.take(rows), rng)
        return drawn

    def bandwidths(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return for each row the bandwidth in its leaf of the model of its stratum."""
        widths = np.zeros(inputs.n_rows)
        for model, rows in self._by_stratum(inputs):
            widths[rows] = cast(LeafModel, model).bandwidths(inputs.take(rows))
        return widths

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a model for all rows, and others for strata that there are."""
        need(inputs.parts, "no strata")
        levels = inputs.parts[inputs.last].n_levels
        need(max(self.models) < levels and min(self.models) >= -1, "a stratum that there is not")
        need(-1 in self.models or len(self.models) == levels, "no model of all rows")
        for model in self.models.values():
            model.check(inputs, target)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the log probability of each code in its stratum."""
        return self._each(inputs, lambda model, part, rows: model.log_prob(part, codes[rows]))

    def log_prob_of_numbers(
        self, inputs: Inputs, values: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the log probability of each number in its stratum."""
        return self._each(
            inputs,
            lambda model, part, rows: cast(NumberModel, model).log_prob_of_numbers(
                part, values[rows]
            ),
        )

    def _each(
        self,
        inputs: Inputs,
        log_prob: Callable[[Fitted, Inputs, NDArray[np.int64]], NDArray[np.float64] | None],
    ) -> NDArray[np.float64] | None:
        result = np.zeros(inputs.n_rows)
        for model, rows in self._by_stratum(inputs):
            part = log_prob(model, inputs.take(rows), rows)
            if part is None:
                return None
            result[rows] = part
        return result

    def state(self) -> State:
        """Return the states of all models."""
        return {str(stratum): model.state() for stratum, model in self.models.items()}

    @classmethod
    def from_state(cls, method: type[Method], state: State) -> Self:
        """Return the models of the given method from their states."""
        return cls({int(stratum): method.from_state(part) for stratum, part in state.items()})
