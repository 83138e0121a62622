# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: collapse what the complexity parameter does not pay for, and write down the tree."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree._growing import DEPTH, FEATURE, IMPROVE, LEFT, RIGHT, RISK, START, STOP, THRESHOLD
from caveat.tree._leaves import fill_leaves

__all__ = ["COLLAPSED", "LEVEL_SET", "decide", "finish", "weigh_splits"]


SAME = 1.0 - 1e-12
"""Complexities nearer to each other than this are equal: what is left is rounding."""


LEVEL_SET, COLLAPSED = DEPTH, RISK
"""Rows of the nodes and of their measures that hold something else once a tree is finished."""


@kernel
def finish(
    nodes, measures, n_nodes, alpha, by_risk, codes, features, rows, start, answers, weight,
    n_levels, leaf_offsets, leaf_codes, leaf_weights,
):  # fmt: skip
    """Collapse the nodes whose complexity is at most `alpha` and write down what is left.

    `rows` become rows of the view, which begins at row `start` of the table; `answers` and `weight`
    are those of the view. Returns the number of nodes, the length of the leaves' arrays, and the
    level sets; the rest is written into the arguments, because making arrays here takes longer.
    """
    gain = np.zeros(n_nodes)
    splits = np.zeros(n_nodes, np.int64)
    weigh_splits(nodes, measures, n_nodes, alpha, by_risk, gain, splits)
    n_nodes = pack(nodes, measures, n_nodes, splits)
    bits = write_level_sets(nodes, n_nodes, codes, features, rows)
    if start:
        for i in range(len(rows)):
            rows[i] -= start
    filled = fill_leaves(
        nodes, n_nodes, rows, answers, weight, n_levels, leaf_offsets, leaf_codes, leaf_weights
    )
    return n_nodes, filled, bits


@inner
def weigh_splits(nodes, measures, n_nodes, alpha, by_risk, gain, splits):
    """Write the risk removed and the splits that count below each node, 0 where it collapses.

    Goes from the leaves upward. For numbers the risk a split removes is its improvement, for
    classes (`by_risk`) it is taken from the misclassified weights. Returns two complexities
    between which no node would be decided differently.
    """
    low, high = -np.inf, np.inf
    for node in range(n_nodes - 1, -1, -1):
        if nodes[FEATURE, node] < 0:
            continue
        left, right = nodes[LEFT, node], nodes[RIGHT, node]
        own = measures[IMPROVE, node]
        if by_risk:
            own = measures[RISK, node] - measures[RISK, left] - measures[RISK, right]
        gain[node], splits[node], low, high = decide(
            own, gain[left], splits[left], gain[right], splits[right], alpha, low, high
        )
    return low, high


@inner
def decide(own, gain, splits, other_gain, other_splits, alpha, low, high):
    """Return risk removed and splits that count of a node, 0 if it collapses, and the limits.

    The complexity of a node is the risk removed per split, by its own split and by the subtree of
    a child only if that raises it: a child that would collapse before its parent counts as
    collapsed, the weaker one first. It stays collapsed in the reckoning further up.
    """
    if other_gain * splits > gain * other_splits:
        gain, splits, other_gain, other_splits = other_gain, other_splits, gain, splits
    paid = np.int64(1)
    if gain * paid >= own * splits * SAME:
        own += gain
        paid += splits
        if other_gain * paid >= own * other_splits * SAME:
            own += other_gain
            paid += other_splits
    each = own / paid
    if own > alpha * paid:
        return own, paid, low, min(high, each * SAME)
    if each > 0:
        low = max(low, each / SAME)
    return 0.0, np.int64(0), low, high


@inner
def pack(nodes, measures, n_nodes, splits):
    """Move the nodes that stay to the front, in preorder, and return how many there are."""
    number = np.empty(n_nodes, np.int32)
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
        measures[COLLAPSED, n_new] = 0.0
        if splits[node] == 0:
            skip_to = nodes[STOP, node]
            measures[COLLAPSED, n_new] = nodes[FEATURE, node] >= 0
            nodes[FEATURE, n_new] = nodes[THRESHOLD, n_new] = -1
            nodes[LEFT, n_new] = nodes[RIGHT, n_new] = -1
            measures[IMPROVE, n_new] = 0.0
        n_new += 1
    for node in range(n_new):
        if nodes[FEATURE, node] >= 0:
            nodes[LEFT, node] = number[nodes[LEFT, node]]
            nodes[RIGHT, node] = number[nodes[RIGHT, node]]
    return n_new


@inner
def write_level_sets(nodes, n_nodes, codes, features, rows):
    """Write where the level set of each nominal split begins, -1 elsewhere; return the sets.

    A bit is 1 where the level goes left. Levels absent from the node follow the larger child.
    """
    first = nodes[LEVEL_SET]
    n_words = 0
    for node in range(n_nodes):
        f = nodes[FEATURE, node]
        first[node] = -1
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
    return bits
