# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best split of one nominal predictor for three and more classes.

With few levels every subset is tried. Beyond that the levels are ordered along the first
principal component of their class profiles (Coppersmith, Hong and Hosking 1999), cut at the best
place, and improved by moving single levels as long as that helps.
"""

from __future__ import annotations

import numpy as np

from caveat.tree._all_subsets import MARGIN, MOST, TIE, make_gain, try_all
from caveat.tree._kernel import inner, sort_by_key, trailing_zeros

__all__ = ["best_of_profiles", "best_subset", "gain_of_cut"]

FEW = 5
"""Levels up to which all subsets are tried one by one, without asking first whether any can win."""

ITERATIONS = 10
"""Most steps of the power iteration; a rough direction is enough, moves do the rest."""


@inner
def gain_of_cut(size, left_rows, minbucket, node, left_weight, left_squares, right_squares):
    """Return the improvement of a cut, or -1 where a side has too few rows."""
    if left_rows < minbucket or size - left_rows < minbucket:
        return -1.0
    return make_gain(left_squares, left_weight, right_squares, node[0], node[2])


@inner
def best_of_profiles(
    levels, present, profiles, size, node, totals, minbucket, best, left, right, order, by_order
):
    """Return the improvement and the place of the last level on the left, or -1.

    The levels come as they are or, with `by_order`, as `order` says.
    """
    total, k, squares = node
    for c in range(k):
        left[c] = 0.0
        right[c] = totals[c]
    left_rows = 0
    left_weight = 0.0
    left_squares = 0.0
    right_squares = squares
    cut = -1
    for i in range(present - 1):
        j = order[i] if by_order else i
        for c in range(k):
            cell = profiles[j * k + c]
            left_squares += cell * (2.0 * left[c] + cell)
            right_squares -= cell * (2.0 * right[c] - cell)
            left[c] += cell
            right[c] -= cell
        left_rows += levels[j, 1]
        left_weight += levels[j, 2]
        gain = gain_of_cut(
            size, left_rows, minbucket, node, left_weight, left_squares, right_squares
        )
        if gain > best + TIE * total:
            best = gain
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
    total, k, _ = node
    if present <= FEW:
        return walk_all(levels, present, profiles, size, node, totals, minbucket, best, left, side)
    # No two groups of levels improve more than all levels apart.
    for c in range(k):
        left[c] = totals[c] / total
    apart = 0.0
    for i in range(present):
        weight = float(levels[i, 2])
        key[i] = distance(profiles, i * k, left, weight, k) / weight
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
def distance(profiles, start, shares, weight, size):
    """Return the square of a profile's distance from what the shares let expect."""
    a = b = 0.0
    last = size - size % 2
    for c in range(0, last, 2):
        one = profiles[start + c] - weight * shares[c]
        other = profiles[start + c + 1] - weight * shares[c + 1]
        a += one * one
        b += other * other
    if size % 2:
        one = profiles[start + last] - weight * shares[last]
        a += one * one
    return a + b


@inner
def walk_all(levels, present, profiles, size, node, totals, minbucket, best, left, side):
    """Try all subsets of a few levels, one level coming or going at a time (Gray order)."""
    total, k, _ = node
    for c in range(k):
        left[c] = 0.0
    left_rows = 0
    left_weight = 0.0
    best_mask = 0
    for step in range(1, 1 << (present - 1)):
        moved = trailing_zeros(step)
        mask = step ^ step >> 1
        sign = 1 if mask >> moved & 1 else -1
        left_rows += sign * levels[moved, 1]
        left_weight += sign * levels[moved, 2]
        left_squares = 0.0
        right_squares = 0.0
        for c in range(k):
            cell = left[c] + sign * profiles[moved * k + c]
            left[c] = cell
            left_squares += cell * cell
            right_squares += (totals[c] - cell) * (totals[c] - cell)
        gain = gain_of_cut(
            size, left_rows, minbucket, node, left_weight, left_squares, right_squares
        )
        if gain > best + TIE * total:
            best = gain
            best_mask = mask
    for i in range(present):
        side[i] = best_mask >> i & 1
    return best, 0 if best_mask else -1


@inner
def order_and_move(
    levels, present, profiles, size, node, totals, minbucket, best, left, right, order, key, side
):
    """Order by the first principal component, cut, then move single levels while it helps."""
    total, k, _ = node
    principal_scores(levels, present, profiles, k, total, totals, key, left, right)
    sort_by_key(order, key, present)
    found, cut = best_of_profiles(
        levels,
        present,
        profiles,
        size,
        node,
        totals,
        minbucket,
        0.0,
        left,
        right,
        order,
        np.int64(1),
    )
    if cut < 0:
        return best, -1
    left_rows = np.int64(0)
    left_weight = 0.0
    left[:k] = 0.0
    for i in range(present):
        j = order[i]
        side[j] = i <= cut
        if i <= cut:
            left_rows += levels[j, 1]
            left_weight += levels[j, 2]
            for c in range(k):
                left[c] += profiles[j * k + c]
    while True:
        found, moved = best_move(
            levels, present, profiles, size, node, totals, minbucket, found, left, left_rows,
            left_weight, side,
        )  # fmt: skip
        if moved < 0:
            break
        sign = -1 if side[moved] else 1
        side[moved] = 1 - side[moved]
        left_rows += sign * levels[moved, 1]
        left_weight += sign * levels[moved, 2]
        for c in range(k):
            left[c] += sign * profiles[moved * k + c]
    return found, 0 if found > best + TIE * total else -1


@inner
def best_move(
    levels, present, profiles, size, node, totals, minbucket, found, left, left_rows, left_weight,
    side,
):  # fmt: skip
    """Return the improvement after the best move of one level, and that level or -1."""
    total, k, squares = node
    moved = -1
    for i in range(present):
        sign = -1 if side[i] else 1
        rows = left_rows + sign * levels[i, 1]
        if rows < minbucket or size - rows < minbucket:
            continue
        left_squares = 0.0
        right_squares = 0.0
        for c in range(k):
            cell = left[c] + sign * profiles[i * k + c]
            left_squares += cell * cell
            right_squares += (totals[c] - cell) * (totals[c] - cell)
        mass = left_weight + sign * levels[i, 2]
        gain = make_gain(left_squares, mass, right_squares, total, squares)
        if gain > found + TIE * total:
            found = gain
            moved = i
    return found, moved


@inner
def principal_scores(levels, present, profiles, k, total, totals, key, axis, image):
    """Score each level on the first principal component of the weighted class profiles."""
    start_axis(levels, present, profiles, k, total, totals, axis)
    for _ in range(ITERATIONS):
        middle = 0.0
        for c in range(k):
            image[c] = 0.0
            middle += totals[c] * axis[c] / total
        for i in range(present):
            score = 0.0
            for c in range(k):
                score += profiles[i * k + c] * axis[c]
            score = score / levels[i, 2] - middle
            key[i] = score
            for c in range(k):
                image[c] += score * profiles[i * k + c]
        # Scores sum to zero when weighted, so the profiles need no centring here.
        length = 0.0
        for c in range(k):
            length += image[c] * image[c]
        if length == 0.0:
            break
        length = np.sqrt(length)
        change = 0.0
        for c in range(k):
            change = max(change, abs(image[c] / length - axis[c]))
            axis[c] = image[c] / length
        if change < 1e-3:
            break


@inner
def start_axis(levels, present, profiles, k, total, totals, axis):
    """Start from the level that lies furthest from the node's own profile."""
    furthest = -1.0
    start = 0
    for i in range(present):
        distance = 0.0
        for c in range(k):
            gap = profiles[i * k + c] / levels[i, 2] - totals[c] / total
            distance += levels[i, 2] * gap * gap
        if distance > furthest:
            furthest = distance
            start = i
    for c in range(k):
        axis[c] = profiles[start * k + c] / levels[start, 2] - totals[c] / total
