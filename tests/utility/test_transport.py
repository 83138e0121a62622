"""The joint Wasserstein distance, by hand, by trying all pairings, and by linear programming."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from caveat.table import Table
from caveat.utility import WeightedPair
from caveat.utility.stacked import transport


def test_by_hand():
    """0 to 10 is 1 long. (0, f) goes to (1, f): .01; (10, m) to (8, f): .04 + 2 for the sex."""
    pair = WeightedPair.of({"x": [0, 10], "sex": ["f", "m"]}, {"x": [8, 1], "sex": ["f", "f"]})
    found = transport(pair)
    assert found.cost == pytest.approx((0.01 + 2.04) / 2)
    assert found.rows == 2


def test_it_is_the_best_of_all_pairings():
    rng = np.random.default_rng(1)
    ours, theirs = rng.random((6, 2)), rng.random((6, 2))
    both = np.concatenate([ours, theirs])
    low, span = both.min(axis=0), np.ptp(both, axis=0)
    a, b = (ours - low) / span, (theirs - low) / span
    best = min(((a - b[list(p)]) ** 2).sum(axis=1).mean() for p in permutations(range(6)))
    pair = WeightedPair.of(*({"x": side[:, 0], "y": side[:, 1]} for side in (ours, theirs)))
    assert transport(pair).cost == pytest.approx(best)


def test_a_missing_number_is_a_place_of_its_own():
    """Far from 0 by 1 in its own column, as from every other number at 0."""
    pair = WeightedPair.of({"x": [0.0, 1.0]}, {"x": [np.nan, 1.0]})
    assert transport(pair).cost == pytest.approx(0.5)


def test_rows_are_taken_evenly_in_the_order_of_values():
    """2,000 of 0 to 1999 against the same moved by 100; a sample of 200 gives the same."""
    x = np.arange(2000)
    rng = np.random.default_rng(2)
    pair = WeightedPair.of({"x": rng.permutation(x)}, {"x": rng.permutation(x + 100)})
    whole = (100 / 2099) ** 2
    assert transport(pair, 200).cost == pytest.approx(whole)
    assert transport(pair).rows == 1000
    same = WeightedPair.of({"x": x}, {"x": rng.permutation(x)})
    assert transport(same, 77).cost == 0


def test_another_size_is_cut_to_the_smaller():
    x, y = np.arange(100.0), np.arange(50.0) * 2
    found = transport(WeightedPair.of({"x": x}, {"x": y}))
    assert found.rows == 50
    # One dimension: the mean distance is that of sorted values, within half a step of the sample.
    assert found.cost**0.5 == pytest.approx(wasserstein_distance(x, y) / 99, abs=0.02)


def test_fresh_data_are_not_at_0():
    """Two samples of one process: the bias of a finite sample, which the entry states."""
    rng = np.random.default_rng(3)
    a, b = (Table.from_frame({"x": rng.normal(size=300), "y": rng.normal(size=300)}) for _ in "ab")
    far = Table.from_frame({"x": rng.normal(3, 1, 300), "y": rng.normal(size=300)})
    fresh = transport(WeightedPair.of(a, b)).cost
    assert 0 < fresh < transport(WeightedPair.of(a, far)).cost / 5
