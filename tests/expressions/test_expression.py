"""The language of formulas and conditions."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.expressions import Expression
from caveat.table import Missing, Table

TABLE = Table.from_frame(
    pd.DataFrame(
        {
            "age": [15, 40, 70, 17],
            "income": pd.array([None, 1200, 800, -8], dtype="Int64"),
            "sex": ["f", "m", None, "f"],
            "edu": pd.Categorical(
                ["low", "high", "mid", "low"], ["low", "mid", "high"], ordered=True
            ),
            "works": [False, True, True, False],
            "born": [dt.date(2009, 1, 1), dt.date(1984, 5, 5), dt.date(1954, 2, 2), None],
            "net income": [1.5, 2.5, 3.5, 4.5],
            "other": ["f", "f", None, None],
            "goal": pd.Categorical(
                ["mid", "high", None, "low"], ["low", "mid", "high"], ordered=True
            ),
            "seen": [dt.datetime(2024, 1, 1, 12)] * 4,
        }
    )
)
COLUMNS = TABLE.with_columns(
    {"income": TABLE["income"].declare_missing([Missing(-8, "not asked")])}
).columns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age < 18", [True, False, False, True]),
        ("18 <= age < 70", [False, True, False, False]),
        ("18 > age", [True, False, False, True]),
        ("age == 40 or age == 70", [False, True, True, False]),
        ("not age < 18 and sex == 'm'", [False, True, False, False]),
        ("sex != 'f'", [False, True, True, False]),
        ("sex in ['m', 'x']", [False, True, False, False]),
        ("sex not in ('m', 'x')", [True, False, True, True]),
        ("edu >= 'mid'", [False, True, True, False]),
        ("'mid' > edu", [True, False, False, True]),
        ("works", [False, True, True, False]),
        ("income == -8", [False, False, False, True]),
        ("income != -8", [True, True, True, False]),
        ("income > 900", [False, True, False, False]),
        ("missing(income)", [True, False, False, True]),
        ("missing(sex) or age > 60", [False, False, True, False]),
        ("born < '1970-01-01'", [False, False, True, False]),
        ("`net income` > 3", [False, False, True, True]),
        ("age / 2 > `net income` * 10", [False, False, False, False]),
        ("(age < 18) & (sex == 'f') | works", [True, True, True, True]),
        ("~(age < 18)", [False, True, True, False]),
        ("age < 18 & sex == 'f'", [True, False, False, True]),
        ("not not works", [False, True, True, False]),
        ("not income > 900", [True, False, True, True]),
        ("income not in [1200]", [True, False, True, True]),
        ("income != income", [True, False, False, True]),
        ("sex == other", [True, False, False, False]),
        ("sex != other", [False, True, True, True]),
        ("edu < goal", [True, False, False, False]),
        ("born < seen", [True, True, True, False]),
        ("born == '2009-01-01' or missing(born)", [True, False, False, True]),
        ("edu == 'nowhere'", [False, False, False, False]),
        ("age == 9223372036854775807 or age > -1e300", [True, True, True, True]),
        ("works == True", [False, True, True, False]),
        ("works + 1 == 2", [False, True, True, False]),
        ("missing(income / 2)", [True, False, False, True]),
        ("5 in [age - 10, 1]", [True, False, False, False]),
        ("'a' < 'b'", [True, True, True, True]),
    ],
)
def test_conditions(text: str, expected: list[bool]) -> None:
    assert Expression(text).evaluate(COLUMNS).tolist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age + 1", [16, 41, 71, 18]),
        ("-age", [-15, -40, -70, -17]),
        ("income / 100", [np.nan, 12, 8, np.nan]),
        ("round(age / 10)", [2, 4, 7, 2]),
        ("round(`net income` / 2, 1)", [0.8, 1.2, 1.8, 2.2]),
        ("max(age, 20) - min(age, 20)", [5, 20, 50, 3]),
        ("age // 10 * 10", [10, 40, 70, 10]),
        ("sqrt(abs(age)) ** 2", [15, 40, 70, 17]),
        ("age / (age - 15)", [np.inf, 1.6, 70 / 55, 8.5]),
        ("2 ** -1 * age", [7.5, 20, 35, 8.5]),
        ("-age ** 2", [-225, -1600, -4900, -289]),
        ("2 ** 3 ** 2 - age % 4", [509, 512, 510, 511]),
        ("np.log(age) - log(age)", [0, 0, 0, 0]),
        ("7 // 2", [3, 3, 3, 3]),
        ("(age > 16) * 5", [0, 5, 5, 5]),
    ],
)
def test_formulas(text: str, expected: list[float]) -> None:
    np.testing.assert_allclose(Expression(text).evaluate(COLUMNS), expected, rtol=1e-12)


def test_columns_are_listed_in_the_order_in_which_they_occur() -> None:
    assert Expression("max(b, `a c`) + b / d").columns == ("b", "a c", "d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age <", "expression.formula.malformed"),
        ("__import__('os').remove('x')", "expression.formula.malformed"),
        ("age.codes", "expression.formula.malformed"),
        ("[x for x in age]", "expression.formula.malformed"),
        ("lambda: 1", "expression.formula.malformed"),
        ("age[0]", "expression.formula.malformed"),
        ("open('x')", "expression.formula.malformed"),
        ("`age", "expression.formula.malformed"),
        ("'age", "expression.formula.malformed"),
        ("", "expression.formula.malformed"),
        ("(age", "expression.formula.malformed"),
        ("age)", "expression.formula.malformed"),
        ("age 5", "expression.formula.malformed"),
        ("(x := age)", "expression.formula.malformed"),
        ("f'{age}'", "expression.formula.malformed"),
        ("b'a'", "expression.formula.malformed"),
        ("1j", "expression.formula.malformed"),
        ("...", "expression.formula.malformed"),
        ("max(*age)", "expression.formula.malformed"),
        ("age\x00", "expression.formula.malformed"),
        ("age + \udcff", "expression.formula.malformed"),
        ("age if age else age", "expression.formula.malformed"),
        ("[1] * 10**8", "expression.formula.malformed"),
        ("age in 5", "expression.list.absent"),
        ("age in []", "expression.list.empty"),
        ("min()", "expression.argument.mismatch"),
        ("round()", "expression.argument.mismatch"),
        ("log(age, 2)", "expression.argument.mismatch"),
        ("missing(5)", "expression.argument.type"),
        ("missing()", "expression.argument.type"),
        ("1 / 0", "expression.value.infinite"),
        ("age + 10**10**10", "expression.value.infinite"),
        ("9**9**9", "expression.value.infinite"),
        ("age > log(0)", "expression.value.infinite"),
        ("'a' + 1", "expression.value.type"),
        ("age * ('a' * 10**8)", "expression.value.type"),
        ("1 < 'a'", "expression.value.mismatch"),
        ("1e999", "expression.number.too-large"),
        ("1" * 41, "expression.number.too-long"),
        ("-" * 5000 + "1", "expression.bracket.too-many"),
        ("(" * 5000, "expression.bracket.too-many"),
        ("not " * 1000 + "works", "expression.bracket.too-many"),
        ("2" + "**1" * 1000, "expression.bracket.too-many"),
        ("age" + " + age" * 2000, "expression.formula.too-long"),
        ("sex == '\\d'", "expression.formula.malformed"),
    ],
)
def test_what_is_not_in_the_language_is_refused_unread(text: str, message: str) -> None:
    with refused(message):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee > 1", "data.column.unknown"),
        ("sex + 1", "expression.value.type"),
        ("age > 'old'", "expression.value.mismatch"),
        ("edu > 'top'", "data.level.unknown"),
        ("born > 'soon'", "expression.date.malformed"),
        ("not age", "expression.value.type"),
        ("sex < 5", "expression.value.mismatch"),
        ("age == 'old'", "expression.value.mismatch"),
        ("sex == age", "expression.value.mismatch"),
        ("born > 5", "expression.date.malformed"),
        ("born > 'now'", "expression.date.malformed"),
        ("born > '2024-02-31'", "expression.date.malformed"),
        ("round(age, age)", "expression.argument.range"),
        ("round(age, 99)", "expression.argument.range"),
        ("age in [1] in [2]", "expression.list.unsupported"),
        ("age + 'a'", "expression.value.type"),
        ("__class__", "data.column.unknown"),
        ("größe > 1", "data.column.unknown"),
    ],
)
def test_mistakes_with_columns_are_said_when_met(text: str, message: str) -> None:
    with refused(message):
        Expression(text).evaluate(COLUMNS)


def test_what_is_as_deep_as_allowed_can_be_computed() -> None:
    text = "age"
    for _ in range(29):
        text = f"(0 * 1 - {text} * 1)"
    assert np.abs(Expression(text).evaluate(COLUMNS)).tolist() == [15, 40, 70, 17]
    text = "works"
    for _ in range(29):
        text = f"(False or True and 0 < 1 + 1 * {text})"
    assert Expression(text).holds(COLUMNS).tolist() == [True] * 4


def test_long_chains_are_no_nesting() -> None:
    assert Expression("age" + "+1" * 4000).evaluate(COLUMNS)[0] == 4015
    assert Expression("works" + " and works" * 900).holds(COLUMNS).tolist() == [
        False, True, True, False,
    ]  # fmt: skip


def test_a_condition_is_told_from_a_number() -> None:
    with refused("expression.value.type", where="expression 'age + 1'"):
        Expression("age + 1").holds(COLUMNS)
    assert Expression("True").holds(COLUMNS).tolist() == [True] * 4


def test_a_code_of_missing_need_be_no_date() -> None:
    born = TABLE["born"].declare_missing([Missing("9999-99-99")])
    assert Expression("born == '9999-99-99'").holds({"born": born}).tolist() == [False] * 4


def test_truth_values_and_numbers_beyond_63_bits():
    columns = Table.from_frame({"b": [True, False]}).columns
    assert Expression("b == 18446744073709551615").holds(columns).tolist() == [False, False]
    assert Expression("b < 18446744073709551615").holds(columns).tolist() == [True, True]
    assert Expression("b == 1").holds(columns).tolist() == [True, False]
