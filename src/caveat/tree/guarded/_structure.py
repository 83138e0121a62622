# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels that count the records of a node, and draw a structure or say how probable it is."""

from __future__ import annotations

import math

import numpy as np

from caveat.compiling import fetch, inner, kernel

BLOCK = 1024
"""Records that are packed together: they stay in the cache from one predictor to the next."""

AHEAD = 16
"""Records before its turn that a record is asked for."""


@kernel
def pack_codes(codes, n_levels, scores):
    """Return class and codes of each record beside each other, and where each predictor begins.

    The class takes one byte; a predictor with more than 256 levels two, the lower one first. The
    last of the places is the end.
    """
    n_predictors, n_records = codes.shape
    at = np.ones(n_predictors + 1, np.int64)
    for p in range(n_predictors):
        at[p + 1] = at[p] + (2 if n_levels[p] > 256 else 1)
    width = at[n_predictors]
    packed = np.empty(n_records * width, np.uint8)
    for start in range(0, n_records, BLOCK):
        stop = min(start + BLOCK, n_records)
        for i in range(start, stop):
            packed[i * width] = scores[i]
        for p in range(n_predictors):
            for i in range(start, stop):
                packed[i * width + at[p]] = codes[p, i] & 255
            if at[p + 1] - at[p] == 2:
                for i in range(start, stop):
                    packed[i * width + at[p] + 1] = codes[p, i] >> 8
    return packed, at


@inner
def workspace_of(n_levels, n_scores):
    """Return room for weight by code and class, and records by code and by both.

    Last come the places where the codes of each predictor begin.
    """
    begins = np.zeros(len(n_levels) + 1, np.int64)
    for p in range(len(n_levels)):
        begins[p + 1] = begins[p] + n_levels[p]
    n_codes = begins[len(n_levels)]
    return (
        np.empty(n_codes * n_scores),
        np.empty(n_codes, np.int64),
        np.empty(n_codes * n_scores, np.uint32),
        begins,
    )


@inner
def code_of(packed, place, is_wide):
    """Read one code of a record."""
    code = np.int64(packed[place])
    if is_wide:
        code |= np.int64(packed[place + 1]) << 8
    return code


@inner
def tally_codes(records, begin, end, n_scores, tally, begins):
    """Count the records of each code and class of all predictors."""
    order, (packed, at) = records[3], records[4]
    tally[:] = 0
    n_predictors = len(at) - 1
    width = at[n_predictors]
    if width == n_predictors + 1:  # a byte each
        # Numbers without a sign: for others it is asked whether they count from the end.
        places = np.empty(n_predictors, np.uint64)
        for p in range(n_predictors):
            places[p] = begins[p] * n_scores
        step, one = np.uint64(n_scores), np.uint64(1)
        for i in range(begin, end):
            fetch(packed, np.int64(order[min(i + AHEAD, end - 1)]) * width)
            start = np.uint64(order[i]) * np.uint64(width)
            k = np.uint64(packed[start])
            for p in range(n_predictors):
                start += one
                tally[places[p] + np.uint64(packed[start]) * step + k] += np.uint32(1)
        return
    for i in range(begin, end):
        start = np.int64(order[i]) * width
        for p in range(n_predictors):
            code = code_of(packed, start + at[p], at[p + 1] - at[p] == 2) + begins[p]
            tally[code * n_scores + packed[start]] += np.uint32(1)


@inner
def weigh_codes(records, begin, end, n_scores, cells, sizes, begins):
    """Count for each code of all predictors the weight of every class, and the records."""
    _, _, weights, order, (packed, at) = records
    cells[:] = 0.0
    sizes[:] = 0
    n_predictors = len(at) - 1
    width = at[n_predictors]
    for i in range(begin, end):
        row = np.int64(order[i])
        k, w = packed[row * width], weights[row]
        for p in range(n_predictors):
            code = code_of(packed, row * width + at[p], at[p + 1] - at[p] == 2) + begins[p]
            cells[code * n_scores + k] += w
            sizes[code] += 1


@inner
def count_codes(records, begin, end, workspace, total):
    """Write the weight of each code and class and the records of each code, and sum up classes."""
    scores, weights, order = records[1], records[2], records[3]
    cells, sizes, tally, begins = workspace
    n_scores = len(total)
    total[:] = 0.0
    if len(weights):
        for i in range(begin, end):
            total[scores[order[i]]] += weights[order[i]]
        weigh_codes(records, begin, end, n_scores, cells, sizes, begins)
        return
    tally_codes(records, begin, end, n_scores, tally, begins)
    for code in range(len(sizes)):
        size = 0
        for k in range(n_scores):
            number = np.int64(tally[code * n_scores + k])
            cells[code * n_scores + k] = number
            size += number
            if code < begins[1]:
                total[k] += number
        sizes[code] = size


@inner
def add_code(s, code, cells, sizes, left, left_n):
    """Let the records with a code go left in a candidate."""
    left_n[s] += sizes[code]
    n_scores = left.shape[1]
    for k in range(n_scores):
        left[s, k] += cells[code * n_scores + k]


@inner
def candidate_counts(records, begin, end, splits, workspace, left, left_n, total):
    """Count for every candidate the weight of each class, and the records, that go left.

    `records` are codes, classes, weights (none if all are one), an order of the rows, and the
    packed codes.
    """
    ordered, n_levels, first, sides, side_at = splits
    cells, sizes, _, begins = workspace
    left[:] = 0.0
    left_n[:] = 0
    count_codes(records, begin, end, workspace, total)
    for p in range(len(ordered)):
        for s in range(first[p], first[p + 1]):
            if ordered[p]:
                if s > first[p]:
                    left_n[s] = left_n[s - 1]
                    left[s] = left[s - 1]
                add_code(s, begins[p] + s - first[p], cells, sizes, left, left_n)
                continue
            at = side_at[p] + (s - first[p]) * n_levels[p]
            for code in range(n_levels[p]):
                if sides[at + code] == 1 and sizes[begins[p] + code] > 0:
                    add_code(s, begins[p] + code, cells, sizes, left, left_n)


# -------------------------------------------------------------------------------------------------
# The kernels that draw a structure, or say how probable a given one is.
#
# A node looks at nothing but counts. One pass serves both purposes: where a structure is given,
# its decisions are taken instead of drawn, and the same probabilities are added up.


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
def longer(array):
    """Return an array of twice the length that begins with this one."""
    bigger = np.full((2 * len(array), array.shape[1]), -1, array.dtype)
    bigger[: len(array)] = array
    return bigger


@inner
def chosen_by(u, gains, best, temperature, mass):
    """Return the candidate that a uniform number falls on."""
    rest = u * mass
    for s in range(len(gains)):
        rest -= math.exp((gains[s] - best) / temperature)
        if rest < 0.0:
            return s
    return len(gains) - 1


@inner
def predictor_of(candidate, first):
    """Return whose candidate it is."""
    p = 0
    while first[p + 1] <= candidate:
        p += 1
    return p


@inner
def part_rows(chosen, records, begin, end, splits, spare):
    """Put the rows that go left in front, each side in the order it had; return where they end."""
    ordered, n_levels, first, sides, side_at = splits
    codes, order = records[0], records[3]
    p = predictor_of(chosen, first)
    at, others = begin, 0
    for i in range(begin, end):
        row = order[i]
        if goes_left(chosen - first[p], codes[p, row], ordered[p], n_levels[p], sides,
                     side_at[p]):  # fmt: skip
            order[at] = row
            at += 1
        else:
            spare[others] = row
            others += 1
    order[at:end] = spare[:others]
    return at


@kernel
def walk(records, splits, n_scores, settings, key, given):
    """Draw a structure, or follow the given one; return its nodes, and its log probability.

    ``records`` are codes, classes, weights (none if all are one), an order of the rows, which is
    changed, and the codes as `pack_codes` packs them; ``splits`` the candidates; ``settings``
    temperature, smallest, softness, least (records of a child), depth.
    ``given`` has the candidates of the nodes in their order, -1 at leaves; empty if they are to be
    drawn. A node has a candidate, a left child, a parent, a depth, and rows from one place of the
    order to another.
    """
    temperature, smallest, softness, least, max_depth = settings
    n_candidates = splits[2][-1]
    workspace = workspace_of(splits[1], n_scores)
    left = np.empty((n_candidates, n_scores))
    left_n = np.empty(n_candidates, np.int64)
    gains, total = np.empty(n_candidates), np.empty(n_scores)
    spare = np.empty_like(records[3])
    nodes = np.full((max(16, len(given)), 6), -1, np.int64)
    nodes[0, 3], nodes[0, 4], nodes[0, 5] = 0, 0, len(records[3])
    n_nodes, logs, m = 1, 0.0, 0
    while m < n_nodes:
        depth, begin, end = nodes[m, 3], nodes[m, 4], nodes[m, 5]
        n = end - begin
        if n_candidates == 0 or depth >= max_depth:
            m += 1
            continue
        log_yes = log_split(n, smallest, softness)
        draws = len(given) == 0
        splits_here = math.log(uniform(key, 2 * m)) < log_yes if draws else given[m] >= 0
        if not splits_here:
            # 1 - 1/(1 + exp(-x)) = 1/(1 + exp(x))
            logs += log_yes - (n - smallest) / softness
            m += 1
            continue
        candidate_counts(records, begin, end, splits, workspace, left, left_n, total)
        best = all_gains(left, left_n, total, n, least, gains)
        mass = 0.0
        for s in range(n_candidates):
            mass += math.exp((gains[s] - best) / temperature)
        if draws:
            chosen = chosen_by(uniform(key, 2 * m + 1), gains, best, temperature, mass)
        else:
            chosen = np.int64(given[m])
        logs += log_yes + (gains[chosen] - best) / temperature - math.log(mass)
        at = part_rows(chosen, records, begin, end, splits, spare)
        if n_nodes + 2 > len(nodes):
            nodes = longer(nodes)
        nodes[m, 0], nodes[m, 1] = chosen, n_nodes
        for child in range(2):
            nodes[n_nodes, 2], nodes[n_nodes, 3] = m, depth + 1
            nodes[n_nodes, 4] = at if child else begin
            nodes[n_nodes, 5] = end if child else at
            n_nodes += 1
        m += 1
    return nodes[:n_nodes], logs
