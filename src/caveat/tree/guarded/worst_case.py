"""How much one record can do to a structure, in the worst case over all data sets."""

from __future__ import annotations

from caveat.tree.guarded.ranking import SCALE
from caveat.tree.guarded.tree import GuardedTree

__all__ = ["SENSITIVITY", "structure_bound"]

SENSITIVITY = 2.0
"""The most that a record of weight 1 changes the gain of a split: 1 by its class, and 1 by what a
small child lacks."""


def structure_bound(tree: GuardedTree) -> float:
    """Return the bound on the log ratio of the structure with and without one record of weight 1.

    It is depth x (2 x sensitivity / temperature + 1 / softness), and (K - 1)/5 for the line of K
    classes if it is drawn. It holds for all data sets, and is far too large to mean anything at
    useful settings. The draws from counts are not covered by it.

    Parameters
    ----------
    tree
        The tree; its counts do not matter.
    """
    guard, response = tree.guard, tree.response
    line = max(1, response.n_codes - 1) / SCALE if response.is_ranked else 0.0
    decision = 2 * SENSITIVITY / guard.temperature + 1 / guard.softness
    return line + (guard.depth * decision if tree.candidates.n else 0.0)
