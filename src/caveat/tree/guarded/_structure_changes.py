# mypy: disable-error-code="no-untyped-def"
"""What records do to the probability of a structure: kernels.

A world has moves: records that go, with negative weights, and records that come (codes, classes,
weights, and their order). Those that pass a node change the counts of its candidates together, by
how many of them go left in each class.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded._counting import candidate_counts, workspace_of
from caveat.tree.guarded._grow import gain_of, goes_left, log_split, part_rows

__all__ = ["NEGLIGIBLE", "is_left", "rank_candidates", "structure_changes"]

NEGLIGIBLE = 45.0
"""Candidates whose weight is so many powers of e below the largest do not show in the sum."""


@inner
def is_left(s, codes, i, splits, of):
    """Say whether a record goes left in a candidate."""
    ordered, n_levels, first, sides, side_at = splits
    p = of[s]
    return goes_left(s - first[p], codes[p, i], ordered[p], n_levels[p], sides, side_at[p])


@inner
def moved_gain(s, moves, begin, end, counts, n, splits, of, least, held):
    """Return the gain of a candidate after moves; ``held`` is room for what they add up to."""
    codes, classes, weights, order = moves
    left, left_n, squares, total = counts
    left_squares, left_sum = squares[s, 0], squares[s, 1]
    right_squares, right_sum = squares[s, 2], squares[s, 3]
    n_left = left_n[s]
    n_right = n - n_left
    for j in range(begin, end):
        row = order[j]
        k, w = classes[row], weights[row]
        one = 1 if w > 0.0 else -1
        if is_left(s, codes, row, splits, of):
            left_squares += w * (w + 2.0 * (left[s, k] + held[0, k]))
            left_sum += w
            n_left += one
            held[0, k] += w
        else:
            right_squares += w * (w + 2.0 * (total[k] - left[s, k] + held[1, k]))
            right_sum += w
            n_right += one
            held[1, k] += w
    for j in range(begin, end):
        held[0, classes[order[j]]] = 0.0
        held[1, classes[order[j]]] = 0.0
    return gain_of(left_squares, left_sum, right_squares, right_sum, n_left, n_right, least)


@inner
def rank_candidates(counts, n, least, gains, ranked):
    """Write sums of squares and gain of every candidate, and the candidates by falling gain."""
    left, left_n, squares, total = counts
    for s in range(len(gains)):
        squares[s] = 0.0
        for k in range(len(total)):
            c = left[s, k]
            d = total[k] - c
            squares[s, 0] += c * c
            squares[s, 1] += c
            squares[s, 2] += d * d
            squares[s, 3] += d
        gains[s] = gain_of(squares[s, 0], squares[s, 1], squares[s, 2], squares[s, 3], left_n[s],
                           n - left_n[s], least)  # fmt: skip
    ranked[:] = np.argsort(-gains)


@inner
def log_choice(chosen, moves, begin, end, counts, n, splits, of, settings, ranking, held, now):
    """Return the log probability of a candidate among all after moves."""
    gains, ranked = ranking
    temperature, least = settings[0], settings[3]
    # What a record may add to a gain or take from it: its weight, and one of penalty.
    reach = 0.0
    for j in range(begin, end):
        reach += 2.0 * (abs(moves[2][moves[3][j]]) + 1.0)
    limit = gains[ranked[0]] - NEGLIGIBLE * temperature - reach
    n_near, top = 0, -np.inf
    while n_near < len(ranked) and gains[ranked[n_near]] >= limit:
        now[n_near] = moved_gain(ranked[n_near], moves, begin, end, counts, n, splits, of, least,
                                 held)  # fmt: skip
        top = max(top, now[n_near])
        n_near += 1
    mass = 0.0
    for q in range(n_near):
        mass += math.exp((now[q] - top) / temperature)
    gain = moved_gain(chosen, moves, begin, end, counts, n, splits, of, least, held)
    return (gain - top) / temperature - math.log(mass)


@inner
def log_decision(chosen, moves, begin, end, counts, n, splits, of, settings, ranking, held, now):
    """Return the log probability of what was decided at a node, after moves."""
    _, smallest, softness, _, _ = settings
    size = n
    for j in range(begin, end):
        size += 1 if moves[2][moves[3][j]] > 0.0 else -1
    log_yes = log_split(size, smallest, softness)
    if chosen < 0:
        return log_yes - (size - smallest) / softness
    return log_yes + log_choice(chosen, moves, begin, end, counts, n, splits, of, settings,
                                ranking, held, now)  # fmt: skip


@kernel
def structure_changes(records, nodes, splits, of, n_scores, settings, moves, worlds, n_worlds):
    """Return for each world the change of the log probability of the structure.

    ``of`` says whose candidate each is; ``worlds`` whose move each is, in rising order. The order
    of the moves is changed: those that pass a node stand together, and in it those of a world.
    """
    n_candidates = splits[2][-1]
    workspace = workspace_of(splits[1], n_scores)
    left, left_n = np.empty((n_candidates, n_scores)), np.empty(n_candidates, np.int64)
    counts = left, left_n, np.empty((n_candidates, 4)), np.empty(n_scores)
    ranking = np.empty(n_candidates), np.arange(n_candidates)
    now, held = np.empty(n_candidates), np.zeros((2, n_scores))
    order, spare = moves[3], np.empty(len(worlds), np.int64)
    places = np.zeros((len(nodes), 2), np.int64)
    places[0, 1] = len(worlds)
    changes = np.zeros(n_worlds)
    for m in range(len(nodes)):
        at, end = places[m]
        if nodes[m, 3] >= settings[4] or at == end:
            continue
        n, chosen, child = nodes[m, 5] - nodes[m, 4], nodes[m, 0], nodes[m, 1]
        if chosen >= 0:
            candidate_counts(records, nodes[m, 4], nodes[m, 5], splits, workspace, left, left_n,
                             counts[3])  # fmt: skip
            rank_candidates(counts, n, settings[3], *ranking)
        before = log_decision(chosen, moves, at, at, counts, n, splits, of, settings, ranking, held,
                              now)  # fmt: skip
        while at < end:
            world, stop = worlds[order[at]], at + 1
            while stop < end and worlds[order[stop]] == world:
                stop += 1
            after = log_decision(chosen, moves, at, stop, counts, n, splits, of, settings, ranking,
                                 held, now)  # fmt: skip
            changes[world] += after - before
            at = stop
        if chosen >= 0:
            places[child, 0], places[child + 1, 1] = places[m]
            at = part_rows(chosen, moves, places[m, 0], end, splits, spare)
            places[child, 1], places[child + 1, 0] = at, at
    return changes
