# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Single instructions for which numba has no name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

__all__ = ["trailing_zeros", "unowned"]


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
