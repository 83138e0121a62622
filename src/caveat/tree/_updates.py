# mypy: disable-error-code="no-untyped-def"
"""Kernels: what becomes of a node when rows are taken out of it, put into it or changed."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, kernel
from caveat.compiling.intrinsics import in_lanes
from caveat.tree._numbers import best_of_numbers
from caveat.tree._subsets import MOST, SPARE, best_of_profiles, best_subset


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


# -------------------------------------------------------------------------------------------------
# Kernels: one predictor of a node of classes from its rows by level and class.
#
# What the best split of it improves, and what none can exceed.


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


# -------------------------------------------------------------------------------------------------
# Kernels: what becomes of a node of three and more classes when rows are taken out or put in.
#
# A node that keeps its split hands a change down; how much the split improves is not asked,
# because nodes of classes are pruned by the rows they misclassify. So most changes need no
# search.
#
# * A split is judged by the sum over both sides of squared counts over rows. A row that goes
#   changes
#   the sum of its side, Q = S / n with s rows of its class, by (Q - 2 s + 1) / (n - 1), which
#   lies
#   from -1 to 1; a row that comes is one that goes, seen from behind. So each such row changes
#   what
#   a split improves by one at most, apart from what it changes for all splits of the node, and a
#   predictor that lies further behind need not be asked.
# * What a predictor improves after a change depends on nothing but its level and the class of the
#   row
#   that goes, and those of the row that comes. It is searched once for all the changes that have
#   the
#   same.


MANY_LEVELS = 6
"""Nominal predictors with more levels than this in a node are searched only if they can win."""

MARGIN = 1e-9
"""Improvements are taken as different when they differ by more than this share of the rows."""

LIGHT, WHOLE, REACH, DONE = 0, 1, 2, 3
"""Steps of a search: the predictors that are quick, all of them; what each can."""

FAR = 5.0
"""A predictor that is so far behind the best is out of reach: two changed rows bring it four."""

SAME, OTHER, OPEN = 0, 1, 2
"""What is known of the split after a change: it is that of the node, or another; or nothing."""

FEWEST_KNOWN, MOST_KNOWN = 64, 1 << 16
"""Places for what is remembered; two for each change between these."""

MIX = np.int64(-7046029254386353131)
"""Spreads keys: an odd number near the golden section of 2 ** 64."""


@kernel
def split_classes(codes, features, rows, classes, added, added_classes, changes, rules, n_classes):
    """Find the best split of a node of classes, numbered 0 … n_classes - 1 here.

    `changes` has a line for each change: row that goes or -1, added row that comes or -1. Returns
    predictor, cut and level set (one flag for each code, absent ones follow the larger child) and
    misclassified rows of the node itself; and for each change whether its split is the same, and
    the misclassified rows.
    """
    n_changes = len(changes)
    most = most_levels(features)
    sums = np.empty((np.minimum(features[1], len(rows)).sum() + 1, 2 + n_classes), np.int64)
    starts = np.empty(features.shape[1] + 1, np.int64)
    sum_levels(codes, features, rows, classes, n_classes, sums, starts)
    work = make_profiles(most, n_classes)
    mine, own = np.zeros(most, np.uint8), np.zeros(most, np.uint8)
    counts = np.zeros(n_classes, np.int64)
    for i in range(len(rows)):
        counts[classes[rows[i]]] += 1
    totals = np.empty(in_lanes(n_classes))
    kept = np.empty(n_classes, np.int64)
    reach = np.zeros(features.shape[1])
    known = make_memory(n_changes)
    base, base_cut, base_risk = (-1, 0.0, 0.0), -1, 0.0
    same, risks = np.zeros(n_changes, np.bool_), np.empty(n_changes)
    for item in range(-1, n_changes):
        gone, come = (changes[item, 0], changes[item, 1]) if item >= 0 else (-1, -1)
        gone_y = int(classes[gone]) if gone >= 0 else 0
        come_y = int(added_classes[come]) if come >= 0 else 0
        row = (gone, gone_y, come, come_y)
        size = len(rows) - (gone >= 0) + (come >= 0)
        move(counts, row, 1)
        k, squares, largest = list_classes(counts, kept, totals)
        node = (size, k, squares)
        verdict = OPEN
        if item >= 0:
            risks[item] = float(size - largest)
            verdict = settle(
                codes, features, added, sums, starts, row, node, totals, kept, rules, work, own,
                reach, base, base_cut, mine, known,
            )  # fmt: skip
            same[item] = verdict == SAME
        if verdict == OPEN:
            feature, cut, best = search_steps(
                codes, features, added, sums, starts, row, node, totals, kept, rules, work, own,
                reach, item < 0,
            )  # fmt: skip
            if item < 0:
                base, base_cut = (feature, best, squares / size), cut
                base_risk = float(size - largest)
                copy(own, mine)
            else:
                same[item] = same_split(feature, cut, own, base[0], base_cut, mine, features)
        move(counts, row, -1)
    return base[0], base_cut, mine, base_risk, same, risks


@inner
def move(counts, row, step):
    """Take the row that goes out of the counts of the classes and put the other in, or back."""
    gone, gone_y, come, come_y = row
    if gone >= 0:
        counts[gone_y] -= step
    if come >= 0:
        counts[come_y] += step


@inner
def make_memory(n_changes):
    """Return room to remember what predictors improve: keys, predictors, improvements, flags."""
    n = FEWEST_KNOWN
    while n < min(2 * n_changes, MOST_KNOWN):
        n *= 2
    return (
        np.empty(n, np.int64),
        np.full(n, np.int32(-1), np.int32),
        np.empty(n),
        np.empty(n, np.uint8),
    )


@inner
def settle(
    codes, features, added, sums, starts, row, node, totals, kept, rules, work, own, reach, base,
    base_cut, mine, known,
):  # fmt: skip
    """Say whether the node keeps its split after a change, from what each predictor improves.

    `base` has the predictor of the node itself, what it improves, and its sum of squares over size.
    """
    size, k, squares = node
    feature, improve, share = base
    if k < 2 or size < rules[1] or size < 2 * rules[0]:
        return SAME if feature < 0 else OTHER
    if feature < 0:
        return OPEN
    moved = (row[0] >= 0) + (row[2] >= 0)
    shift = share - squares / size
    margin = MARGIN * size
    # What the split of the node improves at least, if each side still has rows enough.
    floor = max(improve - moved + shift - 2.0 * margin, 0.0)
    place = recall(
        feature, floor, codes, features, added, sums, starts, row, node, totals, kept, rules, work,
        own, base, base_cut, mine, known,
    )  # fmt: skip
    found, stays = known[2][place], known[3][place]
    if found <= floor:
        return OPEN
    for f in range(features.shape[1]):
        if f == feature or reach[f] + moved + shift < found - margin:
            continue
        place = recall(
            f, floor, codes, features, added, sums, starts, row, node, totals, kept, rules, work,
            own, base, base_cut, mine, known,
        )  # fmt: skip
        other = known[2][place]
        if other > found + margin:
            return OTHER
        if other >= found - margin:
            return OPEN  # which of them comes first decides
    return SAME if stays else OTHER


@inner
def recall(
    f, floor, codes, features, added, sums, starts, row, node, totals, kept, rules, work, own,
    base, base_cut, mine, known,
):  # fmt: skip
    """Return where it is remembered what a predictor improves after a change, or `floor` if less.

    The flag beside it says whether the split is that of the node itself.
    """
    gone, gone_y, come, come_y = row
    keys, whose, improves, stays = known
    leaves = np.int64(codes[features[0, f], gone]) if gone >= 0 else np.int64(-1)
    enters = np.int64(added[f, come]) if come >= 0 else np.int64(-1)
    # Codes and classes are below 65,535, which stands for no row.
    key = (leaves & 0xFFFF) << 48 | np.int64(gone_y) << 32 | (enters & 0xFFFF) << 16
    key |= np.int64(come_y)
    place = ((key + f) * MIX >> 32) & (len(keys) - 1)
    if keys[place] == key and whose[place] == f:
        return place
    levels, about, side = work[0], work[1], work[4]
    nominal = features[2, f]
    present = correct(
        sums, starts[f], starts[f + 1], leaves, gone_y, enters, come_y, levels.shape[1] - 2, levels
    )
    found, split = best_of_levels(
        levels, present, nominal, node, totals, kept, rules[0], floor, work
    )
    keys[place], whose[place] = key, f
    improves[place], stays[place] = floor, 0
    if split >= 0:
        improves[place] = found
        if f == base[0]:
            cut = note_subset(about, present, split, features[1, f], nominal, side, node[0], own)
            stays[place] = same_split(f, cut, own, f, base_cut, mine, features)
    return place


@inner
def search_steps(
    codes, features, added, sums, starts, row, node, totals, kept, rules, work, goes_left, reach,
    first,
):  # fmt: skip
    """Return predictor, cut and improvement of the best split.

    If this is the `first` search of a node, what each predictor can improve is written to `reach`.
    """
    minbucket, minsplit = rules
    size, k, _ = node
    feature = cut = -1
    best = 0.0
    step = LIGHT if k > 1 and size >= minsplit and size >= 2 * minbucket else DONE
    while step != DONE:
        # With a row more or less on a side other splits have rows enough.
        fewest = max(minbucket - 1, 1) if step == REACH else minbucket
        f, place, found, beyond = search_profiles(
            codes, features, added, sums, starts, row, node, totals, kept, fewest, step, work,
            goes_left, reach, max(best - FAR, 0.0),
        )  # fmt: skip
        if step == REACH:
            break
        feature, cut, best = f, place, found
        if step == LIGHT and beyond > best - MARGIN * size:
            # No subset of levels improves more than all levels apart.
            step = WHOLE
        else:
            step = REACH if first and feature >= 0 else DONE
    return feature, cut, best


@inner
def search_profiles(
    codes, features, added, sums, starts, row, node, totals, kept, minbucket, step, work,
    goes_left, reach, floor,
):  # fmt: skip
    """Return predictor, cut, improvement of the best split, and what is left out may improve.

    `kept` are the classes present. In the step `LIGHT` nominal predictors with many levels are left
    out: their search is the dear part, and often another predictor is better than they can be. In
    the step `REACH` no split is looked for: what each predictor can improve by itself is written to
    `reach`, or `floor` if it is less.
    """
    levels, about, side = work[0], work[1], work[4]
    gone, gone_y, come, come_y = row
    size, _, squares = node
    n_classes = levels.shape[1] - 2
    feature = cut = -1
    best = beyond = 0.0
    for f in range(features.shape[1]):
        present = correct(
            sums, starts[f], starts[f + 1],
            codes[features[0, f], gone] if gone >= 0 else -1, gone_y,
            added[f, come] if come >= 0 else -1, come_y, n_classes, levels,
        )  # fmt: skip
        # Beyond MOST levels not every subset is tried, and another change may find a better one.
        many = MOST if step == REACH else MANY_LEVELS
        if features[2, f] and present > many and (step == LIGHT or step == REACH):  # noqa: SIM109
            apart = all_apart(levels, present, n_classes) - squares / size
            beyond = max(beyond, apart)
            if step == REACH:
                reach[f] = max(apart, floor)
            continue
        if step == REACH:
            best = floor
        found, place = best_of_levels(
            levels, present, features[2, f], node, totals, kept, minbucket, best, work
        )
        if step == REACH:
            reach[f] = max(found, floor)
        elif place >= 0:
            feature = f
            best = found
            cut = note_subset(
                about, present, place, features[1, f], features[2, f], side, size, goes_left
            )
    return feature, cut, best, beyond
