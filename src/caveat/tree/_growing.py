"""Kernels: grow a tree depth first, partitioning one permutation of the rows in place."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from caveat.tree._kernel import kernel
from caveat.tree._partition import partition
from caveat.tree._search import best_split, describe, make_work

__all__ = ["Grown", "Response", "Rules", "Table", "grow_nodes"]


class Table(NamedTuple):
    """The predictors of one tree: rows of the shared code matrix, levels and kinds."""

    codes: Any
    columns: Any
    n_codes: Any
    nominal: Any


class Response(NamedTuple):
    """The response in the order of the tree's rows; arrays that are not needed have length 0."""

    classes: Any
    numbers: Any
    weight: Any
    n_classes: int
    kind: int
    unit: float  # of an improvement, in terms of the grid
    risk_unit: float


class Rules(NamedTuple):
    """When to stop, and how many predictors to try at a node (all, or a random few)."""

    minbucket: int
    minsplit: int
    max_depth: int
    alpha: float
    n_candidates: int
    seed: int


class Grown(NamedTuple):
    """Nodes in preorder; `feature` is -1 in leaves, a node's rows are `rows[start:stop]`."""

    feature: Any
    threshold: Any
    level_set: Any
    left: Any
    right: Any
    start: Any
    stop: Any
    depth: Any
    improve: Any
    risk: Any
    bits: Any


CAREFUL = 1.0 - 1e-9
"""Growing stops early only where pruning is certain to collapse the node anyway."""


@kernel
def grow_nodes(table, response, rules, rows):
    """Grow until no node can be split; `rows` is permuted so that each node is a slice of it."""
    n = len(rows)
    capacity = max(1, 2 * (n // rules.minbucket) - 1)
    grown = Grown(
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(0, np.uint64),
    )
    bits = np.zeros(16, np.uint64)
    n_words = 0
    work = make_work(table, response, n)
    flags = np.empty(n, np.uint8)
    random = np.array([rules.seed], np.uint64)
    stack = np.empty((rules.max_depth + 2, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 0, -1
    waiting = 1
    n_nodes = 0
    while waiting:
        waiting -= 1
        start, stop, depth, parent = stack[waiting]
        node = n_nodes
        n_nodes += 1
        if parent >= 0:
            grown.right[parent] = node
        grown.start[node] = start
        grown.stop[node] = stop
        grown.depth[node] = depth
        about, risk = describe(response, start, stop, work)
        risk *= response.risk_unit
        grown.risk[node] = risk
        if depth >= rules.max_depth or stop - start < rules.minsplit:
            continue
        if stop - start < 2 * rules.minbucket or risk <= rules.alpha * CAREFUL:
            continue
        split = best_split(table, response, rules, rows, start, about, work, random)
        if split.feature < 0:
            continue
        f = split.feature
        grown.feature[node] = f
        grown.improve[node] = split.improve * response.unit
        column = table.codes[table.columns[f]]
        middle = partition(column, split.cut, rows, response, start, stop, flags, work)
        if split.cut >= 0:
            grown.threshold[node] = split.cut
        else:
            grown.level_set[node] = n_words
            bits = with_room(bits, n_words, table.n_codes[f])
            larger_left = middle - start >= stop - middle
            n_words = write_set(bits, n_words, table.n_codes[f], larger_left, split.present, work)
        grown.left[node] = n_nodes
        stack[waiting, 0], stack[waiting, 1] = middle, stop
        stack[waiting, 2], stack[waiting, 3] = depth + 1, node
        stack[waiting + 1, 0], stack[waiting + 1, 1] = start, middle
        stack[waiting + 1, 2], stack[waiting + 1, 3] = depth + 1, -1
        waiting += 2
    return finish(grown, n_nodes, bits[:n_words].copy())


@kernel
def with_room(bits, n_words, n_codes):
    """Return an array of words that has room for one more level set."""
    needed = n_words + (n_codes + 63) // 64
    if needed <= len(bits):
        return bits
    larger = np.zeros(2 * needed, np.uint64)
    larger[:n_words] = bits[:n_words]
    return larger


@kernel
def write_set(bits, n_words, n_codes, larger_left, present, work):
    """Write the levels that go left; levels absent from the node follow the larger child."""
    one = np.uint64(1)
    for code in range(n_codes if larger_left else 0):
        bits[n_words + (code >> 6)] |= one << np.uint64(code & 63)
    for i in range(present):
        code = work.best_codes[i]
        word = n_words + (code >> 6)
        if work.goes_left[code]:
            bits[word] |= one << np.uint64(code & 63)
        else:
            bits[word] &= ~(one << np.uint64(code & 63))
    return n_words + (n_codes + 63) // 64


@kernel
def finish(grown, n_nodes, bits):
    """Cut the arrays to the nodes that exist."""
    return Grown(
        grown.feature[:n_nodes].copy(),
        grown.threshold[:n_nodes].copy(),
        grown.level_set[:n_nodes].copy(),
        grown.left[:n_nodes].copy(),
        grown.right[:n_nodes].copy(),
        grown.start[:n_nodes].copy(),
        grown.stop[:n_nodes].copy(),
        grown.depth[:n_nodes].copy(),
        grown.improve[:n_nodes].copy(),
        grown.risk[:n_nodes].copy(),
        bits,
    )
