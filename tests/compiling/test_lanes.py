"""Eight numbers at once give what one after the other gives."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compiling.intrinsics import (
    LANES,
    add_product,
    add_squares,
    add_to_all,
    any_above,
    in_lanes,
    keep_larger,
    multiply,
    place_of,
    reach_of,
    square_sides,
    sum_three,
    take_out,
    write_difference,
)

A = np.array([3.0, -1.0, 0.5, 2.0, 7.0, 1.0, -4.0, 9.0])
B = np.array([1.0, 2.0, 4.0, 5.0, 3.0, 8.0, 2.0, 6.0])


@numba.njit
def call_add_to_all(out, to, one, start, number):
    add_to_all(out, to, one, start, number)


@numba.njit
def call_add_product(out, to, number, one, start):
    add_product(out, to, number, one, start)


@numba.njit
def call_add_squares(out, one, number, other):
    add_squares(out, 0, one, 0, number, other, 0)


@numba.njit
def call_sum_three(out, a, b, c):
    sum_three(out, 0, a, b, c)


@numba.njit
def call_keep_larger(out, squares, weight):
    keep_larger(out, 0, squares, 0, weight, 0, squares, 8, weight, 8)


@numba.njit
def call_any_above(one, other, least, rows, fewest, most):
    return any_above(one, 0, other, 0, least, rows, 0, fewest, most)


@numba.njit
def call_place_of(numbers, i):
    return place_of(numbers, i)


@numba.njit
def call_multiply(one, other):
    return multiply(one, 1, other, 0)


@numba.njit
def call_take_out(out, table, start):
    return take_out(out, 0, table, start)


@numba.njit
def call_write_difference(out, one, number, other):
    write_difference(out, 0, one, 0, number, other, 0)


@numba.njit
def call_square_sides(out, left, sign, profile, totals):
    return square_sides(out, 0, left, 0, sign, profile, 1, totals, 0)


@numba.njit
def call_reach_of(out, squares, weight, along, right, total):
    reach_of(out, 0, squares, 0, weight, 0, along, 0, right, total)


@numba.njit
def call_in_lanes(size):
    return in_lanes(size)


def test_a_number_is_added_to_eight_and_written_behind_them_in_the_same_array():
    line = np.concatenate([[100.0], A, np.zeros(9)])
    call_add_to_all(line, 10, line, 1, 0.25)
    np.testing.assert_array_equal(line, np.concatenate([[100.0], A, [0.0], A + 0.25]))


def test_parts_that_overlap_are_read_before_they_are_written():
    line = np.concatenate([A, [0.0]])
    call_add_to_all(line, 1, line, 0, 1.0)
    np.testing.assert_array_equal(line, np.concatenate([A[:1], A + 1.0]))


def test_products_are_added():
    line = np.concatenate([A, B])
    call_add_product(line, 0, -2.0, line, 8)
    np.testing.assert_array_equal(line, np.concatenate([A - 2.0 * B, B]))


def test_squares_are_added():
    out = np.full(8, np.nan)
    call_add_squares(out, A, 0.5, B)
    np.testing.assert_array_equal(out, A + 0.5 * B * B)


def test_the_sums_of_all_subsets_of_three():
    out = np.full(8, np.nan)
    call_sum_three(out, 1.0, 10.0, 100.0)
    np.testing.assert_array_equal(out, [0.0, 1.0, 10.0, 11.0, 100.0, 101.0, 110.0, 111.0])


def test_subsets_meet_their_complements_in_reverse():
    squares, weight = np.concatenate([A, B]), np.concatenate([B, A * A])
    both = squares[:8] / weight[:8] + (squares[8:] / weight[8:])[::-1]
    out = np.full(8, both[3])
    call_keep_larger(out, squares, weight)
    np.testing.assert_array_equal(out, np.maximum(both, both[3]))
    assert (out > both[3]).any()
    assert (both < both[3]).any()


@pytest.mark.parametrize("place", range(8))
def test_one_of_eight_is_enough_if_its_rows_are_allowed(place):
    one, rows = np.zeros(8), np.arange(8.0)
    one[place] = 2.0
    other = np.ones(8)
    assert call_any_above(one, other, 2.9, rows, 0.0, 7.0)
    assert not call_any_above(one, other, 3.0, rows, 0.0, 7.0)
    assert call_any_above(one, other, 2.9, rows, float(place), float(place))
    assert not call_any_above(one, other, 2.9, rows, place + 1.0, 8.0)
    assert not call_any_above(one, other, 2.9, rows, -1.0, place - 1.0)


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1e-300, 7.0, 1e300]), max_size=2 * LANES))
def test_places_are_those_of_a_stable_sort(numbers):
    line = np.full(2 * LANES, np.inf)
    line[: len(numbers)] = numbers
    places = [call_place_of(line, i) for i in range(len(numbers))]
    expected = np.empty(len(numbers), int)
    expected[np.argsort(numbers, kind="stable")] = np.arange(len(numbers))
    assert places == expected.tolist()


def test_products_are_summed():
    assert call_multiply(np.concatenate([[100.0], A]), B) == 3 - 2 + 2 + 10 + 21 + 8 - 8 + 54


def test_whole_numbers_are_taken_out_as_they_are():
    whole = np.array([5, 0, 1, 2**40, 2, 2**52 - 1, 3, 7, 9])
    table, out = whole.copy(), np.full(8, np.nan)
    assert call_take_out(out, table, 1) == whole[1:].sum()
    np.testing.assert_array_equal(out, whole[1:])
    np.testing.assert_array_equal(table, [5, 0, 0, 0, 0, 0, 0, 0, 0])


def test_differences_are_written():
    out = np.full(8, np.nan)
    call_write_difference(out, A, 0.5, B)
    np.testing.assert_array_equal(out, A - 0.5 * B)


def test_squares_of_both_sides_after_a_level_has_moved():
    out, totals = np.full(8, np.nan), np.full(8, 10.0)
    left, right = call_square_sides(out, A, -1.0, np.concatenate([[100.0], B]), totals)
    np.testing.assert_array_equal(out, A - B)
    assert left == ((A - B) ** 2).sum()
    assert right == ((10.0 - (A - B)) ** 2).sum()


def test_the_reach_of_eight_subsets():
    out = np.full(8, np.nan)
    call_reach_of(out, A, B, A * B, 2.0, 10.0)
    np.testing.assert_allclose(out, A / B + (A + A * B + 2.0) / (10.0 - B), rtol=1e-15)


def test_sizes_are_rounded_up_to_whole_lanes():
    assert [call_in_lanes(size) for size in (0, 1, 8, 9, 16, 17)] == [0, 8, 8, 16, 16, 24]
