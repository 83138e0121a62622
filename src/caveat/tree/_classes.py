# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels: the best split of one predictor for three and more classes, and small subtrees."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, part, trailing_zeros
from caveat.compiling.intrinsics import LANES, in_lanes, take_out
from caveat.tree._subsets import (
    MARGIN,
    TIE,
    best_of_profiles,
    best_subset,
    limit_of,
    make_gain,
    may_win,
)

SMALL = 256
"""Rows of such a subtree: their places fit in a byte."""

FEW_CODES = 8
"""Predictors with so few codes are tabulated, which is as fast."""


@inner
def has_order(n_codes, nominal):
    """Say whether rows are kept in the order of such a predictor."""
    return n_codes > FEW_CODES and not nominal


@inner
def put_in_order(codes, features, size, mine, work):
    """Write the rows of each predictor in `mine` in the order of their codes."""
    places, marks = work.table, work.marks
    for m in range(1, 1 + mine[0]):
        f = np.int64(mine[m])
        if not has_order(features[1, f], features[2, f]):
            continue
        column, order = codes[f], work.orders[f]
        for i in range(size):
            code = np.int64(column[i])
            places[code] += 1
            marks[code >> 6] |= np.int64(1) << (code & 63)
        filled = 0
        for word in range((features[1, f] + 63) >> 6):
            bits = marks[word]
            marks[word] = 0
            while bits:
                code = 64 * word + trailing_zeros(bits)
                bits &= bits - 1
                count = places[code]
                places[code] = filled
                filled += count
        for i in range(size):
            code = np.int64(column[i])
            order[places[code]] = i
            places[code] += 1
        for i in range(size):
            places[np.int64(column[i])] = 0


@inner
def note_classes(rows, start, stop, work):
    """Write the node's own class numbers to the last line of the orders, by row."""
    y = work.orders[len(work.orders) - 1]
    for i in range(start, stop):
        y[rows[i]] = work.local[i - start]


@inner
def part_orders(data, start, middle, stop, place, mine, least, work):
    """Part the orders of the predictors in `mine` into those of the two children.

    They begin at `place`, -1 if there are none. Children with fewer rows than `least` need none.
    """
    n_left, size = middle - start, stop - start
    if place < 0 or max(n_left, size - n_left) < least:
        return
    side, held = work.orders[len(work.orders) - 1], work.orders[len(work.orders) - 2]
    for i in range(start, stop):
        side[data.rows[i]] = work.flags[i]
    for m in range(1, 1 + mine[0]):
        f = np.int64(mine[m])
        if not has_order(data.features[1, f], data.features[2, f]):
            continue
        order = work.orders[f][place : place + size]
        for i in range(size):
            held[i] = order[i]
        # Unsigned numbers need not be asked whether they count from the end.
        left, right = np.uint64(0), np.uint64(n_left)
        for i in range(size):
            row = held[i]
            goes_left = np.uint64(side[row])
            order[left if goes_left else right] = row
            left += goes_left
            right += np.uint64(1) - goes_left


@inner
def best_of_order(column, order, y, node, totals, minbucket, best, levels, left):
    """Return improvement, 0 (-1 if no cut beats `best`), and 2 if there are several levels.

    The levels on both sides of the best cut are written to `levels`.

    With T the classes of the node and L those on the left, sum(R^2) is sum(T^2) - 2 sum(LT) +
    sum(L^2). So a cut can beat `best` only where |T| sum(L^2) / 2 + |L| (bound - sum(LT)) > 0, and
    `bound` rises by the same step with each row.
    """
    total, k, squares = node
    for c in range(k):
        left[c] = 1.0  # how much one more row of the class adds to the squares
    left_squares = cross = weight = 0.0
    half = 0.5 * total
    bound, step = bound_of(best, weight, total, squares)
    cut = -1
    for i in range(len(order) - minbucket):
        c = y[order[i]]
        left_squares += left[c]
        left[c] += 2.0
        cross += totals[c]
        weight += 1.0
        bound += step
        if (
            half * left_squares + weight * (bound - cross) > 0.0
            and i >= minbucket - 1
            and column[order[i]] != column[order[i + 1]]
        ):
            right_squares = squares - 2.0 * cross + left_squares
            gain = make_gain(left_squares, weight, right_squares, total, squares)
            if gain > best + TIE * total:
                best = gain
                bound, step = bound_of(best, weight, total, squares)
                cut = 0
                levels[0, 0] = column[order[i]]
                levels[1, 0] = column[order[i + 1]]
    return best, cut, 1 + np.int64(column[order[0]] != column[order[len(order) - 1]])


@inner
def bound_of(best, weight, total, squares):
    """Return the bound of a cut after so many rows, and what the next row adds to it.

    The margin keeps rounding from passing over a cut that wins.
    """
    step = 0.5 * (best + squares / total - MARGIN * total)
    return 0.5 * squares - step * (total - weight), step


# -------------------------------------------------------------------------------------------------
# Kernels: the best split of one predictor for three and more classes, by Gini.
#
# Within a node the classes present are numbered 0..k-1. A split with class weights L and R on its
# two sides improves the Gini measure by sum(L^2)/|L| + sum(R^2)/|R| - sum(T^2)/|T|.


CELLS_PER_ROW = 4
FEWEST_CELLS = 256
"""A table of level x class is cheaper than sorting while it has no more cells than this."""


@inner
def count_classes(y, weight, start, stop, n_classes, masses, local, totals):
    """Count the classes, number those present; return how many, weight, squares and largest."""
    for c in range(n_classes):
        masses[c] = 0
    if len(weight):
        for i in range(start, stop):
            masses[y[i]] += weight[i]
    else:
        for i in range(start, stop):
            masses[y[i]] += 1
    k = 0
    total = 0
    largest = 0
    squares = 0.0
    for c in range(n_classes):
        mass = masses[c]
        masses[c] = k
        totals[k] = mass
        k += mass != 0
        total += mass
        largest = max(largest, mass)
        squares += float(mass) * float(mass)
    for c in range(k, in_lanes(k)):
        totals[c] = 0.0
    for i in range(start, stop):
        local[i - start] = masses[y[i]]
    return k, total, squares, largest


@inner
def tabulate_classes(column, rows, y, weight, start, stop, n_codes, width, table, levels, profiles):
    """Fill the class profile of each level present; return how many are present.

    `y` holds the node's own class numbers from position 0. `levels` gets code, rows and weight.
    """
    counts = n_codes * width
    if len(weight):
        for i in range(start, stop):
            code = np.int64(column[rows[i]])
            table[counts + code] += 1
            table[code * width + y[i - start]] += weight[i]
    else:
        mine = rows[start:stop]
        for i in range(len(mine)):
            table[np.int64(column[mine[i]]) * width + y[i]] += 1
    present = 0
    for code in range(n_codes):
        total = 0.0
        for c in range(0, width, LANES):
            total += take_out(profiles, present * width + c, table, code * width + c)
        levels[present, 0] = code
        levels[present, 1] = levels[present, 2] = np.int64(total)
        if len(weight):
            levels[present, 1] = table[counts + code]
            table[counts + code] = 0
        present += total != 0.0
    return present


@inner
def best_of_chains(
    column, rows, y, weight, start, stop, n_codes, node, totals, minbucket, best, heads, marks,
    levels, chain, left,
):  # fmt: skip
    """Do what `best_of_profiles` does row by row: cheaper when levels x classes > rows.

    The rows of a level hang together: `heads` has the last one (counted from 1), `chain` the one
    before each. Returns also the number of levels present.
    """
    total, k, squares = node
    for c in range(k):
        left[c] = 0.0
    mine = rows[start:stop]
    for i in range(len(mine)):
        code = np.int64(column[mine[i]])
        chain[i] = heads[code]
        heads[code] = i + 1
        marks[code >> 6] |= np.int64(1) << (code & 63)
    left_rows = present = 0
    left_weight = left_squares = 0.0
    right_squares = squares
    limit = limit_of(best, total, squares)
    cut = -1
    w = 1.0
    for word in range((n_codes + 63) >> 6):
        bits = marks[word]
        marks[word] = 0
        while bits:
            code = 64 * word + trailing_zeros(bits)
            bits &= bits - 1
            if (
                left_rows >= minbucket
                and len(mine) - left_rows >= minbucket
                and may_win(left_squares, left_weight, right_squares, total, limit)
            ):
                gain = make_gain(left_squares, left_weight, right_squares, total, squares)
                if gain > best + TIE * total:
                    best = gain
                    limit = limit_of(best, total, squares)
                    cut = present - 1
            levels[present, 0] = code
            present += 1
            i = heads[code]
            heads[code] = 0
            while i:
                c = y[i - 1]
                if len(weight):
                    w = float(weight[start + i - 1])
                left_squares += w * (2.0 * left[c] + w)
                right_squares -= w * (2.0 * (totals[c] - left[c]) - w)
                left[c] += w
                left_weight += w
                left_rows += 1
                i = np.int64(chain[i - 1])
    return best, cut, present


@part
def search_classes(
    column, f, rows, weight, start, stop, place, n_codes, nominal, node, minbucket, best, work
):
    """Return improvement, place of the best cut (-1 if none beats `best`) and levels present.

    For nominal predictors the cut is 0 and `work.side` is 1 for the levels that go left. `place` is
    that of the rows in the orders, -1 if there are none.
    """
    levels, profiles, totals, left, right = (
        work.levels, work.profiles, work.totals, work.left, work.right,
    )  # fmt: skip
    size = stop - start
    if place >= 0 and has_order(n_codes, nominal):
        return best_of_order(
            column, work.orders[f][place : place + size], work.orders[len(work.orders) - 1], node,
            totals, minbucket, best, levels, left,
        )  # fmt: skip
    width = in_lanes(node[1])
    if not nominal and n_codes * width > max(CELLS_PER_ROW * size, FEWEST_CELLS):
        return best_of_chains(
            column, rows, work.local, weight, start, stop, n_codes, node, totals, minbucket, best,
            work.table, work.marks, levels, work.row_buffer, left,
        )  # fmt: skip
    present = tabulate_classes(
        column, rows, work.local, weight, start, stop, n_codes, width, work.table, levels, profiles
    )
    if nominal:
        found, cut = best_subset(
            levels, present, profiles, size, node, totals, minbucket, best, left, right,
            work.order, work.key, work.side, work.spare,
        )  # fmt: skip
    else:
        found, cut = best_of_profiles(
            levels, present, profiles, size, node, totals, minbucket, best, left, work.order,
            np.int64(0),
        )  # fmt: skip
    return found, cut, present
