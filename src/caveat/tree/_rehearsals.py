"""What a second process calls so that the kernels of the trees are compiled in it.

Two kinds of trees, for numbers and for classes, are grown by kernels of their own: while one kind
is compiled here the other is there, see :mod:`caveat.compiling.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from caveat.compiling import Rehearsal, share
from caveat.tree._grow import grow
from caveat.tree._growing import Control, grow_classes, grow_numbers
from caveat.tree._leaves import draw_codes, find_leaves, finish, pack_nodes, share_of_codes
from caveat.tree._predictors import Predictors, whole_values
from caveat.tree._updates import split_classes, split_numbers
from caveat.tree.adjacent import (
    Changes,
    Training,
    adjacent_likelihoods,
    again_classes,
    again_numbers,
    change_leaf,
    join,
    whole_logarithms,
)

__all__ = ["share_kernels"]

N = 100
CODES = (np.arange(N) % 3).astype(np.uint8)
TABLE = Predictors([CODES, (np.arange(N) % 7).astype(np.uint8)], [3, 7], [True, False])
NUMBERS = np.arange(3.0)


def numbers() -> None:
    """Grow and use a tree for numbers."""
    tree = grow(TABLE, CODES, 3, values=NUMBERS)
    tree.draw(TABLE, np.zeros(N))
    tree.shares(TABLE, CODES)


def classes() -> None:
    """Grow a tree for classes."""
    grow(TABLE, CODES, 3)


def adjacent_numbers() -> None:
    """Compute the likelihood of numbers after a change of one record."""
    _adjacent(NUMBERS)


def adjacent_classes() -> None:
    """Compute the likelihood of classes after a change of one record."""
    _adjacent(None)


def _adjacent(values: Any) -> None:
    training = Training(TABLE, CODES, 3, values, np.arange(N), Control())
    changes = Changes(
        np.array([0]), np.array([0]), np.zeros((2, 1), np.uint16), np.zeros(1, np.int64)
    )
    logs, _ = whole_logarithms(N, N)
    adjacent_likelihoods(training, TABLE, CODES, changes, logs)


def share_kernels() -> None:
    """Let a second process compile the kernels of one kind while the other is compiled here."""
    share(
        _rehearsal(
            numbers,
            whole_values,
            grow_numbers,
            finish,
            pack_nodes,
            find_leaves,
            draw_codes,
            share_of_codes,
        ),
        _rehearsal(classes, grow_classes),
    )
    share(
        _rehearsal(adjacent_numbers, split_numbers, change_leaf, again_numbers, join),
        _rehearsal(adjacent_classes, split_classes, again_classes),
    )


def _rehearsal(call: Callable[[], None], *kernels: Any) -> Rehearsal:
    return Rehearsal(f"from {__name__} import {call.__name__} as call\ncall()", kernels)
