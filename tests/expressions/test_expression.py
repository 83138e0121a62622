"""The language of formulas and conditions."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from caveat.errors import CaveatError
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
    ],
)
def test_formulas(text: str, expected: list[float]) -> None:
    np.testing.assert_allclose(Expression(text).evaluate(COLUMNS), expected, rtol=1e-12)


def test_columns_are_listed_in_the_order_in_which_they_occur() -> None:
    assert Expression("max(b, `a c`) + b / d").columns == ("b", "a c", "d")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age <", "cannot be read"),
        ("__import__('os').remove('x')", "not part of the language"),
        ("age.codes", "not part of the language"),
        ("[x for x in age]", "not part of the language"),
        ("lambda: 1", "not part of the language"),
        ("age[0]", "not part of the language"),
        ("open('x')", "not part of the language"),
        ("`age", "a backtick is not closed"),
    ],
)
def test_what_is_not_in_the_language_is_refused_unread(text: str, message: str) -> None:
    with pytest.raises(CaveatError, match=message):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee > 1", "there is no column 'agee'"),
        ("sex + 1", "a column of text stands where a number is expected"),
        ("age > 'old'", "a number is compared with text"),
        ("edu > 'top'", "not one of its levels"),
        ("born > 'soon'", "a date is expected"),
        ("not age", "a condition is expected"),
    ],
)
def test_mistakes_with_columns_are_said_when_met(text: str, message: str) -> None:
    with pytest.raises(CaveatError, match=message):
        Expression(text).evaluate(COLUMNS)
