"""Numbers are printed in one way everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.report.numbers import (
    NBSP,
    limit_text,
    number,
    percent,
    plain,
    probability,
    span,
    verdict,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.04, "< 0.1 %"), (12.34, "12.3 %"), (99.97, "> 99.9 %"), (100, "100 %"),
     (-0.04, "> −0.1 %"), (-3.21, "−3.2 %")],
)  # fmt: skip
def test_shares(value, text):
    assert percent(value).replace(NBSP, " ") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1, "1"), (0.9996, "> 0.999"), (0.0004, "< 0.001"), (0.125, "0.125")],
)
def test_probabilities(value, text):
    assert probability(value).replace(NBSP, " ") == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_only_certainty_is_printed_as_certainty(value):
    assert probability(value) not in ("0", "1", "0.000", "1.000")
    assert percent(100 * value) not in (f"0{NBSP}%", f"100{NBSP}%") or 100 * value in (0, 100)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (0.8, "0.800"), (3.14159, "3.14"), (41.26, "41.3"),
     (12345.6, "12,346"), (-2.5, "−2.50")],
)  # fmt: skip
def test_plain_numbers(value, text):
    assert plain(value) == text


def test_the_unit_decides_how_a_measure_is_printed():
    assert number(99.8, "strongWorst", "%") == "0.998"
    assert number(0.998, "posterior", "") == "0.998"
    assert number(7.25, "DiSCO", "%") == f"7.2{NBSP}%"
    assert number(3.25, "strongGain", "%") == f"+3.25{NBSP}points"
    assert number(1.75, "S_pMSE", "×") == "1.75"
    assert number(None, "DiSCO", "%") == "–"


def test_intervals_and_limits():
    assert span([6.1, 8.65], "DiSCO", "%") == "[6.1, 8.7]"
    assert span([-0.5, 1.25], "strongGain", "%") == "[−0.5, 1.2]"
    assert span([1.0, 2.0], "S_pMSE", "×") == "[1.00, 2.00]"
    assert span(None, "DiSCO", "%") == ""
    both = limit_text({"most": 5.0, "least": 1.0}, "DiSCO", "%").replace(NBSP, " ")
    assert both == "at least 1.0 % and at most 5.0 %"
    assert limit_text(None, "DiSCO", "%") == ""


def test_what_is_not_measured_meets_no_limit():
    limit = {"most": 5.0, "least": None}
    assert verdict({"limit": limit, "value": 4.0, "excess": 0.0}) == "met"
    assert verdict({"limit": limit, "value": 6.0, "excess": 0.2}) == "not met"
    assert verdict({"limit": limit, "value": None, "excess": None}) == "not measured"
    assert verdict({"limit": None, "value": 6.0, "excess": None}) == ""
