# mypy: disable-error-code="no-untyped-def"
"""Kernels: one predictor of a node of classes from its rows by level and class.

What the best split of it improves, and what none can exceed.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner
from caveat.compiling.lanes import in_lanes
from caveat.tree._all_subsets import MOST, SPARE
from caveat.tree._subsets import best_of_profiles, best_subset

__all__ = ["all_apart", "best_of_levels", "list_classes", "make_profiles", "note_subset"]


@inner
def make_profiles(most, n_classes):
    """Return the arrays in which `best_of_levels` works."""
    width = in_lanes(n_classes)
    return (
        np.empty((most + 2, 2 + n_classes), np.int64),
        np.empty((most + 2, 3), np.int64),
        np.empty((most + 2) * width),
        np.empty(most + 2, np.int64),
        np.empty(most + 2, np.int64),
        np.empty(most + 2),
        np.empty(width),
        np.empty(width),
        np.zeros(SPARE + MOST * width),
    )


@inner
def list_classes(counts, kept, totals):
    """List the classes present; return how many, the sum of squared counts and the largest."""
    k = largest = 0
    squares = 0.0
    for c in range(len(counts)):
        if counts[c]:
            kept[k] = c
            totals[k] = counts[c]
            k += 1
        squares += float(counts[c]) * float(counts[c])
        largest = max(largest, counts[c])
    for c in range(k, in_lanes(k)):
        totals[c] = 0.0
    return k, squares, largest


@inner
def best_of_levels(levels, present, nominal, node, totals, kept, minbucket, best, work):
    """Return what the best split of one predictor improves and its place, or -1.

    `kept` are the classes present; the sides of a nominal predictor are left in `work`.
    """
    _, about, profiles, order, side, key, left, right, spare = work
    size, k, _ = node
    width = in_lanes(k)
    for i in range(present):
        about[i, 0] = levels[i, 0]
        about[i, 1] = about[i, 2] = levels[i, 1]
        for c in range(k):
            profiles[i * width + c] = levels[i, 2 + kept[c]]
        for c in range(k, width):
            profiles[i * width + c] = 0.0
    if nominal:
        return best_subset(
            about, present, profiles, size, node, totals, minbucket, best, left, right,
            order, key, side, spare,
        )  # fmt: skip
    return best_of_profiles(
        about, present, profiles, size, node, totals, minbucket, best, left, order, np.int64(0)
    )


@inner
def note_subset(about, present, place, n_codes, nominal, side, size, goes_left):
    """Return the cut of an ordered split, or -1 and in `goes_left` the side of every code."""
    if not nominal:
        return (about[place, 0] + about[place + 1, 0] - 1) // 2
    left_rows = 0
    for i in range(present):
        left_rows += about[i, 1] if side[i] else 0
    goes_left[:n_codes] = left_rows >= size - left_rows
    for i in range(present):
        goes_left[about[i, 0]] = side[i]
    return -1


@inner
def all_apart(levels, present, n_classes):
    """Return the sum of squares over size of all levels, each by itself."""
    total = 0.0
    for i in range(present):
        squares = 0.0
        for c in range(n_classes):
            squares += float(levels[i, 2 + c]) * float(levels[i, 2 + c])
        total += squares / levels[i, 1]
    return total
