"""The settings that every run tries beside that of the release."""

from __future__ import annotations

from caveat.attack.targets import QUICK, STANDARD
from caveat.evidence import schema
from caveat.release.collect_utility import left_out, seconds_of_settings


def test_the_release_is_one_of_three_and_measured_as_it_was_drawn(outcome):
    tried = outcome.evidence["other_settings"]
    assert [point["setting"] for point in tried["points"]] == [
        "cart", "guarded, guard standard", "guarded, guard strong",
    ]  # fmt: skip
    (own,) = (point for point in tried["points"] if point["chosen"])
    assert own["setting"] == "cart"
    members = [
        m for s in outcome.evidence["scenarios"] for m in s["measurements"]
        if m["measure"] == "membershipShare"
    ]  # fmt: skip
    assert own["risk_mean"] > 0.2
    assert tried["records"] <= 300
    (utility,) = (
        m for m in outcome.evidence["utility"]["measurements"] if m["measure"] == "S_pMSE two-way"
    )
    assert own["utility_mean"] == utility["value"]
    assert members[0]["value"] > 0.2


def test_linked_tables_say_why_no_setting_is_tried(tables_outcome):
    tried = tables_outcome.evidence["other_settings"]
    assert tried["points"] == []
    assert tried["reason"]["code"] == "whole-groups"


def test_the_work_is_bounded_by_the_size_of_the_table_alone():
    assert 0 < seconds_of_settings(300, 10, QUICK) < seconds_of_settings(5_000, 35, STANDARD)
    assert seconds_of_settings(48_000, 15, QUICK) < 10
    assert seconds_of_settings(1_472, 789, STANDARD) == 0
    assert set(left_out(_note())) <= set(schema()["$defs"]["map"]["properties"])


def _note():
    from caveat.release.collect_utility import GROUPS

    return GROUPS
