# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: the best split of one nominal predictor for three and more classes.

With few levels every subset is tried. Beyond that the levels are ordered along the first
principal component of their class profiles (Coppersmith, Hong and Hosking 1999), cut at the best
place, and improved by moving single levels as long as that helps.
"""

from __future__ import annotations

import numpy as np

from caveat.tree._kernel import inner, sort_by_key, trailing_zeros

__all__ = ["EXACT_SUBSETS", "FEW", "SPARE", "TIE", "best_of_profiles", "best_subset", "gain_of_cut"]

TIE = 1e-14
"""A later cut wins only if it is better by more than this share of the node's weight."""

EXACT_SUBSETS = 2_048
PER_ROW = 256
"""Every subset is tried while their number, 2 ** (levels present - 1), does not exceed the first
of these or the second for each row of the node."""

FEW = 4
"""Levels up to which every subset is tried without asking first whether any can win."""

MARGIN = 1e-9
"""Improvements are taken as different when they differ by more than this share of the weight."""

LOW = 8
"""Levels whose 2 ** 8 subsets are evaluated together."""

MOST = 16
"""Most levels for which every subset is ever tried."""

SPARE = MOST * MOST + (4 + MOST - LOW) * 2**LOW
"""Numbers of spare room that the search over all subsets needs."""

ITERATIONS = 10
"""Most steps of the power iteration; a rough direction is enough, moves do the rest."""


@inner
def make_gain(left_squares, left_weight, right_squares, total, squares):
    """Return by how much a split improves the Gini measure."""
    return left_squares / left_weight + right_squares / (total - left_weight) - squares / total


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
    if present > FEW:
        # No two groups of levels improve more than all levels apart.
        total, k, squares = node
        apart = -squares / total
        for i in range(present):
            own = 0.0
            for c in range(k):
                own += profiles[i * k + c] * profiles[i * k + c]
            apart += own / levels[i, 2]
        if apart < best - MARGIN * total:
            return best, -1
    if present <= MOST and 1 << (present - 1) <= max(EXACT_SUBSETS, PER_ROW * size):
        return try_all(levels, present, profiles, size, node, minbucket, best, side, spare)
    return order_and_move(
        levels, present, profiles, size, node, totals, minbucket, best, left, right, order, key,
        side,
    )  # fmt: skip


@inner
def try_all(levels, present, profiles, size, node, minbucket, best, side, spare):
    """Try every subset of the levels but the last, which stays on the right.

    With g[i, j] the product of the profiles of two levels, sum(L^2) is the sum of g over all
    pairs on the left, whatever the number of classes. The subsets of the first few levels are
    evaluated together; the other levels come and go one at a time (Gray order). Among equals the
    first in the Gray order of all levels wins.
    """
    total, k, squares = node
    low = min(present - 1, LOW)
    n_low = 1 << low
    gram = spare[: MOST * MOST]
    rooms = spare[MOST * MOST :].reshape((4 + MOST - LOW, 1 << LOW))
    squared, mass, rows, with_all = rooms[0], rooms[1], rooms[2], rooms[3]
    fill_gram(present, profiles, k, gram)
    fill_low(levels, present, gram, low, squared, mass, rows, with_all)
    for i in range(low, present - 1):
        fill_cross(gram[i * present :], low, rooms[4 + i - low])
    base = squares / total
    best_mask = 0
    best_rank = 0
    high = 0
    more = (0.0, 0.0, 0.0)  # mass, rows and product with all of the levels that came in
    for step in range(1 << (present - 1 - low)):
        if step:
            j = trailing_zeros(step)
            high ^= 1 << j
            more = toggle(levels, present, gram, low, high, j, squared, rooms[4 + j], more)
        limit = best + base - TIE * total
        if not any_above(squared, mass, rows, with_all, more, n_low, size, node, minbucket, limit):
            continue
        for s in range(n_low):
            here = mass[s] + more[0]
            if rows[s] + more[1] < minbucket or size - rows[s] - more[1] < minbucket:
                continue
            others = squares - 2.0 * (with_all[s] + more[2]) + squared[s]
            rest = total - here
            if squared[s] * rest + others * here < (best + base - TIE * total) * here * rest:
                continue
            gain = make_gain(squared[s], here, others, total, squares)
            mask = high << low | s
            if gain > best + TIE * total or (
                best_mask and gain >= best - TIE * total and gray_rank(mask) < best_rank
            ):
                best = max(best, gain)
                best_mask = mask
                best_rank = gray_rank(mask)
    for i in range(present):
        side[i] = best_mask >> i & 1
    return best, 0 if best_mask else -1


@inner
def toggle(levels, present, gram, low, high, j, squared, cross, more):
    """Bring level low + j in or out (`high` says which) for all subsets of the first levels."""
    i = low + j
    sign = 1.0 if high >> j & 1 else -1.0
    own = sign * gram[i * present + i]
    together = 0.0
    for other in range(present):
        together += gram[i * present + other]
        if low <= other < present - 1 and other != i and high >> (other - low) & 1:
            own += 2.0 * sign * gram[i * present + other]
    for s in range(1 << low):
        squared[s] += own + 2.0 * sign * cross[s]
    return (
        more[0] + sign * levels[i, 2],
        more[1] + sign * levels[i, 1],
        more[2] + sign * together,
    )


@inner
def any_above(squared, mass, rows, with_all, more, n_low, size, node, minbucket, limit):
    """Say whether any of these subsets is allowed and better; written to run in vector units."""
    total, _, squares = node
    fewest = minbucket - more[1]
    most = size - minbucket - more[1]
    constant = squares - 2.0 * more[2]
    above = 0
    for s in range(n_low):
        here = mass[s] + more[0]
        rest = total - here
        others = constant - 2.0 * with_all[s] + squared[s]
        better = squared[s] * rest + others * here > limit * here * rest
        above += better & (rows[s] >= fewest) & (rows[s] <= most)
    return above > 0


@inner
def fill_gram(present, profiles, k, gram):
    """Write the products of the class profiles of all pairs of levels."""
    for i in range(present):
        for j in range(i + 1):
            product = 0.0
            for c in range(k):
                product += profiles[i * k + c] * profiles[j * k + c]
            gram[i * present + j] = product
            gram[j * present + i] = product


@inner
def fill_low(levels, present, gram, low, squared, mass, rows, with_all):
    """Write sum(L^2), weight, rows and the product with all levels for subsets of the first."""
    squared[0] = mass[0] = rows[0] = with_all[0] = 0.0
    for b in range(low):
        here = 1 << b
        product = 0.0
        for j in range(present):
            product += gram[b * present + j]
        fill_cross(gram[b * present :], b, squared[here:])  # products with the levels before b
        for s in range(here):
            squared[here + s] = squared[s] + gram[b * present + b] + 2.0 * squared[here + s]
            mass[here + s] = mass[s] + levels[b, 2]
            rows[here + s] = rows[s] + levels[b, 1]
            with_all[here + s] = with_all[s] + product


@inner
def fill_cross(products, low, cross):
    """Write for each subset of the first levels the sum of their products with one level."""
    cross[0] = 0.0
    for b in range(low):
        for s in range(1 << b):
            cross[(1 << b) + s] = cross[s] + products[b]


@inner
def gray_rank(mask):
    """Return when a Gray walk over all subsets, one level at a time, comes to this one."""
    rank = mask
    shift = 1
    while shift < 32:
        rank ^= rank >> shift
        shift <<= 1
    return rank


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
