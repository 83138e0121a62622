# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best split of one predictor for three and more classes, by Gini.

Within a node the classes present are numbered 0..k-1. A split with class weights L and R on its
two sides improves the Gini measure by sum(L^2)/|L| + sum(R^2)/|R| - sum(T^2)/|T|.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, part, trailing_zeros
from caveat.compiling.lanes import LANES, in_lanes, take_out
from caveat.tree._all_subsets import TIE, limit_of, make_gain, may_win
from caveat.tree._orders import best_of_order, has_order
from caveat.tree._subsets import best_of_profiles, best_subset

__all__ = ["CELLS_PER_ROW", "FEWEST_CELLS", "count_classes", "search_classes"]

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
