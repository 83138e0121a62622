# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels: the best subset of a nominal predictor's levels, searched in full or along an order."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, trailing_zeros
from caveat.compiling.intrinsics import (
    LANES,
    add_product,
    add_squares,
    add_to_all,
    any_above,
    in_lanes,
    keep_larger,
    multiply,
    place_of,
    reach_of,
    square_sides,
    sum_three,
    write_difference,
)
from caveat.tree._numbers import sort_by_key

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
N_BLOCKS = N_NEAR // LANES
SPARE = MOST * MOST + 4 * N_BLOCKS + 9 * N_NEAR
"""Numbers of spare room that the search needs, and MOST more for each class."""


@inner
def make_gain(left_squares, left_weight, right_squares, total, squares):
    """Return by how much a split improves the Gini measure."""
    return left_squares / left_weight + right_squares / (total - left_weight) - squares / total


@inner
def limit_of(best, total, squares):
    """Return what `may_win` asks for where a split must improve more than `best`."""
    return best + squares / total - TIE * total


@inner
def may_win(left_squares, left_weight, right_squares, total, limit):
    """Say whether a split can improve more, which is cheaper to ask than how much it does.

    What follows from it is written out in each search: shared, it made trees 2 to 5 % slower.
    """
    rest = total - left_weight
    return left_squares * rest + right_squares * left_weight > limit * left_weight * rest


@inner
def product(one, start, other, other_start, width):
    """Return the product of two lines of whole lanes."""
    total = 0.0
    for c in range(0, width, LANES):
        total += multiply(one, start + c, other, other_start + c)
    return total


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
    # A plain 0 would be compiled for once more, here and below.
    none = np.int64(0)
    near, far = cut(spare, none, none + N_NEAR), cut(spare, none + 4 * N_NEAR, none + N_NEAR)
    lines = cut(spare, none + 8 * N_NEAR, none + N_BLOCKS)
    along = spare[8 * N_NEAR + 4 * N_BLOCKS : 9 * N_NEAR + 4 * N_BLOCKS]
    gram, apart = spare[SPARE - MOST * MOST : SPARE], spare[SPARE:]
    n_near = min(present - 1, max(NEAR, present // 2))
    n_far = present - 1 - n_near
    for i in range(present):
        order[i] = i
    if n_far:
        sort_levels(order, key, present, near[TEST])
    fill_gram(levels, present, profiles, in_lanes(node[1]), shares, order, apart, lines[0], gram)
    fill_subsets(levels, present, order, none, n_near, gram, near)
    most = 0.0
    if n_far:
        most = best_reach(near, 1 << n_near)
        fill_subsets(levels, present, order, n_near, n_far, gram, far)
        fill_reach(gram, n_near, n_far, total, near, far, along)
    fill_test(near, 1 << n_near, best / total - MARGIN)
    best, mask = take_sides(
        present, profiles, size, node, totals, minbucket, best, order, gram, near, far, n_near,
        most, lines,
    )  # fmt: skip
    for i in range(present):
        side[i] = mask >> i & 1
    return best, 0 if mask else -1


@inner
def sort_levels(order, key, present, line):
    """Order up to MOST levels by their keys."""
    for i in range(MOST):
        line[i] = key[i] if i < present else np.inf
    for i in range(present):
        order[place_of(line, i)] = i


@inner
def take_sides(
    present, profiles, size, node, totals, minbucket, best, order, gram, near, far, n_near, most,
    lines,
):  # fmt: skip
    """Let the far levels take sides in all ways, and the near ones follow where that may win.

    The sides that reach furthest come first.
    """
    total = node[0]
    push, reach = lines[1], far[TEST]  # products of each near level with the far ones on the left
    n_sides = 1 << (present - 1 - n_near)
    if n_sides == 1:
        far[SQUARES][0] = far[WEIGHT][0] = far[ROWS][0] = 0.0
        reach[0] = np.inf
    first = 0
    for s in range(1, n_sides):
        first = s if reach[s] > reach[first] else first
    best_mask = best_rank = np.int64(0)
    for step in range(n_sides):
        s = 0 if step == first else step
        if step == 0:
            s = first
        if reach[s] + most < best - MARGIN * total:
            continue
        for j in range(LANES):
            push[j] = 0.0
        bits = s
        while bits:
            add_product(push, 0, 1.0, gram, (n_near + trailing_zeros(bits)) * MOST)
            bits &= bits - 1
        best, best_mask, best_rank = try_near(
            present, profiles, size, node, totals, minbucket, best, best_mask, best_rank, order,
            n_near, s, far[SQUARES][s], far[WEIGHT][s], far[ROWS][s], near, lines,
        )  # fmt: skip
    return best, best_mask


@inner
def fill_gram(levels, present, profiles, width, shares, order, apart, weight, gram):
    """Write the products of all pairs of levels, in their order, below the diagonal and on it."""
    for i in range(present):
        j = order[i]
        weight[i] = levels[j, 2]
        for c in range(0, width, LANES):
            write_difference(apart, i * width + c, profiles, j * width + c, weight[i], shares, c)
        for j in range(i + 1):
            gram[i * MOST + j] = product(apart, i * width, apart, j * width, width)


@inner
def fill_subsets(levels, present, order, start, n, gram, known):
    """Write what is known of all subsets of n levels; beyond them are numbers of no meaning."""
    squares, weight, rows, joint = known
    gram = gram[start * (MOST + 1) :]
    sum_three(squares, 0, gram[0], gram[MOST + 1], gram[2 * MOST + 2])
    first, second, third = gram[MOST], gram[2 * MOST], gram[2 * MOST + 1]
    squares[3] += 2.0 * first
    squares[5] += 2.0 * second
    squares[6] += 2.0 * third
    squares[7] += 2.0 * (first + second + third)
    a, b, c = order[start], order[start + 1], order[min(start + 2, present - 1)]
    sum_three(weight, 0, float(levels[a, 2]), float(levels[b, 2]), float(levels[c, 2]))
    sum_three(rows, 0, float(levels[a, 1]), float(levels[b, 1]), float(levels[c, 1]))
    for i in range(3, n):
        here = 1 << i
        sum_three(joint, 0, gram[i * MOST], gram[i * MOST + 1], gram[i * MOST + 2])
        for j in range(3, i):
            for s in range(0, 1 << j, LANES):
                add_to_all(joint, (1 << j) + s, joint, s, gram[i * MOST + j])
        level = order[start + i]
        for s in range(0, here, LANES):
            add_to_all(squares, here + s, squares, s, gram[i * MOST + i])
            add_product(squares, here + s, 2.0, joint, s)
            add_to_all(weight, here + s, weight, s, float(levels[level, 2]))
            add_to_all(rows, here + s, rows, s, float(levels[level, 1]))


@inner
def fill_reach(gram, n_near, n_far, total, near, far, along):
    """Write how much two sides of the far levels improve, the near levels being left out."""
    squares, weight, reach = far[SQUARES], far[WEIGHT], far[TEST]
    all_near = (1 << n_near) - 1
    along[0] = 0.0
    for i in range(n_far):
        with_near = 0.0
        for j in range(n_near):
            with_near += gram[(n_near + i) * MOST + j]
        for s in range(1 << i):
            along[(1 << i) + s] = along[s] + 2.0 * with_near
    weight[0] = 1.0  # nothing over nothing is nothing
    for s in range(0, 1 << n_far, LANES):
        reach_of(
            reach, s, squares, s, weight, s, along, s, near[SQUARES][all_near],
            total - near[WEIGHT][all_near],
        )  # fmt: skip
    weight[0] = 0.0
    reach[0] = near[SQUARES][all_near] / (total - near[WEIGHT][all_near])


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
    far, far_squares, far_weight, far_rows, near, lines,
):  # fmt: skip
    """Try all subsets of the near levels beside one of the far levels.

    One can win if s - limit |L| |R| > 0. Written out, that is the test of the near subset plus a
    number for each of its levels.
    """
    total = node[0]
    test, rows = near[TEST], near[ROWS]
    weight, push, low, high = lines
    limit = best / total - MARGIN
    slope = limit * (total - 2.0 * far_weight)
    for j in range(LANES):
        push[j] = 2.0 * push[j] - slope * weight[j]
    sum_three(low, 0, push[0], push[1], push[2])
    sum_three(high, 0, -push[3], -push[4], -push[5])
    add_to_all(high, 0, high, 0, limit * far_weight * (total - far_weight) - far_squares)
    for j in range(6, n_near):
        for s in range(0, 1 << (j - 3), LANES):
            add_to_all(high, (1 << (j - 3)) + s, high, s, -push[j])
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
            left = near[WEIGHT][s] + far_weight
            above = test[s] + low[s - start] - high[block]
            if above < (best / total - MARGIN - limit) * left * (total - left):
                continue  # the best has risen since the test was written
            mask = mask_of(far << n_near | s, order, present)
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
def mask_of(subset, order, present):
    """Return the mask of a subset of the levels in their order, without the last level."""
    mask = 0
    for i in range(present - 1):
        mask |= (subset >> i & 1) << order[i]
    return mask if mask >> (present - 1) == 0 else mask ^ ((1 << present) - 1)


@inner
def gain_of_levels(mask, profiles, node, totals):
    """Return the improvement when the levels of the mask go left, free of rounding in its sums."""
    total, k, squares = node
    width = in_lanes(k)
    left_squares = right_squares = left_weight = 0.0
    for c in range(k):
        cell = 0.0
        bits = mask
        while bits:
            cell += profiles[trailing_zeros(bits) * width + c]
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


# -------------------------------------------------------------------------------------------------
# Kernels: the best split of one predictor for three and more classes, from its profiles.
#
# The profile of a level is the weight of each class in it. All lines that hold a number for each
# class fill whole lanes, with zeros behind the last class.
#
# With few levels every subset is tried. Beyond that the levels are ordered along the first
# principal component of their profiles (Coppersmith, Hong and Hosking 1999), cut at the best
# place, and improved by moving single levels as long as that helps.


FEW = 5
"""Levels up to which all subsets are tried one by one, without asking first whether any can win."""

ITERATIONS = 10
"""Most steps of the power iteration; a rough direction is enough, moves do the rest."""


@inner
def take_level(out, left, sign, profiles, i, totals, width):
    """Write the left side with one level more or less; return the squares of both sides."""
    left_squares = right_squares = 0.0
    for c in range(0, width, LANES):
        one, other = square_sides(out, c, left, c, sign, profiles, i * width + c, totals, c)
        left_squares += one
        right_squares += other
    return left_squares, right_squares


@inner
def best_of_profiles(
    levels, present, profiles, size, node, totals, minbucket, best, left, order, by_order
):
    """Return the improvement and the place of the last level on the left, or -1.

    The levels come as they are or, with `by_order`, as `order` says.
    """
    total, k, squares = node
    width = in_lanes(k)
    for c in range(width):
        left[c] = 0.0
    left_rows = 0
    left_weight = 0.0
    limit = limit_of(best, total, squares)
    cut = -1
    for i in range(present - 1):
        j = order[i] if by_order else i
        left_squares, right_squares = take_level(left, left, 1.0, profiles, j, totals, width)
        left_rows += levels[j, 1]
        left_weight += levels[j, 2]
        if left_rows < minbucket or size - left_rows < minbucket:
            continue
        if may_win(left_squares, left_weight, right_squares, total, limit):
            gain = make_gain(left_squares, left_weight, right_squares, total, squares)
            if gain > best + TIE * total:
                best = gain
                limit = limit_of(best, total, squares)
                cut = i
    return best, cut


@inner
def best_subset(
    levels, present, profiles, size, node, totals, minbucket, best, left, right, order, key, side,
    spare,
):  # fmt: skip
    """Return the improvement of the best subset and 0, or -1 when it does not beat `best`."""
    if present < 2:
        return best, -1
    if present <= FEW:
        return walk_all(levels, present, profiles, size, node, totals, minbucket, best, left, side)
    # No two groups of levels improve more than all levels apart.
    total, k, _ = node
    width = in_lanes(k)
    for c in range(width):
        left[c] = totals[c] / total
    apart = 0.0
    for i in range(present):
        weight = float(levels[i, 2])
        key[i] = weight * take_level(right, left, -1.0 / weight, profiles, i, totals, width)[0]
        apart += key[i]
    if apart < best - MARGIN * total:
        return best, -1
    if present <= MOST:
        return try_all(
            levels, present, profiles, size, node, totals, left, minbucket, best, order, key, side,
            spare,
        )  # fmt: skip
    return order_and_move(
        levels, present, profiles, size, node, totals, minbucket, best, left, right, order, key,
        side,
    )  # fmt: skip


@inner
def walk_all(levels, present, profiles, size, node, totals, minbucket, best, left, side):
    """Try all subsets of a few levels, one level coming or going at a time (Gray order)."""
    total, k, squares = node
    width = in_lanes(k)
    for c in range(width):
        left[c] = 0.0
    left_rows = 0
    left_weight = 0.0
    limit = limit_of(best, total, squares)
    best_mask = 0
    for step in range(1, 1 << (present - 1)):
        moved = trailing_zeros(step)
        mask = step ^ step >> 1
        sign = 1 if mask >> moved & 1 else -1
        left_rows += sign * levels[moved, 1]
        left_weight += sign * levels[moved, 2]
        left_squares, right_squares = take_level(
            left, left, float(sign), profiles, moved, totals, width
        )
        if left_rows < minbucket or size - left_rows < minbucket:
            continue
        if may_win(left_squares, left_weight, right_squares, total, limit):
            gain = make_gain(left_squares, left_weight, right_squares, total, squares)
            if gain > best + TIE * total:
                best = gain
                limit = limit_of(best, total, squares)
                best_mask = mask
    for i in range(present):
        side[i] = best_mask >> i & 1
    return best, 0 if best_mask else -1


@inner
def order_and_move(
    levels, present, profiles, size, node, totals, minbucket, best, left, right, order, key, side
):
    """Order by the first principal component, cut, then move single levels while it helps.

    `left` holds the shares of the classes, `key` how much each level apart improves.
    """
    total = node[0]
    width = in_lanes(node[1])
    principal_scores(levels, present, profiles, total, totals, key, left, right, width)
    sort_by_key(order, key, present)
    found, cut = best_of_profiles(
        levels, present, profiles, size, node, totals, minbucket, 0.0, left, order, np.int64(1)
    )
    if cut < 0:
        return best, -1
    left_rows = np.int64(0)
    left_weight = 0.0
    for c in range(width):
        left[c] = 0.0
    for i in range(present):
        j = order[i]
        side[j] = i <= cut
        if i <= cut:
            left_rows += levels[j, 1]
            left_weight += levels[j, 2]
            take_level(left, left, 1.0, profiles, j, totals, width)
    while True:
        found, moved = best_move(
            levels, present, profiles, size, node, totals, minbucket, found, left, right,
            left_rows, left_weight, side,
        )  # fmt: skip
        if moved < 0:
            break
        sign = -1 if side[moved] else 1
        side[moved] = 1 - side[moved]
        left_rows += sign * levels[moved, 1]
        left_weight += sign * levels[moved, 2]
        take_level(left, left, float(sign), profiles, moved, totals, width)
    return found, 0 if found > best + TIE * total else -1


@inner
def best_move(
    levels, present, profiles, size, node, totals, minbucket, found, left, moved_left, left_rows,
    left_weight, side,
):  # fmt: skip
    """Return the improvement after the best move of one level, and that level or -1."""
    total, k, squares = node
    width = in_lanes(k)
    moved = -1
    for i in range(present):
        sign = -1 if side[i] else 1
        rows = left_rows + sign * levels[i, 1]
        if rows < minbucket or size - rows < minbucket:
            continue
        left_squares, right_squares = take_level(
            moved_left, left, float(sign), profiles, i, totals, width
        )
        mass = left_weight + sign * levels[i, 2]
        gain = make_gain(left_squares, mass, right_squares, total, squares)
        if gain > found + TIE * total:
            found = gain
            moved = i
    return found, moved


@inner
def principal_scores(levels, present, profiles, total, totals, key, axis, image, width):
    """Score each level on the first principal component of the weighted class profiles.

    Starts from the level that lies furthest from the node's own shares, which `axis` holds.
    """
    none = np.int64(0)  # a plain 0 would be compiled for once more
    start = 0
    for i in range(present):
        if key[i] > key[start]:
            start = i
    for c in range(width):
        axis[c] = profiles[start * width + c] / levels[start, 2] - axis[c]
    for _ in range(ITERATIONS):
        for c in range(width):
            image[c] = 0.0
        middle = product(totals, none, axis, none, width) / total
        for i in range(present):
            key[i] = product(profiles, i * width, axis, none, width) / levels[i, 2] - middle
            for c in range(0, width, LANES):
                add_product(image, c, key[i], profiles, i * width + c)
        # Scores sum to zero when weighted, so the profiles need no centring here.
        length = np.sqrt(product(image, none, image, none, width))
        if length == 0.0:
            break
        change = 0.0
        for c in range(width):
            now = image[c] / length
            change = max(change, abs(now - axis[c]))
            axis[c] = now
        if change < 1e-3:
            break
