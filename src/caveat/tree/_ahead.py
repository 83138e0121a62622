"""Compile in processes of their own what is needed soon.

numba compiles one function at a time in a process. A rehearsal is a tiny piece of the work that
calls the kernels with the arguments of real use, so that their machine code is on disk afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from caveat.elsewhere import compile_elsewhere, missing
from caveat.tree._control import Control
from caveat.tree._grow import grow
from caveat.tree._growing import grow_classes, grow_numbers
from caveat.tree._kernel import say
from caveat.tree._leaves import draw_codes, find_leaves, share_of_codes
from caveat.tree._predictors import Predictors
from caveat.tree._pruning import finish
from caveat.tree._regrow import again_classes, again_numbers, change_leaf, join
from caveat.tree._response import whole_values
from caveat.tree._update import split_classes, split_numbers
from caveat.tree.neighbours import Changes, Training, neighbour_likelihoods, whole_logarithms

__all__ = ["compile_all_ahead", "compile_one_beside", "rehearse"]

WITHOUT = "Compiling the tree engine: about 15 seconds, once for this installation."
WITH_ATTACKER = (
    "Compiling the tree engine and the strong attacker: about 30 seconds, once for this"
    " installation."
)

N = 100
CODES = (np.arange(N) % 3).astype(np.uint8)
TABLE = Predictors([CODES, (np.arange(N) % 7).astype(np.uint8)], [3, 7], [True, False])
NUMBERS = np.arange(3.0)


def _grow_numbers() -> None:
    tree = grow(TABLE, CODES, 3, values=NUMBERS)
    tree.draw(TABLE, np.zeros(N))
    tree.shares(TABLE, CODES)


def _grow_classes() -> None:
    grow(TABLE, CODES, 3)


def _neighbours(values: Any) -> None:
    training = Training(TABLE, CODES, 3, values, np.arange(N), Control())
    changes = Changes(
        np.array([0]), np.array([0]), np.zeros((2, 1), np.uint16), np.zeros(1, np.int64)
    )
    logs, _ = whole_logarithms(N, N)
    neighbour_likelihoods(training, TABLE, CODES, changes, logs)


class Rehearsal(NamedTuple):
    """What is called, and the kernels that are compiled by it."""

    call: Callable[[], None]
    kernels: tuple[Any, ...]


REHEARSALS = {
    "numbers": Rehearsal(
        _grow_numbers,
        (whole_values, grow_numbers, finish, find_leaves, draw_codes, share_of_codes),
    ),
    "classes": Rehearsal(_grow_classes, (grow_classes,)),
    "neighbours of numbers": Rehearsal(
        lambda: _neighbours(NUMBERS), (split_numbers, change_leaf, again_numbers, join)
    ),
    "neighbours of classes": Rehearsal(lambda: _neighbours(None), (split_classes, again_classes)),
}


_ONE_AT_A_TIME = Lock()


def rehearse(*names: str) -> None:
    """Run rehearsals."""
    for name in names:
        REHEARSALS[name].call()


def compile_one_beside() -> None:
    """Compile numbers elsewhere and classes here if neither are."""
    if missing(REHEARSALS["classes"].kernels) and _start("numbers"):
        rehearse("classes")


def compile_all_ahead(*, neighbours: bool) -> None:
    """Start to compile numbers and classes, and their neighbours for the strong attacker."""
    for name in ("numbers", "classes"):
        _start(name, *([f"neighbours of {name}"] if neighbours else []))


def _start(*names: str) -> bool:
    """Compile elsewhere what is not on disk; say whether a process was started."""
    with _ONE_AT_A_TIME:
        left = [name for name in names if missing(REHEARSALS[name].kernels)]
        kernels = [kernel for name in left for kernel in REHEARSALS[name].kernels]
        program = f"from caveat.tree._ahead import rehearse\nrehearse(*{left!r})"
        if not left or not compile_elsewhere(program, kernels):
            return False
    say(WITH_ATTACKER if len(names) > 1 else WITHOUT)
    return True
