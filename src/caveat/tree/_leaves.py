# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels: the response in the leaves, rows sent down a tree, and what is collapsed."""

from __future__ import annotations

import numpy as np

from caveat.compiling import fetch, inner, kernel, trailing_zeros
from caveat.tree._growing import DEPTH, FEATURE, IMPROVE, LEFT, RIGHT, RISK, START, STOP, THRESHOLD
from caveat.tree._numbers import sort_by_key

AT_THRESHOLD, IN_WORD, IN_SET = 0, 1, 2
"""What a split asks: a code up to a threshold, in a word of 32 levels, in a larger set."""

TOGETHER = 256
"""Rows that are sent down a tree together: their codes stay in the nearest cache."""


@inner
def fill_leaves(nodes, n_nodes, rows, codes, weight, n_levels, offsets, leaf_codes, leaf_weights):
    """Write offsets, codes and weights of the responses in each leaf, codes rising in a leaf.

    `codes` and `weight` are those of the table; no weights means one for each row. Returns how many
    codes all leaves have together.
    """
    most = min(len(rows), n_levels)
    mass = np.zeros(n_levels)
    order = np.empty(most, np.int64)
    touched = np.empty(most)
    leaf = filled = 0
    offsets[0] = 0
    for node in range(n_nodes):
        if nodes[FEATURE, node] >= 0:
            continue
        distinct = seen = np.int64(0)
        for i in range(nodes[START, node], nodes[STOP, node]):
            row = rows[i]
            code = codes[row]
            if mass[code] == 0.0:
                touched[distinct] = code
                distinct += 1
            mass[code] += weight[row] if len(weight) else 1.0
            seen |= np.int64(1) << np.int64(code & 63)
        if n_levels <= 64:
            for i in range(distinct):
                touched[i] = trailing_zeros(seen)
                seen &= seen - 1
        else:
            sort_by_key(order, touched, distinct)
        for i in range(distinct):
            code = np.int32(touched[i])
            leaf_codes[filled] = code
            leaf_weights[filled] = mass[code]
            mass[code] = 0.0
            filled += 1
        leaf += 1
        offsets[leaf] = filled
    return filled


@kernel
def pack_nodes(feature, threshold, level_set, left, right, sizes, leaf_of_node, bits, one_word):
    """Return the splits of a tree, one line each: what is asked, of which, and two children.

    Sending a row down costs a visit to memory for each split, so a line holds all of a split, and
    the line of the child with more rows follows the line of its parent. A line is the predictor
    times four plus the kind of question, its threshold or level set, and left and right child: a
    line, or a leaf as -1 - leaf. Questions: up to a `THRESHOLD`, in a `WORD` of 32 levels, or in
    the `SET` that begins there in `bits`. `one_word` says which predictors have 32 levels or fewer.
    """
    n_splits = 0
    for node in range(len(feature)):
        n_splits += feature[node] >= 0
    lines = np.empty((n_splits, 4), np.int32)
    waiting = np.empty((n_splits + 1, 2), np.int64)  # a node, and where its line is to be written
    waiting[0, 0] = waiting[0, 1] = 0
    n_waiting = 1 if n_splits else 0
    line = 0
    while n_waiting:
        n_waiting -= 1
        node, place = waiting[n_waiting]
        while True:
            if line:
                lines[place >> 2, place & 3] = line
            kind, value = AT_THRESHOLD, np.int64(threshold[node])
            if level_set[node] >= 0:
                kind, value = IN_SET, np.int64(level_set[node])
                if one_word[feature[node]]:
                    kind, value = IN_WORD, np.int64(bits[value] & np.uint64(0xFFFFFFFF))
            lines[line, 0] = 4 * feature[node] + kind
            lines[line, 1] = value if value < 1 << 31 else value - (1 << 32)
            first, second, place = left[node], right[node], 4 * line + 2
            other = place + 1
            if sizes[first] < sizes[second]:
                first, second, place, other = second, first, other, place
            line += 1
            if feature[second] >= 0:
                waiting[n_waiting, 0] = second
                waiting[n_waiting, 1] = other
                n_waiting += 1
            else:
                lines[other >> 2, other & 3] = -1 - leaf_of_node[second]
            if feature[first] < 0:
                lines[place >> 2, place & 3] = -1 - leaf_of_node[first]
                break
            node = first
    return lines


@kernel
def find_leaves(codes, wide, wide_of, columns, lines, bits, first, start, stop, leaves):
    """Write the leaf of rows start..stop-1, counted from row `first` of the stored table.

    `columns` are those that the tree asks, in the numbers of its `lines`. Some rows take one step
    after the other together: the processor fetches the lines of the next rows while it waits for
    that of one. The codes of these rows are copied, because columns of a power of two of rows
    would drive each other out of its cache.
    """
    here = np.empty(len(columns) * TOGETHER, np.int32)
    at = np.empty(TOGETHER, np.int32)
    on_the_way = np.empty(TOGETHER, np.int32)
    for begin in range(start, stop, TOGETHER):
        n_rows = min(TOGETHER, stop - begin)
        for c in range(len(columns)):
            column = columns[c]
            if wide_of[column] >= 0:
                for i in range(n_rows):
                    here[c * TOGETHER + i] = wide[wide_of[column], first + begin + i]
            else:
                for i in range(n_rows):
                    here[c * TOGETHER + i] = codes[column, first + begin + i]
        for i in range(n_rows):
            at[i] = 0
            on_the_way[i] = i
        n_left = n_rows
        while n_left:
            kept = 0
            for k in range(n_left):
                i = np.uint64(on_the_way[k])
                line = np.uint64(at[i])
                asked, value = lines[line, 0], np.int64(lines[line, 1])
                kind = asked & 3
                code = np.int64(here[np.uint64(asked >> 2) * np.uint64(TOGETHER) + i])
                # All answers are computed, without a jump: half of them would be guessed wrong.
                far = np.int64(kind == IN_SET)
                word = bits[np.uint64((value + (code >> 6)) * far)]
                word = (word & np.uint64(-far)) | (np.uint64(value) & np.uint64(far - 1))
                inside = np.int64(word >> np.uint64(code & 63)) & 1
                below = np.int64(code <= value)
                is_threshold = -np.int64(kind == AT_THRESHOLD)
                goes_left = (inside & ~is_threshold) | (below & is_threshold)
                child = lines[line, np.uint64(3 - goes_left)]
                fetch(lines, np.int64(child) * 4)
                at[i] = child
                on_the_way[kept] = i
                kept += child >= 0
            n_left = kept
        for i in range(n_rows):
            leaves[begin + i] = -1 - at[i]


@kernel
def draw_codes(leaves, uniforms, offsets, codes, cumulative, start, stop, drawn):
    """Draw a response code for each row: the inverse of the leaf's distribution function.

    What some rows need is fetched together, as in `find_leaves`.
    """
    lows, sizes = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64)
    for begin in range(start, stop, TOGETHER):
        n_rows = min(TOGETHER, stop - begin)
        for i in range(n_rows):
            fetch(offsets, np.int64(leaves[begin + i]))
        for i in range(n_rows):
            lows[i] = low = offsets[leaves[begin + i]]
            sizes[i] = size = offsets[leaves[begin + i] + 1] - low
            fetch(cumulative, low)
            fetch(cumulative, low + size - 1)
            fetch(codes, low)
        for i in range(n_rows):
            low, size = lows[i], sizes[i]
            base = cumulative[low - 1] if low else 0.0
            target = base + uniforms[begin + i] * (cumulative[low + size - 1] - base)
            # The first that is above the target, else the last.
            while size > 1:
                half = size >> 1
                low += half * np.int64(cumulative[low + half - 1] <= target)
                size -= half
            drawn[begin + i] = codes[low]


@kernel
def share_of_codes(leaves, wanted, offsets, codes, cumulative, start, stop, shares):
    """Write the share that each row's leaf gives to the wanted code."""
    for i in range(start, stop):
        low = offsets[leaves[i]]
        end = offsets[leaves[i] + 1]
        base = cumulative[low - 1] if low else 0.0
        total = cumulative[end - 1] - base
        high = end - 1
        while low < high:
            middle = (low + high) // 2
            if codes[middle] >= wanted[i]:
                high = middle
            else:
                low = middle + 1
        shares[i] = 0.0
        if codes[low] == wanted[i]:
            before = cumulative[low - 1] if low else 0.0
            shares[i] = (cumulative[low] - before) / total


# -------------------------------------------------------------------------------------------------
# Kernels: collapse what the complexity parameter does not pay for, and write down the tree.


SAME = 1.0 - 1e-12
"""Complexities nearer to each other than this are equal: what is left is rounding."""


LEVEL_SET, COLLAPSED = DEPTH, RISK
"""Rows of the nodes and of their measures that hold something else once a tree is finished."""


@kernel
def finish(
    nodes, measures, n_nodes, alpha, by_risk, codes, features, rows, start, answers, weight,
    n_levels, leaf_offsets, leaf_codes, leaf_weights,
):  # fmt: skip
    """Collapse the nodes whose complexity is at most `alpha` and write down what is left.

    `rows` become rows of the view, which begins at row `start` of the table; `answers` and `weight`
    are those of the view. Returns the number of nodes, the length of the leaves' arrays, and the
    level sets; the rest is written into the arguments, because making arrays here takes longer.
    """
    gain = np.zeros(n_nodes)
    splits = np.zeros(n_nodes, np.int64)
    weigh_splits(nodes, measures, n_nodes, alpha, by_risk, gain, splits)
    n_nodes = pack(nodes, measures, n_nodes, splits)
    bits = write_level_sets(nodes, n_nodes, codes, features, rows)
    if start:
        for i in range(len(rows)):
            rows[i] -= start
    filled = fill_leaves(
        nodes, n_nodes, rows, answers, weight, n_levels, leaf_offsets, leaf_codes, leaf_weights
    )
    return n_nodes, filled, bits


@inner
def weigh_splits(nodes, measures, n_nodes, alpha, by_risk, gain, splits):
    """Write the risk removed and the splits that count below each node, 0 where it collapses.

    Goes from the leaves upward. For numbers the risk a split removes is its improvement, for
    classes (`by_risk`) it is taken from the misclassified weights. Returns two complexities
    between which no node would be decided differently.
    """
    low, high = -np.inf, np.inf
    for node in range(n_nodes - 1, -1, -1):
        if nodes[FEATURE, node] < 0:
            continue
        left, right = nodes[LEFT, node], nodes[RIGHT, node]
        own = measures[IMPROVE, node]
        if by_risk:
            own = measures[RISK, node] - measures[RISK, left] - measures[RISK, right]
        gain[node], splits[node], low, high = decide(
            own, gain[left], splits[left], gain[right], splits[right], alpha, low, high
        )
    return low, high


@inner
def decide(own, gain, splits, other_gain, other_splits, alpha, low, high):
    """Return risk removed and splits that count of a node, 0 if it collapses, and the limits.

    The complexity of a node is the risk removed per split, by its own split and by the subtree of
    a child only if that raises it: a child that would collapse before its parent counts as
    collapsed, the weaker one first. It stays collapsed in the reckoning further up.
    """
    if other_gain * splits > gain * other_splits:
        gain, splits, other_gain, other_splits = other_gain, other_splits, gain, splits
    paid = np.int64(1)
    if gain * paid >= own * splits * SAME:
        own += gain
        paid += splits
        if other_gain * paid >= own * other_splits * SAME:
            own += other_gain
            paid += other_splits
    each = own / paid
    if own > alpha * paid:
        return own, paid, low, min(high, each * SAME)
    if each > 0:
        low = max(low, each / SAME)
    return 0.0, np.int64(0), low, high


@inner
def pack(nodes, measures, n_nodes, splits):
    """Move the nodes that stay to the front, in preorder, and return how many there are."""
    number = np.empty(n_nodes, np.int32)
    n_new = 0
    skip_to = 0  # row position up to which a collapsed node's descendants are left out
    for node in range(n_nodes):
        if nodes[START, node] < skip_to:
            continue
        number[node] = n_new
        for i in range(len(nodes)):
            nodes[i, n_new] = nodes[i, node]
        for i in range(len(measures)):
            measures[i, n_new] = measures[i, node]
        measures[COLLAPSED, n_new] = 0.0
        if splits[node] == 0:
            skip_to = nodes[STOP, node]
            measures[COLLAPSED, n_new] = nodes[FEATURE, node] >= 0
            nodes[FEATURE, n_new] = nodes[THRESHOLD, n_new] = -1
            nodes[LEFT, n_new] = nodes[RIGHT, n_new] = -1
            measures[IMPROVE, n_new] = 0.0
        n_new += 1
    for node in range(n_new):
        if nodes[FEATURE, node] >= 0:
            nodes[LEFT, node] = number[nodes[LEFT, node]]
            nodes[RIGHT, node] = number[nodes[RIGHT, node]]
    return n_new


@inner
def write_level_sets(nodes, n_nodes, codes, features, rows):
    """Write where the level set of each nominal split begins, -1 elsewhere; return the sets.

    A bit is 1 where the level goes left. Levels absent from the node follow the larger child.
    """
    first = nodes[LEVEL_SET]
    n_words = 0
    for node in range(n_nodes):
        f = nodes[FEATURE, node]
        first[node] = -1
        if f >= 0 and features[2, f]:
            first[node] = n_words
            n_words += (features[1, f] + 63) // 64
    bits = np.zeros(n_words, np.uint64)
    one = np.uint64(1)
    for node in range(n_nodes):
        if first[node] < 0:
            continue
        f = nodes[FEATURE, node]
        start, stop = nodes[START, node], nodes[STOP, node]
        middle = nodes[STOP, nodes[LEFT, node]]
        column = codes[features[0, f]]
        mine = bits[first[node] :]
        if features[1, f] <= 64:  # one word: kept in a register
            left = right = np.uint64(0)
            for i in range(start, middle):
                left |= one << np.uint64(column[rows[i]])
            for i in range(middle, stop):
                right |= one << np.uint64(column[rows[i]])
            mine[0] = left if middle - start < stop - middle else ~right
            continue
        if middle - start >= stop - middle:
            for code in range(features[1, f]):
                mine[code >> 6] |= one << np.uint64(code & 63)
        for i in range(start, stop):
            code = np.int64(column[rows[i]])
            bit = one << np.uint64(code & 63)
            if i < middle:
                mine[code >> 6] |= bit
            else:
                mine[code >> 6] &= ~bit
    return bits
