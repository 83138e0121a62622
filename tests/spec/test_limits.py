"""Limits as a specification gives them."""

from __future__ import annotations

import math

import pytest
from tests.refusals import refused

from caveat.spec.limits import Limit, check_comparable, read_limits


def test_a_limit_above_the_control_is_held_against_the_rise():
    (limit,) = read_limits({"DiSCO": {"above": 2}})
    assert (limit.above, limit.most) == (0.02, math.inf)
    assert str(limit) == "DiSCO above control ≤ 2 points"
    assert limit.excess(0.417, 0.003) == 0
    assert limit.excess(0.06, 0.05) == pytest.approx(1.5)
    # Without a control or a baseline it is not known to be met; nor without a value.
    assert limit.excess(0.01) == limit.excess(None, 0.0) == math.inf
    assert limit.to_dict() == {"most": None, "least": None, "above": 0.02}
    (both,) = read_limits({"DiSCO": {"most": 5, "above": 2}})
    assert both.excess(0.10, 0.0) == pytest.approx(1.0)
    assert str(both) == "DiSCO ≤ 5, DiSCO above control ≤ 2 points"


def test_without_control_or_baseline_there_is_nothing_to_lie_above():
    limits = read_limits({"iS": {"above": 2}, "DiSCO": {"above": 2}})
    check_comparable(limits, has_control=True)
    check_comparable(limits[1:], has_control=False)
    with refused("measure.control.absent", where="limits, iS"):
        check_comparable(limits, has_control=False)


def test_excess_is_relative_and_zero_within():
    limit = Limit("DiSCO", most=0.05)
    assert limit.excess(0.05) == 0
    assert limit.excess(0.075) == pytest.approx(0.5)
    assert limit.excess(None) == math.inf
    assert Limit("posterior", most=0.5, least=0.1).excess(0.05) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("measure", "written", "most"),
    [("DiSCO", 5, 0.05), ("repU", 2.2, 0.022), ("DCAP", 50, 0.5), ("PO50", 7, 0.07),
     ("posterior", 0.2, 0.2), ("gain", 3, 3.0), ("S_pMSE", 10, 10.0)],
)  # fmt: skip
def test_per_cent_is_written_and_a_share_is_meant(measure, written, most):
    (limit,) = read_limits({measure: written})
    assert limit.most == most
    assert str(limit) == f"{measure} ≤ {written}"


def test_a_limit_of_nothing_is_broken_by_a_thousandth_of_a_per_cent_as_by_a_whole_one_of_itself():
    assert read_limits({"DiSCO": 0})[0].excess(1e-5) == pytest.approx(1)
    assert read_limits({"posterior": 0})[0].excess(1e-3) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"posterior": {"most": 0.1, "least": 0.5}}, "measure.limit.conflict"),
        (
            {"DiSCO": -1},
            "measure.limit.range",
        ),
        ({"posterior": {"least": 1.5}}, "measure.limit.range"),
        ({"DiSCO": "few"}, "measure.limit.type"),
        ({"DiSCO": {"over": 3}}, "measure.limit.type"),
        ({"DiSCO": {"above": -1}}, "measure.limit.range"),
        ({"S_pMSE": {"above": 1}}, "measure.limit.unsupported"),
        ({"posterior": {"above": 0.1}}, "measure.limit.unsupported"),
        ({"NewRow": {"above": 1}}, "measure.limit.unsupported"),
        ({"disco": 5}, "measure.name.unknown"),
    ],
)
def test_bad_limits(given, message):
    with refused(message):
        read_limits(given)
