# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best split of one predictor for three and more classes, by Gini.

Within a node the classes present are numbered 0..k-1. A split with class weights L and R on its
two sides improves the Gini measure by sum(L^2)/|L| + sum(R^2)/|R| - sum(T^2)/|T|.
"""

from __future__ import annotations

import numpy as np

from caveat.tree._kernel import inner, part
from caveat.tree._numbers import list_levels
from caveat.tree._subsets import TIE, best_of_profiles, best_subset, gain_of_cut

__all__ = ["CELLS_PER_ROW", "FEWEST_CELLS", "count_classes", "search_classes"]

CELLS_PER_ROW = 4
FEWEST_CELLS = 64
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
        if mass:
            masses[c] = k
            totals[k] = mass
            k += 1
            total += mass
            largest = max(largest, mass)
            squares += float(mass) * float(mass)
    for i in range(start, stop):
        local[i - start] = masses[y[i]]
    return k, total, squares, largest


@inner
def tabulate_classes(column, rows, y, weight, start, stop, n_codes, k, table, levels, profiles):
    """Fill the class profile of each level present; return how many are present.

    `y` holds the node's own class numbers from position 0. `levels` gets code, rows and weight.
    """
    counts = n_codes * k
    if len(weight):
        for i in range(start, stop):
            code = np.int64(column[rows[i]])
            table[counts + code] += 1
            table[code * k + y[i - start]] += weight[i]
    else:
        mine = rows[start:stop]
        for i in range(len(mine)):
            table[np.int64(column[mine[i]]) * k + y[i]] += 1
    present = 0
    for code in range(n_codes):
        total = 0
        for c in range(k):
            cell = table[code * k + c]
            profiles[present * k + c] = cell
            table[code * k + c] = 0
            total += cell
        levels[present, 0] = code
        levels[present, 1] = total
        levels[present, 2] = total
        if len(weight):
            levels[present, 1] = table[counts + code]
            table[counts + code] = 0
        present += total != 0
    return present


@inner
def sort_by_level(
    column, rows, y, weight, start, stop, n_codes, table, marks, levels, sorted_y, sorted_weight
):
    """Bring the node's responses into the order of the levels; return how many are present."""
    for i in range(start, stop):
        table[column[rows[i]]] += 1
    present = list_levels(column, rows, start, stop, n_codes, np.int64(1), table, marks, levels)
    position = 0
    for i in range(present):
        code = levels[i, 0]
        levels[i, 1] = table[code]
        table[code] = position
        position += levels[i, 1]
    for i in range(start, stop):
        code = column[rows[i]]
        sorted_y[table[code]] = y[i - start]
        if len(weight):
            sorted_weight[table[code]] = weight[i]
        table[code] += 1
    for i in range(present):
        table[levels[i, 0]] = 0
    return present


@inner
def best_of_sorted(
    levels, present, sorted_y, sorted_weight, size, node, totals, minbucket, best, left, right
):
    """Do what `best_of_profiles` does from sorted rows: cheaper when levels x classes > rows."""
    total, k, squares = node
    for c in range(k):
        left[c] = 0.0
        right[c] = totals[c]
    position = 0
    left_weight = 0.0
    left_squares = 0.0
    right_squares = squares
    cut = -1
    w = 1.0
    for i in range(present - 1):
        for _ in range(levels[i, 1]):
            c = sorted_y[position]
            if len(sorted_weight):
                w = float(sorted_weight[position])
            left_squares += w * (2.0 * left[c] + w)
            right_squares -= w * (2.0 * right[c] - w)
            left[c] += w
            right[c] -= w
            left_weight += w
            position += 1
        gain = gain_of_cut(
            size, position, minbucket, node, left_weight, left_squares, right_squares
        )
        if gain > best + TIE * total:
            best = gain
            cut = i
    return best, cut


@part
def search_classes(
    column, rows, weight, start, stop, n_codes, nominal, node, minbucket, best, work
):
    """Return improvement, place of the best cut (-1 if none beats `best`) and levels present.

    For nominal predictors the place is 0 and `work.side` is 1 for the levels that go left.
    """
    levels, profiles, totals, left, right = (
        work.levels, work.profiles, work.totals, work.left, work.right,
    )  # fmt: skip
    size = stop - start
    k = node[1]
    if not nominal and n_codes * k > max(CELLS_PER_ROW * size, FEWEST_CELLS):
        present = sort_by_level(
            column, rows, work.local, weight, start, stop, n_codes, work.table, work.marks,
            levels, work.sorted_classes, work.sorted_weight,
        )  # fmt: skip
        found, cut = best_of_sorted(
            levels, present, work.sorted_classes, work.sorted_weight, size, node, totals,
            minbucket, best, left, right,
        )  # fmt: skip
        return found, cut, present
    present = tabulate_classes(
        column, rows, work.local, weight, start, stop, n_codes, k, work.table, levels, profiles
    )
    if nominal:
        found, cut = best_subset(
            levels, present, profiles, size, node, totals, minbucket, best, left, right,
            work.order, work.key, work.side, work.spare,
        )  # fmt: skip
    else:
        found, cut = best_of_profiles(
            levels, present, profiles, size, node, totals, minbucket, best, left, right,
            work.order, np.int64(0),
        )  # fmt: skip
    return found, cut, present
