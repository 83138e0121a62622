"""Kernels: the best split of one ordered predictor for three and more classes, by Gini.

Within a node the classes present are numbered 0..k-1. A split with class weights L and R on its
two sides improves the Gini measure by sum(L^2)/|L| + sum(R^2)/|R| - sum(T^2)/|T|.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from caveat.tree._kernel import kernel

__all__ = ["best_of_profiles", "best_of_sorted", "sort_by_level", "tabulate_classes"]

TIE = 1e-14
"""A later cut wins only if it is better by more than this share of the node's weight."""


@kernel
def tabulate_classes(column, rows, y, weight, span, k, work):
    """Fill the class profile of each level present; return how many are present.

    `y` holds the node's own class numbers from position 0, `rows` and `weight` the whole tree's
    from position `first`. `work.levels` gets code, rows and weight of each level.
    """
    first, n, n_codes = span
    table, levels, profiles = work.table, work.levels, work.profiles
    if len(weight):
        counts = n_codes * k
        for i in range(n):
            code = column[rows[first + i]]
            table[counts + code] += 1
            table[code * k + y[i]] += weight[first + i]
    else:
        for i in range(n):
            table[column[rows[first + i]] * k + y[i]] += 1
    present = 0
    for code in range(n_codes):
        total = 0
        for c in range(k):
            cell = table[code * k + c]
            profiles[present * k + c] = cell
            table[code * k + c] = 0
            total += cell
        if total:
            levels[present, 0] = code
            levels[present, 1] = table[n_codes * k + code] if len(weight) else total
            levels[present, 2] = total
            if len(weight):
                table[n_codes * k + code] = 0
            present += 1
    return present


@kernel
def best_of_profiles(levels, profiles, present, node, minbucket, best, work):
    """Return the improvement and the position of the last level on the left, or -1."""
    rows, weight, squares, k = node.size, node.weight, node.squares, node.k
    left, right = work.left, work.right
    for c in range(k):
        left[c] = 0.0
        right[c] = work.totals[c]
    left_rows = 0
    left_weight = 0.0
    left_squares = 0.0
    right_squares = squares
    cut = -1
    for i in range(present - 1):
        for c in range(k):
            cell = profiles[i * k + c]
            left_squares += cell * (2.0 * left[c] + cell)
            right_squares -= cell * (2.0 * right[c] - cell)
            left[c] += cell
            right[c] -= cell
        left_rows += levels[i, 1]
        left_weight += levels[i, 2]
        if left_rows < minbucket:
            continue
        if rows - left_rows < minbucket:
            break
        improve = left_squares / left_weight + right_squares / (weight - left_weight)
        improve -= squares / weight
        if improve > best + TIE * weight:
            best = improve
            cut = i
    return best, cut


@kernel
def sort_by_level(column, rows, y, weight, span, work):
    """Bring the node's responses into the order of the levels; return how many are present."""
    first, n, n_codes = span
    table, levels = work.table, work.levels
    for i in range(n):
        table[column[rows[first + i]]] += 1
    present = 0
    position = 0
    for code in range(n_codes):
        count = table[code]
        if count:
            levels[present, 0] = code
            levels[present, 1] = count
            table[code] = position
            position += count
            present += 1
    for i in range(n):
        code = column[rows[first + i]]
        work.sorted_classes[table[code]] = y[i]
        if len(weight):
            work.sorted_weight[table[code]] = weight[first + i]
        table[code] += 1
    for i in range(present):
        table[levels[i, 0]] = 0
    return present


@kernel
def best_of_sorted(present, node, minbucket, best, work):
    """Do what `best_of_profiles` does from sorted rows: cheaper when levels x classes > rows."""
    levels, sorted_weight = work.levels, work.sorted_weight
    rows, weight, squares, k = node.size, node.weight, node.squares, node.k
    left, right = work.left, work.right
    for c in range(k):
        left[c] = 0.0
        right[c] = work.totals[c]
    position = 0
    left_weight = 0.0
    left_squares = 0.0
    right_squares = squares
    cut = -1
    for i in range(present - 1):
        for _ in range(levels[i, 1]):
            c = work.sorted_classes[position]
            w = float(sorted_weight[position]) if len(sorted_weight) else 1.0
            left_squares += w * (2.0 * left[c] + w)
            right_squares -= w * (2.0 * right[c] - w)
            left[c] += w
            right[c] -= w
            left_weight += w
            position += 1
        if position < minbucket:
            continue
        if rows - position < minbucket:
            break
        improve = left_squares / left_weight + right_squares / (weight - left_weight)
        improve -= squares / weight
        if improve > best + TIE * weight:
            best = improve
            cut = i
    return best, cut
