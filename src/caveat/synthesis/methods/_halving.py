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

MOST_WAITING = 128
"""Halves that wait while others are done: two for each halving of 2^63 points."""


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
def branch_change(branch, degree, weights, at, grid, held, released):
    """Return the change of the released points' log probability at one halving.

    ``weights`` of records move, those before ``at`` in the left half.
    """
    low, middle, high = branch
    _, ladder, apart, apart_at, spread = grid
    points, upto, points_at = held
    theirs, seen, seen_at = released
    g = size(low, high, degree, ladder, apart, apart_at)
    g_left = size(low, middle, degree, ladder, apart, apart_at)
    if g_left == 0 or g_left == g:
        return 0.0
    z = weight(low, high, degree, ladder, theirs, seen, seen_at)
    z_left = weight(low, middle, degree, ladder, theirs, seen, seen_at)
    both = weight(low, high, degree, ladder, points, upto, points_at)
    left = weight(low, middle, degree, ladder, points, upto, points_at)
    p = left_share(left, both, g_left, g, spread)
    for j in range(len(weights)):
        both += weights[j]
        left += weights[j] if j < at else 0.0
    q = left_share(max(left, 0.0), max(both, 0.0), g_left, g, spread)
    return z_left * (math.log(q) - math.log(p)) + (z - z_left) * (math.log1p(-q) - math.log1p(-p))


@inner
def cell_change(values, weights, cell, degree, grid, held, released, waiting):
    """Return the change when records with rising values in one cell and roundness move."""
    step, change, n = grid[1][degree], 0.0, 1
    waiting[0] = ceiling(grid[0][cell], step), ceiling(grid[0][cell + 1], step), 0, len(values)
    while n > 0:
        n -= 1
        low, high, begin, end = waiting[n]
        if begin == end or high - low < 2:
            continue
        if weight(low, high, degree, grid[1], *released) == 0.0:
            continue
        middle, at = (low + high) // 2, begin
        while at < end and values[at] < middle * step:
            at += 1
        change += branch_change((low, middle, high), degree, weights[begin:end], at - begin, grid,
                                held, released)  # fmt: skip
        waiting[n] = middle, high, at, end
        waiting[n + 1] = low, middle, begin, at
        n += 2
    return change


@kernel
def changed_points(moves, n_worlds, grid, held, released):
    """Return for each world the change when records move.

    ``moves`` are worlds, cells, roundness, points and weights (negative if they go), in this order.
    """
    worlds, cells, degrees, values, weights = moves
    changes = np.zeros(n_worlds)
    waiting = np.empty((MOST_WAITING, 4), np.int64)
    begin = 0
    for j in range(1, len(worlds) + 1):
        together = j < len(worlds) and worlds[j] == worlds[begin]
        if together and cells[j] == cells[begin] and degrees[j] == degrees[begin]:
            continue
        changes[worlds[begin]] += cell_change(values[begin:j], weights[begin:j], cells[begin],
                                              degrees[begin], grid, held, released,
                                              waiting)  # fmt: skip
        begin = j
    return changes
