"""Kernels: the response in the leaves, and rows sent down a tree."""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

import numpy as np

from caveat.compiling import inner, kernel, trailing_zeros
from caveat.tree._growing import FEATURE, START, STOP
from caveat.tree._sorting import sort_by_key

__all__ = ["draw_codes", "fill_leaves", "find_leaves", "share_of_codes"]


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
def find_leaves(codes, wide, wide_of, columns, nodes, leaf_of_node, first, start, stop, leaves):
    """Write the leaf of rows start..stop-1, counted from row `first` of the stored table."""
    feature, threshold, level_set, left, right, bits = nodes
    for i in range(start, stop):
        node = 0
        while feature[node] >= 0:
            column = columns[feature[node]]
            if wide_of[column] >= 0:
                code = np.int64(wide[wide_of[column], first + i])
            else:
                code = np.int64(codes[column, first + i])
            if level_set[node] < 0:
                goes_left = code <= threshold[node]
            else:
                word = bits[level_set[node] + (code >> 6)]
                goes_left = (word >> np.uint64(code & 63)) & np.uint64(1) == np.uint64(1)
            node = left[node] if goes_left else right[node]
        leaves[i] = leaf_of_node[node]


@kernel
def draw_codes(leaves, uniforms, offsets, codes, cumulative, start, stop, drawn):
    """Draw a response code for each row: the inverse of the leaf's distribution function."""
    for i in range(start, stop):
        low = offsets[leaves[i]]
        high = offsets[leaves[i] + 1] - 1
        base = cumulative[low - 1] if low else 0.0
        target = base + uniforms[i] * (cumulative[high] - base)
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > target:
                high = middle
            else:
                low = middle + 1
        drawn[i] = codes[low]


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
