"""Draws from the leaves of a classification or regression tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_same, need
from caveat.synthesis.methods.base import Inputs, Settings, State, Target
from caveat.synthesis.smoothing import bandwidth
from caveat.tree import Control, Tree, grow

__all__ = ["Cart", "check_tree", "control_of", "fit_rows"]


@dataclass(frozen=True)
class Cart:
    """A tree; a row gets a value of the original rows in its leaf, with their shares."""

    makes_numbers: ClassVar[bool] = False

    tree: Tree

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Grow the tree."""
        tree = grow(
            inputs.predictors,
            target.codes,
            target.n_levels,
            values=target.numbers,
            weights=target.weights,
            rows=fit_rows(target, settings, rng),
            control=control_of(settings),
        )
        return cls(tree)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a donor's value for each row."""
        return self.tree.draw(inputs.predictors, rng.random(inputs.n_rows))

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log share of each code in the leaf of its row."""
        return self.tree.log_prob(inputs.predictors, codes)

    def bandwidths(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return for each row the bandwidth of the numbers in its leaf."""
        tree, shares = self.tree, self.tree.leaf_shares()
        assert tree.values is not None
        sizes = (tree.stop - tree.start)[tree.leaf_nodes].tolist()
        widths = np.empty(tree.n_leaves)
        for leaf, size in enumerate(sizes):
            part = slice(shares.offsets[leaf], shares.offsets[leaf + 1])
            widths[leaf] = bandwidth(tree.values[shares.codes[part]], shares.shares[part], size)
        return widths[tree.apply(inputs.predictors)]

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a tree for these inputs, with codes of this target in its leaves."""
        check_tree(self.tree, inputs, target)

    def state(self) -> State:
        """Return the arrays of the tree."""
        return self.tree.arrays()

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the tree from its arrays."""
        return cls(Tree.from_arrays(state))


def check_tree(tree: Tree, inputs: Inputs, target: Target) -> None:
    """Need a tree that was grown on such predictors and such a response."""
    tree.check_predictors(inputs.predictors)
    need(tree.n_response_levels == target.n_levels, "a tree for another response")
    check_same(tree.values, target)


def control_of(settings: Settings) -> Control:
    """Return the stopping rules for the tree engine; below a cp of 0 it cuts nothing away."""
    return Control(
        minbucket=settings.minbucket,
        minsplit=settings.minsplit,
        cp=settings.cp if settings.prune else -1.0,
        max_depth=settings.max_depth,
    )


def fit_rows(
    target: Target, settings: Settings, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Return the rows to fit on: those of the target, bootstrapped for a proper synthesis."""
    if not settings.proper:
        return target.rows
    rows = np.arange(len(target.codes)) if target.rows is None else target.rows
    return np.sort(rng.choice(rows, size=len(rows)))
