"""One predictor of a node of classes: what it can improve, the split it makes."""

from __future__ import annotations

import numba
import numpy as np

from caveat.tree._updates import (
    all_apart,
    best_of_levels,
    list_classes,
    make_profiles,
    note_subset,
)

# Code, rows and rows of three classes by level present.
LEVELS = np.array([[0, 4, 4, 0, 0], [2, 3, 0, 3, 0], [5, 3, 0, 2, 1]])


@numba.njit
def best_split(levels, counts, nominal, minbucket):  # type: ignore[no-untyped-def]
    kept, totals = np.empty(len(counts), np.int64), np.empty(8)
    k, squares, largest = list_classes(counts, kept, totals)
    work = make_profiles(6, len(counts))
    node = (counts.sum(), k, squares)
    found, place = best_of_levels(
        levels, len(levels), nominal, node, totals, kept, minbucket, 0.0, work
    )
    return found, place, work[4][: len(levels)], k, squares, largest


def test_the_best_split_by_hand() -> None:
    counts = LEVELS[:, 2:].sum(axis=0)
    for nominal in (0, 1):
        found, place, side, *about = best_split(LEVELS, counts, nominal, 1)
        assert about == [3, 16 + 25 + 1, 5]
        # Four of the first class against five and one of the others, from 42 / 10.
        np.testing.assert_allclose(found, 16 / 4 + 26 / 6 - 42 / 10)
        assert place == 0
        if nominal:
            assert side[0] != side[1] == side[2]


def test_a_class_that_has_gone_is_left_out() -> None:
    levels = LEVELS[:2]
    found, place, _, k, squares, largest = best_split(levels, levels[:, 2:].sum(axis=0), 0, 1)
    assert (k, squares, largest, place) == (2, 16 + 9, 4, 0)
    np.testing.assert_allclose(found, 4 + 3 - 25 / 7)
    assert best_split(levels, levels[:, 2:].sum(axis=0), 0, 4)[:2] == (0.0, -1)


def test_all_levels_apart() -> None:
    np.testing.assert_allclose(all_apart.py_func(LEVELS, 3, 3), 16 / 4 + 9 / 3 + 5 / 3)


def test_codes_that_are_absent_follow_the_larger_child() -> None:
    goes_left = np.zeros(6, np.uint8)
    side = np.array([1, 0, 0])
    assert note_subset.py_func(LEVELS, 3, 1, 6, 0, side, 10, goes_left) == 3
    assert note_subset.py_func(LEVELS, 3, 0, 6, 1, side, 10, goes_left) == -1
    assert goes_left.tolist() == [1, 0, 0, 0, 0, 0]
    assert note_subset.py_func(LEVELS, 3, 0, 6, 1, 1 - side, 10, goes_left) == -1
    assert goes_left.tolist() == [0, 1, 1, 1, 1, 1]
