# mypy: disable-error-code="no-untyped-def"
"""The points of one roundness in one cell, found by halving their range.

At every halving the share of the left half is (n_left + c g_left / g) / (n + c), with n the weight
of the records, g the number of points, and c the records' worth of an even spread. A heap keeps its
share; a number that only one person has is led astray a little at every step.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel

__all__ = ["changed_points", "draw_points", "log_points"]


@inner
def ceiling(a, b):
    return -((-a) // b)


@inner
def below(values, start, stop, limit):
    """Return the first place from start on whose value is not below the limit."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < limit:
            start = middle + 1
        else:
            stop = middle
    return start


@inner
def size(low, high, degree, ladder, apart, apart_at):
    """Return how many multiples from low up to high have exactly this roundness, special apart."""
    step = ladder[degree]
    n = high - low
    if degree + 1 < len(ladder):
        upper = ladder[degree + 1]
        n -= ceiling(high * step, upper) - ceiling(low * step, upper)
    first, last = apart_at[degree], apart_at[degree + 1]
    return n - (below(apart, first, last, high * step) - below(apart, first, last, low * step))


@inner
def weight(low, high, degree, ladder, points, upto, points_at):
    """Return the weight of the records between two multiples."""
    first, last = points_at[degree], points_at[degree + 1]
    step = ladder[degree]
    return (
        upto[below(points, first, last, high * step)] - upto[below(points, first, last, low * step)]
    )


@inner
def left_share(left, both, g_left, g, spread):
    """Return the share of the left half."""
    return (left + spread * g_left / g) / (both + spread)


@kernel
def log_points(values, cells, degrees, grid, held):
    """Return the log probability of each point, given its cell and roundness."""
    edges, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    logs = np.zeros(len(values))
    for i in range(len(values)):
        d = degrees[i]
        step = ladder[d]
        low, high = ceiling(edges[cells[i]], step), ceiling(edges[cells[i] + 1], step)
        while high - low > 1:
            middle = (low + high) // 2
            g = size(low, high, d, ladder, apart, apart_at)
            g_left = size(low, middle, d, ladder, apart, apart_at)
            both = weight(low, high, d, ladder, points, upto, points_at)
            left = weight(low, middle, d, ladder, points, upto, points_at)
            p = left_share(left, both, g_left, g, spread)
            if values[i] < middle * step:
                high = middle
            else:
                low = middle
                p = 1.0 - p
            if g_left < g and g_left > 0:
                logs[i] += math.log(p)
    return logs


@kernel
def draw_points(cells, degrees, numbers, grid, held):
    """Return a point for each cell and roundness, by one uniform number."""
    edges, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    drawn = np.zeros(len(cells), np.int64)
    for i in range(len(cells)):
        d, u = degrees[i], numbers[i]
        step = ladder[d]
        low, high = ceiling(edges[cells[i]], step), ceiling(edges[cells[i] + 1], step)
        while high - low > 1:
            middle = (low + high) // 2
            g = size(low, high, d, ladder, apart, apart_at)
            g_left = size(low, middle, d, ladder, apart, apart_at)
            if g_left == 0:
                low = middle
                continue
            if g_left == g:
                high = middle
                continue
            both = weight(low, high, d, ladder, points, upto, points_at)
            left = weight(low, middle, d, ladder, points, upto, points_at)
            p = left_share(left, both, g_left, g, spread)
            if u < p:
                high = middle
                u = u / p
            else:
                low = middle
                u = (u - p) / (1.0 - p)
        drawn[i] = low * step
    return drawn


@inner
def path_change(value, cell, degree, w, other, other_w, skip, grid, held, released):
    """Return the change of the released points' log probability along the path of one value.

    ``w`` is added to the records at ``value``, ``other_w`` at ``other``, if it is in the same cell
    with the same roundness (else its weight is 0). With ``skip`` halvings that have both values are
    left out.
    """
    edges, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    theirs, seen, seen_at = released
    step = ladder[degree]
    low, high = ceiling(edges[cell], step), ceiling(edges[cell + 1], step)
    total = 0.0
    while high - low > 1:
        middle = (low + high) // 2
        g = size(low, high, degree, ladder, apart, apart_at)
        g_left = size(low, middle, degree, ladder, apart, apart_at)
        shared = other_w != 0.0 and low * step <= other < high * step
        if 0 < g_left < g and not (skip and shared):
            z = weight(low, high, degree, ladder, theirs, seen, seen_at)
            if z > 0.0:
                z_left = weight(low, middle, degree, ladder, theirs, seen, seen_at)
                both = weight(low, high, degree, ladder, points, upto, points_at)
                left = weight(low, middle, degree, ladder, points, upto, points_at)
                p = left_share(left, both, g_left, g, spread)
                if shared:
                    both += other_w
                    left += other_w if other < middle * step else 0.0
                both += w
                left += w if value < middle * step else 0.0
                q = left_share(max(left, 0.0), max(both, 0.0), g_left, g, spread)
                total += z_left * (math.log(q) - math.log(p))
                total += (z - z_left) * (math.log1p(-q) - math.log1p(-p))
        if value < middle * step:
            high = middle
        else:
            low = middle
    return total


@kernel
def changed_points(gone, come, grid, held, released):
    """Return for each world the change when one record goes and another comes.

    ``gone`` and ``come`` are points, cells, roundness and weights, 0 for one that takes no part.
    """
    changes = np.zeros(len(gone[0]))
    for i in range(len(changes)):
        together = gone[1][i] == come[1][i] and gone[2][i] == come[2][i]
        down, up = -gone[3][i], come[3][i]
        if down != 0.0:
            changes[i] += path_change(gone[0][i], gone[1][i], gone[2][i], down, come[0][i],
                                      up if together else 0.0, False, grid, held,
                                      released)  # fmt: skip
        if up != 0.0:
            changes[i] += path_change(come[0][i], come[1][i], come[2][i], up, gone[0][i],
                                      down if together else 0.0, True, grid, held,
                                      released)  # fmt: skip
    return changes
