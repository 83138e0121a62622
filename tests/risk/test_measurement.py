"""A measurement beside its control and its baseline."""

from __future__ import annotations

import pytest

from caveat.risk.measure import Measurement, rate, wilson


def test_a_rise_is_over_the_control_or_else_over_the_baseline():
    found = rate(417, 1000, baseline=0.39, control=0.414, control_n=250)
    assert found.rise is not None
    assert (found.rise.over, found.rise.value) == ("control", pytest.approx(0.003))
    assert found.control_interval == wilson(0.414 * 250, 250)
    low, high = found.rise.interval
    # Newcombe (1998), method 10.
    (l1, u1), (l2, u2) = wilson(417, 1000), wilson(103.5, 250)
    assert low == pytest.approx(0.003 - ((0.417 - l1) ** 2 + (u2 - 0.414) ** 2) ** 0.5)
    assert high == pytest.approx(0.003 + ((u1 - 0.417) ** 2 + (0.414 - l2) ** 2) ** 0.5)
    assert found.rise.shown == 0  # chance may explain it
    alone = rate(417, 1000, baseline=0.30).rise
    assert alone is not None
    assert (alone.over, alone.shown) == ("baseline", pytest.approx(0.117))


def test_a_fall_stays_one_and_what_cannot_be_compared_has_no_rise():
    assert rate(10, 1000, baseline=0.3).rise.shown == pytest.approx(-0.29)
    assert rate(10, 1000).rise is None
    single = Measurement(0.99, baseline=0.1)
    assert (single.rise.interval, single.rise.shown) == (None, pytest.approx(0.89))
    assert single.rise.to_dict() == {
        "value": pytest.approx(0.89), "over": "baseline", "interval": None,
    }  # fmt: skip
