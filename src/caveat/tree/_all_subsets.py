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
from caveat.tree._lanes import (
    LANES,
    add_product,
    add_squares,
    add_to_all,
    any_above,
    keep_larger,
    sum_three,
)

__all__ = ["MARGIN", "MOST", "SPARE", "TIE", "make_gain", "try_all"]

TIE = 1e-14
"""A later cut wins only if it is better by more than this share of the node's weight."""

MARGIN = 1e-7
"""Improvements are taken as different when they differ by more than this share of the weight.

Products of n rows are rounded by some 1e-13 n ** 2, which a side of a few rows turns into 1e-13 n
times the weight over its rows: this is enough for 5 rows of five million.
"""

MOST = 16
"""Most levels for which every subset is ever tried."""

NEAR = 6
"""Fewest levels that count as near; half of the levels, if that is more."""

SQUARES, WEIGHT, ROWS, TEST = range(4)
"""What is known of a subset: sum of products, weight, rows; and room for what is asked of it."""

N_NEAR = 2 ** (MOST // 2)
SPARE = 2 * MOST * MOST + 2 * MOST + LANES + N_NEAR // LANES + 4 * N_NEAR
"""Numbers of spare room that the search needs."""


@inner
def make_gain(left_squares, left_weight, right_squares, total, squares):
    """Return by how much a split improves the Gini measure."""
    return left_squares / left_weight + right_squares / (total - left_weight) - squares / total


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
    levels, present, profiles, size, node, totals, shares, minbucket, best, order, key, side, spare
):
    """Return the improvement of the best subset and 0, or -1 when it does not beat `best`.

    `shares` are those of the classes in the node, `key` says how much each level apart improves.
    The furthest level stays on the right. Among equals the first in the Gray order of all levels
    wins.
    """
    total = node[0]
    gram, cells = spare[: MOST * MOST], spare[MOST * MOST : 2 * MOST * MOST]
    weight = spare[2 * MOST * MOST : MOST * (2 * MOST + 1)]
    lines = spare[MOST * (2 * MOST + 1) : SPARE - 4 * N_NEAR]
    near = cut(spare, SPARE - 4 * N_NEAR, N_NEAR)
    n_near = min(present - 1, max(NEAR, present // 2))
    for i in range(present):
        order[i] = i
    if n_near < present - 1:
        sort_by_key(order, key, present)
    fill_gram(levels, present, profiles, node[1], shares, order, n_near, weight, cells, gram)
    fill_near(levels, order, n_near, gram, near)
    most = 0.0
    if n_near < present - 1:
        most = best_reach(near, 1 << n_near)
        sum_rows(gram, n_near, present, cells)
    fill_test(near, 1 << n_near, best / total - MARGIN)
    best, mask = take_sides(
        levels, present, profiles, size, node, totals, minbucket, best, order, gram, cells, weight,
        near, n_near, most, lines,
    )  # fmt: skip
    for i in range(present):
        side[i] = mask >> i & 1
    return best, 0 if mask else -1


@inner
def take_sides(
    levels, present, profiles, size, node, totals, minbucket, best, order, gram, with_near, weight,
    near, n_near, most, lines,
):  # fmt: skip
    """Let the far levels take sides in all ways, and the near ones follow where that may win.

    Levels that point away from the furthest go left first, then one at a time changes sides.
    """
    total = node[0]
    push = lines[:MOST]  # products of each level with those on the left
    for j in range(MOST):
        push[j] = 0.0
    all_near = (1 << n_near) - 1
    near_squares, far_total = near[SQUARES][all_near], total - near[WEIGHT][all_near]
    n_far = present - 1 - n_near
    far = 0
    squares = left = rows = along = 0.0
    best_mask = best_rank = np.int64(0)  # a plain 0 would be compiled for once more
    for step in range(min(1 - n_far, 0), 1 << n_far):
        i = step + n_far - 1 if step <= 0 else trailing_zeros(step)
        if n_far and (step > 0 or gram[(present - 1) * MOST + n_near + i] < 0.0):
            sign = -1.0 if far >> i & 1 else 1.0
            far ^= 1 << i
            i += n_near
            squares += gram[i * MOST + i] + 2.0 * sign * push[i]
            left += sign * weight[i]
            rows += sign * levels[order[i], 1]
            along += sign * with_near[i]
            for j in range(0, present, LANES):
                add_product(push, j, sign, gram, i * MOST + j)
        if step < 0:
            continue
        if n_far:
            reach = (near_squares + 2.0 * along + squares) / (far_total - left)
            if left:
                reach += squares / left
            if reach + most < best - MARGIN * total:
                continue
        best, best_mask, best_rank = try_near(
            present, profiles, size, node, totals, minbucket, best, best_mask, best_rank, order,
            n_near, far, squares, left, rows, weight, near, lines,
        )  # fmt: skip
    return best, best_mask


@inner
def fill_gram(levels, present, profiles, k, shares, order, n_near, weight, cells, gram):
    """Write the products of all pairs of levels, in their order.

    A near level needs them with the other near ones only.
    """
    for j in range(present * MOST):
        gram[j] = 0.0
    for j in range(present):
        weight[j] = levels[order[j], 2]
    for start in range(0, k, MOST):
        size = min(MOST, k - start)
        for j in range(present):
            profile = profiles[order[j] * k + start : (order[j] + 1) * k]
            for c in range(size):
                cells[c * MOST + j] = profile[c] - weight[j] * shares[start + c]
        for c in range(size):
            for i in range(present):
                add_product(gram, i * MOST, cells[c * MOST + i], cells, c * MOST)
            if present > LANES:
                for i in range(n_near, present):
                    add_product(
                        gram, i * MOST + LANES, cells[c * MOST + i], cells, c * MOST + LANES
                    )


@inner
def sum_rows(gram, n_near, present, sums):
    """Write the product of each far level with all the near ones together."""
    for i in range(n_near, present):
        sums[i] = 0.0
        for j in range(n_near):
            sums[i] += gram[i * MOST + j]


@inner
def fill_near(levels, order, n_near, gram, near):
    """Write what is known of all subsets of the near levels."""
    squares, weight, rows, joint = near
    sum_three(squares, 0, gram[0], gram[MOST + 1], gram[2 * MOST + 2])
    first, second, third = gram[MOST], gram[2 * MOST], gram[2 * MOST + 1]
    squares[3] += 2.0 * first
    squares[5] += 2.0 * second
    squares[6] += 2.0 * third
    squares[7] += 2.0 * (first + second + third)
    a, b, c = order[0], order[1], order[2]
    sum_three(weight, 0, float(levels[a, 2]), float(levels[b, 2]), float(levels[c, 2]))
    sum_three(rows, 0, float(levels[a, 1]), float(levels[b, 1]), float(levels[c, 1]))
    for i in range(3, n_near):
        here = 1 << i
        sum_three(joint, 0, gram[i * MOST], gram[i * MOST + 1], gram[i * MOST + 2])
        for j in range(3, i):
            for s in range(0, 1 << j, LANES):
                add_to_all(joint, (1 << j) + s, joint, s, gram[i * MOST + j])
        for s in range(0, here, LANES):
            add_to_all(squares, here + s, squares, s, gram[i * MOST + i])
            add_product(squares, here + s, 2.0, joint, s)
            add_to_all(weight, here + s, weight, s, float(levels[order[i], 2]))
            add_to_all(rows, here + s, rows, s, float(levels[order[i], 1]))


@inner
def best_reach(near, n_subsets):
    """Return how much two sides of the near levels alone improve at most."""
    squares, weight, reach = near[SQUARES], near[WEIGHT], near[TEST]
    weight[0] = 1.0  # nothing over nothing is nothing
    for s in range(LANES):
        reach[s] = 0.0
    for s in range(0, n_subsets >> 1, LANES):
        mirror = n_subsets - s - LANES
        keep_larger(reach, 0, squares, s, weight, s, squares, mirror, weight, mirror)
    weight[0] = 0.0
    most = reach[0]
    for s in range(1, LANES):
        most = max(most, reach[s])
    return most


@inner
def fill_test(near, n_subsets, limit):
    """Write the part of the test in `try_near` that is the same for all subsets of far levels."""
    for s in range(0, n_subsets, LANES):
        add_squares(near[TEST], s, near[SQUARES], s, limit, near[WEIGHT], s)


@inner
def try_near(
    present, profiles, size, node, totals, minbucket, best, best_mask, best_rank, order, n_near,
    far, far_squares, far_weight, far_rows, weight, near, lines,
):  # fmt: skip
    """Try all subsets of the near levels beside one of the far levels.

    One can win if s - limit |L| |R| > 0. Written out, that is the test of the near subset plus a
    number for each of its levels.
    """
    total = node[0]
    test, rows = near[TEST], near[ROWS]
    push, low, high = lines[:MOST], lines[MOST : MOST + LANES], lines[MOST + LANES :]
    limit = best / total - MARGIN
    slope = limit * (total - 2.0 * far_weight)
    sum_three(
        low, 0, 2.0 * push[0] - slope * weight[0], 2.0 * push[1] - slope * weight[1],
        2.0 * push[2] - slope * weight[2],
    )  # fmt: skip
    high[0] = limit * far_weight * (total - far_weight) - far_squares
    for j in range(3, n_near):
        for s in range(1 << (j - 3)):
            high[(1 << (j - 3)) + s] = high[s] + (slope * weight[j] - 2.0 * push[j])
    fewest, most = minbucket - far_rows, size - minbucket - far_rows
    n_blocks = 1 << (n_near - 3)
    before = best
    block = -1
    while True:
        block += 1
        while block < n_blocks and not any_above(
            test, block * LANES, low, 0, high[block], rows, block * LANES, fewest, most
        ):
            block += 1
        if block >= n_blocks:
            break
        start = block * LANES
        for s in range(start, start + LANES):
            if rows[s] < fewest or rows[s] > most or test[s] + low[s - start] < high[block]:
                continue
            mask = 0
            for i in range(present - 1):
                mask |= ((far << n_near | s) >> i & 1) << order[i]
            if mask >> (present - 1):
                mask ^= (1 << present) - 1
            gain = gain_of_levels(mask, profiles, node, totals)
            if gain > best + TIE * total or (
                best_mask and gain >= best - TIE * total and gray_rank(mask) < best_rank
            ):
                best = max(best, gain)
                best_mask = mask
                best_rank = gray_rank(mask)
    if best > before:
        fill_test(near, 1 << n_near, best / total - MARGIN)
    return best, best_mask, best_rank


@inner
def gain_of_levels(mask, profiles, node, totals):
    """Return the improvement when the levels of the mask go left, free of rounding in its sums."""
    total, k, squares = node
    left_squares = right_squares = left_weight = 0.0
    for c in range(k):
        cell = 0.0
        bits = mask
        while bits:
            cell += profiles[trailing_zeros(bits) * k + c]
            bits &= bits - 1
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
