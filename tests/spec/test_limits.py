"""Limits as a specification gives them."""

from __future__ import annotations

import math

import pytest

from caveat.errors import CaveatError
from caveat.spec.limits import Limit, read_limits


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
        ({"posterior": {"most": 0.1, "least": 0.5}}, "limits, posterior: the limits contradict"),
        (
            {"DiSCO": -1},
            "DiSCO: no release can meet it: the measure lies between 0 and 100",
        ),
        ({"posterior": {"least": 1.5}}, "lies between 0 and 1"),
        ({"DiSCO": "few"}, "limits, DiSCO: a limit is a number"),
        ({"DiSCO": {"above": 3}}, "limits, DiSCO: a limit is a number"),
        ({"disco": 5}, "there is no measure 'disco'; perhaps DiSCO"),
    ],
)
def test_bad_limits(given, message):
    with pytest.raises(CaveatError, match=message):
        read_limits(given)
