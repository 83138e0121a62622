"""Our design matrices beside those of patsy: the same columns, names and numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from patsy import dmatrix

from caveat.errors import CaveatError
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
    with pytest.raises(CaveatError, match="the model has 2,500 coefficients"):
        design([("a", "b")], {"a": many, "b": many})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "a model is a formula"),
        ("~ age", "a model is a formula"),
        ("poisson: ~ age", "a model is a formula"),
        ("y ~", "the model cannot be read"),
        ("y ~ age +", "the model cannot be read"),
        ("y ~ (age", "the model cannot be read"),
        ("y ~ age ~ sex", "'~' is not part of the language"),
        ("y + age ~ sex", "the response is neither"),
        ("5 ~ sex", "the response is neither"),
        ("log(5) ~ sex", "the response is neither"),
        ("y ~ 2", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ age / 2", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ age > 2", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ 'age'", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ True", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ age ** sex", "\\*\\* takes terms and a whole number"),
        ("y ~ age ** 2.5", "\\*\\* takes terms and a whole number"),
        ("y ~ age ** -1", "\\*\\* takes terms and a whole number"),
        ("y ~ 1:age", "take no part in interactions"),
        ("y ~ log(2)", "names no column"),
        ("y ~ log()", "log\\(\\) takes 1 arguments, not 0"),
        ("y ~ C(age, Sum)", "C\\(\\) takes the name of one column"),
        ("y ~ C(age + 1)", "C\\(\\) takes the name of one column"),
        ("y ~ log(C(age))", "C\\(\\) stands inside a function"),
        ("y ~ Q(age)", "Q\\(\\) takes a name in quotation marks"),
        ("y ~ poly(age, 2)", "poly\\(\\) is not part of the language"),
        ("y ~ np.random.normal(age)", "'.' is not part of the language"),
        ("y ~ I(__import__('os').system('x'))", "'.' is not part of the language"),
        ("y ~ I(__import__('os'))", "__import__\\(\\) is not part of the language"),
        ("y ~ -age", "only \\+ - \\* : \\*\\* join terms"),
        ("y ~ log(age:sex)", "':' is not part of the language"),
        ("y ~ I(9 ** 9 ** 9 + age)", "its constants give no finite number"),
        ("y ~ a:b:c:d:e:f:g", "more than 6 factors"),
        (f"y ~ ({' + '.join(f'a{i}' for i in range(40))}) ** 9", "more than 500 terms"),
        ("y ~ " + "(" * 40 + "a" + ")" * 40, "more than 30 brackets"),
        ("y ~ " + "a" * 10_000, "more than 10,000 characters"),
    ],
)
def test_what_is_no_formula_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(CaveatError, match=message):
        Formula.parse(text)
