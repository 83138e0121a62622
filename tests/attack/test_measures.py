"""The entries of the strong attacker in the table of measures."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack import attributes, membership
from caveat.datasets import buyer_beware
from caveat.risk import MEASURES, Scenario, audit, pair
from caveat.synthesis import Synthesizer

SCENARIO = Scenario(("var1", "var2", "var3"), "var4")
PLAIN = {"method": "cart"}


@pytest.mark.parametrize("release", [1, 2])
def test_shares_by_hand(release):
    original, copy = buyer_beware(), buyer_beware(release)
    both = pair(original, copy, SCENARIO)
    found = attributes(original, copy, "var4", prior="conditional")
    share = MEASURES["strongShare"](both, generator=PLAIN)
    before, after = found.prior_probability, found.probability
    rose = (after >= before + 0.1) | (after >= 2 * before)
    assert share.value == pytest.approx(np.mean((after >= 0.9) & rose))
    # In both releases 66 people were nearly certain before, and stay so: they do not count.
    assert share.details["sure"] - share.value == pytest.approx(0.066)
    assert share.per_record.sum() == pytest.approx(share.value * 1000)
    worst = MEASURES["strongWorst"](both, generator=PLAIN)
    assert worst.value == pytest.approx((after[rose] if rose.any() else after).max())
    gain = MEASURES["strongGain"](both, generator=PLAIN)
    assert gain.value == pytest.approx(
        np.mean(found.probability - found.prior_probability), abs=1e-9
    )
    assert gain.interval[0] <= gain.value <= gain.interval[1]


def test_the_strong_attacker_sees_what_disco_does_not():
    # Release 1 holds 1111: DiSCO is 0, and the record's target is certain (prior 0.0074 for a 1)
    both = pair(buyer_beware(), buyer_beware(1), SCENARIO)
    assert MEASURES["DiSCO"](both).value == 0
    worst = MEASURES["strongWorst"](both, generator=PLAIN)
    assert worst.value == 1
    assert worst.baseline < 0.01


def test_membership_share_counts_the_unique_record():
    original, copy = buyer_beware(), buyer_beware(1)
    found = MEASURES["membershipShare"](pair(original, copy, SCENARIO), generator=PLAIN)
    chance = membership(original, copy).posterior(0.5)
    assert found.value == pytest.approx(np.mean(chance >= 0.9))
    assert found.details["impossible without it"] == pytest.approx(0.001)


def test_a_model_may_stand_for_its_plan():
    model = Synthesizer(seed=3, method="cart").fit(buyer_beware())
    both = pair(buyer_beware(), model.tables()[0], SCENARIO)
    assert (
        MEASURES["strongShare"](both, generator=model).value
        == MEASURES["strongShare"](both, generator=PLAIN).value
    )


def test_an_audit_without_a_generator_leaves_them_out():
    found = audit(buyer_beware(), buyer_beware(1), keys=["var1", "var2"], targets=["var4"])
    assert "strongShare" not in found.to_json()
