"""Findings as entries of a specification: accepted, taken back, set aside."""

from __future__ import annotations

import tomllib

import pytest

from caveat.datasets import survey
from caveat.findings import look
from caveat.spec.document import edited
from caveat.spec.forms import (
    AS_IT_IS,
    choices,
    decide,
    how_made,
    is_released,
    is_set_aside,
    made_so,
    state_of,
)
from caveat.spec.starter import starter


@pytest.fixture(scope="module")
def profile():
    return look(survey(rows=600))


@pytest.fixture(scope="module")
def text(profile):
    return starter(profile, "survey.csv")


def found(profile, code, column):
    return next(f.to_dict() for f in profile.findings if f.code == code and f.columns[0] == column)


@pytest.mark.parametrize(
    ("code", "column", "state"),
    [
        ("missing-code", "income", "in force: declare it as missing"),
        ("id-like", "person", "in force: replace it by invented values"),
        ("arithmetic", "bmi", "in force: compute it again"),
        ("missing-when", "occupation", ""),
        ("heaping", "income", ""),
    ],
)
def test_what_the_starter_has_put_in_force(profile, text, code, column, state):
    assert state_of(found(profile, code, column), tomllib.loads(text), text) == state


@pytest.mark.parametrize(
    ("code", "column", "entry"),
    [
        ("missing-code", "income", ("columns", "income")),
        ("id-like", "person", ("synthesis", "replace")),
        ("arithmetic", "bmi", ("synthesis", "derived")),
    ],
)
def test_what_is_in_force_is_taken_back_and_accepted_again(profile, text, code, column, entry):
    finding = found(profile, code, column)
    aside = decide(text, finding, None)
    content = tomllib.loads(aside)
    assert not content.get(entry[0], {}).get(entry[1])
    assert is_set_aside(finding, aside)
    assert state_of(finding, content, aside) == "set aside"
    last = len(choices(finding, content)) - 1  # of an id that it is replaced, not left out
    again = decide(aside, finding, last)
    assert not is_set_aside(finding, again)
    assert tomllib.loads(again) == tomllib.loads(text)


def test_a_column_that_is_kept_after_all_is_drawn(profile, text):
    content = tomllib.loads(decide(text, found(profile, "id-like", "person"), None))
    assert content["synthesis"]["order"][-1] == "person"


def test_a_rule_is_accepted(profile, text):
    finding = found(profile, "missing-when", "occupation")
    content = tomllib.loads(decide(text, finding, 0))
    assert content["synthesis"]["rules"] == finding["suggestion"]["rules"]


def test_a_finding_that_asks_for_nothing_can_be_accepted_as_it_is(profile, text):
    finding, content = found(profile, "heaping", "income"), tomllib.loads(text)
    assert choices(finding, content) == [AS_IT_IS]
    assert state_of(finding, content, text) == ""
    accepted = decide(text, finding, 0)
    assert tomllib.loads(accepted) == content
    assert accepted.splitlines()[-1] == "# accepted after the look: heaping: income"
    assert state_of(finding, content, accepted) == "in force: as it is"
    aside = decide(accepted, finding, None)
    assert "accepted" not in aside
    assert state_of(finding, content, aside) == "set aside"
    assert decide(aside, finding, 0) == accepted


def test_every_finding_can_be_accepted(profile, text):
    for finding in (f.to_dict() for f in profile.findings):
        known = choices(finding, tomllib.loads(text))
        assert known, finding["code"]
        after = decide(text, finding, 0)
        assert state_of(finding, tomllib.loads(after), after) == f"in force: {known[0][0]}"


def test_a_finding_that_asks_for_nothing_can_be_set_aside(profile, text):
    finding = found(profile, "heaping", "income")
    aside = decide(text, finding, None)
    assert tomllib.loads(aside) == tomllib.loads(text)
    assert aside.splitlines()[-1] == "# set aside after the look: heaping: income"
    assert decide(aside, finding, None) == text  # no longer


def test_a_column_that_comes_back_has_its_place_in_the_file(text):
    content = {"synthesis": {"order": ["a", "c", "b", "late"], "drop": ["age"]}}
    sequence = ["a", "age", "b", "c", "late"]
    changes = made_so(content, "age", "drawn", "", sequence)
    assert changes["synthesis", "order"] == ["a", "age", "c", "b", "late"]
    assert made_so(content, "age", "drawn", "")["synthesis", "order"][-1] == "age"
    profile = look(survey(rows=600))
    names = [column.name for column in profile.columns]
    finding = found(profile, "id-like", "person")
    order = tomllib.loads(decide(text, finding, None, names))["synthesis"]["order"]
    assert order[0] == "person"


def test_codes_with_meanings_keep_them(profile, text):
    text = edited(text, {("columns", "income", "missing"): {"-9": "refused"}})
    content = tomllib.loads(decide(text, found(profile, "missing-code", "income"), 0))
    assert content["columns"]["income"]["missing"] == {"-9": "refused", "-8": ""}


@pytest.mark.parametrize(
    ("name", "how", "source"),
    [
        ("sex", "left out", ""),
        ("person", "drawn", ""),
        ("person", "left out", ""),
        ("sex", "replaced", "name"),
        ("sex", "computed", "age + 1"),
        ("region", "looked up", "occupation"),
        ("bmi", "drawn", ""),
        ("bmi", "left out", ""),
    ],
)
def test_a_column_comes_about_in_another_way_and_back(text, name, how, source):
    content = tomllib.loads(text)
    before = how_made(content, name)
    new = edited(text, made_so(content, name, how, source))
    changed = tomllib.loads(new)
    assert how_made(changed, name) == (how, source)
    order = changed["synthesis"]["order"]
    assert (name in order) == (how in ("drawn", "looked up"))
    if how == "looked up":
        assert order.index(source) < order.index(name)
    back = tomllib.loads(edited(new, made_so(changed, name, *before)))
    assert how_made(back, name) == before
    assert sorted(back["synthesis"]["order"]) == sorted(content["synthesis"]["order"])


def test_a_column_that_stays_as_it_is_changes_nothing(text):
    content = tomllib.loads(text)
    assert all(made_so(content, name, *how_made(content, name)) == {} for name in ("sex", "bmi"))


TABLES = """\
[tables.homes]
file = "homes.csv"
key = "home"

[tables.people]
file = "people.csv"
links = { home = "homes" }

[synthesis]
method = "guarded"
"""


def of_people(code, column, **asked):
    return {"code": code, "columns": [column], "suggestion": asked, "table": "people"}


def test_what_is_accepted_of_one_table_is_said_of_that_table():
    missing = of_people("missing-code", "income", missing=[-8])
    text = decide(TABLES, missing, 0)
    assert tomllib.loads(text)["tables"]["people"]["columns"] == {"income": {"missing": [-8]}}
    assert state_of(missing, tomllib.loads(text), text) == "in force: declare it as missing"
    other = {**missing, "table": "homes"}
    assert state_of(other, tomllib.loads(text), text) == ""
    text = decide(text, missing, None)
    assert "# set aside after the look: missing-code: people.income" in text
    assert is_set_aside(missing, text)
    assert not is_set_aside(other, text)
    assert tomllib.loads(text)["tables"]["people"]["columns"] == {"income": {}}


def test_kinds_and_rules_of_one_table():
    kind = {**of_people("few-numbers", "rooms"), "table": "homes"}
    text = decide(TABLES, kind, 1)
    assert tomllib.loads(text)["tables"]["homes"]["columns"] == {"rooms": {"kind": "ordered"}}
    rule = of_people("missing-when", "income", rules=["if age <= 15 then income = missing"])
    text = decide(text, rule, 0)
    assert tomllib.loads(text)["synthesis"]["rules"] == ["if age <= 15 then income = missing"]


def test_weights_are_of_whole_groups_and_links_say_who_belongs_together():
    content = tomllib.loads(TABLES)
    weights = of_people("survey-weights", "w")
    assert [words for words, _ in choices(weights, content)] == ["leave it out"]
    weights["table"] = "homes"
    assert [words for words, _ in choices(weights, content)] == ["use it as weights"]
    assert choices(of_people("groups", "home", groups={"key": "home"}), content) == [AS_IT_IS]


def test_what_is_released():
    content = {"synthesis": {"drop": ["a"], "weights": "w"}, "groups": {"key": "home"}}
    named = {"a": False, "w": False, "home": False, "b": True}
    assert {name: is_released(content, name) for name in named} == named
