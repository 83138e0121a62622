"""Limits as a specification gives them."""

from __future__ import annotations

import math

import pytest

from caveat.errors import CaveatError
from caveat.spec.limits import Limit, read_limits


def test_excess_is_relative_and_zero_within():
    limit = Limit("DiSCO", most=5)
    assert limit.excess(5.0) == 0
    assert limit.excess(7.5) == pytest.approx(0.5)
    assert limit.excess(None) == math.inf
    assert Limit("posterior", most=0.5, least=0.1).excess(0.05) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"posterior": {"most": 0.1, "least": 0.5}}, "limits, posterior: the limits contradict"),
        ({"DiSCO": -1}, "limits, DiSCO: no release can meet it"),
        ({"posterior": {"least": 1.5}}, "lies between 0 and 1"),
        ({"DiSCO": "few"}, "limits, DiSCO: a limit is a number"),
        ({"DiSCO": {"above": 3}}, "limits, DiSCO: a limit is a number"),
        ({"disco": 5}, "there is no measure 'disco'; perhaps DiSCO"),
    ],
)
def test_bad_limits(given, message):
    with pytest.raises(CaveatError, match=message):
        read_limits(given)
