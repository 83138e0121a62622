# mypy: disable-error-code="no-untyped-call, no-untyped-def"
"""Single instructions for which numba has no name, and eight numbers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from caveat.compiling.kernels import inner


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


# -------------------------------------------------------------------------------------------------
# Eight numbers at once, for the search over subsets of levels: the dearest loop of a tree.
#
# In a loop over two parts of one array the compiler cannot know that they are apart, so it would
# ask each time, or go one by one; and numba has no word to say so. Here all eight are read before
# any is written, in instructions that the processor does for eight numbers as fast as for one.
# Sums are added in a fixed order, so that a tree is the same on every processor. An array is
# followed by the place where its eight begin.


LANES = 8
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

    def sum(self, eight):
        """Add halves until one number is left."""
        size = LANES
        while size > 1:
            size //= 2
            lanes = ir.VectorType(ir.IntType(32), size)
            first, second = (
                self.builder.shuffle_vector(eight, eight, ir.Constant(lanes, list(half)))
                for half in (range(size), range(size, 2 * size))
            )
            eight = self.builder.fadd(first, second)
        return self.builder.extract_element(eight, ir.Constant(ir.IntType(32), 0))


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


def _reach_of(_context, out, to, squares, start, weight, _start, along, _along, right, total):
    def generate(*given):
        eight = _Eight(*given)
        builder = eight.builder
        squares, weight = eight.load(2), eight.load(4)
        right = builder.fadd(builder.fadd(squares, eight.load(6)), eight.repeat(8))
        right = builder.fdiv(right, builder.fsub(eight.repeat(9), weight))
        return eight.store(builder.fadd(builder.fdiv(squares, weight), right), 0)

    signature = types.void(out, to, squares, start, weight, start, along, start, right, total)
    return signature, generate


def _write_difference(_context, out, to, one, start, number, other, _start):
    def generate(*given):
        eight = _Eight(*given)
        product = eight.builder.fmul(eight.repeat(4), eight.load(5))
        return eight.store(eight.builder.fsub(eight.load(2), product), 0)

    return types.void(out, to, one, start, number, other, start), generate


def _take_out(_context, out, to, table, start):
    def generate(*given):
        eight = _Eight(*given)
        builder = eight.builder
        whole = ir.VectorType(ir.IntType(64), LANES)
        place = builder.bitcast(eight.pointer(2), whole.as_pointer())
        # The bits of 2 ** 52 plus a whole number below it are the sum of both.
        bits = builder.or_(
            builder.load(place, align=_SIZE), ir.Constant(whole, [0x433 << 52] * LANES)
        )
        builder.store(ir.Constant(whole, [0] * LANES), place, align=_SIZE)
        taken = builder.fsub(builder.bitcast(bits, _EIGHT), ir.Constant(_EIGHT, [2.0**52] * LANES))
        eight.store(taken, 0)
        return eight.sum(taken)

    return types.float64(out, to, table, start), generate


def _place_of(_context, numbers, _i):
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        lanes = ir.VectorType(ir.DoubleType(), 2 * LANES)
        all_numbers = builder.load(builder.bitcast(array.data, lanes.as_pointer()), align=_SIZE)
        mine = builder.load(builder.gep(array.data, [arguments[1]]))
        nothing = ir.Constant(lanes, ir.Undefined)
        mine = builder.insert_element(nothing, mine, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 2 * LANES), [0] * 2 * LANES)
        mine = builder.shuffle_vector(mine, nothing, everywhere)
        word = ir.IntType(2 * LANES)
        less = builder.bitcast(builder.fcmp_ordered("<", all_numbers, mine), word)
        same = builder.bitcast(builder.fcmp_ordered("==", all_numbers, mine), word)
        earlier = builder.not_(
            builder.shl(ir.Constant(word, -1), builder.trunc(arguments[1], word))
        )
        before = builder.or_(less, builder.and_(same, earlier))
        return builder.zext(builder.ctpop(before), ir.IntType(64))

    return types.int64(numbers, types.int64), generate


def _multiply(_context, one, start, other, _start):
    def generate(*given):
        eight = _Eight(*given)
        return eight.sum(eight.builder.fmul(eight.load(0), eight.load(2)))

    return types.float64(one, start, other, start), generate


def _square_sides(_context, out, to, left, start, sign, profile, _profile, totals, _totals):
    both = types.UniTuple(types.float64, 2)

    def generate(*given):
        eight = _Eight(*given)
        builder = eight.builder
        moved = builder.fmul(eight.repeat(4), eight.load(5))
        left = builder.fadd(eight.load(2), moved)
        eight.store(left, 0)
        right = builder.fsub(eight.load(7), left)
        sums = [eight.sum(builder.fmul(side, side)) for side in (left, right)]
        return eight.context.make_tuple(builder, both, sums)

    return both(out, to, left, start, sign, profile, start, totals, start), generate


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

reach_of: Callable[..., Any] = intrinsic(_reach_of)
"""`reach_of(out, to, squares, start, weight, start, along, start, right, total)`: write squares /
weight + (squares + along + right) / (total - weight) of eight subsets."""

write_difference: Callable[..., Any] = intrinsic(_write_difference)
"""`write_difference(out, to, one, start, number, other, start)`: write eight of `one`, each minus
the number times the `other`."""

take_out: Callable[..., Any] = intrinsic(_take_out)
"""`take_out(out, to, table, start)`: move eight whole numbers below 2 ** 52, leave zeros and return
their sum."""

place_of: Callable[..., Any] = intrinsic(_place_of)
"""`place_of(numbers, i)`: the place of the i-th of the first 16 numbers when they are sorted; among
equals the earlier comes first."""

multiply: Callable[..., Any] = intrinsic(_multiply)
"""`multiply(one, start, other, start)`: return the product of two times eight numbers."""

square_sides: Callable[..., Any] = intrinsic(_square_sides)
"""`square_sides(out, to, left, start, sign, profile, start, totals, start)`: write eight of `left`
plus sign times the profile; return the sum of their squares, and of the rest of the totals."""


@inner
def in_lanes(size):
    """Return how many numbers the lanes hold that hold this many."""
    return (size + LANES - 1) // LANES * LANES
