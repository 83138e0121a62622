"""Where rpart stops: a kernel that cuts a fully grown tree of two classes back as rpart does.

rpart uses its complexity parameter twice: to prune, and while it grows, to leave alone the nodes
under which no subtree can pay for itself. The bound used while growing is handed from parent to
child and falls by the price of a split at each step, so that some subtrees which would survive
pruning are never grown. The tree engine of this package prunes only; with the cp of the
propensity tree (0.001) the difference is visible. Which child comes first matters for the bound: it
is the one with the smaller share of the second class.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc"
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from caveat.tree import Tree

__all__ = ["leaf_shares"]


def leaf_shares(
    tree: Tree, response: NDArray[np.integer[Any]], cp: float
) -> tuple[NDArray[np.float64], int]:
    """Return for each fitted row the share of class 1 in its leaf, and the number of leaves.

    Parameters
    ----------
    tree
        A tree that was grown with cp = 0 on all rows.
    response
        The class of each row, 0 or 1.
    cp
        The complexity parameter.
    """
    sums = np.concatenate([[0], np.cumsum(response[tree.rows].astype(np.int64))])
    size = (tree.stop - tree.start).astype(np.int64)
    ones = sums[tree.stop] - sums[tree.start]
    risk = np.minimum(ones, size - ones).astype(np.float64)
    share = ones / size
    swap = (tree.feature >= 0) & (share[tree.left] > share[tree.right])
    first = np.where(swap, tree.right, tree.left).astype(np.int64)
    second = np.where(swap, tree.left, tree.right).astype(np.int64)
    kept = np.zeros(tree.n_nodes, np.bool_)
    bound = np.zeros(tree.n_nodes)
    leaf = tree.feature < 0
    _walk(0, risk[0], leaf, first, second, risk, cp * risk[0], bound, kept)
    scores = np.empty(len(tree.rows))
    leaves, todo = 0, [0]
    while todo:
        node = todo.pop()
        if kept[node]:
            todo += [int(first[node]), int(second[node])]
        else:
            leaves += 1
            scores[tree.rows[tree.start[node] : tree.stop[node]]] = share[node]
    return scores, leaves


@njit(cache=True, nogil=True)
def _walk(node, most, leaf, first, second, risk, price, bound, kept):
    """Decide a node and all below it; return the splits kept and the risk that is left.

    `most` is the largest complexity the node can have. `bound` receives its complexity: the price
    of a split at which it would be collapsed.
    """
    cap = min(most, risk[node])
    if leaf[node] or cap <= price:
        bound[node] = price
        return 0, risk[node]
    a, b = first[node], second[node]
    splits_a, risk_a = _walk(a, cap - price, leaf, first, second, risk, price, bound, kept)
    gain = max((risk[node] - risk_a) / (splits_a + 1), risk[node] - risk[a])
    cap = min(gain, most)
    splits_b, risk_b = _walk(b, cap - price, leaf, first, second, risk, price, bound, kept)
    # A child that would collapse before this node does counts as collapsed, the weaker one first.
    weak, strong = (a, b) if bound[b] > bound[a] else (b, a)
    splits_weak, risk_weak = (splits_a, risk_a) if weak == a else (splits_b, risk_b)
    splits_strong, risk_strong = (splits_b, risk_b) if weak == a else (splits_a, risk_a)
    worth = (risk[node] - risk_weak - risk_strong) / (splits_weak + splits_strong + 1)
    if worth > bound[weak]:
        splits_weak, risk_weak = 0, risk[weak]
        worth = (risk[node] - risk_weak - risk_strong) / (splits_strong + 1)
        if worth > bound[strong]:
            splits_strong, risk_strong = 0, risk[strong]
            worth = risk[node] - risk_weak - risk_strong
    bound[node] = worth
    if worth <= price:
        return 0, risk[node]
    kept[node] = True
    return splits_weak + splits_strong + 1, risk_weak + risk_strong
