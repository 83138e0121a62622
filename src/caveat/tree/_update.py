# mypy: disable-error-code="no-untyped-def"
"""Kernels: what becomes of a node when one row is taken out of it, put into it, or both.

The sums of a node over its rows are made once. For each change they are corrected by one row, and
the split search of the engine runs on the corrected sums. Where the best split stays the same the
change is handed down to the children; where it does not, the node is grown again from its rows.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree._numbers import best_of_numbers

__all__ = ["copy", "correct", "most_levels", "same_split", "split_numbers", "sum_levels"]


@inner
def sum_levels(codes, features, rows, y, n_sums, sums, starts):
    """Write code, rows and sums by level present of every predictor; `starts` says from where.

    With `n_sums` 1 the sum is that of `y`; otherwise `y` is a class and each has a count.
    """
    n_features = features.shape[1]
    table = np.zeros((most_levels(features), 1 + n_sums), np.int64)
    filled = 0
    for f in range(n_features):
        column = codes[features[0, f]]
        for i in range(len(rows)):
            code = column[rows[i]]
            table[code, 0] += 1
            if n_sums == 1:
                table[code, 1] += y[rows[i]]
            else:
                table[code, 1 + y[rows[i]]] += 1
        starts[f] = filled
        for code in range(features[1, f]):
            if table[code, 0]:
                sums[filled, 0] = code
                for j in range(1 + n_sums):
                    sums[filled, 1 + j] = table[code, j]
                    table[code, j] = 0
                filled += 1
    starts[n_features] = filled


@inner
def correct(sums, first, last, gone, gone_y, come, come_y, n_sums, out):
    """Copy the sums of one predictor without one row and with another; return levels present."""
    present = 0
    waiting = come >= 0
    i = first
    while i < last or waiting:
        code = sums[i, 0] if i < last else come
        if waiting and come < code:
            code = come
        out[present, 0] = code
        for j in range(1 + n_sums):
            out[present, 1 + j] = 0
        if i < last and sums[i, 0] == code:
            for j in range(1 + n_sums):
                out[present, 1 + j] = sums[i, 1 + j]
            i += 1
        if code == gone:
            add_row(out[present], gone_y, n_sums, -1)
        if waiting and code == come:
            add_row(out[present], come_y, n_sums, 1)
            waiting = False
        present += out[present, 1] > 0
    return present


@inner
def add_row(line, y, n_sums, sign):
    """Add one row to the sums of a level, or take it away."""
    line[1] += sign
    if n_sums == 1:
        line[2] += sign * y
    else:
        line[2 + y] += sign


@kernel
def split_numbers(codes, features, rows, numbers, added, added_numbers, changes, rules, unit):
    """Find the best split of a node for numbers (or two classes) under each change.

    `changes` has a line for each change: row that goes or -1, added row that comes or -1. Returns
    predictor, cut and level set (one flag for each code, absent ones follow the larger child) of
    the node itself, and for each change whether its split is the same, what it improves, and the
    sum of the node's numbers.
    """
    minbucket, minsplit = rules
    n_changes = len(changes)
    most = most_levels(features)
    sums = np.empty((np.minimum(features[1], len(rows)).sum() + 1, 3), np.int64)
    starts = np.empty(features.shape[1] + 1, np.int64)
    sum_levels(codes, features, rows, numbers, 1, sums, starts)
    work = (
        np.empty((most + 2, 3), np.int64),
        np.empty((most + 2, 4), np.int64),
        np.empty(most + 2, np.int64),
        np.empty(most + 2),
    )
    mine = np.zeros(most, np.uint8)
    own = np.zeros(most, np.uint8)
    total = 0
    for i in range(len(rows)):
        total += numbers[rows[i]]
    base_feature = base_cut = -1
    base_improve = 0.0
    same = np.zeros(n_changes, np.bool_)
    improve = np.zeros(n_changes)
    totals = np.empty(n_changes, np.int64)
    for item in range(-1, n_changes):
        gone = come = -1
        if item >= 0:
            gone, come = changes[item, 0], changes[item, 1]
        size = len(rows) - (gone >= 0) + (come >= 0)
        here = total
        gone_y = come_y = 0
        if gone >= 0:
            gone_y = numbers[gone]
        if come >= 0:
            come_y = added_numbers[come]
        here += come_y - gone_y
        feature = cut = -1
        best = 0.0
        if size >= minsplit and size >= 2 * minbucket:
            feature, cut, best = search_sums(
                codes, features, added, sums, starts, (gone, gone_y, come, come_y), size, here,
                minbucket, work, own,
            )  # fmt: skip
        if item < 0:
            base_feature, base_cut, base_improve = feature, cut, best
            copy(own, mine)
        else:
            totals[item] = here
            improve[item] = best * unit
            same[item] = same_split(feature, cut, own, base_feature, base_cut, mine, features)
    return base_feature, base_cut, mine, base_improve * unit, total, same, improve, totals


@inner
def search_sums(codes, features, added, sums, starts, row, size, total, minbucket, work, goes_left):
    """Return predictor, cut and improvement of the best split."""
    levels, about, order, key = work
    gone, gone_y, come, come_y = row
    centre = total // size
    rest = (total - centre * size) / size
    feature = cut = -1
    best = 0.0
    for f in range(features.shape[1]):
        present = correct(
            sums, starts[f], starts[f + 1],
            codes[features[0, f], gone] if gone >= 0 else -1, gone_y,
            added[f, come] if come >= 0 else -1, come_y, 1, levels,
        )  # fmt: skip
        for i in range(present):
            about[i, 0] = levels[i, 0]
            about[i, 1] = about[i, 2] = levels[i, 1]
            about[i, 3] = levels[i, 2]
        best, place = best_of_numbers(
            about, present, features[2, f], size, (size, centre, rest), minbucket, best, order, key
        )
        if place >= 0:
            feature = f
            cut = note_split(
                levels, present, place, features[1, f], features[2, f], order, size, goes_left
            )
    return feature, cut, best


@inner
def note_split(levels, present, place, n_codes, nominal, order, size, goes_left):
    """Return the cut of an ordered split, or -1 and in `goes_left` the side of every code."""
    if not nominal:
        return (levels[place, 0] + levels[place + 1, 0] - 1) // 2
    left_rows = 0
    for i in range(place + 1):
        left_rows += levels[order[i], 1]
    goes_left[:n_codes] = left_rows >= size - left_rows
    for i in range(present):
        goes_left[levels[order[i], 0]] = i <= place
    return -1


@inner
def copy(flags, to):
    """Do what `to[:] = flags` does, which takes two seconds more to compile."""
    for i in range(len(flags)):
        to[i] = flags[i]


@inner
def same_split(feature, cut, goes_left, base_feature, base_cut, base_left, features):
    """Say whether two splits send every code to the same side."""
    if feature != base_feature or cut != base_cut:
        return False
    if feature >= 0 and features[2, feature]:
        for code in range(features[1, feature]):
            if goes_left[code] != base_left[code]:
                return False
    return True


@inner
def most_levels(features):
    """Return the number of levels of the predictor that has most."""
    most = 1
    for f in range(features.shape[1]):
        most = max(most, features[1, f])
    return most
