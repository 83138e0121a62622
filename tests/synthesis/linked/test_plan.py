"""The plan of linked tables: what is drawn from what."""

from __future__ import annotations

import pytest
from tests.synthesis.linked.people import households, patients

from caveat.errors import CaveatError
from caveat.synthesis import Synthesizer


def predictors(plan, stage, column):
    return plan.stages[stage].columns[column].predictors


def test_members_are_drawn_from_their_group_themselves_and_those_before():
    plan = Synthesizer(method="cart", groups="hh", drop=["total"]).plan(households())
    assert predictors(plan, "groups", "region") == ("number of members",)
    above = ("number of members", "region")
    assert predictors(plan, "members, first", "age") == (*above, "sex", "role")
    # Sex, role and age of the first member serve everything.
    first = ("first.sex", "first.role", "first.age")
    later = (*above, "number so far", *first)
    assert predictors(plan, "members, later", "age") == (*later, "sex", "role")
    assert predictors(plan, "members, each", "income") == (*later, "sex", "role", "age")
    assert plan.columns["size"].settings.formula == "sum(1)"
    assert plan.columns["total"].settings.method == "drop"


def test_columns_behind_the_members_are_drawn_after_them():
    plan = Synthesizer(method="cart", groups="hh").plan(households())
    assert list(plan.stages) == [
        "groups", "members, first", "members, later", "members, each", "groups, after",
    ]  # fmt: skip
    last = predictors(plan, "groups, after", "total")
    assert {"sum.income", "first.role", "number of members"} <= set(last)
    early = Synthesizer(method="cart", groups="hh", order=["total"]).plan(households())
    assert "total" in predictors(early, "members, first", "age")


def test_children_in_time_are_drawn_from_the_one_before():
    plan = Synthesizer(method="cart").plan(patients())
    names = predictors(plan, "visits, later", "ill")
    assert {"previous.ill", "sex", "born", "day since the previous"} <= set(names)
    assert "previous.day" not in names
    assert "previous.day" in predictors(plan, "visits, later", "day since the previous")


def test_the_plan_can_be_read():
    text = str(Synthesizer(method="cart", groups="hh", drop=["total"]).plan(households()))
    assert text.startswith("groups:\n  number of members  cart\n")
    assert "size  derived: sum(1)" in text
    assert "every group gets an adult: rule 'any(age >= 18)' was found" in text


def test_all_mistakes_are_one_error():
    wrong = {name: {"method": "none"} for name in ("income", "role", "region")}
    with pytest.raises(CaveatError) as caught:
        Synthesizer(groups="hh", columns=wrong).plan(households())
    found = [error.column for error in (caught.value, *caught.value.others)]
    assert found == ["region", "role", "income"]
