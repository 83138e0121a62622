"""Published models on the columns of a draft."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from caveat.errors import CaveatError
from caveat.synthesis.drafts.columns import Category, Numeric
from caveat.synthesis.drafts.models import Equations, Model

PLANS = {
    "y": Category(("no", "yes"), (0.5, 0.5)),
    "n": Numeric(2, 1, least=0),
    "x": Numeric(0, 1),
    "g": Category(("a", "b", "c"), (0.5, 0.3, 0.2)),
}


def rows(n: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    x, g = rng.normal(size=n), rng.integers(0, 3, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-x - (g == 1)))).astype(np.int64)
    return {"y": y, "n": rng.poisson(np.exp(0.3 * x + 0.5)).astype(float), "x": x, "g": g}


@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("y ~ x + g", lambda y, x: sm.GLM(y, x, family=sm.families.Binomial())),
        ("poisson: n ~ x + g", lambda y, x: sm.GLM(y, x, family=sm.families.Poisson())),
        ("n ~ x + g", sm.OLS),
        ("log(n + 1) ~ I(x ** 2) + g", sm.OLS),
    ],
)
def test_a_free_fit_is_that_of_statsmodels(formula: str, model: object) -> None:
    equations = Equations(PLANS, Model(formula, {"Intercept": 0}))
    fitted = equations.fit(rows(), free=True)
    found = model(fitted.response, fitted.matrix).fit()  # type: ignore[operator]
    assert fitted.beta == pytest.approx(found.params, abs=1e-7)
    assert fitted.errors == pytest.approx(found.bse, rel=1e-5)


def test_coefficients_that_are_not_published_suit_the_others() -> None:
    equations = Equations(PLANS, Model("y ~ x + g", {"x": 2.0}))
    fitted = equations.fit(rows())
    assert fitted.beta[list(equations.names).index("x")] == 2
    score = fitted.matrix.T @ (fitted.response - fitted.mean)
    assert np.abs(score[~equations.given]).max() < 1e-8


def test_the_reference_level_can_be_another() -> None:
    names = Equations(PLANS, Model("y ~ g", {"Intercept": 0}, reference={"g": "c"})).names
    assert names == ["Intercept", "g[T.a]", "g[T.b]"]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (Model("y ~ z", {}), "'z', which is no column"),
        (Model("y ~ x", {"age": 1}), "no term 'age'"),
        (Model("y ~ x", {}), "nothing of the model is published"),
        (Model("poisson: x ~ n", {"n": 1}), "x may be negative"),
        (Model("logistic: n ~ x", {"x": 1}), "n is a number"),
        (Model("y ~ x", {}, {"x": -1}), "standard error is above 0"),
        (Model("multinomial: g ~ x", {}), "family 'multinomial'"),
        (Model("g ~ x", {"x": 1}), "does not suit the family logistic"),
        (Model("y ~ g", {}, reference={"g": "d"}), "'g' has no level 'd'"),
        (Model("y ~ C(x)", {"x": 1}), "declared as numbers"),
    ],
)
def test_models_that_cannot_be(model: Model, says: str) -> None:
    with pytest.raises(CaveatError, match=says):
        Equations(PLANS, model)
