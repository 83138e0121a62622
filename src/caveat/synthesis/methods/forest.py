"""Draws from the leaves of a forest of trees."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import need
from caveat.synthesis.methods.base import Inputs, Settings, State, Target
from caveat.synthesis.methods.cart import check_tree, control_of, fit_rows
from caveat.tree import Forest as Trees
from caveat.tree import Tree, grow_forest

__all__ = ["Forest"]


@dataclass(frozen=True)
class Forest:
    """Trees grown on bootstrapped rows, each split the best of a few predictors drawn at random.

    A row draws one of the trees and then a value of the original rows in its leaf there. A node
    tries the square root of the number of predictors for classes, a third of them for numbers.
    """

    makes_numbers: ClassVar[bool] = False

    trees: Trees

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Grow the trees."""
        n = inputs.predictors.n_columns
        trees = grow_forest(
            inputs.predictors,
            target.codes,
            target.n_levels,
            n_trees=settings.trees,
            seed=np.random.SeedSequence(rng.integers(2**63, size=2).tolist()),
            n_candidates=isqrt(n) if target.numbers is None else max(1, n // 3),
            values=target.numbers,
            weights=target.weights,
            rows=fit_rows(target, settings, rng),
            control=control_of(settings),
        )
        return cls(trees)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a donor's value for each row."""
        return self.trees.draw(inputs.predictors, rng.random(inputs.n_rows))

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log of the mean share of each code in the leaves of its row."""
        return self.trees.log_prob(inputs.predictors, codes)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need trees for these inputs, with codes of this target in their leaves."""
        need(self.trees.trees, "a forest without a tree")
        for tree in self.trees.trees:
            check_tree(tree, inputs, target)

    def state(self) -> State:
        """Return the arrays of the trees by number."""
        return {str(i): tree.arrays() for i, tree in enumerate(self.trees.trees)}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the forest from the arrays of its trees."""
        return cls(Trees(tuple(Tree.from_arrays(state[str(i)]) for i in range(len(state)))))
