"""Bands that are cut differently."""

from __future__ import annotations

import math

import pytest

from caveat.outputs.bands import band_of, between


@pytest.mark.parametrize(
    ("label", "band"),
    [
        ("0-19", (0, 20)), ("20–39", (20, 40)), ("5 to 9", (5, 10)), ("80+", (80, math.inf)),
        ("65 and over", (65, math.inf)), ("<5", (-math.inf, 5)), ("19", (19, 20)),
        ("north", None), ("", None), ("2026-11-17", None),
    ],
)  # fmt: skip
def test_labels(label: str, band: tuple[float, float] | None) -> None:
    assert band_of(label) == band


def test_two_cuts_tell_those_between_them() -> None:
    one = {"0-19": 50.0, "20-39": 60.0, "40+": 70.0}
    other = {"0-18": 47.0, "19-39": 63.0, "40+": 70.0}
    assert between(one, other, 10) == ["19 to below 20"]
    assert between(one, other, 3) == []  # three of them: not fewer
    assert between(one, one, 10) == []
    # Other persons, gaps and labels that are no bands tell nothing.
    assert between(one, {"0-18": 47.0, "19-39": 63.0, "40+": 90.0}, 10) == []
    assert between(one, {"0-18": 47.0, "30-39": 63.0}, 10) == []
    assert between(one, {"young": 47.0, "old": 63.0}, 10) == []
    assert between(one, {"10-18": 47.0, "19+": 63.0}, 10) == []
    assert between(one, {"0-18": 57.0, "19-39": 53.0, "40+": 70.0}, 10) == []


def test_what_is_hidden_ends_the_sums() -> None:
    one = {"0-19": 50.0, "20-39": math.nan, "40-59": 70.0}
    assert between(one, {"0-18": 47.0, "19-39": 63.0}, 10) == ["19 to below 20"]
    assert between({"0-19": math.nan, "20-39": 60.0}, {"0-18": 47.0, "19-39": 63.0}, 10) == []
