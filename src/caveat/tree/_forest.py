"""Bagged trees with random predictor subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.tree._control import DEFAULT, Control
from caveat.tree._grow import grow_tree
from caveat.tree._predictors import Predictors
from caveat.tree._threads import in_pool
from caveat.tree._tree import LeafShares, Tree, check_uniforms

__all__ = ["Forest", "grow_forest"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaf shares are averaged."""

    trees: tuple[Tree, ...]

    __repr__ = without_values

    def apply(self, predictors: Predictors, threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, one line for each tree."""
        return np.stack([tree.apply(predictors, threads) for tree in self.trees])

    def leaf_shares(self) -> list[LeafShares]:
        """Return the leaf shares of each tree."""
        return [tree.leaf_shares() for tree in self.trees]

    def shares(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the mean over the trees of the share a row's leaf gives to its code."""
        total = np.zeros(predictors.n_rows)
        for tree in self.trees:
            total += tree.shares(predictors, codes, threads)
        return total / len(self.trees)

    def log_prob(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the logarithm of `shares`, -inf where no tree holds the code."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(predictors, codes, threads))

    def draw(
        self, predictors: Predictors, uniforms: NDArray[np.float64], threads: int = 1
    ) -> NDArray[np.int32]:
        """Draw a response code for each row from the averaged shares.

        The number of a row chooses the tree; what is left of it is uniform again and decides the
        draw from that tree's leaf.
        """
        chances = check_uniforms(uniforms, predictors.n_rows) * len(self.trees)
        chosen = np.minimum(chances.astype(np.int64), len(self.trees) - 1)
        rest = np.clip(chances - chosen, 0.0, np.nextafter(1.0, 0.0))
        drawn = np.empty(predictors.n_rows, np.int32)
        for i, tree in enumerate(self.trees):
            here = chosen == i
            drawn[here] = tree.draw(predictors, rest, threads)[here]
        return drawn


def grow_forest(
    predictors: Predictors,
    response_codes: NDArray[np.unsignedinteger],
    n_levels: int,
    *,
    n_trees: int,
    seed: np.random.SeedSequence,
    n_candidates: int | None = None,
    values: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
    rows: NDArray[np.integer] | None = None,
    control: Control = DEFAULT,
    threads: int = 1,
) -> Forest:
    """Grow trees on bootstrap samples, each split on the best of a few random predictors.

    Parameters
    ----------
    predictors, response_codes, n_levels, values, weights, rows, control
        As for `grow`.
    n_trees
        Number of trees.
    seed
        Parent of one seed for each tree; the same seed gives the same forest.
    n_candidates
        Predictors tried at a node, all unless given. More are tried only where none of these
        can split the node.
    threads
        Trees grown at the same time; the forest does not depend on it.
    """
    if n_trees < 1:
        raise ValueError("n_trees must be at least 1")
    if n_candidates is not None and not 1 <= n_candidates <= predictors.n_columns:
        raise ValueError(f"n_candidates must be from 1 to {predictors.n_columns}")
    pool = np.arange(predictors.n_rows) if rows is None else np.asarray(rows)

    def one_tree(child: np.random.SeedSequence) -> Tree:
        random = np.random.default_rng(child)
        sample = pool[random.integers(len(pool), size=len(pool))]
        return grow_tree(
            predictors, response_codes, n_levels, values, weights, sample, control,
            n_candidates, int(random.integers(1, 2**63)),
        )  # fmt: skip

    return Forest(tuple(in_pool(one_tree, seed.spawn(n_trees), threads)))
