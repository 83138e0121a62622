"""Kernels: the response in the leaves, and rows sent down a tree."""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

import numpy as np

from caveat.compiling import fetch, inner, kernel, trailing_zeros
from caveat.tree._growing import FEATURE, START, STOP
from caveat.tree._sorting import sort_by_key

__all__ = ["draw_codes", "fill_leaves", "find_leaves", "pack_nodes", "share_of_codes"]

THRESHOLD, WORD, SET = 0, 1, 2
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
            kind, value = THRESHOLD, np.int64(threshold[node])
            if level_set[node] >= 0:
                kind, value = SET, np.int64(level_set[node])
                if one_word[feature[node]]:
                    kind, value = WORD, np.int64(bits[value] & np.uint64(0xFFFFFFFF))
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
                far = np.int64(kind == SET)
                word = bits[np.uint64((value + (code >> 6)) * far)]
                word = (word & np.uint64(-far)) | (np.uint64(value) & np.uint64(far - 1))
                inside = np.int64(word >> np.uint64(code & 63)) & 1
                below = np.int64(code <= value)
                is_threshold = -np.int64(kind == THRESHOLD)
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
