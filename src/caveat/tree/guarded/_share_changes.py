# mypy: disable-error-code="no-untyped-def"
"""What records do to the probability of a release, given the structure: kernels.

A world has moves: records that go, with negative weights, and records that come.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded.hierarchy import root_share, share

__all__ = ["share_changes"]

MOST_WAITING = 64
"""Halves that wait while others are done: two for each halving of 2^16 codes, and to spare."""


@inner
def branch_change(branch, tree, released, settings, moved, now):
    """Return the change of the log probability of what was released at one halving."""
    low, middle, high = branch
    counts, shares, parent, children = tree
    change = 0.0
    for m in range(len(parent)):
        # Where nothing was released, nothing was below either.
        if released[m, high] == released[m, low]:
            continue
        # A count that the moves take away entirely is 0, whatever rounding leaves of it.
        left = max(counts[m, middle] - counts[m, low] + moved[m, 0], 0.0)
        both = max(counts[m, high] - counts[m, low] + moved[m, 1], 0.0)
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
def move(moved, moves, begin, end, middle, parent):
    """Write what moves do to the left half of a branch and to both, from their leaves upwards."""
    leaves, codes, weights = moves
    for j in range(begin, end):
        m = leaves[j]
        while m >= 0:
            moved[m, 1] += weights[j]
            if codes[j] < middle:
                moved[m, 0] += weights[j]
            m = parent[m]


@inner
def undo(moved, moves, begin, end, parent):
    """Take the moves back."""
    for j in range(begin, end):
        m = moves[0][j]
        while m >= 0:
            moved[m, 0], moved[m, 1] = 0.0, 0.0
            m = parent[m]


@kernel
def share_changes(tree, released, settings, moves, starts):
    """Return for each world the difference of the log probability of the release.

    ``tree`` are counts, shares, parents and children of the nodes; ``moves`` leaves, codes and
    weights, those of one world beside each other from its start on, by rising code.
    """
    parent, n_codes = tree[2], tree[1].shape[1] + 1
    changes = np.zeros(len(starts) - 1)
    moved, now = np.zeros((len(parent), 2)), np.empty(len(parent))
    waiting = np.empty((MOST_WAITING, 4), np.int64)
    for i in range(len(changes)):
        waiting[0] = 0, n_codes, starts[i], starts[i + 1]
        n = 1
        while n > 0:
            n -= 1
            low, high, begin, end = waiting[n]
            if begin == end or high - low < 2:
                continue
            middle = (low + high) // 2
            move(moved, moves, begin, end, middle, parent)
            changes[i] += branch_change((low, middle, high), tree, released, settings, moved, now)
            undo(moved, moves, begin, end, parent)
            at = begin
            while at < end and moves[1][at] < middle:
                at += 1
            waiting[n] = middle, high, at, end
            waiting[n + 1] = low, middle, begin, at
            n += 2
    return changes
