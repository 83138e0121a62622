# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best split of one predictor for three and more classes, from its profiles.

The profile of a level is the weight of each class in it. All lines that hold a number for each
class fill whole lanes, with zeros behind the last class.

With few levels every subset is tried. Beyond that the levels are ordered along the first
principal component of their profiles (Coppersmith, Hong and Hosking 1999), cut at the best place,
and improved by moving single levels as long as that helps.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, trailing_zeros
from caveat.compiling.lanes import LANES, add_product, in_lanes, square_sides
from caveat.tree._all_subsets import (
    MARGIN,
    MOST,
    TIE,
    limit_of,
    make_gain,
    may_win,
    product,
    try_all,
)
from caveat.tree._sorting import sort_by_key

__all__ = ["best_of_profiles", "best_subset"]

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
