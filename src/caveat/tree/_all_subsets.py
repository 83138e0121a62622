# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best of all subsets of a nominal predictor's levels, for three and more classes.

With c[i, j] the product of the profiles of two levels, both measured from what the node's own
profile lets expect, a subset L improves by s / |L| + s / |R|, s being the sum of c over all pairs
in L, whatever the number of classes. That is not free of rounding, so it only says which subsets
are worth a look.

Two sides of some levels, every other level on its own, improve at least as much as any two sides
of all the levels. So the levels that lie far from the node's own profile take sides first, and the
near ones, whose subsets are evaluated together, follow only where that can be enough.
"""

from __future__ import annotations

import numpy as np

from caveat.tree._kernel import inner, sort_by_key, trailing_zeros

__all__ = ["MARGIN", "MOST", "SPARE", "TIE", "dot", "make_gain", "try_all"]

TIE = 1e-14
"""A later cut wins only if it is better by more than this share of the node's weight."""

MARGIN = 1e-8
"""Improvements are taken as different when they differ by more than this share of the weight.

Products of n rows are rounded by some 1e-14 n ** 2, which a side of a few rows turns into 1e-14 n
times the weight over its rows: this is enough for 5 rows of five million.
"""

MOST = 16
"""Most levels for which every subset is ever tried."""

NEAR = 6
"""Most levels that count as near."""

LANES = 8
"""Near levels summed up at once, a fixed number so that no loop is left of it."""

SQUARES, WEIGHT, ROWS, REACH = range(4)
"""What is known of a subset: sum of products, weight, rows, and how much it improves with the
other levels of its kind, near or far, on the other side."""

N_NEAR, N_FAR = 2**NEAR, 2 ** (MOST - NEAR)
SPARE = 2 * MOST * (MOST + 1) + 4 * (N_NEAR + N_FAR)
"""Numbers of spare room that the search needs."""


@inner
def make_gain(left_squares, left_weight, right_squares, total, squares):
    """Return by how much a split improves the Gini measure."""
    return left_squares / left_weight + right_squares / (total - left_weight) - squares / total


@inner
def dot(one, i, other, j, size):
    """Return the product of two runs of numbers, in four sums that need not wait for each other."""
    a = b = c = d = 0.0
    last = size - size % 4
    for m in range(0, last, 4):
        a += one[i + m] * other[j + m]
        b += one[i + m + 1] * other[j + m + 1]
        c += one[i + m + 2] * other[j + m + 2]
        d += one[i + m + 3] * other[j + m + 3]
    for m in range(last, size):
        a += one[i + m] * other[j + m]
    return (a + b) + (c + d)


@inner
def cut(spare, start, size):
    """Cut four lines of the same size out of the spare room."""
    return (
        spare[start : start + size],
        spare[start + size : start + 2 * size],
        spare[start + 2 * size : start + 3 * size],
        spare[start + 3 * size : start + 4 * size],
    )


@inner
def try_all(
    levels, present, profiles, size, node, totals, minbucket, best, order, key, side, spare
):
    """Return the improvement of the best subset and 0, or -1 when it does not beat `best`.

    The last level stays on the right. Among equals the first in the Gray order of all levels wins.
    """
    total = node[0]
    products, gram = spare[: MOST * MOST], spare[MOST * MOST : 2 * MOST * MOST]
    sums = spare[2 * MOST * MOST : MOST * (2 * MOST + 1)]
    weight = spare[MOST * (2 * MOST + 1) : 2 * MOST * (MOST + 1)]
    near = cut(spare, 2 * MOST * (MOST + 1), N_NEAR)
    far = cut(spare, SPARE - 4 * N_FAR, N_FAR)
    n_near = min(present - 1, NEAR)
    n_sides = 1 << (present - 1 - n_near)  # of the far levels; the furthest stays on the right
    fill_products(present, profiles, node[1], sums, products)
    order_products(levels, present, node, n_sides, products, order, key, sums, weight, gram)
    fill_subsets(levels, order, np.int64(0), n_near, gram, near)
    first = 0
    most = 0.0
    far[SQUARES][0] = far[WEIGHT][0] = far[ROWS][0] = 0.0
    if n_sides > 1:
        most = near[REACH][fill_reach(near, N_NEAR // 2)]
        fill_subsets(levels, order, n_near, present, gram, far)
        first = fill_reach(far, n_sides)
    best_mask = best_rank = np.int64(0)  # a plain 0 would be compiled for once more
    for step in range(-1, n_sides):
        s = first if step < 0 else step
        if step == first or (n_sides > 1 and far[REACH][s] + most < best - MARGIN * total):
            continue
        fill_joint(gram, n_near, s, sums, near[REACH])
        best, best_mask, best_rank = try_near(
            present, profiles, size, node, totals, minbucket, best, best_mask, best_rank, order,
            n_near, s, far[SQUARES][s], far[WEIGHT][s], far[ROWS][s], near,
        )  # fmt: skip
    for i in range(present):
        side[i] = best_mask >> i & 1
    return best, 0 if best_mask else -1


@inner
def fill_products(present, profiles, k, cells, products):
    """Write the products of the profiles of all pairs of levels."""
    for j in range(MOST):
        cells[j] = 0.0
    for i in range(present):
        for j in range(MOST):
            products[i * MOST + j] = 0.0
    for c in range(k):
        for i in range(present):
            cells[i] = profiles[i * k + c]
        for i in range(present):
            cell = cells[i]
            if cell:
                for j in range(MOST):
                    products[i * MOST + j] += cell * cells[j]


@inner
def order_products(levels, present, node, n_sides, products, order, key, expected, weight, gram):
    """Order the levels from near to far, and measure the profiles from what the node's expects."""
    total, _, squares = node
    for j in range(MOST):
        expected[j] = 0.0
    for i in range(present):
        for j in range(MOST):
            expected[j] += products[i * MOST + j]
    for i in range(present):
        order[i] = i
        weight[i] = levels[i, 2]
        expected[i] = (expected[i] - 0.5 * squares / total * weight[i]) / total
        key[i] = products[i * MOST + i] / weight[i] - 2.0 * expected[i]
    if n_sides > 1:
        sort_by_key(order, key, present)
    for i in range(present):
        one = order[i]
        for j in range(i + 1):
            other = order[j]
            product = products[one * MOST + other]
            product -= weight[one] * expected[other] + weight[other] * expected[one]
            gram[i * MOST + j] = product
            gram[j * MOST + i] = product


@inner
def fill_subsets(levels, order, start, stop, gram, subsets):
    """Write sum of products, weight and rows of all subsets of some levels."""
    squares, weight, rows, joint = subsets
    squares[0] = weight[0] = rows[0] = joint[0] = 0.0
    for i in range(start, stop):
        here = 1 << (i - start)
        for j in range(start, i):
            add_level(joint, 1 << (j - start), gram[i * MOST + j])
        own = gram[i * MOST + i]
        for s in range(here):
            squares[here + s] = squares[s] + (own + 2.0 * joint[s])
        add_level(weight, here, levels[order[i], 2])
        add_level(rows, here, levels[order[i], 1])


@inner
def add_level(sums, n_subsets, amount):
    """Go on from the subsets without a level to those with it."""
    for s in range(n_subsets):
        sums[n_subsets + s] = sums[s] + amount


@inner
def fill_reach(subsets, n_subsets):
    """Write how much the two sides of these levels alone improve; return where most."""
    squares, weight, reach = subsets[SQUARES], subsets[WEIGHT], subsets[REACH]
    last = 2 * n_subsets - 1
    reach[0] = squares[last] / weight[last]
    for s in range(1, n_subsets):
        reach[s] = squares[s] / weight[s] + squares[last - s] / weight[last - s]
    first = 0
    for s in range(1, n_subsets):
        if reach[s] > reach[first]:
            first = s
    return first


@inner
def fill_joint(gram, n_near, side, sums, joint):
    """Write the products of one subset of the far levels with each of the near ones."""
    for j in range(LANES):
        sums[j] = 0.0
    while side:
        i = n_near + trailing_zeros(side)
        side &= side - 1
        for j in range(LANES):
            sums[j] += gram[i * MOST + j]
    joint[0] = 0.0
    for j in range(n_near):
        add_level(joint, 1 << j, sums[j])


@inner
def try_near(
    present, profiles, size, node, totals, minbucket, best, best_mask, best_rank, order, n_near,
    side, squares, weight, rows, near,
):  # fmt: skip
    """Try all subsets of the near levels beside one of the far levels."""
    total = node[0]
    joint = near[REACH]
    if not any_above(
        near[SQUARES], near[WEIGHT], near[ROWS], joint, 1 << n_near, squares, weight,
        minbucket - rows, size - minbucket - rows, total, best - MARGIN * total,
    ):  # fmt: skip
        return best, best_mask, best_rank
    for s in range(1 << n_near):
        left_rows = rows + near[ROWS][s]
        if left_rows < minbucket or size - left_rows < minbucket:
            continue
        left_weight = weight + near[WEIGHT][s]
        product = (squares + near[SQUARES][s] + 2.0 * joint[s]) * total
        if product < (best - MARGIN * total) * left_weight * (total - left_weight):
            continue
        mask = 0
        for i in range(present - 1):
            mask |= ((side << n_near | s) >> i & 1) << order[i]
        if mask >> (present - 1):
            mask ^= (1 << present) - 1
        gain = gain_of_levels(mask, present, profiles, node, totals)
        if gain > best + TIE * total or (
            best_mask and gain >= best - TIE * total and gray_rank(mask) < best_rank
        ):
            best = max(best, gain)
            best_mask = mask
            best_rank = gray_rank(mask)
    return best, best_mask, best_rank


@inner
def any_above(
    squares, weight, rows, joint, n_near, far_squares, far_weight, fewest, most, total, limit
):
    """Say whether any of these subsets is allowed and better; written to run in vector units."""
    far_right = total - far_weight
    above = 0
    for s in range(n_near):
        product = (far_squares + squares[s] + 2.0 * joint[s]) * total
        better = product > limit * (far_weight + weight[s]) * (far_right - weight[s])
        above += better & (rows[s] >= fewest) & (rows[s] <= most)
    return above > 0


@inner
def gain_of_levels(mask, present, profiles, node, totals):
    """Return the improvement when the levels of the mask go left, free of rounding in its sums."""
    total, k, squares = node
    left_squares = right_squares = left_weight = 0.0
    for c in range(k):
        cell = 0.0
        for i in range(present):
            if mask >> i & 1:
                cell += profiles[i * k + c]
        left_weight += cell
        left_squares += cell * cell
        right_squares += (totals[c] - cell) * (totals[c] - cell)
    return make_gain(left_squares, left_weight, right_squares, total, squares)


@inner
def gray_rank(mask):
    """Return when a Gray walk over all subsets, one level at a time, comes to this one."""
    rank = mask
    shift = 1
    while shift < 32:
        rank ^= rank >> shift
        shift <<= 1
    return rank
