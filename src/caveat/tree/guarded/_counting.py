# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels that count the records of a node for every candidate split.

The records of a node lie all over the table. So the class and the codes of a record are put beside
each other, in one byte or in two, and a record is fetched from memory once for all predictors.
Records that all have the weight one are counted in whole numbers, which makes the same sums.
"""

from __future__ import annotations

import numpy as np

from caveat.compiling import fetch, inner, kernel

__all__ = ["candidate_counts", "pack_codes", "workspace_of"]

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
