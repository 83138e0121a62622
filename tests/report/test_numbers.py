"""Numbers are printed in one way everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.report.wording import (
    NBSP,
    limit_text,
    number,
    percent,
    plain,
    probability,
    span,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.1234, "12.3 %"), (0.9997, "> 99.9 %"), (1, "100 %"),
     (-0.0004, "> −0.1 %"), (-0.0321, "−3.2 %")],
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
    assert percent(value) not in (f"0{NBSP}%", f"100{NBSP}%")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.012345, "0.0123"), (0.8, "0.800"), (3.14159, "3.14"), (41.26, "41.3"),
     (12345.6, "12,346"), (-2.5, "−2.50")],
)  # fmt: skip
def test_plain_numbers(value, text):
    assert plain(value) == text


def test_the_unit_decides_how_a_measure_is_printed():
    assert number(0.998, "strongWorst", "share") == "0.998"
    assert number(0.998, "posterior", "score") == "0.998"
    assert number(0.0725, "DiSCO", "share") == f"7.2{NBSP}%"
    assert number(0.0325, "strongGain", "share") == f"+3.25{NBSP}points"
    assert number(1.75, "S_pMSE", "ratio") == "1.75"
    assert number(None, "DiSCO", "share") == "–"


def test_intervals_and_limits():
    assert span([0.061, 0.0865], "DiSCO", "share") == "[6.1, 8.7]"
    assert span([-0.005, 0.0125], "strongGain", "share") == "[−0.5, 1.2]"
    assert span([1.0, 2.0], "S_pMSE", "ratio") == "[1.00, 2.00]"
    assert span(None, "DiSCO", "share") == ""
    both = limit_text({"most": 0.05, "least": 0.01}, "DiSCO", "share").replace(NBSP, " ")
    assert both == "at least 1.0 % and at most 5.0 %"
    assert limit_text(None, "DiSCO", "share") == ""
