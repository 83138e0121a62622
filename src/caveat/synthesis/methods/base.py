"""What a method sees and what it has to give, and how a model from a file is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.synthesis.coding import Grid, Part
from caveat.tree import Predictors

__all__ = ["Fitted", "Inputs", "LeafModel", "Method", "NumberModel", "Settings", "State", "Target"]


State = dict[str, Any]
"""Arrays, numbers, texts and nested states: what can be written to a model file."""


@dataclass(frozen=True)
class Settings:
    """How one column is modelled.

    Parameters
    ----------
    method
        Name of the method.
    minbucket, minsplit, cp, max_depth
        Smallest leaf, smallest node that is split (None: three leaves), complexity and depth of
        trees.
    prune
        Whether splits that do not pay for themselves at `cp` are cut away again, as rpart and
        synthpop do; if not, `cp` plays no part.
    smoothing
        How drawn numbers are smoothed: "", "kernel" (one bandwidth for the column), "density" (one
        for each leaf) or "spline".
    proper
        Whether the parameters are drawn too: a bootstrap of the rows before the fit, or a draw
        from their distribution where the method has one.
    trees
        Number of trees of a forest.
    within
        The column whose levels group this one (nested).
    margins
        The margins that a block keeps (ipf) or is made from (margins): tuples of column names.
    pseudo_count
        Number of records spread evenly over all cells of a block (saturated).
    formula
        The expression of a derived column.
    guard
        How strongly guarded trees hide single records: "light", "standard" or "strong".
    temperature, smallest, backoff, floor, depth
        Numbers of guarded trees in place of those behind the dial; see
        :class:`caveat.tree.guarded.Guard`.
    """

    method: str = "guarded"
    minbucket: int = 5
    minsplit: int | None = None
    cp: float = 1e-8
    prune: bool = True
    max_depth: int = 30
    smoothing: str = ""
    proper: bool = False
    trees: int = 10
    within: str = ""
    margins: tuple[tuple[str, ...], ...] = ()
    pseudo_count: float = 0.0
    formula: str = ""
    guard: str = "standard"
    temperature: float | None = None
    smallest: float | None = None
    backoff: float | None = None
    floor: float | None = None
    depth: int | None = None


@dataclass(frozen=True)
class Inputs:
    """The predictors of a column, row by row.

    Parameters
    ----------
    parts
        The variables, in the order in which trees try them.
    n_rows
        Number of rows.
    shared
        The same variables as the tree engine stores them, when somebody has them already.
    last
        Which of the variables is the last of the named columns: with strata, the stratum.
    """

    parts: tuple[Part, ...]
    n_rows: int
    shared: Predictors | None = field(default=None, compare=False)
    last: int = -1

    __repr__ = without_values

    @cached_property
    def predictors(self) -> Predictors:
        """The variables for the tree engine."""
        if self.shared is not None:
            return self.shared
        return Predictors(
            [part.codes for part in self.parts] or [np.zeros(self.n_rows, np.uint8)],
            [part.n_levels for part in self.parts] or [1],
            [part.ordered for part in self.parts] or [True],
        )

    def take(self, rows: NDArray[Any] | slice) -> Inputs:
        """Return the inputs of some rows."""
        parts = tuple(part.take(rows) for part in self.parts)
        n = len(parts[0].codes) if parts else len(np.arange(self.n_rows)[rows])
        return Inputs(parts, n, last=self.last)


@dataclass(frozen=True)
class Target:
    """The variable to be modelled.

    Parameters
    ----------
    codes
        One code per row of the original table.
    n_levels
        Number of possible codes.
    numbers
        The number each code stands for; None for classes.
    ordered
        Whether classes are ordered.
    rows
        The rows that take part in the fit; None for all.
    weights
        Survey weights of all rows; None when every row counts once.
    decimals
        Decimal places of the numbers.
    grid
        What is public about the numbers, where a method needs it.
    """

    codes: NDArray[Any]
    n_levels: int
    numbers: NDArray[np.float64] | None = None
    ordered: bool = False
    rows: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    decimals: int = 0
    grid: Grid | None = None

    __repr__ = without_values

    def training(self, inputs: Inputs) -> tuple[Inputs, NDArray[Any], NDArray[np.float64]]:
        """Return inputs, codes and weights (one by default) of the rows that take part."""
        rows = self.rows if self.rows is not None else np.arange(len(self.codes))
        weights = np.ones(len(self.codes)) if self.weights is None else self.weights
        return inputs.take(rows), self.codes[rows], weights[rows]


class Fitted(Protocol):
    """A fitted conditional model."""

    @property
    def makes_numbers(self) -> bool:
        """Whether ``draw`` gives numbers that need not be in the dictionary, instead of codes."""

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw one code (or number) per row of the inputs."""

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the log probability of each code; -inf where it cannot occur, None if unknown."""

    def check(self, inputs: Inputs, target: Target) -> None:
        """Raise ValueError unless rows like these inputs can be drawn and give this target.

        Inputs and target have no rows: it is their levels that count. A model that comes from a
        file is not used before it has passed.
        """

    def state(self) -> State:
        """Return what a file has to hold."""


class NumberModel(Fitted, Protocol):
    """A fitted model that makes numbers."""

    def log_prob_of_numbers(
        self, inputs: Inputs, values: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the log probability of each number, known to the dictionary or not."""


class LeafModel(Fitted, Protocol):
    """A fitted model that draws numbers from the records of leaves."""

    def bandwidths(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return for each row the width of a kernel over the donors in its leaf."""


class Method(Fitted, Protocol):
    """A class of models that can be fitted and restored."""

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Learn the distribution of the target given the inputs."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model that a file holds."""


# -------------------------------------------------------------------------------------------------
# What the arrays of a model that comes from a file must be before anything is drawn with them.
#
# A failed check is a ValueError. Its text is for who reads a traceback in a test: users are told
# that the file is damaged.


def need(holds: Any, what: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(what)


def check_codes(
    codes: Any, n_levels: int, length: int | None = None, *, rising: bool = False
) -> None:
    """Need whole numbers from 0 up to the number of levels.

    Examples
    --------
    >>> check_codes(np.array([0, 2]), 3, length=2, rising=True)
    >>> check_codes(np.array([0, 3]), 3)
    Traceback (most recent call last):
    ValueError: codes beyond the levels
    """
    _check_shape(codes, length)
    need(codes.dtype.kind in "iu" and np.can_cast(codes.dtype, np.int64), "codes of another type")
    need(not len(codes) or (codes.min() >= 0 and codes.max() < n_levels), "codes beyond the levels")
    need(not rising or np.all(codes[1:] > codes[:-1]), "codes that do not rise")


def check_numbers(
    numbers: Any, shape: int | tuple[int, ...] | None = None, *, low: float = -np.inf
) -> None:
    """Need finite numbers, none below the lowest."""
    _check_shape(numbers, shape)
    need(numbers.dtype == np.float64, "numbers of another type")
    need(np.all(np.isfinite(numbers)) and np.all(numbers >= low), "numbers beyond their range")


def check_number(number: Any, *, low: float = -np.inf) -> None:
    """Need one finite number that is not below the lowest."""
    need(type(number) in (int, float) and math.isfinite(number) and number >= low, "no number")


def check_same(numbers: NDArray[Any] | None, target: Target) -> None:
    """Need the numbers that the codes of the target stand for, None for classes."""
    if numbers is None or target.numbers is None:
        need(numbers is None and target.numbers is None, "numbers for classes, or none for numbers")
    else:
        need(np.array_equal(numbers, target.numbers), "other numbers than the dictionary's")


def _check_shape(array: Any, shape: int | tuple[int, ...] | None) -> None:
    need(isinstance(array, np.ndarray), "no array")
    wanted = shape if isinstance(shape, tuple) else (len(array) if shape is None else shape,)
    need(array.ndim > 0 and array.shape == wanted, "an array of another shape")
