"""A sparse cross-table of a target by the cells of its inputs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.methods._checks import check_codes, check_number, check_numbers, need
from caveat.synthesis.methods._design import weigh
from caveat.synthesis.methods.base import Inputs, State, Target

__all__ = ["Crosstab", "cell_names"]

MOST_CELLS = 2**62  # numbers of cells beyond this have no name in 64 bits


@dataclass(frozen=True)
class Crosstab:
    """Weights of the codes within each cell of the inputs that training rows fall into.

    The share of code v in a cell with total N is (n_v + a) / (N + a L), where a is the pseudo-count
    of a code and L the number of codes that have one. An input cell without training rows has the
    shares of all rows together if a = 0 (equal shares follow from the formula otherwise).

    Parameters
    ----------
    cells
        Names of the seen input cells, rising.
    offsets, codes, masses
        Cell i has ``codes[offsets[i]:offsets[i + 1]]``, rising, with these weights. One cell more
        at the end is for all others.
    support
        The codes that have a pseudo-count, rising.
    pseudo_count
        The pseudo-count of each of them.
    """

    makes_numbers: ClassVar[bool] = False

    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    codes: NDArray[np.int64]
    masses: NDArray[np.float64]
    support: NDArray[np.int64]
    pseudo_count: float

    __repr__ = without_values

    @classmethod
    def count(
        cls,
        training: tuple[Inputs, NDArray[Any], NDArray[np.float64]],
        target: Target,
        records: float = 0.0,
    ) -> Self:
        """Count training rows; so many pseudo-records are spread over all cells of the table.

        A class has a pseudo-count whether it was seen or not. A number has one only if it was seen:
        the dictionary of a column in two steps has a placeholder that is no value.
        """
        inputs, codes, weights = training
        counts = weights > 0
        inputs, codes, weights = inputs.take(counts), codes[counts], weights[counts]
        n_cells = number_of_cells(inputs) * target.n_levels
        if n_cells > MOST_CELLS:
            raise CaveatError(
                "the cross-table of this column and its predictors has more than 2^62 cells",
                do="use fewer columns, or cart",
                code="synthesis.table.too-large",
            )
        support = np.arange(target.n_levels) if target.numbers is None else np.unique(codes)
        n_cells = number_of_cells(inputs) * len(support)
        cells, group = np.unique(cell_names(inputs), return_inverse=True)
        joint = group.astype(np.int64) * target.n_levels + codes
        if not records:
            # the same rows once more, as the cell of all inputs that were never seen
            joint = np.append(joint, len(cells) * target.n_levels + codes.astype(np.int64))
            weights = np.append(weights, weights)
        entries, place = np.unique(joint, return_inverse=True)
        masses = weigh(place, weights, len(entries))
        offsets = np.searchsorted(entries, np.arange(len(cells) + 2) * target.n_levels)
        return cls(cells, offsets, entries % target.n_levels, masses, support, records / n_cells)

    @cached_property
    def _owners(self) -> NDArray[np.int64]:
        """Cell of each entry."""
        return np.repeat(np.arange(len(self.cells) + 1), np.diff(self.offsets))

    @cached_property
    def _totals(self) -> NDArray[np.float64]:
        return weigh(self._owners, self.masses, len(self.cells) + 1)

    def _find(self, inputs: Inputs) -> NDArray[np.int64]:
        names = cell_names(inputs)
        place = np.searchsorted(self.cells, names)
        found = self.cells[np.minimum(place, len(self.cells) - 1)] == names
        return np.where(found, place, len(self.cells))

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a code for each row; one uniform number decides a row."""
        cell = self._find(inputs)
        total = self._totals[cell]
        point = rng.random(inputs.n_rows) * (total + self.pseudo_count * len(self.support))
        before = np.append(0.0, np.cumsum(self.masses))
        first, last = self.offsets[cell], self.offsets[cell + 1] - 1
        place = np.searchsorted(before, before[first] + point, "right") - 1
        counted = self.codes[np.clip(place, np.minimum(first, last), last)]
        if not self.pseudo_count:
            return counted
        extra = ((point - total) / self.pseudo_count).astype(np.int64)
        spread = self.support[np.clip(extra, 0, len(self.support) - 1)]
        return np.where(point < total, counted, spread)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log share of each code in the cell of its row."""
        cell = self._find(inputs)
        n_levels = 1 + max(int(self.codes.max()), int(self.support[-1]), int(codes.max(initial=0)))
        names = self._owners * n_levels + self.codes
        wanted = cell * n_levels + codes
        place = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
        counts = np.where(names[place] == wanted, self.masses[place], 0.0)
        counts += self.pseudo_count * np.isin(codes, self.support)
        with np.errstate(divide="ignore"):
            return np.log(counts / (self._totals[cell] + self.pseudo_count * len(self.support)))

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need cells of these inputs, and for each of them weights of codes of this target."""
        n_cells = number_of_cells(inputs)
        need(n_cells * target.n_levels <= MOST_CELLS, "more cells than have a name")
        check_codes(self.cells, n_cells, rising=True)
        n = len(self.codes) if isinstance(self.codes, np.ndarray) else 0
        need(n and len(self.cells), "no cell")
        check_codes(self.offsets, n + 1, len(self.cells) + 2)
        lengths = np.diff(self.offsets)
        # Only the last cell, for inputs that were never seen, may have nothing but pseudo-counts.
        need(lengths[:-1].min() > 0 and lengths[-1] >= (not self.pseudo_count), "an empty cell")
        need(self.offsets[0] == 0 and self.offsets[-1] == n, "cells beyond the codes")
        check_codes(self.codes, target.n_levels)
        need(np.all(np.diff(self.codes)[np.diff(self._owners) == 0] > 0), "codes that do not rise")
        check_numbers(self.masses, n, low=0.0)
        need(np.all(self._totals[lengths > 0] > 0) and np.isfinite(self.masses.sum()), "no weights")
        check_codes(self.support, target.n_levels, rising=True)
        check_number(self.pseudo_count, low=0.0)
        need(len(self.support), "no code to spread pseudo-counts over")

    def state(self) -> State:
        """Return what a file has to hold."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the table that a file holds."""
        return cls(**state)


def number_of_cells(inputs: Inputs) -> int:
    """Return how many cells the inputs could form."""
    product = 1
    for part in inputs.parts:
        product *= part.n_levels
    return product


def cell_names(inputs: Inputs) -> NDArray[np.int64]:
    """Return one number per row that names the combination of its inputs."""
    names = np.zeros(inputs.n_rows, np.int64)
    for part in inputs.parts:
        names = names * part.n_levels + part.codes
    return names
