"""What a method sees and what it has to give.

A method is a class whose instances are fitted models. ``fit`` learns the distribution of a target
given inputs, ``draw`` draws from it, ``log_prob`` says how probable given codes are, and ``state``
and ``from_state`` carry the model through a file without executing anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.coding import Part
from caveat.synthesis.grid import Grid
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
