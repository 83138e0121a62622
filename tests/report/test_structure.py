"""The tables of groups in the report: there for the house, and not for the world."""

from __future__ import annotations

import pytest
from tests.report.sample import small

from caveat.evidence import check
from caveat.report import markdown, render

STRUCTURE = {
    "key": "household",
    "original": 6000.0,
    "synthetic": 5262,
    "sizes": [
        {"members": 1, "original": 0.25, "synthetic": 0.5},
        {"members": 12, "original": 0.75, "synthetic": 0.5},
    ],
    "largest": 12,
    "size_column": {"name": "hsize", "right": 0.18},
    "one_value": [{"name": "region", "share": 0.333}, {"name": "rent", "share": None}],
    "compositions": [{"name": "sex", "distance": 0.375}],
    "within": [{"name": "age", "original": 0.8139, "synthetic": 0.6233}],
}


def test_the_house_sees_the_groups():
    content = small()
    assert "Rows that belong together" not in markdown(content)
    content["utility"]["structure"] = STRUCTURE
    check(content)
    text = markdown(content)
    assert "By household there are 6,000 groups in the original and 5,262 in the release" in text
    assert "hsize is the number of members in 18" in text
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if "|" in line}
    assert "0.814" in rows["age"]
    assert "0.623" in rows["age"]
    assert "12 or more" in rows
    assert "37.5" in rows["sex"]
    assert "structure" in render(content, date="2026-11-16")


@pytest.mark.parametrize("make", [markdown, lambda c, **k: render(c, date="2026-11-16", **k)])
def test_the_world_does_not(make):
    content = small()
    content["utility"]["structure"] = STRUCTURE
    text = make(content, version="external")
    assert "Rows that belong together" not in text
    assert "hsize" not in text


def test_the_worst_finding_says_whose_it_is():
    content = small()
    strong = [
        m
        for scenario in content["scenarios"]
        for m in scenario["measurements"]
        if m["measure"] in ("strongWorst", "strongShare")
    ]
    assert strong
    for m in strong:
        m["per"] = "group"
    text = markdown(content, version="internal", date="2026-01-01")
    assert "every group but one gives probability" in text
    assert "of the group most at risk" in text
