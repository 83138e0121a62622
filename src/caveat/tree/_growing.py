# mypy: disable-error-code="assignment, no-untyped-def"
"""Kernels: grow a tree depth first in arrays that are allocated once, until it is told to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel, part, unowned
from caveat.compiling.intrinsics import LANES, in_lanes
from caveat.tree._classes import (
    CELLS_PER_ROW,
    FEWEST_CELLS,
    SMALL,
    count_classes,
    note_classes,
    part_orders,
    put_in_order,
    search_classes,
)
from caveat.tree._numbers import ALONE, FIRST, SECOND, count_numbers, search_numbers
from caveat.tree._subsets import MOST, SPARE, TIE


@dataclass(frozen=True, slots=True)
class Control:
    """Stopping rules with the meaning they have in rpart.

    Parameters
    ----------
    minbucket
        Smallest number of rows in a leaf.
    minsplit
        Smallest number of rows in a node that may be split; 3 x `minbucket` unless given.
    cp
        Complexity parameter: a node is collapsed when its complexity, the risk removed per split
        (its own, and those below it where they raise the figure), is at most `cp` x the risk of
        the root. The risk is the sum of squares for numbers and the misclassified weight (not
        Gini) for classes. Below 0 nothing is collapsed.
    max_depth
        Depth of the deepest leaf; the root has depth 0.

    Examples
    --------
    >>> Control(minbucket=20).smallest_split
    60
    """

    minbucket: int = 5
    minsplit: int | None = None
    cp: float = 1e-8
    max_depth: int = 30

    def __post_init__(self) -> None:
        if self.minbucket < 1:
            raise ValueError("minbucket must be at least 1")
        if self.minsplit is not None and self.minsplit < 1:
            raise ValueError("minsplit must be at least 1")
        if not math.isfinite(self.cp):
            raise ValueError("cp must be a finite number")
        if not 0 <= self.max_depth <= 1_000:
            raise ValueError("max_depth must be between 0 and 1000")

    @property
    def smallest_split(self) -> int:
        """Smallest number of rows in a node that may be split."""
        return 3 * self.minbucket if self.minsplit is None else self.minsplit


DEFAULT = Control()
"""The rules when none are given: those of synthpop."""


# -------------------------------------------------------------------------------------------------
# Kernels: part the rows of a node into its two children, stably and in place.


@inner
def flag_left(column, cut, goes_left, rows, start, stop, flags):
    """Flag the rows that go left and return their number.

    A cut of -1 means a nominal split; `goes_left` then holds the side of each level present.
    """
    n_left = 0
    for i in range(start, stop):
        code = column[rows[i]]
        flag = code <= cut if cut >= 0 else goes_left[code] == 1
        flags[i] = flag
        n_left += flag
    return n_left


@inner
def move(items, flags, start, middle, stop, buffer):
    """Part `items` by the flags; only the smaller side passes through the buffer."""
    held = 0
    if middle - start >= stop - middle:
        place = start
        for i in range(start, stop):
            item = items[i]
            flag = flags[i]
            items[place] = item
            buffer[held] = item
            place += flag
            held += 1 - flag
        for i in range(held):
            items[middle + i] = buffer[i]
        return
    place = stop - 1
    for i in range(stop - 1, start - 1, -1):
        item = items[i]
        flag = flags[i]
        items[place] = item
        buffer[held] = item
        place -= 1 - flag
        held += flag
    for i in range(held):
        items[middle - 1 - i] = buffer[i]


# -------------------------------------------------------------------------------------------------
# The arrays a tree is grown in: allocated once, carved up inside the kernel.


BLOCK = 8_192
"""Rows of a subtree whose codes are brought together: 20 columns of them fill the second cache. Of
larger tables a sixteenth, up to eight times as many rows."""

# Shared, because a refit of 80 microseconds feels the making of arrays that it does not use.
NO_CODES, NO_ROWS = np.empty((0, 0), np.uint16), np.empty(0, np.uint32)
NO_ORDERS, NO_PROFILES = np.empty((0, 0), np.uint8), np.empty(0)


class Response(NamedTuple):
    """The response in the order of the tree's rows."""

    answers: Any  # classes (uint16) or numbers (int64)
    weight: Any  # length 0 without weights
    n_classes: int  # 0 for numbers, 2 for two classes, which are coded as numbers
    unit: float  # of an improvement, in terms of the grid
    risk_unit: float

    @property
    def as_classes(self) -> bool:
        """Whether the answers are classes."""
        return self.n_classes > 2


class Workspace(NamedTuple):
    """What the kernel writes (nodes, measures) and works in."""

    nodes: Any
    measures: Any
    stack: Any
    zeros: Any  # whole numbers that are zero when growing starts
    integers: Any
    reals: Any
    profiles: Any
    flags: Any
    shorts: Any
    row_buffer: Any
    number_buffer: Any
    block: Any
    block_rows: Any
    small: Any  # likewise for subtrees whose rows are kept in the order of their codes
    small_rows: Any
    orders: Any
    varied: Any  # for each depth, number of predictors that have several levels, and which
    most: int  # levels of the predictor that has most
    cells: int  # of the largest level x class table, in whole lanes


class Scratch(NamedTuple):
    """The part of a workspace that the split search works in."""

    table: Any  # zero between uses
    marks: Any  # zero between uses
    levels: Any  # code, rows, weight and response of each level present
    order: Any
    side: Any
    goes_left: Any
    masses: Any
    key: Any
    totals: Any
    left: Any
    right: Any
    spare: Any
    profiles: Any
    local: Any
    flags: Any
    row_buffer: Any  # of all rows for three and more classes, else of half of them
    class_buffer: Any
    number_buffer: Any
    orders: Any  # rows in the order of each predictor, and two lines to work in


def most_nominal(features: NDArray[np.int32]) -> int:
    """Return the number of levels of the nominal predictor that has most: it is tried last."""
    last = features[:, features[3, -1]].tolist() if features.size else [0, 1, 1]
    return int(last[1] * last[2])


def make_workspace(
    n_rows: int,
    n_table_rows: int,
    features: NDArray[np.int32],
    response: Response,
    control: Control,
) -> Workspace:
    """Allocate what one tree needs; memory that is not touched costs nothing."""
    n_features = features.shape[1]
    most = max(features[1].tolist(), default=1)
    k = -(-response.n_classes // LANES) * LANES if response.as_classes else 0
    most_cells = min(most * k, max(CELLS_PER_ROW * n_rows, FEWEST_CELLS))
    cells = max(most_nominal(features) * k, most_cells) if k else 0
    capacity = max(1, 2 * (n_rows // control.minbucket) - 1)
    block = 0
    if n_table_rows > 2 * BLOCK:
        block = min(max(BLOCK, n_table_rows // 16), 8 * BLOCK, n_rows)
    half = n_rows // 2 + 1
    return Workspace(
        np.empty((7, capacity), np.int32),
        np.empty((2, capacity)),
        np.empty((control.max_depth + 2, 4), np.int64),
        np.zeros(max(4 * most, cells + most) + most // 64 + 1, np.int64),
        np.empty(7 * (most + 1) + k, np.int64),
        np.zeros(most + (3 + MOST) * k + SPARE if k else most),
        np.empty(cells) if k else NO_PROFILES,
        np.empty(n_rows, np.uint8),
        np.empty(n_rows + half if k else 0, np.uint16),
        np.empty(n_rows if k else half, np.uint32),
        np.empty(half, np.int64),
        np.empty((n_features, block), np.uint16) if block else NO_CODES,
        np.empty(block, np.uint32) if block else NO_ROWS,
        np.empty((n_features, SMALL), np.uint16) if k else NO_CODES,
        np.empty(SMALL, np.uint32) if k else NO_ROWS,
        np.empty((n_features + 2, SMALL), np.uint8) if k else NO_ORDERS,
        np.empty((control.max_depth + 2, n_features + 1), np.int64),
        most,
        cells,
    )


@inner
def carve(workspace, n_classes, n_rows):
    """Cut what the split search of one tree works in out of its workspace."""
    most, cells = workspace.most, workspace.cells
    k = in_lanes(n_classes) if len(workspace.shorts) else 0
    zeros, integers, reals = (
        unowned(workspace.zeros),
        unowned(workspace.integers),
        unowned(workspace.reals),
    )
    shorts = unowned(workspace.shorts)
    marks = max(4 * most, cells + most)
    a = 4 * (most + 1)
    b = most + 3 * k
    return Scratch(
        zeros[:marks],
        zeros[marks:],
        integers[:a].reshape((most + 1, 4)),
        integers[a : a + most],
        integers[a + most : a + 2 * most],
        integers[a + 2 * most : a + 3 * most],
        integers[a + 3 * most :],
        reals[:most],
        reals[most : most + k],
        reals[most + k : most + 2 * k],
        reals[most + 2 * k : b],
        reals[b:],
        unowned(workspace.profiles),
        shorts[:n_rows],
        unowned(workspace.flags),
        unowned(workspace.row_buffer),
        shorts[n_rows:],
        unowned(workspace.number_buffer),
        unowned(workspace.orders),
    )


# -------------------------------------------------------------------------------------------------
# Kernels: grow a tree depth first, partitioning one permutation of the rows in place.


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
