# mypy: disable-error-code="no-untyped-def, assignment"
"""The kernels that draw a structure, or say how probable a given one is.

A node looks at nothing but counts. One pass serves both purposes: where a structure is given, its
decisions are taken instead of drawn, and the same probabilities are added up.
"""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import inner, kernel

__all__ = ["candidate_counts", "gain_of", "goes_left", "log_split", "walk"]

MIX = np.uint64(0x9E3779B97F4A7C15)


@inner
def uniform(key, number):
    """Return the number-th uniform number of a key (splitmix64)."""
    z = key + np.uint64(number + 1) * MIX
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) / 9007199254740992.0


@inner
def goes_left(number, code, is_cut, n_levels, sides, place):
    """Say whether a code goes left in a predictor's candidate of this number."""
    if is_cut:
        return code <= number
    return sides[place + number * n_levels + code] == 1


@inner
def log_split(n, smallest, softness):
    """Return the log probability that a node of n records is split."""
    x = (n - smallest) / softness
    return -math.log1p(math.exp(-x)) if x > -700.0 else x


@inner
def candidate_counts(
    codes, scores, weights, order, start, stop, ordered, n_levels, first, sides, side_at,
    cells, sizes, left, left_n, total,
):  # fmt: skip
    """Count for every candidate the weight of each class, and the records, that go left.

    ``cells`` and ``sizes`` are room for the counts by code; ``left`` has a line per candidate.
    """
    n_scores = total.shape[0]
    total[:] = 0.0
    for i in range(start, stop):
        total[scores[order[i]]] += weights[order[i]]
    for p in range(len(ordered)):
        for code in range(n_levels[p]):
            sizes[code] = 0
            for k in range(n_scores):
                cells[code, k] = 0.0
        for i in range(start, stop):
            row = order[i]
            cells[codes[p, row], scores[row]] += weights[row]
            sizes[codes[p, row]] += 1
        for s in range(first[p], first[p + 1]):
            left_n[s] = 0
            for k in range(n_scores):
                left[s, k] = 0.0
        if ordered[p]:
            for s in range(first[p], first[p + 1]):
                code = s - first[p]
                left_n[s] = sizes[code]
                for k in range(n_scores):
                    left[s, k] = cells[code, k]
                if code > 0:
                    left_n[s] += left_n[s - 1]
                    for k in range(n_scores):
                        left[s, k] += left[s - 1, k]
            continue
        for s in range(first[p], first[p + 1]):
            at = side_at[p] + (s - first[p]) * n_levels[p]
            for code in range(n_levels[p]):
                if sides[at + code] == 1 and sizes[code] > 0:
                    left_n[s] += sizes[code]
                    for k in range(n_scores):
                        left[s, k] += cells[code, k]


@inner
def gain_of(left_squares, left_sum, right_squares, right_sum, left_n, right_n, least):
    """Return the decrease of weight x Gini, less one for each record that a child lacks.

    What the node itself brings is the same for all its candidates and left out.
    """
    gain = 0.0
    if left_n > 0:
        gain += left_squares / left_sum
    if right_n > 0:
        gain += right_squares / right_sum
    if left_n < least:
        gain -= least - left_n
    if right_n < least:
        gain -= least - right_n
    return gain


@inner
def all_gains(left, left_n, total, n, least, gains):
    """Write the gain of every candidate; return the largest."""
    best = -np.inf
    for s in range(len(gains)):
        left_squares = 0.0
        left_sum = 0.0
        right_squares = 0.0
        right_sum = 0.0
        for k in range(len(total)):
            a = left[s, k]
            b = total[k] - a
            left_squares += a * a
            left_sum += a
            right_squares += b * b
            right_sum += b
        gain = gain_of(left_squares, left_sum, right_squares, right_sum, left_n[s],
                       n - left_n[s], least)  # fmt: skip
        gains[s] = gain
        best = max(best, gain)
    return best


@inner
def longer(array, fill):
    """Return an array of twice the length that begins with this one."""
    bigger = np.full(2 * len(array), fill, array.dtype)
    bigger[: len(array)] = array
    return bigger


@kernel
def walk(
    codes, scores, weights, order, ordered, n_levels, first, sides, side_at, n_scores,
    settings, key, given,
):  # fmt: skip
    """Draw a structure, or follow the given one; return it, its rows, and its log probability.

    ``settings`` are temperature, smallest, softness, least (records of a child), depth. ``given``
    has the candidates of the nodes in their order, -1 at leaves; empty if they are to be drawn.
    """
    temperature, smallest, softness, least, max_depth = settings
    n_candidates = first[-1]
    widest = 1
    for p in range(len(n_levels)):
        widest = max(widest, n_levels[p])
    cells = np.empty((widest, n_scores))
    sizes = np.empty(widest, np.int64)
    left = np.empty((n_candidates, n_scores))
    left_n = np.empty(n_candidates, np.int64)
    gains = np.empty(n_candidates)
    total = np.empty(n_scores)
    spare = np.empty(len(order), order.dtype)
    room = max(16, len(given))
    candidate = np.full(room, -1, np.int32)
    children = np.full(room, -1, np.int32)
    parent = np.full(room, -1, np.int32)
    depth = np.zeros(room, np.int32)
    begin = np.zeros(room, np.int64)
    end = np.zeros(room, np.int64)
    end[0] = len(order)
    n_nodes = 1
    logs = 0.0
    m = 0
    while m < n_nodes:
        start, stop = begin[m], end[m]
        n = stop - start
        if n_candidates == 0 or depth[m] >= max_depth:
            m += 1
            continue
        log_yes = log_split(n, smallest, softness)
        if len(given) > 0:
            splits = given[m] >= 0
        else:
            splits = math.log(uniform(key, 2 * m)) < log_yes
        if not splits:
            # 1 - 1/(1 + exp(-x)) = 1/(1 + exp(x))
            logs += log_yes - (n - smallest) / softness
            m += 1
            continue
        logs += log_yes
        candidate_counts(codes, scores, weights, order, start, stop, ordered, n_levels, first,
                         sides, side_at, cells, sizes, left, left_n, total)  # fmt: skip
        best = all_gains(left, left_n, total, n, least, gains)
        mass = 0.0
        for s in range(n_candidates):
            mass += math.exp((gains[s] - best) / temperature)
        if len(given) > 0:
            chosen = np.int64(given[m])
        else:
            rest = uniform(key, 2 * m + 1) * mass
            chosen = n_candidates - 1
            for s in range(n_candidates):
                rest -= math.exp((gains[s] - best) / temperature)
                if rest < 0.0:
                    chosen = s
                    break
        logs += (gains[chosen] - best) / temperature - math.log(mass)
        p = 0
        while first[p + 1] <= chosen:
            p += 1
        at, other = start, stop
        for i in range(start, stop):
            row = order[i]
            if goes_left(chosen - first[p], codes[p, row], ordered[p], n_levels[p], sides,
                         side_at[p]):  # fmt: skip
                order[at] = row
                at += 1
            else:
                other -= 1
                spare[other] = row
        for i in range(at, stop):
            order[i] = spare[stop - 1 - (i - at)]
        if n_nodes + 2 > len(candidate):
            candidate = longer(candidate, -1)
            children = longer(children, -1)
            parent = longer(parent, -1)
            depth = longer(depth, 0)
            begin = longer(begin, 0)
            end = longer(end, 0)
        candidate[m] = chosen
        children[m] = n_nodes
        for child in range(n_nodes, n_nodes + 2):
            parent[child] = m
            depth[child] = depth[m] + 1
        begin[n_nodes], end[n_nodes] = start, at
        begin[n_nodes + 1], end[n_nodes + 1] = at, stop
        n_nodes += 2
        m += 1
    return (
        candidate[:n_nodes], children[:n_nodes], parent[:n_nodes], depth[:n_nodes],
        begin[:n_nodes], end[:n_nodes], logs,
    )  # fmt: skip
