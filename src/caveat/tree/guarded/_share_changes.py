# mypy: disable-error-code="no-untyped-def"
"""What one record does to the probability of a release, given the structure: kernels."""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded.hierarchy import root_share, share

__all__ = ["share_changes"]


@inner
def moved(code, weight, low, middle, high):
    """Return what a record with this code adds to the left half of a branch, and to both."""
    if code < low or code >= high:
        return 0.0, 0.0
    return (weight if code < middle else 0.0), weight


@inner
def branch_change(i, branch, tree, released, settings, gone, come, going, coming, now):
    """Return the change of the log probability of what was released at one halving."""
    low, middle, high = branch
    counts, shares, parent, children = tree
    down_left, down = moved(gone[1][i], gone[2][i], low, middle, high)
    up_left, up = moved(come[1][i], come[2][i], low, middle, high)
    change = 0.0
    for m in range(len(parent)):
        left = counts[m, middle] - counts[m, low]
        both = counts[m, high] - counts[m, low]
        if going[m] == i:
            left -= down_left
            both -= down
        if coming[m] == i:
            left += up_left
            both += up
        if m == 0:
            now[m] = root_share(left, both)
        else:
            now[m] = share(left, both, now[parent[m]], settings)
        if children[m] >= 0:
            continue
        p = shares[m, middle - 1]
        z_left = released[m, middle] - released[m, low]
        z_right = released[m, high] - released[m, middle]
        if z_left > 0.0:
            change += z_left * (math.log(now[m]) - math.log(p))
        if z_right > 0.0:
            change += z_right * (math.log1p(-now[m]) - math.log1p(-p))
    return change


@inner
def mark(marks, m, i, parent):
    """Mark the path from a node to the root."""
    while m >= 0:
        marks[m] = i
        m = parent[m]


@kernel
def share_changes(tree, released, settings, gone, come):
    """Return for each change the difference of the log probability of the release.

    ``tree`` are counts, shares, parents and children of the nodes; ``gone`` and ``come`` leaves,
    codes (-1 for nobody) and weights.
    """
    n_nodes, n_codes = len(tree[2]), tree[1].shape[1] + 1
    changes = np.zeros(len(gone[0]))
    going, coming = np.full(n_nodes, -1, np.int64), np.full(n_nodes, -1, np.int64)
    now = np.empty(n_nodes)
    for i in range(len(changes)):
        mark(going, gone[0][i], i, tree[2])
        mark(coming, come[0][i], i, tree[2])
        for side in range(2):
            code, other = (gone[1][i], -1) if side == 0 else (come[1][i], gone[1][i])
            low, high = 0, n_codes if code >= 0 else 0
            while high - low > 1:
                middle = (low + high) // 2
                # A halving that both records are at was done with the first of them.
                if not low <= other < high:
                    changes[i] += branch_change(i, (low, middle, high), tree, released, settings,
                                                gone, come, going, coming, now)  # fmt: skip
                if code < middle:
                    high = middle
                else:
                    low = middle
    return changes
