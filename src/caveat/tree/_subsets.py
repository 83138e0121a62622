"""Kernels: the best split of one nominal predictor for three and more classes.

With few levels every subset is tried. Beyond that the levels are ordered along the first
principal component of their class profiles (Coppersmith, Hong and Hosking 1999), cut at the best
place, and improved by moving single levels as long as that helps.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from caveat.tree._classes import TIE, best_of_profiles
from caveat.tree._kernel import kernel, sort_by_key

__all__ = ["EXACT_SUBSETS", "best_subset"]

EXACT_SUBSETS = 1_024
"""Every subset is tried while 2 ** (levels present - 1) does not exceed this."""

ITERATIONS = 30
"""Most steps of the power iteration; a rough direction is enough, moves do the rest."""


@kernel
def best_subset(present, node, minbucket, best, work):
    """Return the improvement of the best subset and 0, or -1 when it does not beat `best`.

    `work.side[i]` is then 1 for the levels that go left.
    """
    if (1 << min(present - 1, 40)) <= EXACT_SUBSETS:
        return try_all(present, node, minbucket, best, work)
    return order_and_move(present, node, minbucket, best, work)


@kernel
def try_all(present, node, minbucket, best, work):
    """Walk all subsets in Gray order: each differs from the last by one level.

    With g[i, j] the product of two profiles, sum(L^2) changes by g[j, j] +- 2 sum of g[i, j] over
    the levels i on the left, whatever the number of classes.
    """
    rows, weight, squares, k = node.size, node.weight, node.squares, node.k
    levels, profiles, side = work.levels, work.profiles, work.side
    gram = np.zeros((present, present))
    with_all = np.zeros(present)
    for i in range(present):
        for j in range(i + 1):
            product = 0.0
            for c in range(k):
                product += profiles[i * k + c] * profiles[j * k + c]
            gram[i, j] = product
            gram[j, i] = product
            with_all[i] += product
            if i != j:
                with_all[j] += product
    on_left = np.zeros(present)
    inside = np.zeros(present, np.uint8)
    left_rows = 0
    left_weight = 0.0
    left_squares = 0.0
    cross = 0.0
    base = squares / weight
    chosen = 0
    for step in range(1, 1 << (present - 1)):
        j = 0
        while not (step >> j) & 1:
            j += 1
        sign = -1.0 if inside[j] else 1.0
        left_squares += sign * 2.0 * on_left[j] + gram[j, j]
        cross += sign * with_all[j]
        left_weight += sign * levels[j, 2]
        left_rows += -levels[j, 1] if inside[j] else levels[j, 1]
        inside[j] ^= 1
        for i in range(present):
            on_left[i] += sign * gram[j, i]
        if left_rows < minbucket or rows - left_rows < minbucket:
            continue
        right_squares = squares - 2.0 * cross + left_squares
        improve = left_squares / left_weight + right_squares / (weight - left_weight) - base
        if improve > best + TIE * weight:
            best = improve
            chosen = step
    if not chosen:
        return best, -1
    gray = chosen ^ (chosen >> 1)
    for i in range(present):
        side[i] = (gray >> i) & 1
    return best, 0


@kernel
def order_and_move(present, node, minbucket, best, work):
    """Order by the first principal component, cut, then move single levels while it helps."""
    rows, weight, squares, k = node.size, node.weight, node.squares, node.k
    levels, profiles, side, totals = work.levels, work.profiles, work.side, work.totals
    order, left = work.order, work.left
    principal_scores(present, node, work)
    sort_by_key(order, work.key, present)
    for i in range(present):
        j = order[i]
        for c in range(3):
            work.ordered_levels[i, c] = levels[j, c]
        for c in range(k):
            work.ordered_profiles[i * k + c] = profiles[j * k + c]
    floor = TIE * weight
    found, cut = best_of_profiles(
        work.ordered_levels, work.ordered_profiles, present, node, minbucket, floor, work
    )
    if cut < 0:
        return best, -1
    left_rows = 0
    left_weight = 0.0
    left[:k] = 0.0
    for i in range(present):
        j = order[i]
        inside = i <= cut
        side[j] = inside
        if inside:
            left_rows += levels[j, 1]
            left_weight += levels[j, 2]
            for c in range(k):
                left[c] += profiles[j * k + c]
    while True:
        moved = -1
        for i in range(present):
            sign = -1 if side[i] else 1
            new_rows = left_rows + sign * levels[i, 1]
            if new_rows < minbucket or rows - new_rows < minbucket:
                continue
            new_weight = left_weight + sign * levels[i, 2]
            left_squares = 0.0
            right_squares = 0.0
            for c in range(k):
                cell = left[c] + sign * profiles[i * k + c]
                left_squares += cell * cell
                right_squares += (totals[c] - cell) * (totals[c] - cell)
            improve = left_squares / new_weight + right_squares / (weight - new_weight)
            improve -= squares / weight
            if improve > found + TIE * weight:
                found = improve
                moved = i
        if moved < 0:
            break
        sign = -1 if side[moved] else 1
        side[moved] ^= 1
        left_rows += sign * levels[moved, 1]
        left_weight += sign * levels[moved, 2]
        for c in range(k):
            left[c] += sign * profiles[moved * k + c]
    return found, 0 if found > best + TIE * weight else -1


@kernel
def principal_scores(present, node, work):
    """Score each level on the first principal component of the weighted class profiles."""
    weight, k = node.weight, node.k
    levels, profiles, totals, key = work.levels, work.profiles, work.totals, work.key
    axis, image = work.left, work.right
    # Start from the level that lies furthest from the node's own profile.
    furthest = -1.0
    start = 0
    for i in range(present):
        distance = 0.0
        for c in range(k):
            gap = profiles[i * k + c] / levels[i, 2] - totals[c] / weight
            distance += levels[i, 2] * gap * gap
        if distance > furthest:
            furthest = distance
            start = i
    for c in range(k):
        axis[c] = profiles[start * k + c] / levels[start, 2] - totals[c] / weight
    for _ in range(ITERATIONS):
        for c in range(k):
            image[c] = 0.0
        for i in range(present):
            score = 0.0
            for c in range(k):
                score += (profiles[i * k + c] / levels[i, 2] - totals[c] / weight) * axis[c]
            key[i] = score
            for c in range(k):
                image[c] += score * (profiles[i * k + c] - levels[i, 2] * totals[c] / weight)
        length = 0.0
        for c in range(k):
            length += image[c] * image[c]
        if length == 0.0:
            break
        length = np.sqrt(length)
        for c in range(k):
            axis[c] = image[c] / length
