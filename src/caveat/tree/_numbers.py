# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels: the best split of one predictor for numbers and for two classes."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, trailing_zeros


@inner
def sort_by_key(order, key, size):
    """Sort `key[:size]` and say in `order` where each came from; equal keys keep their order."""
    for i in range(size):
        order[i] = i
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            value = key[i]
            item = order[i]
            j = i
            while j >= gap and (
                key[j - gap] > value or (key[j - gap] == value and order[j - gap] > item)
            ):
                key[j] = key[j - gap]
                order[j] = order[j - gap]
                j -= gap
            key[j] = value
            order[j] = item
        gap //= 3


# -------------------------------------------------------------------------------------------------
# Kernels: the best split of one predictor for numbers and for two classes.
#
# Sums are whole numbers (see `_response`), so a sum does not depend on the order of the rows and
# equal improvements come out equal.


ALONE, FIRST, SECOND = range(3)
"""Predictors are counted by themselves or two in one pass over the rows, which takes less time."""

TIE = 1e-12
"""A later cut wins only if its improvement is larger by more than this share."""


@inner
def count_numbers(y, weight, start, stop):
    """Return weight, mean (whole grid units, what is left) and sum of squares of a node.

    With weights, `y` is weight times response.
    """
    total_weight = stop - start
    total = np.int64(0)
    if len(weight):
        total_weight = np.int64(0)
        for i in range(start, stop):
            total_weight += weight[i]
            total += y[i]
    first = y[start] // weight[start] if len(weight) else y[start]
    squares = 0.0
    if len(weight):
        for i in range(start, stop):
            apart = float(y[i] - first * weight[i])
            squares += apart * apart / weight[i]
    else:
        for i in range(start, stop):
            apart = float(y[i] - first)
            squares += apart * apart
            total += y[i]
    centre = total // total_weight
    rest = (total - centre * total_weight) / total_weight
    shift = float(total - first * total_weight)
    spread = max(squares - shift * shift / total_weight, 0.0)
    return total_weight, centre, rest, spread


@inner
def list_levels(column, rows, start, stop, n_codes, stride, table, marks, levels):
    """Write the codes present into `levels[:, 0]`, rising, and return how many there are.

    A node with few rows marks them in a set of bits; otherwise the counts are read through.
    """
    present = 0
    if n_codes <= 4 * (stop - start):
        for code in range(n_codes):
            levels[present, 0] = code
            present += table[stride * code] != 0
        return present
    for i in range(start, stop):
        code = np.int64(column[rows[i]])
        marks[code >> 6] |= np.int64(1) << (code & 63)
    for word in range((n_codes + 63) >> 6):
        bits = marks[word]
        marks[word] = 0
        while bits:
            levels[present, 0] = 64 * word + trailing_zeros(bits)
            bits &= bits - 1
            present += 1
    return present


@inner
def tabulate_numbers(
    column, beside, turn, rows, y, weight, start, stop, n_codes, table, marks, levels
):
    """Sum up each level present; return how many are present.

    `levels` gets code, rows, weight and response, by rising code. The FIRST of two predictors is
    counted together with the one `beside` it, in the other half of the table.
    """
    mine, answers = rows[start:stop], y[start:stop]
    half = len(table) // 2
    if turn == FIRST:
        for i in range(len(mine)):
            place, other = 2 * np.int64(column[mine[i]]), half + 2 * np.int64(beside[mine[i]])
            table[place] += 1
            table[place + 1] += answers[i]
            table[other] += 1
            table[other + 1] += answers[i]
    elif turn == ALONE:
        for i in range(len(mine)):
            place = 2 * np.int64(column[mine[i]])
            table[place] += 1
            table[place + 1] += answers[i]
    else:
        table = table[half:]
    present = list_levels(column, rows, start, stop, n_codes, np.int64(2), table, marks, levels)
    for i in range(present):
        place = 2 * levels[i, 0]
        levels[i, 1] = table[place]
        levels[i, 2] = table[place]
        levels[i, 3] = table[place + 1]
        table[place] = 0
        table[place + 1] = 0
    if len(weight):
        for i in range(start, stop):
            table[column[rows[i]]] += weight[i]
        for i in range(present):
            levels[i, 2] = table[levels[i, 0]]
            table[levels[i, 0]] = 0
    return present


@inner
def best_of_numbers(levels, present, nominal, size, node, minbucket, best, order, key):
    """Return the improvement and the place of the best cut, -1 if none beats `best`.

    Nominal levels are put in the order of their means, where some cut is the best subset.
    """
    total, centre, rest = node
    if nominal:
        for i in range(present):
            key[i] = (levels[i, 3] - centre * levels[i, 2]) / levels[i, 2]
        sort_by_key(order, key, present)
    left_rows = 0
    left_weight = 0
    deviation = 0
    limit = best + TIE * best
    cut = -1
    for i in range(present - 1):
        j = order[i] if nominal else i
        left_rows += levels[j, 1]
        left_weight += levels[j, 2]
        deviation += levels[j, 3] - centre * levels[j, 2]
        if left_rows < minbucket:
            continue
        if size - left_rows < minbucket:
            break
        apart = deviation - left_weight * rest
        gain = apart * apart * total
        share = float(left_weight) * float(total - left_weight)
        # The smallest difference of means is 1 / total: what is below half of it is rounding.
        if gain > limit * share and abs(apart) * total > 0.5:
            best = gain / share
            limit = best + TIE * best
            cut = i
    return best, cut


@inner
def search_numbers(
    column, beside, turn, rows, y, weight, start, stop, n_codes, nominal, node, minbucket, best,
    table, marks, levels, order, key, side,
):  # fmt: skip
    """Return improvement, place of the best cut (-1 if none beats `best`) and levels present.

    `side` is 1 for the levels of a nominal predictor that go left.
    """
    present = tabulate_numbers(
        column, beside, turn, rows, y, weight, start, stop, n_codes, table, marks, levels
    )
    best, cut = best_of_numbers(
        levels, present, nominal, stop - start, node, minbucket, best, order, key
    )
    if nominal and cut >= 0:
        for i in range(present):
            side[order[i]] = i <= cut
    return best, cut, present
