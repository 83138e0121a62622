# mypy: disable-error-code="no-untyped-def, assignment"
"""The arrays a tree is grown in: allocated once, carved up inside the kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, unowned
from caveat.compiling.lanes import LANES, in_lanes
from caveat.tree._all_subsets import MOST, SPARE
from caveat.tree._classes import CELLS_PER_ROW, FEWEST_CELLS
from caveat.tree._control import Control
from caveat.tree._orders import SMALL

__all__ = ["BLOCK", "Response", "Scratch", "Workspace", "carve", "make_workspace", "most_nominal"]

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
