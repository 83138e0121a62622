"""Kernels: collapse what the complexity parameter does not pay for, and pack what is left."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from caveat.tree._growing import Grown
from caveat.tree._kernel import kernel

__all__ = ["pack", "prune"]


@kernel
def prune(grown, alpha, by_risk):
    """Return for each node whether it stays split in the smallest tree that is best at `alpha`.

    The cost of a tree is its risk plus `alpha` for each leaf. From the leaves upward, a node is
    collapsed when the risk its kept subtree removes is at most `alpha` for each split in it. For
    numbers the risk removed is the sum of the improvements, for classes (`by_risk`) it is taken
    from the misclassification counts.
    """
    n_nodes = len(grown.feature)
    gain = np.zeros(n_nodes)
    splits = np.zeros(n_nodes, np.int64)
    split = np.zeros(n_nodes, np.bool_)
    for node in range(n_nodes - 1, -1, -1):
        if grown.feature[node] < 0:
            continue
        left, right = grown.left[node], grown.right[node]
        own = grown.improve[node]
        if by_risk:
            own = grown.risk[node] - grown.risk[left] - grown.risk[right]
        removed = own + gain[left] + gain[right]
        paid = 1 + splits[left] + splits[right]
        if removed > alpha * paid:
            gain[node] = removed
            splits[node] = paid
            split[node] = True
    return split


@kernel
def pack(grown, split, n_codes):
    """Return the nodes of the pruned tree, again in preorder, and which leaves were collapsed."""
    n_old = len(grown.feature)
    kept = np.empty(n_old, np.int32)
    n_new = 0
    n_words = 0
    collapsed = np.zeros(n_old, np.bool_)
    last = -1  # last row position of a collapsed node: its descendants are skipped
    for node in range(n_old):
        if grown.start[node] < last:
            continue
        kept[n_new] = node
        if not split[node]:
            last = grown.stop[node]
            collapsed[n_new] = grown.feature[node] >= 0
        elif grown.level_set[node] >= 0:
            n_words += (n_codes[grown.feature[node]] + 63) // 64
        n_new += 1
    packed = Grown(
        np.full(n_new, -1, np.int32),
        np.full(n_new, -1, np.int32),
        np.full(n_new, -1, np.int32),
        np.full(n_new, -1, np.int32),
        np.full(n_new, -1, np.int32),
        grown.start[kept[:n_new]],
        grown.stop[kept[:n_new]],
        grown.depth[kept[:n_new]],
        np.zeros(n_new),
        grown.risk[kept[:n_new]],
        np.zeros(n_words, np.uint64),
    )
    number = np.full(n_old, -1, np.int32)
    for new in range(n_new):
        number[kept[new]] = new
    n_words = 0
    for new in range(n_new):
        node = kept[new]
        if not split[node]:
            continue
        packed.feature[new] = grown.feature[node]
        packed.threshold[new] = grown.threshold[node]
        packed.left[new] = number[grown.left[node]]
        packed.right[new] = number[grown.right[node]]
        packed.improve[new] = grown.improve[node]
        if grown.level_set[node] >= 0:
            packed.level_set[new] = n_words
            for word in range((n_codes[grown.feature[node]] + 63) // 64):
                packed.bits[n_words] = grown.bits[grown.level_set[node] + word]
                n_words += 1
    return packed, collapsed[:n_new].copy()
