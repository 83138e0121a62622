# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment"
"""How kernels are compiled, and the small ones that several modules share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import event, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from caveat.kernel import inner, kernel

__all__ = [
    "announce", "inner", "kernel", "part", "say", "sort_by_key", "trailing_zeros", "unowned",
]  # fmt: skip


# Looking for a stored kernel loads numba's rules in an order in which every subscript of an array
# is first tried as one of a string, a list and a dictionary. This loads those of arrays first.
cpu_target.typing_context.refresh()


class _Announcement(event.Listener):
    """Log one line, the first time in this process that a kernel is compiled which has one."""

    def __init__(self) -> None:
        self.lines: dict[Any, str] = {}
        self.said = False

    def on_start(self, event: event.Event) -> None:
        line = self.lines.get(event.data["dispatcher"])
        if line:
            self.say(line)

    def say(self, line: str) -> None:
        """Log the line if it is the first."""
        if not self.said:
            self.said = True
            logging.getLogger("caveat.tree").warning(line)

    def on_end(self, event: event.Event) -> None:
        pass


_ANNOUNCEMENT = _Announcement()
event.register("numba:compile", _ANNOUNCEMENT)


def announce(function: Any, line: str) -> None:
    """Say `line` before a kernel is compiled; nothing where its machine code is on disk."""
    _ANNOUNCEMENT.lines[function] = line


def say(line: str) -> None:
    """Say `line` if nothing was said about compiling yet."""
    _ANNOUNCEMENT.say(line)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write a function into the one kernel that calls it: saves compiling the large ones twice."""
    written: Callable[..., Any] = numba.njit(error_model="numpy", inline="always")(function)
    return written


def _trailing_zeros(_context, _word):
    def generate(_target, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _unowned(_context, array):
    def generate(target, builder, signature, arguments):
        view = target.make_array(signature.args[0])(target, builder, value=arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        return view._getvalue()

    return array(array), generate


trailing_zeros: Callable[..., Any] = intrinsic(_trailing_zeros)
"""The place of the lowest bit that is 1."""

unowned: Callable[..., Any] = intrinsic(_unowned)
"""The same array without its owner: to pass it on then needs no counting of references.

Only for arguments of a kernel called from Python, whose owners live until it returns.
"""


@inner
def sort_by_key(order, key, size):
    """Sort `key[:size]` and say in `order` where each came from; equal keys keep their order."""
    for i in range(size):
        order[i] = i
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            value = key[i]
            item = order[i]
            j = i
            while j >= gap and (
                key[j - gap] > value or (key[j - gap] == value and order[j - gap] > item)
            ):
                key[j] = key[j - gap]
                order[j] = order[j - gap]
                j -= gap
            key[j] = value
            order[j] = item
        gap //= 3
