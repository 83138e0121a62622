# mypy: disable-error-code="no-untyped-def"
"""Kernels: what records do to the probability of a structure and of a release."""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded._structure import (
    candidate_counts,
    gain_of,
    goes_left,
    log_split,
    part_rows,
    workspace_of,
)
from caveat.tree.guarded.hierarchy import root_share, share

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


# -------------------------------------------------------------------------------------------------
# What a record that changes its class alone does to the probability of a structure: kernels.
#
# It stays in its nodes, and so no side of a candidate changes its weight: what the old class and
# what the new one do to the weight of a candidate are factors. One pass over the candidates
# serves all classes that a record may have.


@inner
def gain_change(s, k, side, weight, counts):
    """Return by how much the gain changes when a weight comes to a class of one side."""
    left, _, squares, total = counts
    held = left[s, k] if side == 0 else total[k] - left[s, k]
    both = squares[s, 1 + 2 * side]
    return weight * (weight + 2.0 * held) / both if both > 0.0 else 0.0


@inner
def tabulate(table, powers, counts, ranking, weight, temperature):
    """Write the weights of candidates that count, and the factors of classes; return how many.

    A line has for each class what it does on the left and right if it goes, and if it comes.
    """
    gains, ranked = ranking
    best = gains[ranked[0]]
    n_near = 0
    while n_near < len(ranked):
        s = ranked[n_near]
        if gains[s] < best - NEGLIGIBLE * temperature - 4.0 * weight:
            break
        powers[n_near] = math.exp((gains[s] - best) / temperature)
        for k in range(table.shape[1]):
            for side in range(2):
                for sign in range(2):
                    w = weight if sign else -weight
                    change = gain_change(s, k, side, w, counts)
                    table[n_near, k, 2 * sign + side] = math.exp(change / temperature)
        n_near += 1
    return n_near


@inner
def masses(by_class, i, old, codes, powers, table, n_near, ranked, splits, of):
    """Write the sum of the weights after a record has changed to each class."""
    by_class[:] = 0.0
    for q in range(n_near):
        side = 0 if is_left(ranked[q], codes, i, splits, of) else 1
        factor = powers[q] * table[q, old, side]
        for k in range(len(by_class)):
            by_class[k] += factor * table[q, k, 2 + side]


@kernel
def class_changes(records, nodes, splits, of, n_scores, settings, theirs, weight):
    """Return for each world the change of the log probability of the structure.

    ``of`` says whose candidate each is; ``theirs`` are the records that change, one for each world:
    codes, old and new classes, the order of the worlds, which is changed, and who it is: worlds of
    one record stand together and have one number. All have the same weight.
    """
    temperature, least = settings[0], settings[3]
    codes, old, new, order, who = theirs
    n_candidates = splits[2][-1]
    workspace = workspace_of(splits[1], n_scores)
    left, left_n = np.empty((n_candidates, n_scores)), np.empty(n_candidates, np.int64)
    counts = left, left_n, np.empty((n_candidates, 4)), np.empty(n_scores)
    ranking = np.empty(n_candidates), np.arange(n_candidates)
    powers, table = np.empty(n_candidates), np.empty((n_candidates, n_scores, 4))
    by_class, spare = np.empty(n_scores), np.empty(len(order), np.int64)
    places = np.zeros((len(nodes), 2), np.int64)
    places[0, 1] = len(order)
    changes = np.zeros(len(order))
    for m in range(len(nodes)):
        begin, end = places[m]
        chosen, child = nodes[m, 0], nodes[m, 1]
        if chosen < 0 or begin == end:
            continue
        candidate_counts(records, nodes[m, 4], nodes[m, 5], splits, workspace, left, left_n,
                         counts[3])  # fmt: skip
        rank_candidates(counts, nodes[m, 5] - nodes[m, 4], least, *ranking)
        n_near = tabulate(table, powers, counts, ranking, weight, temperature)
        whole, known = powers[:n_near].sum(), -1
        for j in range(begin, end):
            i = order[j]
            if old[i] == new[i]:
                continue
            if who[i] != known:
                known = who[i]
                masses(by_class, i, old[i], codes, powers, table, n_near, ranking[1], splits, of)
            side = 0 if is_left(chosen, codes, i, splits, of) else 1
            gain = gain_change(chosen, old[i], side, -weight, counts)
            gain += gain_change(chosen, new[i], side, weight, counts)
            changes[i] += gain / temperature - math.log(by_class[new[i]] / whole)
        at = part_rows(chosen, (codes, old, new, order), begin, end, splits, spare)
        places[child, 0], places[child, 1] = begin, at
        places[child + 1, 0], places[child + 1, 1] = at, end
    return changes


# -------------------------------------------------------------------------------------------------
# What records do to the probability of a release, given the structure: kernels.
#
# A world has moves: records that go, with negative weights, and records that come.


MOST_WAITING = 64
"""Halves that wait while others are done: two for each halving of 2^16 codes, and to spare."""


@inner
def branch_change(branch, tree, released, settings, moved, now):
    """Return the change of the log probability of what was released at one halving."""
    low, middle, high = branch
    counts, shares, parent, children = tree
    change = 0.0
    for m in range(len(parent)):
        # Where nothing was released, nothing was below either.
        if released[m, high] == released[m, low]:
            continue
        # A count that the moves take away entirely is 0, whatever rounding leaves of it.
        left = max(counts[m, middle] - counts[m, low] + moved[m, 0], 0.0)
        both = max(counts[m, high] - counts[m, low] + moved[m, 1], 0.0)
        if m == 0:
            now[m] = root_share(left, both)
        else:
            now[m] = share(left, both, now[parent[m]], settings)
        if children[m] >= 0:
            continue
        p = shares[m, middle - 1]
        z_left = released[m, middle] - released[m, low]
        z_right = released[m, high] - released[m, middle]
        if z_left > 0.0:
            change += z_left * (math.log(now[m]) - math.log(p))
        if z_right > 0.0:
            change += z_right * (math.log1p(-now[m]) - math.log1p(-p))
    return change


@inner
def move(moved, moves, begin, end, middle, parent):
    """Write what moves do to the left half of a branch and to both, from their leaves upwards."""
    leaves, codes, weights = moves
    for j in range(begin, end):
        m = leaves[j]
        while m >= 0:
            moved[m, 1] += weights[j]
            if codes[j] < middle:
                moved[m, 0] += weights[j]
            m = parent[m]


@inner
def undo(moved, moves, begin, end, parent):
    """Take the moves back."""
    for j in range(begin, end):
        m = moves[0][j]
        while m >= 0:
            moved[m, 0], moved[m, 1] = 0.0, 0.0
            m = parent[m]


@kernel
def share_changes(tree, released, settings, moves, starts):
    """Return for each world the difference of the log probability of the release.

    ``tree`` are counts, shares, parents and children of the nodes; ``moves`` leaves, codes and
    weights, those of one world beside each other from its start on, by rising code.
    """
    parent, n_codes = tree[2], tree[1].shape[1] + 1
    changes = np.zeros(len(starts) - 1)
    moved, now = np.zeros((len(parent), 2)), np.empty(len(parent))
    waiting = np.empty((MOST_WAITING, 4), np.int64)
    for i in range(len(changes)):
        waiting[0] = 0, n_codes, starts[i], starts[i + 1]
        n = 1
        while n > 0:
            n -= 1
            low, high, begin, end = waiting[n]
            if begin == end or high - low < 2:
                continue
            middle = (low + high) // 2
            move(moved, moves, begin, end, middle, parent)
            changes[i] += branch_change((low, middle, high), tree, released, settings, moved, now)
            undo(moved, moves, begin, end, parent)
            at = begin
            while at < end and moves[1][at] < middle:
                at += 1
            waiting[n] = middle, high, at, end
            waiting[n + 1] = low, middle, begin, at
            n += 2
    return changes
