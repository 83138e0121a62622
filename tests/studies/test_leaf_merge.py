"""Merged trees, bins and ε₀: the merged tree is the majority vote, for all trees and records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.protect.levels import epsilon0, pram_matrix
from caveat.seeds import rng_of
from caveat.studies.language_models import (
    ADULT,
    BINS,
    LEVELS,
    WRONG,
    adult,
    bins,
    federation,
    majority,
    merge,
    run_leaf_merge,
    short_form,
    simulated,
    walk,
)
from caveat.studies.study import Output
from caveat.table import read

trees = st.recursive(
    st.integers(0, 2),
    lambda below: st.tuples(st.integers(0, 2), st.integers(0, 3).map(float), below, below),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def result():
    return run_leaf_merge(Output())


@settings(max_examples=150, deadline=None)
@given(st.lists(trees, min_size=1, max_size=5))
def test_a_merged_tree_is_the_majority_vote(some):
    grid = np.stack(np.meshgrid(*[np.arange(-0.5, 4.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
    assert (walk(merge(some), grid) == majority(some, grid)).all()


def test_the_majority_by_hand():
    some = [(0, 1.0, 0, 1), (1, 1.0, 0, 1), 1]
    x = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [1.0, 1.0]])
    assert majority(some, x).tolist() == [0, 1, 1, 0]
    assert majority([0, 1], x).tolist() == [0, 0, 0, 0]


def test_ten_trees_of_ten_clients():
    x, y = simulated(rows=3_000)
    merged, own, held = federation(x, y, 4, 0.1)
    assert len(own) == len(held) == 10
    everywhere = rng_of(3).normal(0, 2, (5_000, x.shape[1]))
    assert (walk(merged, everywhere) == majority(own, everywhere)).all()


@pytest.mark.parametrize("column", BINS)
def test_bins_of_freedman_and_diaconis(column):
    low, high, first, third, printed = BINS[column]
    assert bins(low, high, (first, third), 32_561) == pytest.approx(printed, abs=0.005)


def test_bins_and_counts_are_those_of_the_file(shared):
    table = read(shared / "data" / "adult.csv")
    for column, (low, high, first, third, _) in BINS.items():
        numbers = table[column.replace(" ", "_")].cell_numbers
        assert np.quantile(numbers, [0, 1, 0.25, 0.75]).tolist() == [low, high, first, third]
    for column in list(ADULT)[:-1]:
        counts = np.sort(table[column.replace("-", "_")].compact().counts)[::-1]
        assert (len(counts), counts[0], counts[1], counts[-1]) == ADULT[column]
        for theta, level in zip((0.1, 0.2, 0.3), LEVELS[column], strict=True):
            assert epsilon0(pram_matrix(counts, theta)) == pytest.approx(level, abs=5e-5)
    x, y = adult(table)
    assert x.shape == (32_561, 12)
    assert len(y) - y.sum() == 24_720


def test_every_level_of_the_short_counts(result):
    levels = [n for n in result.numbers if n.what.startswith("ε₀")]
    assert len(levels) == 24
    for number in levels:
        assert number.ours == pytest.approx(number.printed, abs=5e-5), number.what


def test_the_short_form_fails_where_there_is_much_noise():
    true = [epsilon0(pram_matrix(counts, theta)) for _, counts, theta in WRONG]
    short = [short_form(counts, theta) for _, counts, theta in WRONG]
    assert true == pytest.approx([0.8473, 0.1427, 0.8109], abs=5e-5)
    assert short == pytest.approx([-0.8473, -0.0680, -0.8109], abs=5e-5)
    assert short_form([21_790, 10_771], 0.1) == pytest.approx(LEVELS["sex"][0], abs=5e-5)


def test_what_the_study_says(result):
    numbers = {n.what: n for n in result.numbers}
    assert numbers["records of whom the merged tree says what the majority says"].ours == 1
    assert numbers["share of the more frequent class of Adult"].ours == pytest.approx(
        0.7592, abs=5e-5
    )
    assert numbers["accuracy at θ = 0.3"].ours is None
    assert "give --data FOLDER with adult.csv" in result.remarks[-1]
    assert math.isclose(float(result.grids[3].rows[0][1]), 0.78, abs_tol=0.06)
