# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: grow a tree depth first, partitioning one permutation of the rows in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from caveat.compiling import inner, kernel, part, unowned
from caveat.tree._all_subsets import TIE
from caveat.tree._classes import count_classes, search_classes
from caveat.tree._numbers import ALONE, FIRST, SECOND, count_numbers, search_numbers
from caveat.tree._orders import SMALL, note_classes, part_orders, put_in_order
from caveat.tree._partition import flag_left, move
from caveat.tree._workspace import Response, Workspace, carve

__all__ = [
    "DEPTH", "FEATURE", "IMPROVE", "LEFT", "RIGHT", "RISK", "START", "STOP", "THRESHOLD",
    "Rules", "grow_classes", "grow_numbers",
]  # fmt: skip

# Rows of the integers and of the real numbers that describe the nodes.
FEATURE, THRESHOLD, LEFT, RIGHT, START, STOP, DEPTH = range(7)
IMPROVE, RISK = range(2)

CAREFUL = 1.0 - 1e-9
"""Growing stops early only where pruning is certain to collapse the node anyway."""


class Rules(NamedTuple):
    """When to stop, and how many predictors to try at a node (all, or a random few)."""

    minbucket: int
    minsplit: int
    max_depth: int
    alpha: float
    n_candidates: int


class Data(NamedTuple):
    """The arrays of one tree."""

    codes: Any
    features: Any  # column, levels and nominal (0 or 1) of each predictor; order for classes
    answers: Any
    weight: Any
    rows: Any
    random: Any  # state of the generator, then the predictors in the order they are tried


class Node(NamedTuple):
    """What a split search needs to know of the node as a whole."""

    weight: int
    centre: int  # mean of numbers: whole grid units, and what is left
    rest: float
    k: int  # classes present
    squares: float  # sum of their squared weights


@kernel
def grow_classes(codes, features, response, rules, rows, random, workspace):
    """Grow a tree for three and more classes until no node can be split; return how many nodes.

    `features` holds column, levels and nominal (0 or 1) of each predictor, and their order for
    three and more classes. `rows` is permuted so that each node is a slice of it.
    """
    return grow_nodes(True, None, codes, features, response, rules, rows, random, workspace)


@kernel
def grow_numbers(codes, features, response, rules, rows, random, workspace):
    """Do what `grow_classes` does for numbers and for two classes."""
    return grow_nodes(None, True, codes, features, response, rules, rows, random, workspace)


# Longer than a screen: the loop's state (the stack, and the blocks that are open) changes in nearly
# every line, and a function that hands it back and forth is compiled to slower code.
@inner
def grow_nodes(classes, numbers, codes, features, response, rules, rows, random, workspace):
    """Grow a tree for `classes` or `numbers`; the other one is None.

    The compiler leaves out what is done only where an argument that is None is not None.
    """
    response = Response(*response)
    rules = Rules(*rules)
    workspace = Workspace(*workspace)
    data = Data(
        unowned(codes),
        unowned(features),
        unowned(response.answers),
        unowned(response.weight),
        unowned(rows),
        unowned(random),
    )
    scratch = carve(workspace, response.n_classes, len(rows))
    nodes, measures = unowned(workspace.nodes), unowned(workspace.measures)
    stack = unowned(workspace.stack)
    block, block_rows = unowned(workspace.block), unowned(workspace.block_rows)
    small, small_rows = unowned(workspace.small), unowned(workspace.small_rows)
    varied = unowned(workspace.varied)
    list_predictors(classes, data, varied[0])
    block_start = block_stop = small_start = small_stop = np.int64(0)
    in_order = len(response.weight) == 0 and rules.n_candidates >= features.shape[1]
    small_size = SMALL if in_order else 0
    least = max(rules.minsplit, 2 * rules.minbucket)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, len(rows), 0, -1
    waiting = 1
    n_nodes = 0
    while waiting:
        waiting -= 1
        start, stop, depth, parent = stack[waiting]
        small_stop = leave_block(start, data.rows, small_rows, small_start, small_stop)
        block_stop = leave_block(start, data.rows, block_rows, block_start, block_stop)
        node = n_nodes
        n_nodes += 1
        if parent >= 0:
            nodes[RIGHT, parent] = node
        nodes[FEATURE, node] = nodes[THRESHOLD, node] = -1
        nodes[LEFT, node] = nodes[RIGHT, node] = -1
        nodes[START, node] = start
        nodes[STOP, node] = stop
        nodes[DEPTH, node] = depth
        measures[IMPROVE, node] = 0.0
        about, risk = describe(classes, numbers, data, response.n_classes, start, stop, scratch)
        risk *= response.risk_unit
        measures[RISK, node] = risk
        if depth >= rules.max_depth or stop - start < least:
            continue
        if risk <= rules.alpha * CAREFUL or about.k < 2:
            continue
        if block_stop == 0 and stop - start <= len(block_rows):
            # A plain False would be compiled for once more.
            enter_block(data, data.codes, block_stop > 0, start, stop, block, block_rows)
            block_start, block_stop = start, stop
        matrix, in_block, place = block if block_stop else data.codes, block_stop > 0, -1
        if classes is not None:
            if small_stop == 0 and stop - start <= small_size:
                enter_block(data, matrix, in_block, start, stop, small, small_rows)
                small_start, small_stop = start, stop
                put_in_order(small, data.features, stop - start, varied[depth], scratch)
            if small_stop:
                matrix, in_block, place = small, small_stop > 0, start - small_start
                note_classes(data.rows, start, stop, scratch)
        feature, cut, improve = best_split(
            classes, numbers, data, matrix, in_block, place, rules, start, stop, about,
            varied[depth], varied[depth + 1], scratch,
        )  # fmt: skip
        if feature < 0:
            continue
        nodes[FEATURE, node] = feature
        nodes[THRESHOLD, node] = cut
        nodes[LEFT, node] = n_nodes
        measures[IMPROVE, node] = improve * response.unit
        column = column_of(matrix, data.features, in_block, feature)
        middle = partition(
            classes, numbers, data, column, cut, start, stop, place, varied[depth + 1], least,
            scratch,
        )  # fmt: skip
        stack[waiting, 0], stack[waiting, 1] = middle, stop
        stack[waiting, 2], stack[waiting, 3] = depth + 1, node
        stack[waiting + 1, 0], stack[waiting + 1, 1] = start, middle
        stack[waiting + 1, 2], stack[waiting + 1, 3] = depth + 1, -1
        waiting += 2
    leave_block(small_stop, data.rows, small_rows, small_start, small_stop)
    leave_block(block_stop, data.rows, block_rows, block_start, block_stop)
    return n_nodes


@part
def describe(classes, numbers, data, n_classes, start, stop, work):
    """Return the node's description and its risk in grid units."""
    node, risk = Node(0, 0, 0.0, 0, 0.0), 0.0
    if classes is not None:
        k, weight, squares, largest = count_classes(
            data.answers, data.weight, start, stop, n_classes, work.masses, work.local, work.totals
        )
        node, risk = Node(weight, 0, 0.0, k, squares), float(weight - largest)
    if numbers is not None:
        weight, centre, rest, risk = count_numbers(data.answers, data.weight, start, stop)
        node = Node(weight, centre, rest, 2, 0.0)
        if n_classes == 2:
            ones = np.rint((centre + rest) * weight)
            risk = min(ones, weight - ones)
    return node, risk


@inner
def list_predictors(classes, data, mine):
    """List all predictors in the order in which they are tried, after their number.

    For three and more classes the nominal ones come last, those with most levels at the end: what
    the others improve often shows that they cannot win.
    """
    n_features = data.features.shape[1]
    mine[0] = n_features
    for i in range(n_features):
        mine[1 + i] = i
        if classes is not None:
            mine[1 + i] = data.features[3, i]


@part
def best_split(
    classes, numbers, data, matrix, in_block, place, rules, start, stop, node, mine, varied, work
):
    """Return the best predictor (-1 if none), its cut (-1 if nominal) and the improvement.

    `mine` lists the predictors to try; those that have more than one level here are listed in
    `varied`, for the children. Among equals the first predictor wins, whatever their order.
    `place` is that of the node's rows in the orders, -1 if there are none.
    """
    n_features = data.features.shape[1]
    best = 0.0
    feature = -1
    cut = -1
    random = rules.n_candidates < n_features
    n_mine = n_features if random else np.int64(mine[0])
    varied[0] = 0
    for tried in range(n_mine):
        if random:
            if tried >= rules.n_candidates and feature >= 0:
                break
            draw_candidate(data.random, tried)
        f = np.int64(data.random[1 + tried] if random else mine[1 + tried])
        n_codes = np.int64(data.features[1, f])
        nominal = data.features[2, f]
        column = column_of(matrix, data.features, in_block, f)
        found, last, present = best, -1, 0
        if classes is not None:
            # An earlier predictor wins if it is as good.
            least = best - 2.0 * TIE * node.weight if f < feature and not random else best
            found, last, present = search_classes(
                column, f, data.rows, data.weight, start, stop, place, n_codes, nominal,
                (node.weight, node.k, node.squares), rules.minbucket, least, work,
            )  # fmt: skip
        if numbers is not None:
            turn, beside = ALONE, column
            if not random and tried % 2:
                turn = SECOND
            elif not random and tried + 1 < n_mine:
                turn = FIRST
                beside = column_of(matrix, data.features, in_block, np.int64(mine[2 + tried]))
            found, last, present = search_numbers(
                column, beside, turn, data.rows, data.answers, data.weight, start, stop, n_codes,
                nominal, (node.weight, node.centre, node.rest), rules.minbucket, best,
                work.table, work.marks, work.levels, work.order, work.key, work.side,
            )  # fmt: skip
        if present > 1:
            varied[0] += 1
            varied[varied[0]] = f
        if last < 0:
            continue
        best = found
        feature = f
        cut = -1
        if nominal:
            for i in range(present):
                work.goes_left[work.levels[i, 0]] = work.side[i]
        else:
            # Codes between the two levels go to the nearer one.
            cut = (work.levels[last, 0] + work.levels[last + 1, 0] - 1) // 2
    return feature, cut, best


@inner
def column_of(matrix, features, in_block, f):
    """Return the codes of a predictor."""
    return matrix[f if in_block else features[0, f]]


@inner
def draw_candidate(random, tried):
    """Swap a random predictor that was not tried yet into place (xorshift, Marsaglia 2003)."""
    state = random[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    random[0] = state
    left = np.uint64(len(random) - 1 - tried)
    pick = 1 + tried + np.int64((state >> np.uint64(11)) % left)
    random[1 + tried], random[pick] = random[pick], random[1 + tried]


@part
def partition(classes, numbers, data, column, cut, start, stop, place, varied, least, work):
    """Bring the rows that go left to the front and return where the right child starts."""
    flags = work.flags
    middle = start + flag_left(column, cut, work.goes_left, data.rows, start, stop, flags)
    if classes is not None:
        part_orders(data, start, middle, stop, place, varied, least, work)
    move(data.rows, flags, start, middle, stop, work.row_buffer)
    if classes is not None:
        move(data.answers, flags, start, middle, stop, work.class_buffer)
    if numbers is not None:
        move(data.answers, flags, start, middle, stop, work.number_buffer)
    if len(data.weight):
        move(data.weight, flags, start, middle, stop, work.number_buffer)
    return middle


@inner
def enter_block(data, matrix, in_block, start, stop, block, block_rows):
    """Copy the node's codes together; within the block `rows` holds positions in the copy."""
    for f in range(data.features.shape[1]):
        column = column_of(matrix, data.features, in_block, f)
        for i in range(start, stop):
            block[f, i - start] = column[data.rows[i]]
    for i in range(start, stop):
        block_rows[i - start] = data.rows[i]
        data.rows[i] = i - start


@inner
def leave_block(at, rows, block_rows, start, stop):
    """Turn positions in the copy back where a block ends before `at`; return its end, 0 if left."""
    if at < stop:
        return stop
    if stop:
        for i in range(start, stop):
            rows[i] = block_rows[rows[i]]
    return np.int64(0)
