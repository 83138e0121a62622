# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Single instructions for which numba has no name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

__all__ = ["fetch", "trailing_zeros", "unowned"]


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


def _fetch(_context, array, place):
    def generate(target, builder, signature, arguments):
        data = target.make_array(signature.args[0])(target, builder, value=arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        there = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        to_read, in_all_caches, as_data = (ir.Constant(word, how) for how in (0, 3, 1))
        builder.call(prefetch, [there, to_read, in_all_caches, as_data])
        return target.get_dummy_value()

    return types.void(array, place), generate


fetch: Callable[..., Any] = intrinsic(_fetch)
"""Ask the memory for a number of an array, counted from its first, that is needed soon.

It may be any number: what is not there is not fetched.
"""

trailing_zeros: Callable[..., Any] = intrinsic(_trailing_zeros)
"""The place of the lowest bit that is 1."""

unowned: Callable[..., Any] = intrinsic(_unowned)
"""The same array without its owner: to pass it on then needs no counting of references.

Only for arguments of a kernel called from Python, whose owners live until it returns.
"""
