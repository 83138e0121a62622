"""Paired fits: what must be found is found, what cannot be is not, and the numbers are stable."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from tests.refusals import refused

from caveat.attack import simulated_membership
from caveat.attack.paired import fits_needed, found_at
from caveat.datasets import buyer_beware
from caveat.generators import generator_of


def attack(name, records=(999,), **how):
    table = buyer_beware()
    return simulated_membership(table, generator_of(name), records=list(records), **how)


def test_a_copy_shows_every_record():
    found = attack("copy", [999, 3], simulations=40)
    assert found.power(0.1).tolist() == [1.0, 1.0]
    assert found.auc()[0] == 1.0
    assert found.generator == "copy"
    assert fits_needed(40, 2) == 120


def test_uniform_draws_show_nothing():
    """The domain is public, so the worlds are the same and so are the paired releases."""
    found = attack("uniform", [999, 3], simulations=40)
    assert found.auc() == pytest.approx([0.5, 0.5], abs=1e-12)
    for test in found.tests():
        assert test.inside == pytest.approx(test.outside)
    assert found.power(0.1).max() <= 0.1


def test_margins_show_no_more_than_chance():
    """One value in a thousand per column: what is found lies within the error of 100 runs."""
    found = attack("margins", [999, 3], simulations=200)
    most = binom.ppf(0.999, 100, 0.15) / 100  # the threshold is itself an estimate
    assert found.power(0.1).max() <= most
    # the standard error of an AUC of 0.5 with 100 and 100 is 0.041
    assert np.abs(found.auc() - 0.5).max() < 3 * 0.041


def test_trees_show_the_unique_record_as_often_as_they_release_it():
    """1111 is drawn as Poisson(1): in 63 % of the releases with it, in none of the others."""
    found = attack("cart", simulations=200)
    power = found.power(0.01)
    assert power is not None
    low, high = binom.ppf([0.001, 0.999], 100, 1 - np.exp(-1)) / 100
    assert low <= power[0] <= high
    for score in found.scores:
        assert 0 <= found.power(0.1, score)[0] <= high + 0.1


def test_the_actual_release_is_placed_among_the_simulated():
    table = buyer_beware()
    found = attack("copy", simulations=40, synthetic=table)
    ratio, error = found.log_ratio
    assert ratio[0] > 2
    assert 0 <= error[0] < 1
    without = table.take(np.r_[np.arange(999), 5])
    ratio, _ = attack("copy", simulations=40, synthetic=[without]).log_ratio
    assert ratio[0] < -2
    assert attack("copy", simulations=20).log_ratio is None


def test_same_seed_same_numbers_whatever_the_order_and_the_threads():
    first = attack("cart", [999, 3], simulations=20, seed=5)
    second = attack("cart", [3, 999], simulations=20, seed=5, threads=2)
    for one, other in zip(first.tests(), reversed(second.tests()), strict=True):
        assert np.array_equal(one.inside, other.inside)
        assert np.array_equal(one.outside, other.outside)
    third = attack("cart", simulations=20, seed=6)
    assert not np.array_equal(third.tests()[0].inside, first.tests()[0].inside)


def test_the_most_vulnerable_are_taken_unless_records_are_named():
    found = simulated_membership(buyer_beware(), generator_of("uniform"), records=2, simulations=20)
    assert found.records[0] == 999
    assert len(found.runs) == 2


def test_too_few_simulations_are_refused_or_leave_a_level_open():
    with refused("attack.setting.range", where="simulations"):
        attack("copy", simulations=19)
    assert attack("copy", simulations=20).power(0.01) is None


def test_the_threshold_lets_another_release_pass_with_the_level_at_most():
    rng = np.random.default_rng(1)
    passed = []
    for _ in range(2000):
        inside, outside = rng.normal(size=(2, 32))
        passed.append(found_at(inside, outside, 0.1)[0] / 32)
    # exactly 3 of 33 places are above the threshold
    assert np.mean(passed) == pytest.approx(3 / 33, abs=0.005)
