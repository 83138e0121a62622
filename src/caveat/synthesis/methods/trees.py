"""Draws of observed values: of a whole column, or of the leaves of a tree or a forest."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.synthesis.coding import bandwidth
from caveat.synthesis.methods.base import (
    Inputs,
    Settings,
    State,
    Target,
    check_numbers,
    check_same,
    need,
)
from caveat.tree import Control, Tree, grow, grow_forest
from caveat.tree import Forest as Trees

__all__ = ["Cart", "Forest", "Sample", "check_tree", "control_of", "fit_rows"]


@dataclass(frozen=True)
class Sample:
    """The shares of the codes.

    With ``proper`` the weights of the rows are drawn too (a Bayesian bootstrap): the shares of a
    first column have a sampling error, and leaving it out makes intervals too short.
    """

    makes_numbers: ClassVar[bool] = False

    shares: NDArray[np.float64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls,
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Count the codes."""
        _, codes, weights = target.training(inputs)
        if settings.proper:
            weights = weights * rng.exponential(size=len(weights))
        counts = np.bincount(codes, weights, minlength=target.n_levels)
        return cls(counts / counts.sum())

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a code for each row."""
        cumulative = np.cumsum(self.shares)
        drawn = np.searchsorted(cumulative, rng.random(inputs.n_rows) * cumulative[-1], "right")
        return np.asarray(np.minimum(drawn, np.flatnonzero(self.shares)[-1]))

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log share of each code."""
        del inputs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares)[codes])

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a share for each code, and one that is not zero."""
        del inputs
        check_numbers(self.shares, target.n_levels, low=0.0)
        need(0 < self.shares.sum() < np.inf, "shares without a sum")

    def state(self) -> State:
        """Return the shares."""
        return {"shares": self.shares}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its shares."""
        return cls(**state)


# -------------------------------------------------------------------------------------------------
# Draws from the leaves of a classification or regression tree.


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


# -------------------------------------------------------------------------------------------------
# Draws from the leaves of a forest of trees.


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
