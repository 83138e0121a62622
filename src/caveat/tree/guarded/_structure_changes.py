# mypy: disable-error-code="no-untyped-def"
"""What one record does to the probability of a structure: kernels.

A world lacks one record (``gone``: codes, classes, weights, who takes part) and has another instead
(``come``). ``counts`` are, of every candidate, the weight of each class and the records on the
left, sums and sums of squares on both sides, its own weight in the choice; which candidates count;
and the weight of each class in the node.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded._grow import (
    candidate_counts,
    gain_of,
    goes_left,
    log_split,
    workspace_of,
)

__all__ = ["structure_changes"]

MOST_POWER = 600.0
"""Powers of e that floating point holds, with room to spare."""

NEGLIGIBLE = 45.0
"""Candidates whose weight is so many powers of e below the largest do not show in the sum."""


@inner
def is_left(s, codes, i, splits, of):
    """Say whether a record goes left in a candidate."""
    ordered, n_levels, first, sides, side_at = splits
    p = of[s]
    return goes_left(s - first[p], codes[p, i], ordered[p], n_levels[p], sides, side_at[p])


@inner
def step(m, codes, i, nodes, splits, of):
    """Return the child that a record goes to; -1 beyond a leaf."""
    s = nodes[m, 0]
    if s < 0:
        return -1
    return nodes[m, 1] + (0 if is_left(s, codes, i, splits, of) else 1)


@inner
def passes(node, i, flag, filling, starts, worlds, which):
    """Count a world at a node, or write it down."""
    if not filling:
        starts[node + 1] += 1
        return
    worlds[starts[node]] = i
    which[starts[node]] = flag
    starts[node] += 1


@inner
def pass_all(nodes, splits, of, gone, come, filling, starts, worlds, which):
    """Follow the two records of every world down the tree."""
    for i in range(gone[0].shape[1]):
        a = 0 if gone[3][i] else -1
        b = 0 if come[3][i] else -1
        while a >= 0 or b >= 0:
            if a >= 0:
                passes(a, i, 3 if a == b else 1, filling, starts, worlds, which)
            if b >= 0 and a != b:
                passes(b, i, 2, filling, starts, worlds, which)
            a = step(a, gone[0], i, nodes, splits, of) if a >= 0 else -1
            b = step(b, come[0], i, nodes, splits, of) if b >= 0 else -1


@kernel
def visits_of(nodes, splits, of, gone, come):
    """Return who passes each node: offsets, worlds, and 1 if a record goes, 2 if one comes."""
    starts = np.zeros(len(nodes) + 1, np.int64)
    nobody = np.empty(0, np.int64)
    pass_all(nodes, splits, of, gone, come, False, starts, nobody, nobody)
    for m in range(len(nodes)):
        starts[m + 1] += starts[m]
    worlds, which = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    places = starts.copy()
    pass_all(nodes, splits, of, gone, come, True, places, worlds, which)
    return starts, worlds, which


@inner
def changed_gain(s, flag, i, gone, come, counts, n, splits, of, least):
    """Return the gain of a candidate after a record has gone, come, or both."""
    left, left_n, squares, total = counts[0], counts[1], counts[2], counts[5]
    left_squares, left_sum = squares[s, 0], squares[s, 1]
    right_squares, right_sum = squares[s, 2], squares[s, 3]
    n_left = left_n[s]
    n_right = n - n_left
    a_left = False
    a = -1
    w = 0.0
    if flag & 1:
        a, w = gone[1][i], gone[2][i]
        a_left = is_left(s, gone[0], i, splits, of)
        if a_left:
            left_squares += w * (w - 2.0 * left[s, a])
            left_sum -= w
            n_left -= 1
        else:
            right_squares += w * (w - 2.0 * (total[a] - left[s, a]))
            right_sum -= w
            n_right -= 1
    if flag & 2:
        b, v = come[1][i], come[2][i]
        b_left = is_left(s, come[0], i, splits, of)
        held = left[s, b] if b_left else total[b] - left[s, b]
        if a == b and a_left == b_left:
            held -= w
        if b_left:
            left_squares += v * (v + 2.0 * held)
            left_sum += v
            n_left += 1
        else:
            right_squares += v * (v + 2.0 * held)
            right_sum += v
            n_right += 1
    return gain_of(left_squares, left_sum, right_squares, right_sum, n_left, n_right, least)


@inner
def weigh_candidates(counts, n, settings, reach):
    """Write the candidates that count, their sums of squares and their weights; return the best."""
    temperature, _, _, least, _ = settings
    left, left_n, squares, powers, near, total = counts
    n_candidates = len(powers)
    best = -np.inf
    for s in range(n_candidates):
        for k in range(4):
            squares[s, k] = 0.0
        for k in range(len(total)):
            c = left[s, k]
            d = total[k] - c
            squares[s, 0] += c * c
            squares[s, 1] += c
            squares[s, 2] += d * d
            squares[s, 3] += d
        powers[s] = gain_of(squares[s, 0], squares[s, 1], squares[s, 2], squares[s, 3], left_n[s],
                            n - left_n[s], least)  # fmt: skip
        best = max(best, powers[s])
    n_near = 0
    for s in range(n_candidates):
        if powers[s] > best - NEGLIGIBLE * temperature - reach:
            near[n_near] = s
            n_near += 1
        powers[s] = math.exp((powers[s] - best) / temperature)
    return best, n_near


@inner
def tabulate(table, n_near, best, weight, counts, n, settings):
    """Write the weights of candidates when a record of this weight goes, comes or changes sides.

    Columns 0 and 1 are a record that goes on the left and on the right, 2 and 3 one that comes, 4
    one that moves from left to right, 5 from right to left; 6 to 9 are the factors of a record
    that changes its class: the old one on the left and on the right, the new one there.
    """
    temperature, _, _, least, _ = settings
    left, left_n, squares, _, near, total = counts
    for q in range(n_near):
        s = near[q]
        l2, l1, r2, r1 = squares[s, 0], squares[s, 1], squares[s, 2], squares[s, 3]
        nl = left_n[s]
        nr = n - nl
        for k in range(len(total)):
            c = left[s, k]
            d = total[k] - c
            c_less, c_more = weight * (weight - 2.0 * c), weight * (weight + 2.0 * c)
            d_less, d_more = weight * (weight - 2.0 * d), weight * (weight + 2.0 * d)
            gains = (
                gain_of(l2 + c_less, l1 - weight, r2, r1, nl - 1, nr, least),
                gain_of(l2, l1, r2 + d_less, r1 - weight, nl, nr - 1, least),
                gain_of(l2 + c_more, l1 + weight, r2, r1, nl + 1, nr, least),
                gain_of(l2, l1, r2 + d_more, r1 + weight, nl, nr + 1, least),
                gain_of(l2 + c_less, l1 - weight, r2 + d_more, r1 + weight, nl - 1, nr + 1, least),
                gain_of(l2 + c_more, l1 + weight, r2 + d_less, r1 - weight, nl + 1, nr - 1, least),
            )
            for j in range(6):
                table[q, k, j] = math.exp((gains[j] - best) / temperature)
            table[q, k, 6] = math.exp(c_less / l1 / temperature) if nl else 1.0
            table[q, k, 7] = math.exp(d_less / r1 / temperature) if nr else 1.0
            table[q, k, 8] = math.exp(c_more / l1 / temperature) if nl else 1.0
            table[q, k, 9] = math.exp(d_more / r1 / temperature) if nr else 1.0


@inner
def tabulated(s, q, flag, i, gone, come, table, power, splits, of):
    """Return the weight of a candidate after a change, from the table."""
    if flag == 1:
        return table[q, gone[1][i], 0 if is_left(s, gone[0], i, splits, of) else 1]
    if flag == 2:
        return table[q, come[1][i], 2 if is_left(s, come[0], i, splits, of) else 3]
    here, there = is_left(s, gone[0], i, splits, of), is_left(s, come[0], i, splits, of)
    a, b = gone[1][i], come[1][i]
    if a == b:
        return power if here == there else table[q, a, 4 if here else 5]
    place = 0 if here else 1
    return power * table[q, a, 6 + place] * table[q, b, 8 + place]


@inner
def masses_by_class(by_class, i, gone, counts, table, n_near, splits, of):
    """Write the sum of the weights after a record has changed to each class."""
    powers, near = counts[3], counts[4]
    by_class[:] = 0.0
    for q in range(n_near):
        s = near[q]
        place = 0 if is_left(s, gone[0], i, splits, of) else 1
        factor = powers[s] * table[q, gone[1][i], 6 + place]
        for k in range(len(by_class)):
            by_class[k] += factor * table[q, k, 8 + place]


@inner
def mass_after(i, flag, gone, come, counts, table, n_near, tabled, n, best, splits, of, settings):
    """Return the sum of the weights after a change."""
    powers, near = counts[3], counts[4]
    mass = 0.0
    for q in range(n_near):
        s = near[q]
        if tabled:
            mass += tabulated(s, q, flag, i, gone, come, table, powers[s], splits, of)
        else:
            gain = changed_gain(s, flag, i, gone, come, counts, n, splits, of, settings[3])
            mass += math.exp((gain - best) / settings[0])
    return mass


@inner
def largest_after(i, flag, gone, come, counts, n, splits, of, least):
    """Return the largest gain after a change."""
    top = -np.inf
    for s in range(len(counts[3])):
        gain = changed_gain(s, flag, i, gone, come, counts, n, splits, of, least)
        top = max(top, gain)
    return top


@inner
def leaf_changes(changes, n, worlds, which, begin, end, settings):
    """Add what the worlds at a leaf do to the decision not to split it."""
    _, smallest, softness, _, _ = settings
    before = log_split(n, smallest, softness) - (n - smallest) / softness
    for j in range(begin, end):
        now = n - (which[j] & 1) + (which[j] >> 1)
        after = log_split(now, smallest, softness) - (now - smallest) / softness
        changes[worlds[j]] += after - before


@inner
def split_changes(
    changes, chosen, n, visits, counts, table, by_class, splits, of, settings, gone, come, how,
    reach,
):  # fmt: skip
    """Add what the worlds at a node do to the decision to split it, and how."""
    worlds, which, begin, end = visits
    tabled, owner, weight = how
    temperature, smallest, softness, least, _ = settings
    powers, near = counts[3], counts[4]
    best, n_near = weigh_candidates(counts, n, settings, reach)
    for j in range(begin, end):
        if tabled[worlds[j]]:
            tabulate(table, n_near, best, weight, counts, n, settings)
            break
    whole = 0.0
    for q in range(n_near):
        whole += powers[near[q]]
    gain = changed_gain(chosen, 0, 0, gone, come, counts, n, splits, of, least)
    before = log_split(n, smallest, softness) + (gain - best) / temperature - math.log(whole)
    known = -1
    # Beyond what exp can hold each world has a largest gain of its own.
    extreme = reach > MOST_POWER * temperature
    for j in range(begin, end):
        i, flag, top = worlds[j], which[j], best
        if extreme:
            top = largest_after(i, flag, gone, come, counts, n, splits, of, least)
            mass = mass_after(i, flag, gone, come, counts, table, n_near, False, n, top, splits, of,
                              settings)  # fmt: skip
        elif flag == 3 and owner[i] >= 0:
            if known != owner[i]:
                known = owner[i]
                masses_by_class(by_class, i, gone, counts, table, n_near, splits, of)
            mass = whole if come[1][i] == gone[1][i] else by_class[come[1][i]]
        else:
            mass = mass_after(i, flag, gone, come, counts, table, n_near, tabled[i], n, best,
                              splits, of, settings)  # fmt: skip
        now = n - (flag & 1) + (flag >> 1)
        gain = changed_gain(chosen, flag, i, gone, come, counts, n, splits, of, least)
        after = log_split(now, smallest, softness) + (gain - top) / temperature - math.log(mass)
        changes[i] += after - before


@kernel
def structure_changes(records, nodes, splits, of, n_scores, settings, gone, come, how):
    """Return for each world the change of the log probability of the structure.

    ``of`` says whose candidate each is. ``how`` says of each world whether the weights of
    candidates can be read from a table, whose record it is if only the class changes (else -1),
    and the weight that the table is made for.
    """
    n_candidates = splits[2][-1]
    starts, worlds, which = visits_of(nodes, splits, of, gone, come)
    # What one record may add to a gain or take from it: three of its weight, and one of penalty.
    reach = 2.0 * (3.0 * max(gone[2].max(), come[2].max()) + 1.0)
    workspace = workspace_of(splits[1], n_scores)
    left, left_n = np.empty((n_candidates, n_scores)), np.empty(n_candidates, np.int64)
    squares, powers = np.empty((n_candidates, 4)), np.empty(n_candidates)
    near, total = np.empty(n_candidates, np.int64), np.empty(n_scores)
    counts = left, left_n, squares, powers, near, total
    table, by_class = np.empty((n_candidates, n_scores, 10)), np.empty(n_scores)
    changes = np.zeros(gone[0].shape[1])
    for m in range(len(nodes)):
        begin, end = starts[m], starts[m + 1]
        if nodes[m, 3] >= settings[4] or begin == end:
            continue
        n = nodes[m, 5] - nodes[m, 4]
        if nodes[m, 0] < 0:
            leaf_changes(changes, n, worlds, which, begin, end, settings)
            continue
        candidate_counts(records, nodes[m, 4], nodes[m, 5], splits, workspace, left, left_n, total)
        split_changes(changes, nodes[m, 0], n, (worlds, which, begin, end), counts, table,
                      by_class, splits, of, settings, gone, come, how, reach)  # fmt: skip
    return changes
