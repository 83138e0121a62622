"""The limits of the evidence."""

from __future__ import annotations

from tests.report.sample import small

from caveat.report.findings import limits_section


def items(content, external=False):
    return dict(limits_section(content, external).blocks[0].items)


def test_what_was_not_tried_is_said():
    content = small()
    assert "No other settings" not in items(content)
    content["map"] = None
    content["scenarios"] = []
    content["release"]["control_rows"] = 0
    told = items(content)
    assert told["No other settings"] == "No map was asked for: other settings were not tried."
    assert {"No strong attacker", "No ordinary attacks", "No control"} <= set(told)
    assert "This version" not in told
    assert "four digits" in items(content, external=True)["This version"]


def test_the_same_remark_is_made_once():
    content = small()
    content["remarks"] = ["all of it"]
    content["utility"]["remarks"] = ["age: odd", "sex: odd"]
    for scenario in content["scenarios"]:
        scenario["remarks"] = []
    content["scenarios"][0]["remarks"] = ["age: odd", "sex: odd"]
    name = content["scenarios"][0]["name"]
    remarks = limits_section(content, False).blocks[-1]
    assert list(remarks.items) == [("", "all of it"), (f"{name}, Utility", "age: odd; sex: odd")]
