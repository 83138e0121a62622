# mypy: disable-error-code="no-untyped-def, assignment"
"""The arrays a tree is grown in: allocated once, carved up inside the kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.tree._all_subsets import SPARE
from caveat.tree._classes import CELLS_PER_ROW, FEWEST_CELLS
from caveat.tree._control import Control
from caveat.tree._kernel import inner, unowned
from caveat.tree._lanes import CODES

__all__ = ["BLOCK", "Response", "Room", "Scratch", "carve", "make_room"]

BLOCK = 8_192
"""Rows of a subtree whose codes are brought together: 20 columns of them fill the second cache. Of
larger tables a sixteenth, up to eight times as many rows."""


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


class Room(NamedTuple):
    """What the kernel writes (nodes, measures) and works in."""

    nodes: Any
    measures: Any
    stack: Any
    integers: Any  # zero when growing starts
    reals: Any
    flags: Any
    shorts: Any
    row_buffer: Any
    number_buffer: Any
    block: Any
    block_rows: Any
    varied: Any  # for each depth, number of predictors that have several levels, and which
    most: int  # levels of the predictor that has most
    cells: int  # of the largest level x class table


class Scratch(NamedTuple):
    """The work space of the split search."""

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


def make_room(
    n_rows: int,
    n_table_rows: int,
    features: NDArray[np.int32],
    response: Response,
    control: Control,
) -> Room:
    """Allocate what one tree needs; memory that is not touched costs nothing."""
    n_features = features.shape[1]
    most = max(features[1].tolist(), default=1)
    k = response.n_classes if response.as_classes else 0
    cells = 0
    if k:
        nominal = int((features[1] * features[2]).max(initial=1))
        cells = max(nominal * k, min(most * k, max(CELLS_PER_ROW * n_rows, FEWEST_CELLS)))
    capacity = max(1, 2 * (n_rows // control.minbucket) - 1)
    block = 0
    if n_table_rows > 2 * BLOCK:
        block = min(max(BLOCK, n_table_rows // 16), 8 * BLOCK, n_rows)
    half = n_rows // 2 + 1
    return Room(
        np.empty((7, capacity), np.int32),
        np.empty((2, capacity)),
        np.empty((control.max_depth + 2, 4), np.int64),
        np.zeros(max(4 * most, cells + most) + most // 64 + 1 + 7 * (most + 1) + k, np.int64),
        np.zeros(most + 3 * k + SPARE + cells if k else most),
        np.empty(n_rows, np.uint8),
        np.empty(n_rows + half + 3 * CODES if k else 0, np.uint16),
        np.empty(n_rows if k else half, np.uint32),
        np.empty(half, np.int64),
        np.empty((n_features, block), np.uint16),
        np.empty(block, np.uint32),
        np.empty((control.max_depth + 2, n_features + 1), np.int64),
        most,
        cells,
    )


@inner
def carve(room, n_classes, n_rows):
    """Cut the work space of one tree out of its room."""
    most, cells = room.most, room.cells
    k = n_classes if len(room.shorts) else 0
    integers, reals, shorts = unowned(room.integers), unowned(room.reals), unowned(room.shorts)
    a = max(4 * most, cells + most)
    b = a + most // 64 + 1
    c = b + 4 * (most + 1)
    d = c + 3 * (most + 1)
    e = most + 3 * k
    return Scratch(
        integers[:a],
        integers[a:b],
        integers[b:c].reshape((most + 1, 4)),
        integers[c : c + most],
        integers[c + most : c + 2 * most],
        integers[c + 2 * most : c + 3 * most],
        integers[d:],
        reals[:most],
        reals[most : most + k],
        reals[most + k : most + 2 * k],
        reals[most + 2 * k : e],
        reals[e : e + SPARE] if k else reals[:0],
        reals[e + SPARE :] if k else reals[:0],
        shorts[: n_rows if k else 0],
        unowned(room.flags),
        unowned(room.row_buffer),
        shorts[n_rows:] if k else shorts[:0],
        unowned(room.number_buffer),
    )
