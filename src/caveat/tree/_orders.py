# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: small subtrees for three and more classes, whose rows are kept in order.

Once a node has few rows they are put in the order of each ordered predictor's codes. From then on
an order is parted as the rows are, which is cheaper than to put the rows of each node in order.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, trailing_zeros
from caveat.tree._all_subsets import MARGIN, TIE, make_gain

__all__ = [
    "SMALL", "best_of_order", "has_order", "note_classes", "part_orders", "put_in_order",
]  # fmt: skip

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
