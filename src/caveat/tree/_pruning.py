# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: collapse what the complexity parameter does not pay for, and write the level sets."""

from __future__ import annotations

import numpy as np

from caveat.tree._growing import FEATURE, IMPROVE, LEFT, RIGHT, RISK, START, STOP, THRESHOLD
from caveat.tree._kernel import inner, kernel

__all__ = ["level_sets", "prune"]


@kernel
def prune(nodes, measures, n_nodes, alpha, by_risk):
    """Pack the smallest tree that is best at `alpha` to the front of the arrays.

    The cost of a tree is its risk plus `alpha` for each leaf. From the leaves upward, a node is
    collapsed when the risk its kept subtree removes is at most `alpha` for each split in it. For
    numbers the risk removed is the sum of the improvements, for classes (`by_risk`) it is taken
    from the misclassified weights. Returns which of the nodes left are collapsed ones.
    """
    gain = np.zeros(n_nodes)
    splits = np.zeros(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        if nodes[FEATURE, node] < 0:
            continue
        left, right = nodes[LEFT, node], nodes[RIGHT, node]
        own = measures[IMPROVE, node]
        if by_risk:
            own = measures[RISK, node] - measures[RISK, left] - measures[RISK, right]
        removed = own + gain[left] + gain[right]
        paid = 1 + splits[left] + splits[right]
        if removed > alpha * paid:
            gain[node] = removed
            splits[node] = paid
    return pack(nodes, measures, n_nodes, splits)


@inner
def pack(nodes, measures, n_nodes, splits):
    """Move the nodes that stay to the front, in preorder, and renumber their children."""
    number = np.empty(n_nodes, np.int32)
    collapsed = np.zeros(n_nodes, np.bool_)
    n_new = 0
    skip_to = 0  # row position up to which a collapsed node's descendants are left out
    for node in range(n_nodes):
        if nodes[START, node] < skip_to:
            continue
        number[node] = n_new
        for i in range(len(nodes)):
            nodes[i, n_new] = nodes[i, node]
        for i in range(len(measures)):
            measures[i, n_new] = measures[i, node]
        if splits[node] == 0:
            skip_to = nodes[STOP, node]
            collapsed[n_new] = nodes[FEATURE, node] >= 0
            nodes[FEATURE, n_new] = nodes[THRESHOLD, n_new] = -1
            nodes[LEFT, n_new] = nodes[RIGHT, n_new] = -1
            measures[IMPROVE, n_new] = 0.0
        n_new += 1
    for node in range(n_new):
        if nodes[FEATURE, node] >= 0:
            nodes[LEFT, node] = number[nodes[LEFT, node]]
            nodes[RIGHT, node] = number[nodes[RIGHT, node]]
    return collapsed[:n_new].copy()


@kernel
def level_sets(nodes, codes, features, rows):
    """Return the first word of each nominal split's level set (-1 elsewhere) and the words.

    A bit is 1 where the level goes left. Levels absent from the node follow the larger child.
    """
    n_nodes = nodes.shape[1]
    first = np.full(n_nodes, -1, np.int32)
    n_words = 0
    for node in range(n_nodes):
        f = nodes[FEATURE, node]
        if f >= 0 and features[2, f]:
            first[node] = n_words
            n_words += (features[1, f] + 63) // 64
    bits = np.zeros(n_words, np.uint64)
    one = np.uint64(1)
    for node in range(n_nodes):
        if first[node] < 0:
            continue
        f = nodes[FEATURE, node]
        start, stop = nodes[START, node], nodes[STOP, node]
        middle = nodes[STOP, nodes[LEFT, node]]
        column = codes[features[0, f]]
        mine = bits[first[node] :]
        if features[1, f] <= 64:  # one word: kept in a register
            left = right = np.uint64(0)
            for i in range(start, middle):
                left |= one << np.uint64(column[rows[i]])
            for i in range(middle, stop):
                right |= one << np.uint64(column[rows[i]])
            mine[0] = left if middle - start < stop - middle else ~right
            continue
        if middle - start >= stop - middle:
            for code in range(features[1, f]):
                mine[code >> 6] |= one << np.uint64(code & 63)
        for i in range(start, stop):
            code = np.int64(column[rows[i]])
            bit = one << np.uint64(code & 63)
            if i < middle:
                mine[code >> 6] |= bit
            else:
                mine[code >> 6] &= ~bit
    return first, bits
