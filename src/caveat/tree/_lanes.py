# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Eight numbers at once, or 32 codes.

In a loop over two parts of one array the compiler cannot know that they are apart, so it would ask
each time, or go one by one. Here all eight are read before any is written. An array is followed by
the place where its eight begin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

__all__ = [
    "CODES", "LANES", "add_product", "add_squares", "add_to_all", "any_above", "keep_larger",
    "place_of", "sum_three",
]  # fmt: skip

LANES = 8
CODES = 32
"""Codes that are put in order at once."""

_EIGHT = ir.VectorType(ir.DoubleType(), LANES)
_SIZE = 8  # bytes of a number: the eight may begin anywhere


class _Eight:
    """The arguments of a function, as eight numbers each."""

    def __init__(self, context, builder, signature, arguments):
        self.context, self.builder = context, builder
        self.types, self.arguments = signature.args, arguments

    def pointer(self, i):
        array = self.context.make_array(self.types[i])
        data = array(self.context, self.builder, value=self.arguments[i]).data
        place = self.builder.gep(data, [self.arguments[i + 1]])
        return self.builder.bitcast(place, _EIGHT.as_pointer())

    def load(self, i):
        return self.builder.load(self.pointer(i), align=_SIZE)

    def store(self, eight, i):
        self.builder.store(eight, self.pointer(i), align=_SIZE)
        return self.context.get_dummy_value()

    def repeat(self, i):
        nothing = ir.Constant(_EIGHT, ir.Undefined)
        first = ir.Constant(ir.IntType(32), 0)
        alone = self.builder.insert_element(nothing, self.arguments[i], first)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(alone, nothing, everywhere)


def _add_to_all(_context, out, to, one, start, number):
    def generate(*given):
        eight = _Eight(*given)
        return eight.store(eight.builder.fadd(eight.load(2), eight.repeat(4)), 0)

    return types.void(out, to, one, start, number), generate


def _add_product(_context, out, to, number, one, start):
    def generate(*given):
        eight = _Eight(*given)
        product = eight.builder.fmul(eight.repeat(2), eight.load(3))
        return eight.store(eight.builder.fadd(eight.load(0), product), 0)

    return types.void(out, to, number, one, start), generate


def _sum_three(_context, out, to, a, b, c):
    def generate(*given):
        eight = _Eight(*given)
        total = ir.Constant(_EIGHT, [0.0] * LANES)
        for i in range(3):
            there = ir.Constant(_EIGHT, [float(s >> i & 1) for s in range(LANES)])
            total = eight.builder.fadd(total, eight.builder.fmul(there, eight.repeat(2 + i)))
        return eight.store(total, 0)

    return types.void(out, to, a, b, c), generate


def _keep_larger(
    _context, out, to, squares, start, weight, _start, _squares, mirror, _weight, _mirror
):
    def generate(*given):
        eight = _Eight(*given)
        builder = eight.builder
        backwards = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(LANES))[::-1])
        here = builder.fdiv(eight.load(2), eight.load(4))
        there = builder.fdiv(eight.load(6), eight.load(8))
        there = builder.shuffle_vector(there, there, backwards)
        both, before = builder.fadd(here, there), eight.load(0)
        larger = builder.fcmp_ordered(">", both, before)
        return eight.store(builder.select(larger, both, before), 0)

    signature = types.void(out, to, squares, start, weight, start, squares, mirror, weight, mirror)
    return signature, generate


def _add_squares(_context, out, to, one, start, number, other, _start):
    def generate(*given):
        eight = _Eight(*given)
        other = eight.load(5)
        product = eight.builder.fmul(eight.repeat(4), eight.builder.fmul(other, other))
        return eight.store(eight.builder.fadd(eight.load(2), product), 0)

    return types.void(out, to, one, start, number, other, start), generate


def _any_above(_context, one, start, other, zero, least, rows, _start, fewest, most):
    def generate(*given):
        eight = _Eight(*given)
        builder = eight.builder
        above = builder.fcmp_ordered(
            ">", builder.fadd(eight.load(0), eight.load(2)), eight.repeat(4)
        )
        rows = eight.load(5)
        enough = builder.fcmp_ordered(">=", rows, eight.repeat(7))
        few = builder.fcmp_ordered("<=", rows, eight.repeat(8))
        found = builder.and_(above, builder.and_(enough, few))
        bits = builder.bitcast(found, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(one, start, other, zero, least, rows, start, fewest, most), generate


def _place_of(_context, codes, _i):
    def generate(context, builder, signature, arguments):
        codes, i = arguments
        lanes = ir.VectorType(ir.IntType(16), CODES)
        array = context.make_array(signature.args[0])(context, builder, value=codes)
        all_codes = builder.load(builder.bitcast(array.data, lanes.as_pointer()), align=2)
        mine = builder.load(builder.gep(array.data, [i]))
        nothing, zero = ir.Constant(lanes, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), CODES), [0] * CODES)
        mine = builder.insert_element(nothing, mine, zero)
        mine = builder.shuffle_vector(mine, nothing, everywhere)
        word = ir.IntType(CODES)
        up_to = builder.bitcast(builder.icmp_unsigned("<=", all_codes, mine), word)
        same = builder.bitcast(builder.icmp_unsigned("==", all_codes, mine), word)
        later = builder.shl(ir.Constant(word, -1), builder.trunc(i, word))
        before = builder.and_(up_to, builder.not_(builder.and_(same, later)))
        return builder.zext(builder.ctpop(before), ir.IntType(64))

    return types.int64(codes, types.int64), generate


add_to_all: Callable[..., Any] = intrinsic(_add_to_all)
"""`add_to_all(out, to, one, start, number)`: write eight of `one`, each plus the number."""

add_product: Callable[..., Any] = intrinsic(_add_product)
"""`add_product(out, to, number, one, start)`: add the number times eight of `one`."""

sum_three: Callable[..., Any] = intrinsic(_sum_three)
"""`sum_three(out, to, a, b, c)`: write the sums of the eight subsets of three numbers."""

keep_larger: Callable[..., Any] = intrinsic(_keep_larger)
"""`keep_larger(out, to, squares, start, weight, start, squares, mirror, weight, mirror)`: raise
`out` to squares / weight of eight subsets and their complements, which come in reverse."""

add_squares: Callable[..., Any] = intrinsic(_add_squares)
"""`add_squares(out, to, one, start, number, other, start)`: write eight of `one`, each plus the
number times the square of the `other`."""

any_above: Callable[..., Any] = intrinsic(_any_above)
"""`any_above(one, start, other, 0, least, rows, start, fewest, most)`: say whether any of eight
sums of two exceeds `least` and has rows from `fewest` to `most`."""

place_of: Callable[..., Any] = intrinsic(_place_of)
"""`place_of(codes, i)`: the place of the i-th of the first 32 codes when they are sorted; among
equals the earlier comes first."""
