"""Our design matrices beside those of patsy: the same columns, names and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from patsy import dmatrix
from tests.refusals import refused

from caveat.expressions import Categories, Formula, design
from caveat.table import Table

RNG = np.random.default_rng(18)
N = 240
FRAME = pd.DataFrame(
    {
        "y": RNG.normal(size=N),
        "age": RNG.integers(18, 90, N).astype(float),
        "pay": RNG.uniform(1, 9, N).round(3),
        "net pay": RNG.uniform(1, 9, N).round(3),
        "sex": RNG.choice(["f", "m"], N),
        "edu": RNG.choice(["high", "low", "mid"], N),
        "area": RNG.choice(["e", "n", "s", "w"], N),
        "year": RNG.choice([2001.5, 2002.5, 2003.5], N),
    }
)
TABLE = Table.from_frame(FRAME)


def factors(formula: Formula) -> dict:
    found = {}
    for name in formula.factors:
        column = formula.column(name)
        if column is None:
            value = formula.compute(name, TABLE.columns)
            if value.dtype == bool:
                value = Categories(value.astype(int), ("False", "True"))
        elif TABLE[column].kind.is_number and not formula.is_category(name):
            value = TABLE[column].cell_numbers
        else:
            levels = tuple(map(str, TABLE[column].levels))
            value = Categories(TABLE[column].codes.astype(int), levels)
        found[name] = value
    return found


@pytest.mark.parametrize(
    "terms",
    [
        "1",
        "age",
        "sex",
        "age + sex",
        "sex + age",
        "age + sex - 1",
        "0 + sex",
        "sex + edu + 0",
        "-1 + age",
        "0 + age + 1",
        "age*sex",
        "sex*age",
        "sex*edu",
        "edu:sex",
        "age:sex",
        "sex + edu:sex",
        "edu:sex + sex",
        "age + age:sex",
        "age:sex + age:edu",
        "0 + sex:edu",
        "0 + sex + sex:edu",
        "0 + age:sex",
        "0 + age:sex + sex",
        "sex*edu*area",
        "sex*edu*age",
        "(sex + edu + area)**2",
        "(sex + age + pay)**2",
        "(age + sex)**5",
        "sex*edu*area - sex:edu:area",
        "sex*edu - sex",
        "sex*edu - edu - sex",
        "age + pay + age:pay",
        "sex:edu:area",
        "area + sex:edu:area",
        "sex:edu + edu:area + sex:area",
        "C(year)",
        "C(year)*sex",
        "C(edu) + edu:age",
        "np.log(pay) + np.sqrt( age )",
        "np.log(pay+1)*sex",
        "I(age**2)",
        "age + I(age**2) + I(-age/10+pay*2)",
        "I(age>40)",
        "I(age > 40)*sex",
        "I((age>40)&(pay<5))",
        "Q('net pay') + sex:Q('net pay')",
        'Q("net pay")*age',
        "(age)",
        "(age + (sex))",
        "+ age",
        "age - (sex + 1)",
        "age - 0",
        "age + age",
        "sex:edu + edu:sex",
        "((age + sex)*edu):pay",
    ],
)
def test_the_same_columns_as_patsy(terms: str) -> None:
    formula = Formula.parse(f"y ~ {terms}")
    names, matrix = design(formula.terms, factors(formula))
    expected = dmatrix(terms, FRAME)
    assert names == expected.design_info.column_names
    np.testing.assert_allclose(matrix, np.asarray(expected), rtol=1e-13)


@pytest.mark.parametrize(("ours", "theirs"), [
    ("`net pay` * sex", "Q('net pay') * sex"),
    ("log(pay) + exp(age / 100) + sqrt(pay) + abs(age)", "np.log(pay) + np.exp(age / 100)"
     " + np.sqrt(pay) + np.abs(age)"),
    ("I(sex == 'm' and not edu in ['low', 'mid'])", "I((sex == 'm') & (edu == 'high'))"),
    ("I(max(age, 40))", "I(np.maximum(age, 40))"),
])  # fmt: skip
def test_the_same_numbers_in_our_own_words(ours: str, theirs: str) -> None:
    formula = Formula.parse(f"y ~ {ours}")
    _, matrix = design(formula.terms, factors(formula))
    np.testing.assert_allclose(matrix, np.asarray(dmatrix(theirs, FRAME)), rtol=1e-13)


def test_names_in_our_own_words() -> None:
    formula = Formula.parse("y ~ `net pay`:sex + log(`net pay`+1)")
    names, _ = design(formula.terms, factors(formula))
    assert names == [
        "Intercept", "`net pay`:sex[f]", "`net pay`:sex[m]", "log(`net pay` + 1)",
    ]  # fmt: skip


def test_a_model_with_too_many_coefficients_is_refused() -> None:
    many = Categories(np.arange(50), tuple(map(str, range(50))))
    with refused("expression.coefficient.too-many"):
        design([("a", "b")], {"a": many, "b": many})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "expression.formula.malformed"),
        ("~ age", "expression.formula.malformed"),
        ("poisson: ~ age", "expression.formula.malformed"),
        ("y ~", "expression.formula.malformed"),
        ("y ~ age +", "expression.formula.malformed"),
        ("y ~ (age", "expression.formula.malformed"),
        ("y ~ age ~ sex", "expression.formula.malformed"),
        ("y + age ~ sex", "expression.response.type"),
        ("5 ~ sex", "expression.response.type"),
        ("log(5) ~ sex", "expression.response.type"),
        ("y ~ 2", "expression.formula.unsupported"),
        ("y ~ age / 2", "expression.formula.unsupported"),
        ("y ~ age > 2", "expression.formula.unsupported"),
        ("y ~ 'age'", "expression.formula.unsupported"),
        ("y ~ True", "expression.formula.unsupported"),
        ("y ~ age ** sex", "expression.argument.type"),
        ("y ~ age ** 2.5", "expression.argument.type"),
        ("y ~ age ** -1", "expression.argument.type"),
        ("y ~ 1:age", "expression.formula.unsupported"),
        ("y ~ log(2)", "expression.column.absent"),
        ("y ~ log()", "expression.argument.mismatch"),
        ("y ~ C(age, Sum)", "expression.argument.type"),
        ("y ~ C(age + 1)", "expression.argument.type"),
        ("y ~ log(C(age))", "expression.function.refused"),
        ("y ~ Q(age)", "expression.argument.type"),
        ("y ~ poly(age, 2)", "expression.formula.malformed"),
        ("y ~ np.random.normal(age)", "expression.formula.malformed"),
        ("y ~ I(__import__('os').system('x'))", "expression.formula.malformed"),
        ("y ~ I(__import__('os'))", "expression.formula.malformed"),
        ("y ~ -age", "expression.formula.unsupported"),
        ("y ~ log(age:sex)", "expression.formula.malformed"),
        ("y ~ I(9 ** 9 ** 9 + age)", "expression.value.infinite"),
        ("y ~ a:b:c:d:e:f:g", "expression.term.too-large"),
        (f"y ~ ({' + '.join(f'a{i}' for i in range(40))}) ** 9", "expression.term.too-many"),
        ("y ~ " + "(" * 40 + "a" + ")" * 40, "expression.bracket.too-many"),
        ("y ~ " + "a" * 10_000, "expression.formula.too-long"),
    ],
)
def test_what_is_no_formula_is_one_sentence(text: str, message: str) -> None:
    with refused(message):
        Formula.parse(text)
