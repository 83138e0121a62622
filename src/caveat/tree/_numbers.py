"""Kernels: the best split of one predictor for numbers and for two classes.

Sums are integers (see `_response`), so a sum does not depend on the order of the rows and equal
improvements come out equal.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from caveat.tree._kernel import kernel, sort_by_key

__all__ = ["best_of_numbers"]

TIE = 1e-12
"""A later cut wins only if its improvement is larger by more than this share."""


@kernel
def tabulate_numbers(column, rows, y, weight, span, table, sums):
    """Count rows, weight and response of each level present; return how many are present."""
    start, size, n_codes = span
    stop = start + size
    if len(weight):
        for i in range(start, stop):
            code = 3 * column[rows[i]]
            table[code] += 1
            table[code + 1] += weight[i]
            table[code + 2] += y[i]
    else:
        for i in range(start, stop):
            code = 3 * column[rows[i]]
            table[code] += 1
            table[code + 2] += y[i]
    present = 0
    for code in range(n_codes):
        count = table[3 * code]
        if count:
            sums[present, 0] = code
            sums[present, 1] = count
            sums[present, 2] = table[3 * code + 1] if len(weight) else count
            sums[present, 3] = table[3 * code + 2]
            table[3 * code] = 0
            table[3 * code + 1] = 0
            table[3 * code + 2] = 0
            present += 1
    return present


@kernel
def best_of_numbers(sums, present, nominal, node, minbucket, best, order, key):
    """Return the improvement and the number of levels on the left of the best cut, or -1.

    Deviations are taken from the node's mean, whole grid units first, so that they are small
    and exact.
    """
    rows, weight, centre, rest = node.size, node.weight, node.centre, node.rest
    if nominal:
        for i in range(present):
            key[i] = (sums[i, 3] - centre * sums[i, 2]) / sums[i, 2]
        sort_by_key(order, key, present)
    left_rows = 0
    left_weight = 0
    deviation = 0
    cut = -1
    for i in range(present - 1):
        j = order[i] if nominal else i
        left_rows += sums[j, 1]
        left_weight += sums[j, 2]
        deviation += sums[j, 3] - centre * sums[j, 2]
        if left_rows < minbucket:
            continue
        if rows - left_rows < minbucket:
            break
        apart = deviation - left_weight * rest
        if -0.5 < apart * weight < 0.5:  # the smallest difference of means is 1 / weight
            continue
        improve = apart * apart * (weight / (float(left_weight) * float(weight - left_weight)))
        if improve > best + TIE * best:
            best = improve
            cut = i
    return best, cut
