"""Records rebuilt from published tables, and how many of the guesses are right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from caveat.errors import CaveatError
from caveat.showing import without_values

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Figure:
    """One published number.

    Parameters
    ----------
    cells
        Which cells it is the sum of: for each attribute the value, or the values; attributes that
        are left out are summed over. ``{}`` is everybody.
    count
        The number.
    at_most
        Whether the sum may also be smaller: a figure for a larger group is a bound on a part of it.

    Examples
    --------
    >>> Figure({"race": "White"}, 44)
    Figure(cells={'race': 'White'}, count=44, at_most=False)
    """

    cells: Mapping[str, Any]
    count: int
    at_most: bool = False


class System(NamedTuple):
    """Published figures as sums of cells.

    Attributes
    ----------
    cells
        The combination of values of each cell.
    matrix
        One row per figure: 1 where it counts the cell. An array, or a scipy sparse one.
    counts
        The figures.
    at_most
        Which of them are bounds.
    """

    cells: tuple[tuple[Any, ...], ...]
    matrix: Any
    counts: Ints
    at_most: NDArray[np.bool_]


@dataclass(frozen=True)
class Reconstruction:
    """What the published figures leave open.

    Attributes
    ----------
    cells
        The combination of values of each cell.
    low, high
        The smallest and the largest count that each cell can have.
    solutions
        Blocks that agree with every figure, one row each, up to the cap.
    complete
        Whether these are all.
    """

    cells: tuple[tuple[Any, ...], ...]
    low: Ints
    high: Ints
    solutions: Ints
    complete: bool

    __repr__ = without_values

    @property
    def unique(self) -> bool:
        """Whether the figures leave one block only."""
        return bool((self.low == self.high).all())

    @property
    def certain(self) -> dict[tuple[Any, ...], int]:
        """Cells whose count follows from the figures and is not 0: records known to exist."""
        sure = (self.low == self.high) & (self.low > 0)
        return {self.cells[i]: int(self.low[i]) for i in np.flatnonzero(sure)}

    @property
    def certain_share(self) -> float:
        """Share of the records (the sum of the smallest counts) that exist in every solution."""
        total = int(self.solutions[0].sum())
        return float(self.low.sum() / total) if total else 1.0

    def records(self, solution: int = 0) -> list[tuple[Any, ...]]:
        """Return one solution as a list of records."""
        counts = self.solutions[solution]
        return [cell for cell, n in zip(self.cells, counts, strict=True) for _ in range(int(n))]


def reconstruct(
    attributes: Mapping[str, Sequence[Any]], figures: Sequence[Figure], *, most: int = 1000
) -> Reconstruction:
    """Rebuild a block from published figures.

    Parameters
    ----------
    attributes
        The values of each attribute; every combination is a cell.
    figures
        What is published. At least the total must follow from it.
    most
        Number of solutions listed at most.

    Examples
    --------
    >>> figures = [Figure({}, 3), Figure({"sex": "f"}, 1), Figure({"ill": "yes"}, 3)]
    >>> reconstruct({"sex": "fm", "ill": ["yes", "no"]}, figures).certain
    {('f', 'yes'): 1, ('m', 'yes'): 2}
    """
    if most < 1:
        raise CaveatError(
            "at least one solution must be listed", where="most", code="outputs.setting.range"
        )
    cells, matrix, counts, at_most = system(attributes, figures)
    low, high = _limits(matrix, counts, at_most)
    solutions = _search(matrix, counts, at_most, low, high, most + 1)
    return Reconstruction(cells, low, high, solutions[:most], len(solutions) <= most)


def system(attributes: Mapping[str, Sequence[Any]], figures: Sequence[Figure]) -> System:
    """Write what is published as sums of cells; what cannot be one is refused."""
    cells = tuple(product(*attributes.values()))
    matrix = np.array([_members(figure, attributes, cells) for figure in figures], np.int64)
    if not len(figures) or not matrix.any(axis=0).all():
        raise CaveatError(
            "some cells are in no figure, so their counts have no limit",
            do="add the total",
            code="outputs.total.absent",
        )
    counts = np.array([figure.count for figure in figures], np.int64)
    if (counts < 0).any():
        raise CaveatError(
            "a published count is negative",
            where=f"figure {np.argmin(counts) + 1}",
            code="outputs.value.range",
        )
    return System(cells, matrix, counts, np.array([figure.at_most for figure in figures]))


def random_matches(records: Sequence[Any]) -> float:
    """Return the share of records that a random pairing of equal records with names gets right.

    Among k records that look the same one is right on average, whatever k is: the share is the
    number of different records divided by the number of records.

    Examples
    --------
    >>> random_matches(["a", "a", "b", "c"])
    0.75
    """
    if not len(records):
        raise CaveatError("there is no record to match", code="data.table.empty")
    return len(set(records)) / len(records)


def _members(
    figure: Figure, attributes: Mapping[str, Sequence[Any]], cells: Sequence[tuple[Any, ...]]
) -> list[bool]:
    wanted: dict[str, set[Any]] = {}
    for name, values in figure.cells.items():
        if name not in attributes:
            raise CaveatError(
                f"a figure names an unknown attribute {name!r}", code="data.column.unknown"
            )
        given = {values} if isinstance(values, str) or np.isscalar(values) else set(values)
        if not given <= set(attributes[name]):
            raise CaveatError(
                "a figure names a value the attribute does not have",
                where=name,
                code="data.value.unknown",
            )
        wanted[name] = given
    names = list(attributes)
    return [
        all(
            value in wanted[name] for name, value in zip(names, cell, strict=True) if name in wanted
        )
        for cell in cells
    ]


def disagreement() -> CaveatError:
    """Say that the figures contradict each other."""
    return CaveatError(
        "no block agrees with all figures",
        do="check them; rounded or protected figures need not agree",
        code="outputs.table.conflict",
    )


def _limits(matrix: Ints, counts: Ints, at_most: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return the smallest and largest whole count of each cell, by integer programming."""
    constraint = LinearConstraint(matrix, np.where(at_most, 0, counts), counts)
    n = matrix.shape[1]
    limits = np.empty((2, n), np.int64)
    for cell in range(n):
        for row, sign in enumerate((1.0, -1.0)):
            aim = np.zeros(n)
            aim[cell] = sign
            found = milp(
                aim, constraints=constraint, integrality=np.ones(n), bounds=Bounds(0, np.inf)
            )
            if not found.success:
                raise disagreement()
            limits[row, cell] = round(sign * found.fun)
    return limits[0], limits[1]


def _search(
    matrix: Ints, counts: Ints, at_most: NDArray[np.bool_], low: Ints, high: Ints, most: int
) -> Ints:
    """List whole solutions within the limits, cell by cell, giving up on sums out of reach."""
    n = matrix.shape[1]
    open_cells = [int(c) for c in np.flatnonzero(low < high)]
    current = low.copy()
    # What the cells still to be decided can add to each figure, at least 0 and at most this.
    reach = np.zeros((len(open_cells) + 1, len(counts)), np.int64)
    for depth in range(len(open_cells) - 1, -1, -1):
        cell = open_cells[depth]
        reach[depth] = reach[depth + 1] + matrix[:, cell] * (high[cell] - low[cell])
    found: list[Ints] = []

    def descend(depth: int, left: Ints) -> None:
        if (left < 0).any() or (~at_most & (left > reach[depth])).any() or len(found) >= most:
            return
        if depth == len(open_cells):
            found.append(current.copy())
            return
        cell = open_cells[depth]
        for extra in range(int(high[cell] - low[cell]) + 1):
            current[cell] = low[cell] + extra
            descend(depth + 1, left - extra * matrix[:, cell])
        current[cell] = low[cell]

    descend(0, counts - matrix @ low)
    return np.array(found, np.int64).reshape(-1, n)


# -------------------------------------------------------------------------------------------------
# Guessed records beside the true ones: how many are right, which, and how many are invented.

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guessed blocks beside the true one: kinds of records, how often guessed, how often there.

    A *kind* is a combination of values (and of the block it lies in). All shares are of kinds,
    unless records are named.

    Parameters
    ----------
    blocks
        One row per guess: the count of each kind.
    truth
        The true counts.
    """

    blocks: Ints
    truth: Ints

    __repr__ = without_values

    @cached_property
    def frequency(self) -> Floats:
        """How many of each kind a guess has on average; kinds are ranked by it."""
        return np.asarray(self.blocks.mean(axis=0))

    @cached_property
    def confidence(self) -> Floats:
        """Share of the guesses that have each kind."""
        return np.asarray((self.blocks > 0).mean(axis=0))

    @property
    def agreement(self) -> float:
        """Share of the records that a guess has right on average, each counted once."""
        common = np.minimum(self.blocks, self.truth).sum(axis=1).mean()
        return float(common / self.truth.sum())

    @property
    def correlation(self) -> float | None:
        """Correlation of how often a kind is guessed and how many there are; None if constant."""
        some = (self.truth > 0) | (self.frequency > 0)
        guessed, there = self.frequency[some], self.truth[some]
        if np.ptp(guessed) == 0 or np.ptp(there) == 0:
            return None
        return float(np.corrcoef(guessed, there)[0, 1])

    @property
    def spurious(self) -> float:
        """Kinds that were guessed and do not exist, by the number that do: may exceed 1."""
        return float(((self.frequency > 0) & (self.truth == 0)).sum() / (self.truth > 0).sum())

    @property
    def missed(self) -> float:
        """Share of the kinds that exist and were never guessed."""
        exists = self.truth > 0
        return float(((self.frequency == 0) & exists).sum() / exists.sum())

    def precision(self, k: int, *, most: int | None = None) -> float:
        """Return the share of the k kinds guessed most often that exist.

        Parameters
        ----------
        k
            Number of kinds. Of kinds guessed equally often the expected share is counted.
        most
            Only kinds that so many records have at most count as found: 1 for uniques.
        """
        if not 1 <= k <= len(self.truth):
            raise CaveatError(
                f"there are {len(self.truth)} kinds", where="k", code="outputs.setting.range"
            )
        return float(self._found(k, most) / k)

    def recall(self, k: int, *, most: int | None = None) -> float | None:
        """Return the share of the existing kinds (of at most so many records) in the first k."""
        n = int(self._counts(most).sum())
        return float(self._found(k, most) / n) if n else None

    def _counts(self, most: int | None) -> NDArray[np.bool_]:
        limit = math.inf if most is None else most
        return np.asarray((self.truth > 0) & (self.truth <= limit))

    def _found(self, k: int, most: int | None) -> float:
        right = self._counts(most)
        last = np.sort(self.frequency)[::-1][k - 1]
        above, tied = self.frequency > last, self.frequency == last
        return float(right[above].sum() + (k - above.sum()) * right[tied].mean())

    def rare(self, r: int) -> float | None:
        """Return the share that r records have, of kinds met once to r times in all guesses.

        The certainty about rare records of Sánchez et al. (2024), Table 1; close to 0 by design.
        """
        met = self.blocks.sum(axis=0)
        some = (met > 0) & (met <= r)
        return float((self.truth[some] == r).mean()) if some.any() else None
