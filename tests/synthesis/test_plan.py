"""Plans: what the user says, what is usual, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.options import parse_rule
from caveat.synthesis.seen import assumed_public
from caveat.table import Table
from caveat.table.identifying import judge

TABLE = Table.from_frame(
    {
        "sex": ["f", "m"] * 15,
        "age": [20 + i % 7 for i in range(30)],
        "height": [160 + i % 9 for i in range(30)],
        "weight": [60 + i % 5 for i in range(30)],
        "bmi": [20.5 + i % 3 for i in range(30)],
        "name": [f"p{i:02d}" for i in range(30)],
        "one": [1] * 30,
    }
)


def test_the_usual_plan_follows_the_columns() -> None:
    plan = make_plan(TABLE)
    methods = {name: entry.settings.method for name, entry in plan.columns.items()}
    assert methods == {
        "sex": "guarded", "age": "guarded", "height": "guarded", "weight": "guarded",
        "bmi": "guarded", "name": "drop", "one": "constant",
    }  # fmt: skip
    assert plan.columns["bmi"].predictors == ("sex", "age", "height", "weight")
    assert plan.remarks == (
        "name is left out: it looks like text that nearly every record has for itself (all 30 "
        'values are different); keep = ["name"] would release it',
    )


def test_a_part_is_planned_by_the_judgement_of_the_whole() -> None:
    whole = Table.from_frame(
        {"v": np.random.default_rng(0).permutation(400), "s": ["f", "m"] * 200}
    )
    part = whole.take(range(60))
    assert make_plan(part).columns["v"].settings.method == "guarded"
    assert make_plan(part, {"judged": judge(whole)}).columns["v"].settings.method == "drop"


@pytest.mark.parametrize(
    ("options", "method", "remark"),
    [
        ({}, "drop", "left out"),
        ({"method": "cart"}, "drop", "left out"),
        ({"keep": ["name"]}, "guarded", "kept"),
        ({"keep": ["name"], "method": "sample"}, "sample", "kept"),
        ({"columns": {"name": {"method": "copy"}}}, "copy", "kept"),
        ({"columns": {"name": {"minbucket": 7}}}, "drop", "left out"),
        ({"drop": ["name"]}, "drop", None),
    ],
)
def test_what_names_people_is_left_out_unless_somebody_says_keep(
    options: dict[str, object], method: str, remark: str | None
) -> None:
    plan = make_plan(TABLE, options)
    assert plan.columns["name"].settings.method == method
    said = [text for text in plan.remarks if text.startswith(f"name is {remark}")]
    assert len(said) == (remark is not None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ["nam"]}, "data.column.unknown"),
        ({"keep": ["name"], "drop": ["name"]}, "synthesis.column.conflict"),
        ({"strata": "name"}, "synthesis.strata.refused"),
        ({"rules": ["if name == 'p01' then sex = 'f'"]}, "synthesis.column.absent"),
        ({"predictors": {"one": ["name"]}}, "synthesis.predictor.conflict"),
    ],
)
def test_what_is_left_out_cannot_be_used(options: dict[str, object], message: str) -> None:
    with refused(message):
        make_plan(TABLE, options)


def test_the_plan_prints_what_will_happen() -> None:
    options = {
        "order": ["age"],
        "method": "cart",
        "minbucket": 10,
        "derived": {"bmi": "weight / (height / 100) ** 2"},
        "rules": ["if age < 22 then sex = 'f'"],
        "columns": {"weight": {"method": "sample"}},
        "drop": ["name"],
        "special": {"height": [160]},
    }
    assert str(make_plan(TABLE, options)).splitlines() == [
        "age     cart (minbucket 10)",
        "sex     cart from age (minbucket 10)",
        "height  cart from age, sex (minbucket 10; special 160)",
        "weight  sample (minbucket 10)",
        "name    drop (minbucket 10)",
        "one     cart from age, sex, height, weight (minbucket 10)",
        "bmi     derived: weight / (height / 100) ** 2",
        "rule: if age < 22 then sex = 'f'",
        "note: rule \"if age < 22 then sex = 'f'\" does not hold for 5 of 30 original records; "
        "they take no part in the model of sex",
    ]


def test_prune_is_shown_where_it_is_not_the_usual() -> None:
    plain = {"method": "cart"}
    lines = str(make_plan(TABLE, {**plain, "columns": {"age": {"prune": False}}})).splitlines()
    assert lines[:2] == ["sex     cart", "age     cart from sex (prune False)"]
    assert make_plan(TABLE, {**plain, "prune": True}) == make_plan(TABLE, plain)


def test_strata_come_first_and_weights_are_left_out() -> None:
    plan = make_plan(TABLE, {"strata": "sex", "weights": "height"})
    assert list(plan.columns) == ["sex", "age", "weight", "bmi", "name", "one"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minbuckets": 3}, "synthesis: 'minbuckets' is no setting; did you mean 'minbucket'"),
        ({"order": ["agee"]}, "synthesis, order: there is no column 'agee'"),
        ({"order": ["age", "age"]}, "'age' is listed twice"),
        ({"method": "magic"}, "there is no method 'magic'; use cart"),
        ({"columns": {"agee": {}}}, "synthesis, columns: there is no column 'agee'"),
        ({"columns": {"age": {"leaf": 1}}}, "synthesis, column age: 'leaf' is no setting"),
        ({"minbucket": 0}, "synthesis, column sex: minbucket must be a whole number, 1 or more"),
        ({"cp": -1}, "cp must be a number, 0 or more"),
        ({"prune": 0}, "synthesis, column sex: prune must be true or false"),
        ({"columns": {"age": {"prune": "no"}}}, "column age: prune must be true or false"),
        (
            {"method": "cart", "smoothing": "lots"},
            "there is no smoothing 'lots'; use kernel, density",
        ),
        ({"minsplit": 1}, "minsplit must be a whole number, 2 or more"),
        (
            {"columns": {"age": {"smoothing": "density", "method": "sample"}}},
            "column age: the method sample has no leaves to smooth within",
        ),
        ({"predictors": {"sex": ["age"]}}, "column sex: sex cannot be drawn from age"),
        ({"predictors": {"age": ["age"]}}, "column age: age cannot be drawn from age"),
        (
            {"derived": {"bmi": "weight + 1", "weight": "bmi - 1"}},
            "weight and bmi are derived from each other",
        ),
        ({"derived": {"bmi": "name + 1"}}, "the formula needs name, which is not synthesised"),
        ({"derived": {"bmi": "wight + 1"}}, "the formula needs wight, which is not synthesised"),
        ({"derived": {"bmi": "weight +"}}, "cannot be read"),
        ({"derived": {"bmi": {"group": "age"}}}, "derived, bmi: a derived column has a formula"),
        ({"drop": ["agee"]}, "there is no column 'agee'"),
        ({"rules": ["if age < 3 sex = 'f'"]}, "it cannot be read; write it as in"),
        ({"rules": ["if age < 30 then sex = f"]}, "neither a number nor quoted text"),
        ({"rules": ["if bmi < 30 then sex = 'f'"]}, "sex must come after bmi in the order"),
        ({"rules": ["if age < 30 then sexx = 'f'"]}, "there is no column 'sexx'"),
        ({"rules": ["if sex == 'f' then age = 99"]}, "gives age a value that never occurs"),
        ({"rules": ["sex <= age"]}, "only numbers and dates can be compared"),
        ({"columns": {"age": {"method": "lookup"}}}, "a lookup needs its predictors"),
        ({"strata": "country"}, "synthesis, strata: there is no column 'country'"),
    ],
)
def test_bad_plans_name_the_column(options: dict[str, object], message: str) -> None:
    with pytest.raises(CaveatError) as caught:
        make_plan(TABLE, options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strata": "name"}, "synthesis.strata.refused"),
        ({"strata": "sex", "drop": ["sex"]}, "synthesis.column.absent"),
        (
            {"columns": {"age": {"method": "nested", "within": "name"}}},
            "synthesis.predictor.conflict",
        ),
        (
            {"columns": {"age": {"method": "nested", "within": "no"}}},
            "synthesis.predictor.conflict",
        ),
        ({"derived": {"sex": "age"}}, "synthesis.column.type"),
        ({"derived": {"bmi": "sex + 1"}}, "expression.value.type"),
        ({"derived": {"bmi": "age + 9**9**9"}}, "expression.value.infinite"),
        ({"rules": ["if sex then age = 20"]}, "expression.value.type"),
        ({"rules": ["if" + " " * 9000 + "then"]}, "synthesis.rule.malformed"),
        (
            {"rules": ["if age < 22 then sex = __import__('os')"]},
            "synthesis.rule.malformed",
        ),
        ({"rules": ["if age < 22 then sex = ['f']"]}, "synthesis.rule.malformed"),
    ],
)
def test_what_would_fail_later_is_refused_in_the_plan(options: dict, message: str) -> None:
    with refused(message):
        make_plan(TABLE, options)


@pytest.mark.parametrize(
    "text",
    ["if age < 18 then `net pay` = 0", "`a b` <= `c d`", "if `then` == 1 then `if` = missing"],
)
def test_a_rule_is_read_again_as_it_is_printed(text: str) -> None:
    rule = parse_rule(text)
    assert parse_rule(str(rule)) == rule


MANY = TABLE.take(list(range(30)) * 4)


@pytest.mark.parametrize("name", ["minbucket", "minsplit", "cp", "prune", "max_depth", "trees"])
def test_settings_of_plain_trees_need_their_method(name: str) -> None:
    value = {"prune": False, "cp": 0.1}.get(name, 7)
    method = "forest" if name == "trees" else "cart"
    words = (
        f"{name} is not for guarded trees, the method of columns for which none is named; name "
        f'the method, method = "{method}", or leave {name} out.'
    )
    with pytest.raises(CaveatError) as caught:
        make_plan(TABLE, {name: value})
    assert str(caught.value) == f"synthesis: {words}"
    with pytest.raises(CaveatError) as caught:
        make_plan(TABLE, {"columns": {"age": {name: value}}})
    assert str(caught.value) == f"synthesis, column age: {words}"
    with refused("synthesis.setting.unused", where="synthesis"):
        make_plan(TABLE, {"method": "guarded", name: value})
    # Where a column has the method they are its own, and what no tree draws they do not bother.
    age = make_plan(TABLE, {name: value, "columns": {"age": {"method": method}}}).columns["age"]
    assert getattr(age.settings, name) == value
    assert make_plan(TABLE, {"method": "sample", name: value}).columns["age"].predictors == ()


@pytest.mark.parametrize("method", ["cart", "forest"])
def test_plain_trees_with_a_guard_are_a_misunderstanding(method: str) -> None:
    told = {"method": method, "guard": "strong"}
    with refused("synthesis.setting.unused", where="synthesis"):
        make_plan(TABLE, told)
    with refused("synthesis.setting.unused", column="age", where="synthesis"):
        make_plan(TABLE, {"method": method, "columns": {"age": {"depth": 3}}})
    mixed = make_plan(TABLE, {**told, "columns": {"age": {"method": "guarded"}}})
    assert mixed.columns["age"].settings.guard == "strong"


def guarded(**options: object) -> dict[str, object]:
    return {"method": "guarded", "drop": ["name"], **options}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "synthesis.setting.range"),
        ({"temperature": -1.5}, "synthesis.setting.range"),
        ({"temperature": float("nan")}, "synthesis.setting.range"),
        ({"smallest": 0}, "synthesis.setting.range"),
        ({"floor": 0}, "synthesis.setting.range"),
        ({"backoff": -1}, "synthesis.setting.range"),
        ({"depth": 2.5}, "synthesis.setting.range"),
        ({"guard": "strng"}, "synthesis.guard.unknown"),
        ({"proper": True}, "synthesis.setting.conflict"),
        ({"smoothing": "kernel"}, "synthesis.setting.conflict"),
        ({"columns": {"age": {"range": [0, 120]}}}, "synthesis.setting.type"),
        ({"columns": {"age": {"range": 120}}}, "synthesis.setting.type"),
        ({"columns": {"age": {"range": [120, 0, 1]}}}, "synthesis.setting.range"),
        ({"columns": {"age": {"range": [21, 120, 1]}}}, "data.value.range"),
        ({"columns": {"age": {"range": [0.5, 120, 1]}}}, "synthesis.setting.type"),
        ({"columns": {"sex": {"range": [0, 1, 1]}}}, "synthesis.column.type"),
        ({"columns": {"sex": {"scale": "even"}}}, "synthesis.column.type"),
        ({"columns": {"age": {"scale": 3}}}, "synthesis.scale.unknown"),
        ({"range": [0, 1, 1]}, "synthesis.setting.unknown"),
    ],
)
def test_numbers_that_no_guard_can_follow(options: dict[str, object], message: str) -> None:
    with refused(message):
        make_plan(TABLE, guarded(**options))


def test_what_is_declared_is_not_assumed_public() -> None:
    own = {"age": {"range": [0, 120, 1], "scale": "geometric", "guard": "strong"}}
    plan = make_plan(TABLE, guarded(columns=own, special={"weight": [60]}))
    age = plan.columns["age"]
    assert age.settings.guard == "strong"
    assert age.grid is not None
    assert (age.grid.low, age.grid.high, age.grid.step, age.grid.scale) == (0, 120, 1, "geometric")
    assert age.grid.declared
    assert assumed_public(plan) == (
        "height: range 159 to 169 by 1, even cells",
        "weight: range 61 to 64 by 1, even cells",
        "bmi: range 20.5 to 22.5 by 0.1, even cells",
    )
    assert assumed_public(make_plan(TABLE, {"method": "cart"})) == ()


def test_a_heap_that_was_read_off_the_data_is_assumed_public() -> None:
    pay = [0] * 40 + [100 * (i % 30 + 1) for i in range(60)]
    table = Table.from_frame({"sex": ["f", "m"] * 50, "pay": pay, "w": [2, 4] * 50})
    own = {"pay": {"range": [0, 10_000, 1], "scale": "even"}}
    told = {"method": "guarded", "columns": own, "keep": ["pay"]}
    plan = make_plan(table, {**told, "weights": "w"})
    assert plan.columns["pay"].special == (0,)
    assert assumed_public(plan) == (
        "pay: 0 is modelled apart",
        "a weight of 3 counts as one record",
    )
    said = make_plan(table, {**told, "special": {"pay": [0]}, "drop": ["w"]})
    assert assumed_public(said) == ()


def test_a_guarded_column_of_too_many_levels_is_drawn_from_its_own_shares() -> None:
    n = 50_000
    table = Table.from_frame({"sex": ["f", "m"] * n, "place": [f"k{i % n}" for i in range(2 * n)]})
    plan = make_plan(table, {"method": "guarded", "keep": ["place"], "rare_below": 1})
    assert plan.columns["place"].predictors == ()
    assert (
        "place has 50,000 levels, too many for guarded trees to draw it from others: it is drawn "
        "from its own shares"
    ) in plan.remarks


def test_a_guarded_column_with_one_level_has_it_always() -> None:
    model = Synthesizer(seed=1, **guarded()).fit(MANY)
    assert set(model.tables()[0]["one"].values) == {1}


def test_a_guard_does_not_hide_ten_people() -> None:
    few = TABLE.take(range(10)).drop(["name", "one"])
    with pytest.warns(CaveatWarning, match="the table has 10 rows"):
        model = Synthesizer(seed=1, method="guarded").fit(few)
    assert model.tables()[0].n_rows == 10


def test_weights_of_zero_count_nobody() -> None:
    people = MANY.drop(["name", "one"])
    nobody = Table({**people.columns, **Table.from_frame({"w": [0] * 120}).columns})
    with refused("data.weights.range", column="w"):
        make_plan(nobody, {"method": "guarded", "weights": "w"})
    some = Table({**people.columns, **Table.from_frame({"w": [0, 3] * 60}).columns})
    model = Synthesizer(seed=1, method="guarded", weights="w", backoff=1e-9, floor=1e-9).fit(some)
    # A root is (n + 1/2)/(n + 1), so that a woman comes once in a hundred draws or so.
    sexes = list(model.tables()[0]["sex"].values)
    assert sexes.count("m") > 110


def test_a_rule_may_give_the_value_of_another_column():
    rule = parse_rule("if a < 3 then b = `c`")
    assert (rule.sources, rule.target) == (("a", "c"), "b")
    assert str(rule) == "if a < 3 then b = `c`"
    table = Table.from_frame({"a": [1, 2, 5], "c": ["x", "y", "x"], "b": ["x", "x", "y"]})
    assert rule.contradictions(table) == 1
    assert parse_rule("if a < 3 then b = `c d`").other == "c d"
