"""What the evidence holds of groups: the numbers of the measures, column by column."""

from __future__ import annotations

import pytest
from tests.report.sample import small

from caveat.evidence import check
from caveat.release.collect_structure import collect_structure
from caveat.utility import WeightedPair

OURS = {
    "home": [1, 1, 2, 2, 3],
    "region": list("NNSSN"),
    "size": [2, 2, 2, 2, 1],
    "age": [40, 41, 30, 28, 7],
}
THEIRS = {
    "home": [1, 1, 1, 2, 3],
    "region": list("NSSSN"),
    "size": [2, 2, 1, 2, 1],
    "age": [40, 41, 30, 28, 7],
}


def test_structure_by_hand() -> None:
    found = collect_structure(WeightedPair.of(OURS, THEIRS, groups="home"))
    assert found["key"] == "home"
    assert (found["original"], found["synthetic"]) == (3, 3)
    third = pytest.approx(1 / 3)
    assert found["sizes"] == [
        {"members": 1, "original": third, "synthetic": pytest.approx(2 / 3)},
        {"members": 2, "original": pytest.approx(2 / 3), "synthetic": 0},
        {"members": 3, "original": 0, "synthetic": third},
    ]
    assert found["size_column"] == {"name": "size", "right": 0.2}
    assert found["one_value"] == [{"name": "region", "share": 0}, {"name": "size", "share": 0}]
    assert [c["name"] for c in found["compositions"]] == ["age"]
    assert [c["name"] for c in found["within"]] == ["age"]
    content = small()
    content["utility"]["structure"] = found
    check(content)


def test_large_groups_are_counted_together() -> None:
    whole = {"home": [1] * 40 + [2], "age": list(range(41))}
    sizes = collect_structure(WeightedPair.of(whole, whole, groups="home"))["sizes"]
    assert [s["members"] for s in sizes] == [1, 12]
