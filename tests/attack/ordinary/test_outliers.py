"""Links of unusual people."""

from __future__ import annotations

import polars as pl
import pytest

from caveat.attack.ordinary import (
    outlier_links,
)
from caveat.risk.measure import wilson


def test_outlier_links_by_hand():
    """Ages around 40 and one of 90; synthetic 85 and 101: within 10 one link, within 11 two."""
    ages = [38, 39, 40, 41, 42] * 6 + [90]
    original = pl.DataFrame({"age": ages, "job": ["a"] * 31, "ill": ["no"] * 30 + ["yes"]})
    release = pl.DataFrame({"age": [85, 101, 40], "job": ["a"] * 3, "ill": ["yes", "no", "no"]})
    found = outlier_links(
        original, release, keys=["age", "job"], target="ill", tolerance={"age": 10}
    )
    assert (found.value, found.n) == (1, 1)
    assert found.details["one link tells the target"] == 1
    two = outlier_links(original, release, keys=["age", "job"], tolerance={"age": 11})
    assert two.value == 0
    assert two.details["linked pairs"] == 2
    assert found.per_record.tolist() == [0] * 30 + [1]


def test_outliers_of_a_copy_are_those_of_the_original(original, control):
    found = outlier_links(original, original, keys=["age", "debt", "sex"], rule="depth")
    assert found.value == pytest.approx(found.reference)
    assert found.details["linked"] == found.details["outliers"] == 12  # the shallowest 2 %


def test_outliers_of_fresh_records_are_those_of_the_control(original, control, fresh):
    found = outlier_links(
        original, fresh, keys=["debt", "height"], rule="z", limit=1.5, control=control
    )
    low, high = found.interval
    others = wilson(found.control * found.control_n, found.control_n)
    assert low <= others[1]
    assert high >= others[0]
