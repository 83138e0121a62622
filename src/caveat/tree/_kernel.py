# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment"
"""How kernels are compiled, and the small ones that several modules share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from caveat.kernel import kernel

__all__ = ["announce", "inner", "kernel", "part", "sort_by_key", "trailing_zeros", "unowned"]


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
        if line and not self.said:
            self.said = True
            logging.getLogger("caveat.tree").warning(line)

    def on_end(self, event: event.Event) -> None:
        pass


_ANNOUNCEMENT = _Announcement()
event.register("numba:compile", _ANNOUNCEMENT)


def announce(function: Any, line: str) -> None:
    """Say `line` before a kernel is compiled; nothing where its machine code is on disk."""
    _ANNOUNCEMENT.lines[function] = line


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write a function into the one kernel that calls it: saves compiling the large ones twice."""
    written: Callable[..., Any] = numba.njit(error_model="numpy", inline="always")(function)
    return written


class _Unfinished(JITCodeLibrary):
    """Code that is optimised and turned into machine code where it is written in, not before.

    Otherwise LLVM works on a function again in every function that calls it, and in the callers
    of these: that took as long as everything else.
    """

    @property
    def codegen(self) -> _Unfinished:
        """Itself: the one who asks wants to write an environment to where the machine code is."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Inside(Compiler):
    """The usual compiler, into an unfinished library."""

    def define_pipelines(self) -> Any:
        name = self.state.func_id.func_qualname
        self.state.library = _Unfinished(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call: written into its caller, without wrappers."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Callable[..., Any] = numba.njit(
        error_model="numpy", forceinline=True, pipeline_class=_Inside, **options
    )(function)
    return compiled


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
