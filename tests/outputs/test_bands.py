"""Bands that are cut differently."""

from __future__ import annotations

import math

import pytest

from caveat.outputs.differencing import band_of, between, within


@pytest.mark.parametrize(
    ("label", "band"),
    [
        ("0-19", (0, 20)), ("20–39", (20, 40)), ("5 to 9", (5, 10)), ("80+", (80, math.inf)),
        ("65 and over", (65, math.inf)), ("<5", (-math.inf, 5)), ("19", (19, 20)),
        ("up to 19", (-math.inf, 20)), ("less than 5", (-math.inf, 5)),
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


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"0-19": 50, "0-18": 47, "20-39": 100}, ["19 to below 20"]),
        ({"under 20": 50, "under 21": 53, "under 40": 100}, ["20 to below 21"]),
        ({"65+": 50, "60+": 57}, ["60 to below 65"]),
        ({"0-39": 100, "0-19": 50, "25-39": 46}, ["20 to below 25"]),  # in two steps
        ({"0-19": 50, "20-39": 53, "40+": 100}, []),
        ({"0-39": 103, "0-19": 50, "20-39": 53}, []),  # a subtotal
        ({"0-39": 103, "0-19": 50, "20-39": 54}, []),  # of other persons
        ({"0-19": 50, "0-18": 57}, []),
        ({"0-19": 50, "0-18": 40}, []),  # ten of them: not fewer
        ({"0-19": 50, "0-18": math.nan}, []),
        ({"0-20": 50, "20-40": 53}, []),
        ({"2019-2020": 50, "2020-2021": 53, "2021-2022": 55}, []),
        ({"1": 50, "2": 53, "12": 55}, []),
        ({"north": 50, "south": 53}, []),
    ],
)
def test_bands_of_one_table_that_overlap(counts: dict[str, float], found: list[str]) -> None:
    assert within(counts, 10) == found


def test_numbers_are_ends_where_the_column_says_so() -> None:
    counts = {"1000": 50.0, "2000": 53.0, "3000": 100.0}
    for name in ("income below", "income_up_to", "Einkommen bis", "cumulative"):
        assert within(counts, 10, name) == ["1000 to below 2000"]
    for name in ("income", "underwriter", "bishop"):
        assert within(counts, 10, name) == []
