"""Published models on the columns of a draft."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from tests.refusals import refused

from caveat.synthesis.drafts.columns import Category, Numeric
from caveat.synthesis.drafts.plan import Equations, Model

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


FAMILIES = {
    "logistic": lambda y, x: sm.GLM(y, x, family=sm.families.Binomial()),
    "poisson": lambda y, x: sm.GLM(y, x, family=sm.families.Poisson()),
    "linear": sm.OLS,
}


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5, 1e7])
def test_large_and_small_regressors_are_fitted_as_by_statsmodels(family: str, scale: float) -> None:
    """The fit begins without the published number, which is far off, and ends at the estimate."""
    rng = np.random.default_rng(1)
    x, a = rng.lognormal(0, 0.7, 2000), rng.normal(40, 10, 2000)
    at = 0.5 * x + 0.03 * a - 2
    y = {
        "logistic": (rng.random(2000) < 1 / (1 + np.exp(-at))).astype(np.int64),
        "poisson": rng.poisson(np.exp(at)).astype(float),
        "linear": at + rng.normal(size=2000),
    }[family]
    own = Category(("0", "1"), (0.5, 0.5)) if family == "logistic" else Numeric(1, 1, least=0)
    plans = {"y": own, "x": Numeric(scale, scale, least=0), "a": Numeric(40, 10)}
    equations = Equations(plans, Model(f"{family}: y ~ x + a", {"a": 0.3, "x": 2 / scale}))
    fitted = equations.fit({"y": y, "x": x * scale, "a": a}, free=True)
    found = FAMILIES[family](y, sm.add_constant(np.column_stack([x, a]))).fit()
    sizes = np.array([1, scale, 1])
    assert equations.names == ["Intercept", "x", "a"]
    assert fitted.beta * sizes == pytest.approx(found.params, rel=1e-6)
    assert fitted.errors * sizes == pytest.approx(found.bse, rel=1e-5)
    assert fitted.converged


@pytest.mark.parametrize(("low", "high"), [(18, 95), (1930, 2000)])
def test_ages_and_years_with_their_squares_are_fitted_as_by_statsmodels(
    low: int, high: int
) -> None:
    rng = np.random.default_rng(1)
    a = np.round(rng.uniform(low, high, 2000))
    y = 2 + 0.1 * a - 0.001 * (a - low) ** 2 + rng.normal(size=2000)
    plans = {"y": Numeric(5, 2), "a": Numeric((low + high) / 2, 20)}
    equations = Equations(plans, Model("linear: y ~ a + I(a ** 2)", {"a": 5.0}))
    fitted = equations.fit({"y": y, "a": a}, free=True)
    # The same parabola around the middle of the ages, where all digits are left.
    b = a - (low + high) / 2
    found = sm.OLS(y, np.column_stack([np.ones(2000), b, b**2])).fit()
    assert fitted.beta[2] == pytest.approx(found.params[2], rel=1e-6)
    assert fitted.errors[2] == pytest.approx(found.bse[2], rel=1e-6)
    middle = fitted.beta[1] + 2 * fitted.beta[2] * (low + high) / 2
    assert middle == pytest.approx(found.params[1], rel=1e-6)
    whole = sm.OLS(y, np.column_stack([np.ones(2000), a, a**2])).fit()
    assert fitted.beta == pytest.approx(whole.params, rel=1e-5)
    assert fitted.errors == pytest.approx(whole.bse, rel=1e-5)


def test_groups_that_are_told_apart_completely_have_no_estimate() -> None:
    x = np.linspace(-1, 1, 100)
    equations = Equations(PLANS, Model("y ~ x", {"x": 1}))
    fitted = equations.fit({"x": x, "y": (x > 0).astype(np.int64)}, free=True)
    assert not fitted.converged


@pytest.mark.parametrize("level", [0.0, 7.0, 1e7])
def test_a_response_that_is_constant_is_fitted(level: float) -> None:
    fitted = Equations(PLANS, Model("n ~ x + g", {"x": 1})).fit(
        {**rows(), "n": np.full(300, level)}, free=True
    )
    assert fitted.converged
    assert fitted.beta == pytest.approx([level, 0, 0, 0], abs=1e-9 * max(level, 1))


def test_terms_that_follow_from_others_are_named() -> None:
    equations = Equations(PLANS, Model("n ~ x + I(2 * x) + g", {"x": 1}))
    given = rows()
    fitted = equations.fit({**given, "g": given["g"] % 2}, free=True)
    named = dict(zip(equations.names, fitted.blind.tolist(), strict=True))
    assert named == {"Intercept": False, "x": True, "I(2 * x)": True, "g[T.b]": False,
                     "g[T.c]": True}  # fmt: skip


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
        (Model("y ~ z", {}), "data.column.unknown"),
        (Model("y ~ x", {"age": 1}), "draft.term.unknown"),
        (Model("y ~ x", {}), "draft.entry.absent"),
        (Model("poisson: x ~ n", {"n": 1}), "draft.column.range"),
        (Model("logistic: n ~ x", {"x": 1}), "draft.column.type"),
        (Model("y ~ x", {}, {"x": -1}), "draft.entry.range"),
        (Model("multinomial: g ~ x", {}), "draft.family.unsupported"),
        (Model("g ~ x", {"x": 1}), "draft.column.type"),
        (Model("y ~ g", {}, reference={"g": "d"}), "draft.level.unknown"),
        (Model("y ~ C(x)", {"x": 1}), "draft.column.type"),
    ],
)
def test_models_that_cannot_be(model: Model, says: str) -> None:
    with refused(says):
        Equations(PLANS, model)
