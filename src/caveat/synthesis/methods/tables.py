"""Draws from cross-tables: whole, fitted to margins, nested, looked up, or published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.coding import ORDINARY, Grid, Part
from caveat.synthesis.methods.base import (
    Inputs,
    Settings,
    State,
    Target,
    check_codes,
    check_number,
    check_numbers,
    need,
)
from caveat.synthesis.methods.normal import training, weigh

__all__ = [
    "Ipf",
    "Lookup",
    "Margins",
    "Nested",
    "Saturated",
    "fit_block",
    "fit_joint",
    "margins_of",
]


MOST_NAMED = 2**62  # numbers of cells beyond this have no name in 64 bits


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
        if n_cells > MOST_NAMED:
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
        need(n_cells * target.n_levels <= MOST_NAMED, "more cells than have a name")
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


# -------------------------------------------------------------------------------------------------
# Cross-tabulation of a block of columns.


@dataclass(frozen=True)
class Saturated(Crosstab):
    """Shares within each cell of the columns of the block before this one.

    The pseudo-count is spread evenly over all cells of the block, so that over the whole block a
    cell with n of N records has the probability (n + alpha/C) / (N + alpha), where C is the number
    of cells. With ``proper`` the rows are bootstrapped before they are counted.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Count the cells."""
        rows = training(inputs, target, settings, rng)
        return cls.count(rows, target, settings.pseudo_count)


# -------------------------------------------------------------------------------------------------
# A factor, usually a long one, within the levels of another column.


@dataclass(frozen=True)
class Nested(Crosstab):
    """Shares within each level of the grouping column, whatever the other columns are.

    A group without training rows has the shares of all rows. With ``proper`` the rows are
    bootstrapped before they are counted.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Count the codes in each group."""
        return cls.count(training(inputs, target, settings, rng), target)


# -------------------------------------------------------------------------------------------------
# The value that goes with the predictors in the original: an age group from an age.


@dataclass(frozen=True)
class Lookup:
    """The most frequent code for each combination of the predictors.

    A combination that the original does not have takes the value of the nearest one in the order of
    the combinations, which for a single number is the nearest number.
    """

    makes_numbers: ClassVar[bool] = False

    keys: NDArray[np.int64]
    codes: NDArray[np.int64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls,
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Count which codes go with which combination."""
        del settings, rng
        chosen, codes, weights = target.training(inputs)
        keys, place = np.unique(cell_names(chosen), return_inverse=True)
        pairs, pair = np.unique(place * target.n_levels + codes, return_inverse=True)
        mass = np.bincount(pair, weights)
        # The last of each combination's pairs after sorting by mass is the most frequent one.
        order = np.lexsort((-pairs, mass, pairs // target.n_levels))
        last = np.append(np.diff(pairs[order] // target.n_levels) > 0, True)
        return cls(keys, pairs[order][last] % target.n_levels)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Look each row up."""
        del rng
        wanted = cell_names(inputs)
        right = np.clip(np.searchsorted(self.keys, wanted), 0, len(self.keys) - 1)
        left = np.maximum(right - 1, 0)
        nearer = np.abs(wanted - self.keys[left]) < np.abs(self.keys[right] - wanted)
        return np.asarray(self.codes[np.where(nearer, left, right)])

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return 0 where a code is the one that goes with its row, -inf elsewhere."""
        expected = self.draw(inputs, np.random.default_rng(0))
        return np.where(expected == codes, 0.0, -np.inf)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a code of the target for each combination."""
        del inputs  # names of combinations may be any number
        need(isinstance(self.keys, np.ndarray) and self.keys.dtype == np.int64, "no combinations")
        need(self.keys.ndim == 1 and len(self.keys), "no combinations")
        need(np.all(self.keys[1:] > self.keys[:-1]), "combinations that do not rise")
        check_codes(self.codes, target.n_levels, len(self.keys))

    def state(self) -> State:
        """Return the combinations and their codes."""
        return {"keys": self.keys, "codes": self.codes}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its arrays."""
        return cls(**state)


# -------------------------------------------------------------------------------------------------
# A block of columns whose joint distribution is fitted to chosen margins.
#
# Iterative proportional fitting needs the whole block at once: :func:`fit_block` gives the cells
# of the fitted joint distribution with their probabilities. These are a weighted table like any
# other, in which each column is then counted given those before it (:meth:`Ipf.of_cells`).


MOST_CELLS = 2**24
"""Largest joint table."""

TOLERANCE = 1e-12
"""The fit ends when no cell of a margin is further than this from its share of the records."""

ACCEPTED = 1e-6
"""A fit that has not got so near within the largest number of rounds is refused."""

MOST_ROUNDS = 2000


@dataclass(frozen=True)
class Ipf(Crosstab):
    """Shares of the fitted joint table, within each cell of the columns before this one."""

    __repr__ = without_values

    @classmethod
    def of_cells(cls, inputs: Inputs, target: Target) -> Self:
        """Return the model of a column from cells of the joint table, weighted by probability."""
        return cls.count(target.training(inputs), target)

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Refuse: a column of a block cannot be fitted alone, see :func:`fit_block`."""
        del inputs, target, settings, rng
        raise TypeError("use fit_block and of_cells")


def fit_block(
    codes: Sequence[NDArray[Any]],
    n_levels: Sequence[int],
    names: Sequence[str],
    margins: Sequence[Sequence[str]],
    weights: NDArray[np.float64] | None = None,
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Fit the joint distribution of a block to margins of its records.

    Among all distributions with these margins the fitted one is nearest to equal shares of all
    cells: it has no interactions that no margin asks for.

    Parameters
    ----------
    codes, n_levels, names
        The columns of the block.
    margins
        The margins to keep, each a list of names. Every column must be in one.
    weights
        Survey weights of the records; None when every record counts once.

    Returns
    -------
    codes, probabilities
        The cells that have a positive probability: one array per column, and the probabilities.

    Examples
    --------
    >>> sex, job = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    >>> cells, shares = fit_block([sex, job], [2, 2], ["sex", "job"], [["sex"], ["job"]])
    >>> cells[0].tolist(), cells[1].tolist(), shares.round(3).tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1], [0.375, 0.125, 0.375, 0.125])
    """
    axes = margins_of(names, margins)
    shape = tuple(int(n) for n in n_levels)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise CaveatError(
            f"the table of {', '.join(names)} has more than {MOST_CELLS:,} cells",
            do="take fewer columns into the block, or group levels",
            code="synthesis.table.too-large",
        )
    targets = [_margin(codes, shape, kept, weights) for kept in axes]
    joint = fit_joint(shape, axes, targets)
    places = np.nonzero(joint)
    return list(places), joint[places]


def margins_of(names: Sequence[str], margins: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return the margins of a block by the positions of their columns, or say what is wrong."""
    for margin in margins:
        for name in margin:
            if name not in names:
                raise CaveatError(
                    f"{name!r} is in a margin but not in the block",
                    where="synthesis, margins",
                    do=f"use columns with the method ipf: {', '.join(names)}",
                    entry=("margins",),
                    code="synthesis.margins.mismatch",
                )
    for name in names:
        if not any(name in margin for margin in margins):
            raise CaveatError(
                f"{name!r} is in no margin",
                where="synthesis, margins",
                do="add it to a margin, or add a margin of this column alone",
                entry=("margins",),
                code="synthesis.margins.absent",
            )
    axes = {tuple(sorted({names.index(name) for name in margin})) for margin in margins}
    # A margin within another one is kept with it.
    return sorted(a for a in axes if not any(set(a) < set(b) for b in axes))


def _margin(
    codes: Sequence[NDArray[Any]],
    shape: tuple[int, ...],
    kept: tuple[int, ...],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the shares of the records in a margin, shaped to stand against the joint table."""
    sizes = [shape[axis] for axis in kept]
    place = np.ravel_multi_index([codes[axis].astype(np.int64) for axis in kept], sizes)
    counts = np.bincount(place, weights, minlength=int(np.prod(sizes)))
    whole = [size if axis in kept else 1 for axis, size in enumerate(shape)]
    return np.asarray((counts / counts.sum()).reshape(whole))


def fit_joint(
    shape: tuple[int, ...],
    axes: Sequence[tuple[int, ...]],
    targets: Sequence[NDArray[np.float64]],
    *,
    agreeing: bool = True,
) -> NDArray[np.float64]:
    """Fit a joint table to shares of its margins.

    Parameters
    ----------
    shape
        The joint table.
    axes
        The axes of each margin.
    targets
        Its shares, shaped to stand against the joint table.
    agreeing
        Whether margins that cannot all be met are refused. If not, the fit ends where a round
        changes nothing; it is all zero where no cell has a share in every margin.
    """
    joint = np.full(shape, 1 / np.prod(shape))
    others = [tuple(a for a in range(len(shape)) if a not in kept) for kept in axes]
    for _ in range(MOST_ROUNDS):
        distance, before = 0.0, None if agreeing else joint.copy()
        for rest, target in zip(others, targets, strict=True):
            now = joint.sum(axis=rest, keepdims=True)
            distance = max(distance, float(np.abs(now - target).max()))
            joint *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if before is not None:
            # Shares of cells that another margin rules out are those of the cells that are left.
            joint /= max(joint.sum(), np.finfo(float).tiny)
            if np.abs(joint - before).max() <= TOLERANCE:
                break
        if distance <= TOLERANCE:
            break
    if agreeing and distance > ACCEPTED:
        raise CaveatError(
            f"the margins of the block are still {distance:.1g} off after {MOST_ROUNDS:,} rounds",
            where="synthesis, margins",
            do="group levels that are empty in a margin, or use saturated for the block",
            entry=("margins",),
            code="synthesis.margins.failed",
        )
    return joint


# -------------------------------------------------------------------------------------------------
# Draws from shares of tables: a cell given the cells of the columns that it hangs on.
#
# Nothing but shares of cells is known. A number is drawn as a cell of its range, and then evenly
# as a point of the cell.


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
