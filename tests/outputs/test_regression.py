"""Regressions: checked for being one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from tests.refusals import refused

from caveat.outputs.checking import check_model, check_table
from caveat.outputs.output_table import Regression
from caveat.outputs.statbarns import Checked, Rules, Verdict


def rules_of(found: Checked) -> dict[str, Verdict]:
    return {one.rule: one.verdict for one in found.findings}


def test_an_ordinary_regression_is_safe() -> None:
    model = Regression(("Intercept", "sex[T.m]", "age"), n=1440)
    assert check_model(model).verdict is Verdict.SAFE


def test_n_observations_and_n_less_1_variables_are_the_data() -> None:
    """The paper's naive researcher: a faithful reproduction of the data as an equation."""
    terms = ("Intercept", *(f"x{i}" for i in range(18)))
    assert rules_of(check_model(Regression(terms, n=20))) == {"degrees_of_freedom": Verdict.REFUSE}
    assert check_model(Regression(terms, n=29)).verdict is Verdict.SAFE
    assert rules_of(check_model(Regression(terms, n=29), Rules(degrees_of_freedom=11)))
    assert rules_of(check_model(Regression(terms))) == {"degrees_of_freedom": Verdict.REVIEW}
    assert check_model(Regression(terms, n=20, df_resid=10)).verdict is Verdict.SAFE


@pytest.mark.parametrize(
    ("terms", "saturated"),
    [
        (["Intercept", "a[T.1]"], True),  # one binary variable
        (["Intercept", "a[T.1]", "b[T.1]", "a[T.1]:b[T.1]"], True),
        (["Intercept", "a[T.1]", "b[T.1]"], False),
        (["Intercept", "a[T.1]", "a[T.2]", "b[T.1]", "a[T.1]:b[T.1]", "a[T.2]:b[T.1]"], True),
        (["a[0]", "a[1]"], True),  # without a constant every level has its own
        (["Intercept", "a[T.1]", "age"], False),
        (["Intercept"], True),  # the mean
    ],
)
def test_a_saturated_model_is_a_table(terms: list[str], saturated: bool) -> None:
    found = rules_of(check_model(Regression(tuple(terms), n=500)))
    assert found == ({"saturated": Verdict.REVIEW} if saturated else {})


def test_a_fitted_model_is_seen_by_its_design() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.integers(0, 2, 200) for name in "ab"})
    data["age"], data["y"] = rng.normal(size=(2, 200))
    full = smf.ols("y ~ a * b", data).fit()  # 0 and 1: names do not tell
    assert rules_of(check_model(full)) == {"saturated": Verdict.REVIEW}
    assert check_model(smf.ols("y ~ a + b", data).fit()).verdict is Verdict.SAFE
    assert check_model(smf.logit("a ~ b + age", data).fit(disp=0)).verdict is Verdict.SAFE
    few = check_model(smf.ols("y ~ age", data.head(8)).fit())
    assert rules_of(few) == {"degrees_of_freedom": Verdict.REFUSE}
    with refused("outputs.setting.type"):
        check_model("y ~ x")


def test_the_table_form() -> None:
    frame = pd.DataFrame({"term": ["Intercept", "age"], "estimate": [1.5, 2], "se": [1, 1],
                          "n": [11, 11]})  # fmt: skip
    found = check_table(frame)
    assert found.form == "regression"
    assert found.barns == ("correlation coefficients and models",)
    assert rules_of(found) == {"degrees_of_freedom": Verdict.REFUSE}
    with refused("outputs.value.mismatch", column="n"):
        check_table(frame.assign(n=[11, 12]))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"coefficients": []}, "outputs.table.empty"),
        ({"coefficients": [{"estimate": 1}]}, "outputs.entry.absent"),
        ({"coefficients": [{"term": "x"}], "n": "many"}, "outputs.entry.range"),
        ({"coefficients": [{"term": "x"}], "df_resid": -1}, "outputs.entry.range"),
        ({"coefficients": [{"term": "x"}], "saturated": 1}, "outputs.entry.type"),
    ],
)
def test_documents_that_are_no_regression(content: dict[str, Any], text: str) -> None:
    with refused(text):
        Regression.from_document(content)


def test_a_document_may_say_that_it_is_saturated() -> None:
    content = {"coefficients": [{"term": "const"}, {"term": "female"}], "n": 100, "saturated": True}
    assert Regression.from_document(content).is_saturated
    assert not Regression.from_document({**content, "saturated": None}).is_saturated
