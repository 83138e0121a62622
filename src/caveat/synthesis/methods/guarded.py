"""Guarded trees: draws that do not hang on single records.

Nothing but counts comes from the data. A number is drawn as a cell of its declared range, then as
a point within the cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.coding import Part
from caveat.synthesis.grid import Grid
from caveat.synthesis.methods._checks import need
from caveat.synthesis.methods._points import Points
from caveat.synthesis.methods.base import Inputs, Settings, State, Target
from caveat.table.table import count_codes
from caveat.tree.guarded import Candidates, Guard, GuardedTree, Response, Sample, grow_guarded

__all__ = ["GUARDS", "Guarded", "guard_of", "predictor_codes", "sample_of"]

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
