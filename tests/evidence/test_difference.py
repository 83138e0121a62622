"""What differs between two documents of evidence, and between two specifications."""

from __future__ import annotations

import copy

import pytest
from tests.report.sample import small

from caveat.evidence.verdict import difference

SPEC = {
    "release": {"title": "A", "seed": 1},
    "synthesis": {"minbucket": 5, "drop": ["a"]},
    "scenario": [{"name": "x", "limits": {"DiSCO": 5}}, {"name": "y", "keys": ["a"]}],
    "protect": [{"name": "label"}, {"name": "label"}],
}


def test_nothing_differs_between_a_release_and_itself() -> None:
    found = difference(small(), small(), (SPEC, copy.deepcopy(SPEC)))
    assert found["same"] is True
    assert found["spec"] == found["inputs"] == found["risk"]["changed"] == []
    assert found["risk"]["same"] == sum(len(s["measurements"]) for s in small()["scenarios"])
    assert found["files"]["changed"] == []


def test_entries_are_named_whole_and_a_seed_is_not_told() -> None:
    other = copy.deepcopy(SPEC)
    other["release"]["seed"] = 987  # type: ignore[index]
    other["synthesis"] = {"minbucket": 20, "guard": "strong"}
    other["scenario"].reverse()  # type: ignore[attr-defined]
    other["scenario"][1]["limits"]["DiSCO"] = 3  # type: ignore[index]
    other["protect"][1]["text"] = "t"  # type: ignore[index]
    found = difference(small(), small(), (SPEC, other))
    assert found["same"] is False
    assert found["spec"] == [
        {"entry": "release.seed", "before": "withheld", "after": "withheld"},
        {"entry": "synthesis.minbucket", "before": 5, "after": 20},
        {"entry": "synthesis.drop", "before": ["a"], "after": None},
        {"entry": "scenario “x”.limits.DiSCO", "before": 5, "after": 3},
        {"entry": "synthesis.guard", "before": None, "after": "strong"},
        {"entry": "protect 2.text", "before": None, "after": "t"},
    ]
    assert difference(small(), small())["spec"] is None


def test_a_measurement_turns_better_or_worse_by_its_direction() -> None:
    before, after = small(), small()
    one = after["scenarios"][0]["measurements"][0]
    old = one["value"]
    one["value"] = old / 2
    used = after["utility"]["measurements"][0]
    used["value"] += 1
    found = difference(before, after)
    (risk,), (utility,) = found["risk"]["changed"], found["utility"]["changed"]
    assert (risk["measure"], risk["turn"]) == (one["measure"], "better")
    assert risk["before"]["value"] == old
    assert risk["after"]["value"] == old / 2
    direction = after["measures"][used["measure"]]["direction"]
    assert utility["turn"] == ("worse" if direction == "lower is better" else "better")
    assert risk["scenario"] == after["scenarios"][0]["name"]


def test_an_interval_alone_is_no_difference() -> None:
    after = small()
    after["scenarios"][0]["measurements"][0]["interval"] = [0.0, 0.9]
    found = difference(small(), after)
    assert found["risk"]["changed"] == []
    assert found["same"] is True


@pytest.mark.parametrize("other", ["data", "keys"])
def test_of_other_data_or_keys_nothing_is_better(other: str) -> None:
    before, after = small(), small()
    if other == "data":
        after["inputs"]["data"]["sha256"] = "0" * 64
    else:
        after["scenarios"][0]["keys"] = ["sex"]
    low, high = (after["scenarios"][i]["measurements"][0] for i in (0, 1))
    low["value"], high["value"] = low["value"] / 2, high["value"] + 0.1
    first, second = difference(before, after)["risk"]["changed"]
    assert first["turn"] == "lower"
    assert second["turn"] == ("higher" if other == "data" else "worse")


def test_what_is_new_or_gone_has_no_turn() -> None:
    before, after = small(), small()
    gone = before["scenarios"][0]["name"]
    after["scenarios"] = after["scenarios"][1:]
    found = difference(before, after)["risk"]["changed"]
    assert {one["scenario"] for one in found} == {gone}
    assert {(one["after"], one["turn"]) for one in found} == {(None, "")}


def test_limits_inputs_and_files() -> None:
    before, after = small(), small()
    one = after["scenarios"][0]["measurements"][0]
    one["limit"], one["excess"] = {"most": 0.0, "least": None}, 1.0
    after["seed"] = "another"
    after["inputs"]["data"]["sha256"] = "f" * 64
    after["release"]["files"][0]["sha256"] = "e" * 64
    after["release"]["columns"] = before["release"]["columns"][1:]
    found = difference(before, after)
    assert len(found["limits"][1]["broken"]) - len(found["limits"][0]["broken"]) in (0, 1)
    assert [one["what"] for one in found["inputs"]] == ["data", "columns", "seed"]
    assert found["inputs"][-1] == {"what": "seed", "before": None, "after": None}
    name = after["release"]["files"][0]["name"]
    rows = after["release"]["files"][0]["rows"]
    assert found["files"]["changed"] == [{"name": name, "before": rows, "after": rows}]


@pytest.mark.parametrize("content", [{}, {"release": None}])
def test_evidence_without_parts_is_compared_as_far_as_it_goes(content: dict[str, None]) -> None:
    assert difference(content, content)["same"] is True
