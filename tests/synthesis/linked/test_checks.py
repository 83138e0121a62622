"""What plans of groups refuse, and what they must keep."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.linked.people import households, patients

from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.table.linked import Link, Linked

PEOPLE = households(150)


def made(data=PEOPLE, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=3, **{"groups": "hh", **options}).fit(data)
        return model, model.tables()[0]


@pytest.mark.parametrize(
    "options",
    [
        {"drop": ["regionn"]},
        {"keep": ["x"]},
        {"strata": "x"},
        {"order": ["x"]},
        {"columns": {"x": {}}},
        {"special": {"x": [0]}},
        {"derived": {"x": "age"}},
        {"predictors": {"age": ["x"]}},
    ],
)
def test_a_misspelt_column_is_named(options):
    with refused("data.column.unknown"):
        Synthesizer(groups="hh", **options).plan(PEOPLE)


@pytest.mark.parametrize("strata", ["hh", "sex"])
def test_strata_are_shared_by_members(strata):
    with refused("synthesis.strata.type", where="synthesis, strata"):
        Synthesizer(groups="hh", strata=strata).plan(PEOPLE)


@pytest.mark.parametrize("method", ["cart", "guarded"])
@pytest.mark.parametrize("order", ["-age", "age", "role"])
def test_an_order_of_members_keeps_values_rules_and_probabilities(method, order):
    rule = "if age < 18 then income = 0"
    model, table = made(groups={"key": "hh", "order": order}, method=method, rules=[rule])
    ages = table["age"].cell_numbers
    assert ages.min() >= 0
    assert ages.max() <= 90
    assert table["income"].cell_numbers[ages < 18].max() == 0
    assert all(np.isfinite(stage.total) for stage in model.log_prob(table).values())


def test_with_an_order_some_member_still_meets_a_rule():
    model, table = made(groups={"key": "hh", "order": "age"}, rules=["any(age >= 18)"])
    codes = table["hh"].codes
    oldest = np.zeros(codes.max() + 1)
    np.maximum.at(oldest, codes, table["age"].cell_numbers)
    assert oldest.min() >= 18
    assert all(np.isfinite(stage.total) for stage in model.log_prob(table).values())


def test_a_release_that_breaks_the_rule_was_not_made_so():
    model, table = made(method="cart")
    ages = table["age"].cell_numbers
    ages[0] = 5
    broken = table.with_columns({"age": Table.from_frame({"x": ages.astype(int)})["x"]})
    with refused("model.release.mismatch", where="table members"):
        model.log_prob(broken)


@pytest.mark.parametrize("method", ["cart", "guarded"])
def test_the_first_member_mirrors_nobody(method):
    jobs = np.random.default_rng(0).choice(["baker", "smith", "none"], PEOPLE.n_rows)
    people = PEOPLE.with_columns({"job": Table.from_frame({"x": jobs})["x"]})
    rule = "if age > 50 then job = `first.job`"
    model, table = made(people, method=method, rules=[rule])
    assert not table["job"].is_missing.any()
    assert all(np.isfinite(stage.total) for stage in model.log_prob(table).values())


def test_formulas_of_what_comes_last_come_last():
    derived = {"total": "sum(income)", "each": "total / size", "half": "each / 2"}
    extra = Table.from_frame({"x": np.arange(PEOPLE.n_rows) % 3 + 0.5})["x"]
    table = PEOPLE.with_columns({"each": extra, "half": extra})
    model, release = made(table, derived=derived, method="cart")
    assert list(model.plan.late) == ["size", "total", "each", "half"]
    each = release["total"].cell_numbers / release["size"].cell_numbers
    assert np.abs(release["each"].cell_numbers - each).max() <= 0.05  # one decimal
    circle = {"total": "sum(income) + each", "each": "total"}
    with refused("synthesis.formula.conflict", where="synthesis, derived"):
        Synthesizer(groups="hh", derived=circle).plan(table)


@pytest.mark.parametrize("name", ["number of members", "number so far"])
def test_names_that_the_synthesis_needs_are_refused(name):
    table = PEOPLE.with_columns({name: PEOPLE["region" if "of" in name else "income"]})
    with refused("synthesis.name.conflict"):
        Synthesizer(groups="hh").plan(table)


def test_words_that_are_keys_are_left_out():
    linked = patients(60)
    friend = np.random.default_rng(1).permutation(linked.tables["patients"]["id"].values)
    column = Table.from_frame({"x": np.where(np.arange(60) < 30, friend[0], friend[1])})["x"]
    people = linked.tables["patients"].with_columns({"friend": column})
    tables = {**linked.tables, "patients": people}
    plan = Synthesizer(method="cart").plan(
        Linked(tables, linked.keys, linked.links, order=linked.order)
    )
    assert "friend" in plan.dropped
    assert any("all its values are keys of patients" in remark for remark in plan.remarks)


def test_a_rule_about_some_member_takes_what_belongs_to_a_group_along():
    ages = [5 if i < 4 else 40 + i % 7 for i in range(80)]
    tables = {
        "a": Table.from_frame({"id": list(range(40))}),
        "b": Table.from_frame(
            {"id": list(range(80)), "up": [i // 2 for i in range(80)], "age": ages}
        ),
        "c": Table.from_frame({"up": [i % 80 for i in range(100)], "x": list("pq") * 50}),
        "d": Table.from_frame({"up": [i % 40 for i in range(90)], "y": list("rst") * 30}),
    }
    links = (Link("b", "up", "a"), Link("c", "up", "b"), Link("d", "up", "a"))
    linked = Linked(tables, {"a": "id", "b": "id"}, links)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maker = Synthesizer(seed=1, method="cart", rules=["any(age >= 18)"], anyway=True)
        plan = maker.plan(linked)
        release = maker.fit(linked).tables()[0]
    said = "rule 'any(age >= 18)' does not hold in 2 of 40 groups; they take no part"
    assert said in plan.remarks
    assert release.tables["a"].n_rows == 40


@pytest.mark.parametrize(
    "key",
    [
        np.arange(300) // 2 * 0.5,
        np.datetime64("2020-01-01") + np.arange(300) // 2,
    ],
)
def test_keys_are_whole_numbers_or_words(key):
    table = Table.from_frame({"hh": key, "x": [0, 1] * 150, "y": list("ab") * 150})
    with refused("data.key.type"):
        Synthesizer(groups="hh", seed=1).fit(table)


def test_large_numbers_as_keys():
    key = 10**18 + np.arange(300) // 2
    table = Table.from_frame({"hh": key, "x": [0, 1] * 150, "y": list("ab") * 150})
    _, release = made(table, method="cart")
    assert not set(release["hh"].values) & set(table["hh"].values)
    assert len(set(release["hh"].values)) == 150


def test_dates_by_which_visits_stand_are_complete_and_kept():
    linked = patients(60)
    visits = linked.tables["visits"]
    days = visits["day"].levels[visits["day"].codes].astype(object)
    days[3] = None
    gap = visits.with_columns({"day": Table.from_frame({"d": list(days)})["d"]})
    with refused("data.value.absent", column="day", where="table visits, order"):
        Synthesizer().plan(
            Linked({**linked.tables, "visits": gap}, linked.keys, linked.links, order=linked.order)
        )
    with refused("synthesis.column.absent", column="day", where="table visits, order"):
        Synthesizer(drop=["day"]).plan(linked)
