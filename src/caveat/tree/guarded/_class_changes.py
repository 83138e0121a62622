# mypy: disable-error-code="no-untyped-def"
"""What a record that changes its class alone does to the probability of a structure: kernels.

It stays in its nodes, and so no side of a candidate changes its weight: what the old class and what
the new one do to the weight of a candidate are factors. One pass over the candidates serves all
classes that a record may have.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree.guarded._counting import candidate_counts, workspace_of
from caveat.tree.guarded._grow import part_rows
from caveat.tree.guarded._structure_changes import NEGLIGIBLE, is_left, rank_candidates

__all__ = ["class_changes"]


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
