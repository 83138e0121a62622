"""Membership, its calibrated test, privacy loss, and whom to test first."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom
from tests.refusals import refused

from caveat.attack import adjacent, membership, membership_test
from caveat.attack.figures import members_of
from caveat.attack.membership import MembershipTest, epsilon_bound, promised_tests
from caveat.datasets import RELEASES, buyer_beware, survey
from caveat.errors import CaveatWarning
from caveat.privacy import rho_of
from caveat.synthesis import Synthesizer
from caveat.table import Table


def test_hand_value_for_one_column():
    # D: 3 a, 2 b; Z = a, a, b. With all: (3/5)^2 (2/5); without an a: (2/4)^3; without a b:
    # (3/4)^2 (1/4).
    table = Table.from_frame({"x": ["a", "a", "a", "b", "b"]})
    release = Table.from_frame({"x": ["a", "a", "b"]})
    result = membership(table, release)
    with_all, less_a, less_b = 18 / 125, 1 / 8, 9 / 64
    expected = np.log([with_all / less_a] * 3 + [with_all / less_b] * 2)
    assert result.log_ratio == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("update", [True, False], ids=["updates", "new fits"])
def test_a_release_that_is_impossible_with_the_record(update, monkeypatch):
    """Leaves of two: with the second x = 1 the tree of y is split, and x = 1 goes with a alone.

    Z = (1, b). With all six that is impossible. Without one of the two x = 1 nothing is split:
    p(Z) = 1/5 · 4/5. Without an x = 0 the split stays, and Z is impossible either way.
    """
    table = Table.from_frame({"x": [0, 0, 0, 0, 1, 1], "y": ["b", "b", "b", "b", "a", "a"]})
    release = Table.from_frame({"x": [1], "y": ["b"]})
    options = {"method": "cart", "minbucket": 2, "minsplit": 2, "rare_below": 1}
    if not update:
        monkeypatch.setattr(adjacent, "can_update", lambda worlds: False)
    result = membership(table, release, generator=options)
    assert result.log_ratio[4:].tolist() == [-math.inf, -math.inf]
    assert np.isnan(result.log_ratio[:4]).all()
    assert result.posterior(0.9)[4:].tolist() == [0.0, 0.0]
    assert result.worst in (4, 5)
    measured = members_of(result)
    assert (measured.value, measured.n, measured.excluded) == (0, 2, 4)
    assert measured.details["impossible without it"] == 0
    with refused("attack.release.mismatch", column="y"):
        membership(table, release, generator=options, records=[0, 1])


def test_equals_refits_of_the_whole_synthesiser():
    table = survey(rows=120).select(["sex", "age", "income", "marital"])
    release = Synthesizer(seed=4, method="cart", rare_below=1).fit(table).tables()[0]
    result = membership(table, release, records=[3, 50])
    full = Synthesizer(seed=1, method="cart", rare_below=1).fit(table).log_prob(release).total
    for record, ratio in zip([3, 50], result.log_ratio, strict=True):
        rest = table.take(np.delete(np.arange(120), record))
        less = Synthesizer(seed=1, method="cart", rare_below=1).fit(rest).log_prob(release).total
        assert ratio == pytest.approx(full - less, abs=1e-9)


@pytest.mark.parametrize("release", [1, 2, 4])
def test_the_unique_record_of_buyer_beware(release):
    result = membership(buyer_beware(), buyer_beware(release))
    if RELEASES[release][15]:
        assert result.log_ratio[999] == math.inf
        assert result.worst == 999
        assert result.posterior(0.001)[999] == 1.0
    else:
        # without it every share is n/999 instead of n/1000: 1000 log(999/1000)
        assert result.log_ratio[999] == pytest.approx(1000 * math.log(0.999), abs=1e-9)
    assert np.isfinite(result.log_ratio[:999]).all()


def test_equal_records_have_equal_ratios():
    result = membership(buyer_beware(), buyer_beware(3))
    starts = np.cumsum((0, *RELEASES[0]))
    for a, b in pairwise(starts):
        assert len(np.unique(result.log_ratio[a:b])) == 1


def test_bad_input():
    table = buyer_beware()
    with refused("attack.record.unknown"):
        membership(table, table, records=[1000])
    with refused("attack.record.absent"):
        membership(table, table, records=[])
    with pytest.warns(CaveatWarning, match="copied"):
        model = Synthesizer(seed=1, method="cart", columns={"var1": {"method": "copy"}}).fit(table)
    with refused("attack.column.unsupported", column="var1"):
        membership(table, model.tables()[0], generator=model)
    with refused("attack.release.mismatch", column="var1"):
        membership(table, Table.from_frame({f"var{j}": [0, 7] for j in (1, 2, 3, 4)}))


class TestCalibration:
    def test_power_for_the_unique_record_is_the_chance_that_it_reappears(self):
        test = membership_test(buyer_beware(), 999, simulations=150, seed=3)
        # inf exactly when 1111 is drawn at least once in 1000 rows
        seen = int(np.isinf(test.inside).sum())
        chance = 1 - 0.999**1000
        low, high = binom.ppf([0.0005, 0.9995], 150, chance)
        assert low <= seen <= high
        assert not np.isinf(test.outside).any()
        assert test.power(0.01) == pytest.approx(seen / 150)
        assert test.auc > 0.7
        assert test.epsilon > 1

    def test_an_ordinary_record_is_hardly_seen(self):
        test = membership_test(buyer_beware(), 0, simulations=100, seed=3)
        assert abs(test.auc - 0.5) < 0.16  # four standard errors of a null AUC with 100 + 100
        assert test.epsilon < 1

    def test_the_ratio_is_a_ratio_of_densities(self):
        # E[p(Z|D)/p(Z|D-)] over releases of D- is 1 when the supports agree
        table = Table.from_frame({"x": ["a"] * 6 + ["b"] * 5, "y": ["u", "v"] * 5 + ["u"]})
        test = membership_test(table, 0, simulations=600, rows=5, seed=1)
        ratios = np.exp(test.outside)
        assert abs(ratios.mean() - 1) < 4 * ratios.std() / math.sqrt(600)
        inverse = np.exp(-test.inside)
        assert abs(inverse.mean() - 1) < 4 * inverse.std() / math.sqrt(600)

    def test_the_actual_release_is_placed_among_the_simulated(self):
        release = buyer_beware(2)
        test = membership_test(buyer_beware(), 999, synthetic=release, simulations=20, seed=1)
        assert test.observed == pytest.approx(1000 * math.log(0.999), abs=1e-9)
        assert 0 < test.p_value <= 1

    def test_same_seed_same_result_whatever_the_threads(self):
        one, two = (
            membership_test(buyer_beware(), 5, simulations=6, seed=9, threads=t) for t in (1, 3)
        )
        assert np.array_equal(one.inside, two.inside)
        assert np.array_equal(one.outside, two.outside)
        assert len(np.unique(one.inside)) > 1


def test_epsilon_is_a_valid_bound_for_a_private_mechanism():
    """Randomised response with ε = 1: the 95 % bound must hold in at least 95 % of repetitions."""
    rng = np.random.default_rng(5)
    p = math.e / (1 + math.e)
    wrong = 0
    for _ in range(300):
        inside = np.where(rng.random(200) < p, 1.0, -1.0)
        outside = np.where(rng.random(200) < 1 - p, 1.0, -1.0)
        wrong += MembershipTest(0, inside, outside).epsilon > 1
    assert wrong <= binom.ppf(0.999, 300, 0.05)


def test_a_bound_for_several_records_and_a_delta():
    # All of 100 hits, no alarm: (α/2)^(1/100) against 1 − (α/2)^(1/100), δ taken off first.
    ends = 0.005**0.01
    expected = math.log((ends - 0.1) / (1 - ends))
    assert epsilon_bound(100, 100, 0, 100, level=0.01, delta=0.1) == pytest.approx(expected)
    assert epsilon_bound(60, 100, 50, 100, delta=0.9) == 0
    test = MembershipTest(0, np.full(200, 5.0), np.zeros(200))
    assert test.epsilon_at(0.01, 0.1) == pytest.approx(expected)
    assert test.epsilon_at() == test.epsilon > test.epsilon_at(0.05 / 3)


def test_what_is_measured_with_all_records_serves_each_of_them():
    pytest.importorskip("opendp")
    table = Table.from_frame({"x": ["a"] * 40 + ["b"] * 9})
    levels = {"x": {"levels": ["a", "b"]}}
    options = {"method": "margins", "epsilon": 4.0, "delta": 0.01, "columns": levels}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)  # what a guarantee is about
        model = Synthesizer(seed=1, **options).fit(table)
    simulations, records = 2_000, [0, 45]
    one, other = promised_tests(table, records, model.plan, simulations)
    assert (one.record, other.record) == (0, 45)
    ratio = membership(table, model.sample(20), generator=model, records=records).log_ratio
    assert [one.observed, other.observed] == pytest.approx(ratio.tolist())
    # One table of noise σ: (2k + 1) / 2σ², with k about 0 inside and about −1 outside.
    rho = rho_of(4.0, 0.01)
    for test in (one, other):
        for ratios, mean in ((test.inside, rho), (test.outside, -rho)):
            error = math.sqrt(2 * rho / simulations)
            assert abs(ratios.mean() - mean) < 5 * error
    # The bound is one of the promise, which is kept.
    assert 0 < one.epsilon_at(0.05, 0.01) < 4
