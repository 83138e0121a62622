# mypy: disable-error-code="no-untyped-def"
"""Kernels: the likelihood of released rows in a leaf, or in a node that is grown again."""

from __future__ import annotations

import numpy as np

from caveat.compiling import inner, kernel
from caveat.tree._growing import (
    FEATURE,
    LEFT,
    RIGHT,
    RISK,
    START,
    STOP,
    THRESHOLD,
    grow_classes,
    grow_numbers,
)
from caveat.tree._pruning import decide, weigh_splits
from caveat.tree._update import most_levels

__all__ = ["again_classes", "again_numbers", "change_leaf", "join"]


@kernel
def change_leaf(rows, answers, added_answers, changes, released, n_levels, logs):
    """Return the log-likelihood of the released codes if the node is a leaf, under each change.

    Line 0 is the node itself. Logarithms are whole numbers (see `adjacent`), so that sums are
    exact; the second entry counts the released rows whose code the leaf has not.
    """
    counts = np.zeros(n_levels, np.int64)
    wanted = np.zeros(n_levels, np.int64)
    for i in range(len(rows)):
        counts[answers[rows[i]]] += 1
    for i in range(len(released)):
        wanted[released[i]] += 1
    out = np.zeros((1 + len(changes), 2), np.int64)
    for c in range(n_levels):
        if wanted[c] and counts[c]:
            out[0, 0] += wanted[c] * logs[counts[c]]
        elif wanted[c]:
            out[0, 1] += wanted[c]
    plain, missing = out[0, 0], out[0, 1]
    out[0, 0] -= len(released) * logs[len(rows)]
    for item in range(len(changes)):
        gone, come = changes[item, 0], changes[item, 1]
        size = len(rows) - (gone >= 0) + (come >= 0)
        value, zeros = plain, missing
        if gone >= 0:
            c = answers[gone]
            value -= wanted[c] * logs[counts[c]]
            counts[c] -= 1
            value += wanted[c] * logs[counts[c]]
            zeros += wanted[c] if counts[c] == 0 else 0
        if come >= 0:
            c = added_answers[come]
            value -= wanted[c] * logs[counts[c]]
            zeros -= wanted[c] if counts[c] == 0 else 0
            counts[c] += 1
            value += wanted[c] * logs[counts[c]]
            counts[c] -= 1
        if gone >= 0:
            counts[answers[gone]] += 1
        out[1 + item, 0] = value - len(released) * logs[size]
        out[1 + item, 1] = zeros
    return out


@kernel
def again_classes(*given):
    """Grow a node again for three and more classes; the arguments of `grow_again` follow."""
    return grow_again(True, None, *given)


@kernel
def again_numbers(*given):
    """Grow a node again for numbers or two classes; the arguments of `grow_again` follow."""
    return grow_again(None, True, *given)


@inner
def choose_rows(codes, features, rows, added, gone, come, chosen):
    """List the rows after a change; the one that comes is written behind all others."""
    size = 0
    for i in range(len(rows)):
        if rows[i] != gone:
            chosen[size] = rows[i]
            size += 1
    if come >= 0:
        scratch = codes.shape[1] - 1
        for f in range(features.shape[1]):
            codes[features[0, f], scratch] = added[f, come]
        chosen[size] = scratch
        size += 1
    return size


@inner
def grow_again(
    classes, numbers, codes, features, rows, response, answers, added, added_coded, added_answers,
    changes, alphas, rules, workspace, release, released, released_answers, logs, by_risk, n_levels,
    least_alpha,
):  # fmt: skip
    """Grow a node from its rows under each change, prune it and let the released rows fall.

    The last column of `codes` is scratch for the row that comes. `answers` are response codes,
    `response` has what the engine makes of them, for `classes` or `numbers` as in `grow_nodes`.
    Growing stops early at the least complexity only, so that the result says what other
    complexities would prune. Returns whole numbers (splits that count, log-likelihood, impossible
    rows) and real ones (risk removed, risk, and the complexities between which the pruned tree is
    the same).
    """
    scratch = codes.shape[1] - 1
    n = len(rows)
    chosen = np.empty(n + 1, np.uint32)
    coded, no_weight, n_classes, unit, risk_unit = response
    local = np.empty(n + 1, coded.dtype)
    random = np.empty(1 + features.shape[1], np.uint64)
    whole = np.empty((len(changes), 3), np.int64)
    real = np.empty((len(changes), 4))
    falling = np.empty(len(released), np.int64)
    for item in range(len(changes)):
        gone, come = changes[item, 0], changes[item, 1]
        size = choose_rows(codes, features, rows, added, gone, come, chosen)
        for i in range(size):
            row = chosen[i]
            local[i] = added_coded[come] if row == scratch else coded[row]
        for i in range(len(random)):
            random[i] = i - 1 if i else 1
        mine = (local[:size], no_weight, n_classes, unit, risk_unit)
        limits = (rules[0], rules[1], rules[2], least_alpha, features.shape[1])
        n_nodes = 0
        if classes is not None:
            n_nodes = grow_classes(codes, features, mine, limits, chosen[:size], random, workspace)
        if numbers is not None:
            n_nodes = grow_numbers(codes, features, mine, limits, chosen[:size], random, workspace)
        nodes, measures = workspace[0], workspace[1]
        gain = np.zeros(n_nodes)
        splits = np.zeros(n_nodes, np.int64)
        real[item, 2], real[item, 3] = weigh_splits(
            nodes, measures, n_nodes, alphas[item], by_risk, gain, splits
        )
        whole[item, 0], real[item, 0], real[item, 1] = splits[0], gain[0], measures[RISK, 0]
        for i in range(len(released)):
            falling[i] = released[i]
        value, zeros = let_fall(
            codes, features, nodes, splits, n_nodes, chosen, answers,
            added_answers[come] if come >= 0 else 0, scratch, release, falling, released_answers,
            logs, n_levels,
        )  # fmt: skip
        whole[item, 1] = value
        whole[item, 2] = zeros
    return whole, real


@kernel
def join(left_whole, left_real, right_whole, right_real, improve, risk, leaf, alphas, by_risk):
    """Put two subtrees under their node and prune there, under each change.

    The arrays are those of `grow_again`; `leaf` is the log-likelihood of the node as a leaf.
    """
    whole = np.empty_like(left_whole)
    real = np.empty_like(left_real)
    for i in range(len(alphas)):
        own = risk[i] - left_real[i, 1] - right_real[i, 1] if by_risk else improve[i]
        gain, splits, low, high = decide(
            own, left_real[i, 0], left_whole[i, 0], right_real[i, 0], right_whole[i, 0], alphas[i],
            max(left_real[i, 2], right_real[i, 2]), min(left_real[i, 3], right_real[i, 3]),
        )  # fmt: skip
        whole[i, 0] = splits
        for j in range(2):
            whole[i, 1 + j] = left_whole[i, 1 + j] + right_whole[i, 1 + j] if splits else leaf[i, j]
        real[i, 0], real[i, 1], real[i, 2], real[i, 3] = gain, risk[i], low, high
    return whole, real


@inner
def let_fall(
    codes, features, nodes, splits, n_nodes, rows, answers, scratch_answer, scratch, release,
    falling, released_answers, logs, n_levels,
):  # fmt: skip
    """Return the log-likelihood of the released rows in the pruned tree, and the impossible ones.

    `falling` is parted along the tree as the rows of the original were.
    """
    counts = np.zeros(n_levels, np.int64)
    goes_left = np.zeros(most_levels(features), np.uint8)
    buffer = np.empty(len(falling), np.int64)
    bounds = np.zeros((n_nodes, 2), np.int64)
    bounds[0, 1] = len(falling)
    value = zeros = skip_to = 0
    for node in range(n_nodes):
        start, stop = nodes[START, node], nodes[STOP, node]
        if start < skip_to:
            continue
        first, last = bounds[node, 0], bounds[node, 1]
        if splits[node] == 0:
            skip_to = stop
            if first < last:
                for i in range(start, stop):
                    row = rows[i]
                    counts[scratch_answer if row == scratch else answers[row]] += 1
                for i in range(first, last):
                    count = counts[released_answers[falling[i]]]
                    value += logs[count] - logs[stop - start]
                    zeros += count == 0
                counts[:] = 0
            continue
        f = nodes[FEATURE, node]
        cut = nodes[THRESHOLD, node]
        if features[2, f]:
            middle = nodes[STOP, nodes[LEFT, node]]
            goes_left[: features[1, f]] = middle - start >= stop - middle
            for i in range(start, stop):
                goes_left[codes[features[0, f], rows[i]]] = i < middle
        place = part(falling, first, last, release[f], cut, features[2, f], goes_left, buffer)
        bounds[nodes[LEFT, node], 0], bounds[nodes[LEFT, node], 1] = first, place
        bounds[nodes[RIGHT, node], 0], bounds[nodes[RIGHT, node], 1] = place, last
    return value, zeros


@inner
def part(falling, first, last, column, cut, nominal, goes_left, buffer):
    """Bring the released rows that go left to the front and return where the others start."""
    place = first
    held = 0
    for i in range(first, last):
        row = falling[i]
        code = column[row]
        if goes_left[code] if nominal else code <= cut:
            falling[place] = row
            place += 1
        else:
            buffer[held] = row
            held += 1
    for i in range(held):
        falling[place + i] = buffer[i]
    return place
