"""The verdict: its codes follow from numbers, whatever the words are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.evidence.cases import LIMIT, content, entry, point, with_settings
from tests.report.sample import measured

from caveat.evidence import check, external, verdict_of, with_verdict
from caveat.evidence.verdict import beyond_chance, is_unattainable, limited_in, state_of


def codes(found: dict[str, Any], side: str = "unreliable") -> list[str]:
    return [finding["code"] for finding in verdict_of(found)[side]]


def test_a_limit_has_the_state_of_its_measurement():
    assert state_of({"limit": LIMIT, "value": 0.04, "excess": 0.0}) == "met"
    assert state_of({"limit": LIMIT, "value": 0.06, "excess": 0.2}) == "not met"
    assert state_of({"limit": LIMIT, "value": None, "excess": None}) == "not measured"
    assert state_of({"limit": None, "value": 0.06, "excess": None}) == ""
    assert state_of(entry(0.41, 0.40, limit=LIMIT)) == "cannot be met"
    assert state_of(entry(0.06, 0.04, limit=LIMIT)) == "not met"


def test_a_limit_is_unattainable_by_a_share_and_not_by_one_person():
    assert is_unattainable(entry(0.41, 0.40, limit=LIMIT))
    assert not is_unattainable(entry(0.41, 0.40, limit={"most": None, "least": None, "above": 0.0}))
    assert not is_unattainable({**entry(0.9, 0.8, limit=LIMIT), "measure": "strongWorst"})


def test_a_limit_is_what_its_worst_result_is():
    found = content(entry(0.04, 0.0, limit=LIMIT), entry(0.08, 0.01, limit=LIMIT))
    (limit,) = limited_in(found)
    assert (limit.state, limit.results, limit.worst["value"]) == ("not met", 2, 0.08)


@pytest.mark.parametrize(
    ("measurement", "code", "why"),
    [
        (entry(0.04, 0.03, limit=LIMIT), "met", []),
        (entry(0.08, 0.03, limit=LIMIT), "not-ready", ["limit-not-met"]),
        (entry(0.41, 0.40, limit=LIMIT), "unattainable", ["limit-unattainable"]),
        (entry(None, limit=LIMIT), "not-measured", ["limit-not-measured"]),
        (entry(0.41, 0.40), "no-limit", []),
        (entry(0.41, 0.20), "uncovered", ["rises"]),
        # A level that is met says nothing of the rise above the control; a limit on it does.
        (entry(0.30, 0.10, limit={"most": 0.5, "least": None}), "uncovered", ["rises"]),
        (entry(0.30, 0.10, limit={"most": None, "least": None, "above": 0.5}), "met", []),
    ],
)
def test_the_code_follows_from_the_numbers(measurement, code, why):
    if (measurement["limit"] or {}).get("above"):
        measurement["excess"] = 0.0
    found = content(measurement)
    assert verdict_of(found)["code"] == code
    assert [one for one in codes(found) if one not in ("no-control", "no-strong-attacker")] == why
    check(with_verdict(found))


def test_nothing_is_relied_on_that_stands_out():
    level = content(entry(0.30, 0.10, limit={"most": 0.5, "least": None}))
    assert "limit-met" not in codes(level, "reliable")
    assert "limit-met" in codes(content(entry(0.04, 0.03, limit=LIMIT)), "reliable")


def test_chance_and_measures_that_lead_up_to_others_are_not_named():
    by_chance = entry(0.50, 0.40)
    by_chance["rise"]["interval"] = [-0.01, 0.21]
    assert verdict_of(content(by_chance))["code"] == "no-limit"
    assert verdict_of(content({**entry(0.50, 0.20), "measure": "iS"}))["code"] == "no-limit"


def test_a_rise_that_chance_may_explain_is_said_to_be_one():
    found = entry(0.45, 0.41, limit={"most": None, "least": None, "above": 0.02})
    found |= {"excess": 0.0}
    found["rise"]["interval"] = [-0.03, 0.11]
    assert codes(content(found))[0] == "within-chance"
    assert verdict_of(content(found))["next"]["code"] == "hold-out"


def test_values_of_single_people_stand_beside_chance():
    found = content(entry(0.04, 0.03, limit=LIMIT))
    private = {"column": "income", "original": 0.6, "released": 0.207, "baseline": 0.21}
    found["release"]["private_numbers"] = [{**private, "control": 0.208}]
    assert verdict_of(found)["code"] == "met"
    found["release"]["private_numbers"] = [{**private, "control": 0.05}]
    assert verdict_of(found)["code"] == "uncovered"
    assert codes(found)[0] == "single-values"
    assert beyond_chance({**private, "control": None}) == pytest.approx(-0.003)


def test_the_next_step_has_a_price():
    points = point("guard light", 0.5, 2.1), point("guard standard", 0.17, 2.2, True), \
        point("guard strong", 0.04, 2.8)  # fmt: skip
    broken = with_settings(content(entry(0.08, 0.03, limit=LIMIT)), *points)
    step = verdict_of(broken)["next"]
    assert (step["code"], step["setting"]) == ("safer-setting", "guard strong")
    assert step["risk"] == {"measure": "membershipShare", "now": 0.17, "then": 0.04}
    assert step["utility"] == {"measure": "S_pMSE two-way", "now": 2.2, "then": 2.8}
    # Of the settings that meet a limit on members the most useful one is proposed.
    members = measured("membershipShare", 0.17, limit={"most": 0.6, "least": None})
    fine = with_settings(content(members), *points[:1], point("guard standard", 0.17, 3.2, True))
    assert verdict_of(fine)["next"]["code"] == "more-useful-setting"
    assert verdict_of(fine)["next"]["setting"] == "guard light"
    check(with_verdict(fine))


def test_columns_that_name_people_come_first():
    found = content(entry(0.08, 0.03, limit=LIMIT))
    name = found["release"]["columns"][0]
    found["release"]["identifying"] = [
        {"column": name, "code": "person-name", "is": "names of people", "reason": "seen"}
    ]
    verdict = verdict_of(found)
    assert verdict["code"] == "not-ready"
    assert verdict["next"] == {"code": "leave-out", "columns": [name]}
    assert codes(found)[0] == "real-values"


def test_the_verdict_of_what_leaves_names_nothing_that_is_withheld():
    found = content(entry(0.08, 0.03, limit=LIMIT, n=9))
    public = external(with_verdict(copy.deepcopy(found)))
    assert public["verdict"]["limits"]["not_shown"] == 1
    assert "limit-not-met" not in codes(public)
    assert "rise" not in public["scenarios"][0]["measurements"][0]
    assert external(public) == public
