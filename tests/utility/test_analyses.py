"""Models on both sides, combining rules, predictions and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.table import Table
from caveat.utility import (
    Coefficients,
    EditRule,
    WeightedPair,
    check_rules,
    combine,
    compare,
    compare_model,
    overlap,
    train_on_synthetic,
)


@pytest.mark.parametrize("generator", ["CART", "TVAE", "Multi"])
def test_published_coefficients(generator: str, golden: dict[str, Any]) -> None:
    case = golden["coefficients"]
    real, synthetic = np.array(case["real"]).T, np.array(case["synthetic"][generator]).T
    found = Coefficients(("intercept", "year", "gender", "ioaw"), *real, *synthetic)
    # The printed figures have three decimals, not all of them rounded.
    assert np.abs(found.standardised) == pytest.approx(case["standardised"][generator], abs=6e-4)
    assert found.overlap == pytest.approx(case["overlap"][generator], abs=1e-3)
    assert found.overlap_equal_width == pytest.approx(
        case["overlap_equal_width"][generator], abs=1e-3
    )


def test_signs_and_significance_of_the_published_coefficients(golden: dict[str, Any]) -> None:
    """ioaw is significant in the real data and not in the synthetic ones: −1.36 (238.11)."""
    case = golden["coefficients"]
    columns = [*np.array(case["real"]).T, *np.array(case["synthetic"]["CART"]).T]
    found = Coefficients(("intercept", "year", "gender", "ioaw"), *columns)
    assert found.same_sign.tolist() == [True, True, True, True]
    assert found.same_significance.tolist() == [True, True, True, False]


def test_overlap_cases(golden: dict[str, Any]) -> None:
    for case in golden["intervals"]["cases"]:
        ends = [np.array([x], float) for x in (*case["original"], *case["synthetic"])]
        assert overlap(*ends)[0] == pytest.approx(case["overlap"])
        assert overlap(*ends, floor=True)[0] == pytest.approx(case["floored"])


@given(st.floats(-5, 5), st.floats(0.1, 5), st.floats(-5, 5), st.floats(0.1, 5))
def test_overlap_is_symmetric_and_at_most_one(
    a: float, width: float, b: float, other: float
) -> None:
    first = [np.array([x]) for x in (a, a + width, b, b + other)]
    second = [first[2], first[3], first[0], first[1]]
    value = overlap(*first)[0]
    assert value == pytest.approx(overlap(*second)[0])
    assert value <= 1 + 1e-12
    assert overlap(first[0], first[1], first[0], first[1])[0] == pytest.approx(1)


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    n = 800
    age = rng.integers(18, 80, n)
    sex = rng.choice(["f", "m"], n)
    pay = 1000 + 12 * age + 300 * (sex == "m") + rng.normal(0, 200, n)
    visits = rng.poisson(np.exp(0.02 * age - 0.5))
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(3 - 0.05 * age)), "yes", "no")
    party = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {"age": age, "sex": sex, "pay": pay, "visits": visits, "ill": ill, "party": party}
    )


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("pay ~ age + sex", "linear"),
        ("np.log(pay) ~ age * sex", "linear"),
        ("ill ~ age + sex", "logistic"),
        ("poisson: visits ~ age", "poisson"),
        ("party ~ age + sex", "multinomial"),
    ],
)
def test_families(model: str, family: str, survey: pd.DataFrame) -> None:
    found = compare_model(WeightedPair.of(survey, survey), model)
    assert found.family == family
    assert found.mean_overlap == pytest.approx(1)
    assert found.lack_of_fit == pytest.approx(0, abs=1e-9)
    assert found.coefficients.same_sign.all()
    assert found.n_original == len(survey)


def test_estimates_are_those_of_statsmodels(survey: pd.DataFrame) -> None:
    rng = np.random.default_rng(2)
    copy = survey.iloc[rng.integers(0, 800, 800)].reset_index(drop=True)
    found = compare_model(WeightedPair.of(survey, copy), "pay ~ age + sex")
    ours, theirs = (smf.ols("pay ~ age + sex", frame).fit() for frame in (survey, copy))
    terms = list(found.coefficients.terms)
    assert found.coefficients.original == pytest.approx(ours.params[terms].to_numpy())
    assert found.coefficients.original_se == pytest.approx(ours.bse[terms].to_numpy())
    assert found.coefficients.synthetic == pytest.approx(theirs.params[terms].to_numpy())
    gap = (theirs.params - ours.params)[terms].to_numpy()
    expected = gap @ np.linalg.inv(ours.cov_params().loc[terms, terms].to_numpy()) @ gap
    assert found.lack_of_fit == pytest.approx(expected)
    assert found.p_value == pytest.approx(stats.chi2.sf(expected, 3))


@pytest.mark.parametrize(
    "formula",
    [
        "pay ~ age * sex + party",
        "np.log(pay) ~ C(visits) + age:party",
        "pay ~ 0 + party + I(age**2)",
    ],
)
def test_terms_and_estimates_are_those_of_statsmodels(formula: str, survey: pd.DataFrame) -> None:
    found = compare_model(WeightedPair.of(survey, survey), formula)
    expected = smf.ols(formula, survey).fit()
    assert list(found.coefficients.terms) == list(expected.params.index)
    assert found.coefficients.original == pytest.approx(expected.params.to_numpy())
    assert found.coefficients.original_se == pytest.approx(expected.bse.to_numpy())


def test_rows_with_missing_cells_are_left_out(survey: pd.DataFrame) -> None:
    gaps = survey.assign(
        pay=survey["pay"].mask(survey["age"] < 30), sex=survey["sex"].mask(survey["age"] > 70)
    )
    pair = WeightedPair.of(gaps, gaps)
    expected = smf.ols("pay ~ age + sex", gaps).fit()
    found = compare_model(pair, "pay ~ age + sex")
    assert found.n_original == int(expected.nobs)
    assert found.coefficients.original == pytest.approx(expected.params.to_numpy())
    logistic = compare_model(pair, "ill ~ I(pay > 1500)")
    assert logistic.n_original == int(gaps["pay"].notna().sum())  # no answer is not "no"


def test_missing_cells_can_be_asked_for_in_models_and_rules(survey: pd.DataFrame) -> None:
    gaps = survey.assign(pay=survey["pay"].mask(survey["age"] < 30))
    pair = WeightedPair.of(gaps, gaps)
    found = compare_model(pair, "visits ~ age + I(missing(pay))")
    assert found.coefficients.terms == ("Intercept", "I(missing(pay))[T.True]", "age")
    assert found.n_original == len(gaps)
    assert compare_model(pair, "I(missing(pay)) ~ sex").family == "logistic"
    rules = {"young": EditRule("missing(pay)", "age < 30"), "old": EditRule("not missing(pay)")}
    results = check_rules(pair, rules)
    assert results["young"].original == 0
    assert results["old"].original == pytest.approx((gaps["age"] < 30).mean())


def test_names_of_any_sort_in_models(survey: pd.DataFrame) -> None:
    odd = survey.rename(columns={"age": "age in years"})
    pair = WeightedPair.of(odd, odd)
    terms = ("Intercept", "`age in years`")
    assert compare_model(pair, "pay ~ `age in years`").coefficients.terms == terms
    quoted = compare_model(pair, "pay ~ Q('age in years')")
    assert quoted.coefficients.terms == ("Intercept", "Q('age in years')")


def test_lack_of_fit_is_chi_squared_for_a_right_synthesis(survey: pd.DataFrame) -> None:
    """Copies drawn from the fitted model: the mean over 60 of them is df = 3 within 4 errors."""
    fit = smf.ols("pay ~ age + sex", survey).fit()
    values = []
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        pay = fit.fittedvalues + rng.normal(0, np.sqrt(fit.scale), len(survey))
        copy = survey.assign(pay=pay)[["age", "sex", "pay"]]
        pair = WeightedPair.of(survey[["age", "sex", "pay"]], copy)
        values.append(compare_model(pair, "pay ~ age + sex").lack_of_fit)
    assert abs(np.mean(values) - 3) < 4 * np.sqrt(2 * 3 / 60)


def test_levels_that_vanish_do_not_break_a_model(survey: pd.DataFrame) -> None:
    copy = survey[survey["party"] != "a"].assign(party=lambda d: d["party"].replace("c", "new"))
    found = compare_model(WeightedPair.of(survey, copy), "pay ~ party + age")
    # "b" is the only level that both have: it is the reference; "c" and "new" cannot be compared.
    assert found.coefficients.terms == ("Intercept", "age")
    assert any("left out" in note for note in found.notes)
    assert any("levels the original lacks" in note for note in found.notes)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("pay", "a model is a formula"),
        ("gamma: pay ~ age", "no family 'gamma'"),
        ("pay ~ wages", "cannot be fitted"),
        ("pay ~ I(__import__('os').system('x'))", "not part of the language"),
        ("linear: sex ~ age", "sex is no number"),
        ("logistic: party ~ age", "party has 3 categories"),
        ("log(visits) ~ age", "is infinite for some rows"),
        ("pay ~ 0", "no term or no complete row is left"),
        ("pay ~ log(sex)", "a column of text stands where a number is expected"),
    ],
)
def test_mistakes_in_models(model: str, message: str, survey: pd.DataFrame) -> None:
    with pytest.raises(CaveatError, match=message):
        compare_model(WeightedPair.of(survey, survey), model)


def test_combining_by_hand() -> None:
    q, u = [[1.0], [2.0], [3.0]], [[0.5], [0.6], [0.7]]
    sizes = {"n_original": 100, "n_synthetic": 50}
    variance = {
        "original": 0.6 * 0.5,
        "population": 0.6 * (0.5 + 1 / 3),
        "population, proper": 0.6 * (0.5 + 1.5 / 3),
        "between": 4 / 3,
        "partial": 0.6 + 1 / 3,
        "full": 4 / 3 - 0.6,
        "full, adjusted": 4 / 3 - 0.6,
    }
    for rule, expected in variance.items():
        found = combine(q, u, rule, **sizes)  # type: ignore[arg-type]
        assert found.estimate[0] == 2
        assert found.variance[0] == pytest.approx(expected), rule
    assert combine(q, u, "between").df[0] == 2
    assert combine(q, u, "full").df[0] == pytest.approx(2 * (1 - 0.6 / (4 / 3)) ** 2)
    low, high = combine(q, u, "between").interval()
    assert high[0] - low[0] == pytest.approx(2 * stats.t.ppf(0.975, 2) * np.sqrt(4 / 3))


def test_negative_variance_is_not_hidden() -> None:
    q, u = [[1.0], [1.1]], [[2.0], [2.0]]
    assert combine(q, u, "full").variance[0] < 0
    assert np.isnan(combine(q, u, "full").se[0])
    assert combine(q, u, "full, adjusted", n_original=10, n_synthetic=10).variance[0] == 2
    with refused("measure.copy.too-few"):
        combine(q[:1], u[:1], "between")


def test_population_rule_covers(survey: pd.DataFrame) -> None:
    """Means of m = 5 copies drawn from the estimated normal model of samples of 100.

    The variance rule ū (k/n + 1/m) must cover the true mean in 95 % of 2,000 samples, within four
    standard errors; ū alone (k = n) would not.
    """
    rng = np.random.default_rng(3)
    n, m, runs = 100, 5, 2000
    samples = rng.normal(0, 1, (runs, n))
    means, spreads = samples.mean(axis=1), samples.std(axis=1, ddof=1)
    copies = means[:, None, None] + spreads[:, None, None] * rng.normal(size=(runs, m, n))
    q, u = copies.mean(axis=2).T, copies.var(axis=2, ddof=1).T / n
    low, high = combine(q, u, "population", n_original=n, n_synthetic=n).interval()
    covered = ((low < 0) & (high > 0)).mean()
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs) + 0.005  # normal for t: 0.005
    low, high = combine(q, u, "original", n_original=n, n_synthetic=n).interval()
    assert ((low < 0) & (high > 0)).mean() < 0.94


def test_copies_are_combined(survey: pd.DataFrame) -> None:
    rng = np.random.default_rng(2)
    copies = [survey.iloc[rng.integers(0, 800, 800)].reset_index(drop=True) for _ in range(3)]
    pairs = [WeightedPair.of(survey, copy) for copy in copies]
    found = compare_model(pairs, "pay ~ age", rule="between")
    each = np.array([smf.ols("pay ~ age", copy).fit().params for copy in copies])
    assert found.coefficients.synthetic == pytest.approx(each.mean(axis=0))
    expected = np.sqrt(4 / 3 * each.var(axis=0, ddof=1))
    assert found.coefficients.synthetic_se == pytest.approx(expected)


def test_prediction_from_a_good_and_a_bad_release(survey: pd.DataFrame) -> None:
    rng = np.random.default_rng(5)
    train, held_out = survey.iloc[:500], survey.iloc[500:]
    shuffled = train.assign(pay=rng.permutation(train["pay"]))
    for learner in ("linear", "boosting", "forest"):
        good = train_on_synthetic(
            WeightedPair.of(train, train, control=held_out), "pay", learner=learner
        )
        bad = train_on_synthetic(
            WeightedPair.of(train, shuffled, control=held_out), "pay", learner=learner
        )
        assert good.trained_on_synthetic == pytest.approx(good.trained_on_original)
        assert good.trained_on_original > 0.4
        assert bad.trained_on_synthetic < 0.2
        assert good.outside
        assert abs(good.naive) < 0.05


HARDLY = {
    "one record": ({"x": [1.5], "y": ["a"]}, None),
    "one test record": ({"x": [1.5, 2.5, 4.5], "y": ["a", "b", "a"]}, None),
    "no value in the release": ({"x": [1.5, 2.5] * 9, "y": ["a", "b"] * 9}, {"x": [None] * 18}),
    "no value": ({"x": [None] * 18, "y": ["a", "b"] * 9}, None),
    "no other column": ({"x": [1.5, 2.5] * 9}, None),
}


@pytest.mark.parametrize("case", HARDLY)
def test_a_prediction_that_cannot_be_trained_has_a_reason(case: str) -> None:
    """Each of them ended in a traceback."""
    original, others = HARDLY[case]
    found = compare(
        original, {**original, **(others or {})}, targets=["x"], measures=["TSTR"], resamples=1
    )["TSTR: x"]
    assert found.value is None
    assert found.measurement.notes[0].code == "refused"
    with refused("data.column.unknown", column="z"):
        compare(original, original, targets=["z"], measures=["TSTR"])


def test_naive_f1_is_that_of_the_commonest_class(golden: dict[str, Any]) -> None:
    """Macro F1 of always guessing a class with share p is p / (1 + p): .4901 for .9612."""
    case = golden["majority_f1"]
    n = 10_000
    ones = round(case["p"] * n)
    y = np.where(np.arange(n) < ones, "yes", "no")
    data = {"y": y, "x": np.zeros(n, int)}
    held_out = Table.from_frame(data)
    pair = WeightedPair.of(data, data, control=held_out)
    found = train_on_synthetic(pair, "y", learner="linear")
    assert found.naive == pytest.approx(case["f1"], abs=5e-5)


def test_rules_and_their_prior(golden: dict[str, Any]) -> None:
    """A rule that holds by construction; independent columns fall back to the prior."""
    case = golden["rules"]
    rng = np.random.default_rng(1)
    n = 20_000
    flag = (rng.random(n) >= case["prior"] / 100).astype(int)
    date = np.where(flag == 1, rng.integers(2000, 2020, n).astype(float), np.nan)
    ours = {"flag": flag, "date": date}
    theirs = {"flag": flag, "date": rng.permutation(date)}
    rule = EditRule("date != date", "flag == 0")  # missing when there is no benefit
    found = check_rules(WeightedPair.of(ours, theirs), {"r1": rule})["r1"]
    assert found.original == 0
    assert found.chance == pytest.approx(1 - case["prior"] / 100, abs=0.005)
    error = np.sqrt(0.04 * 0.96 / found.synthetic_n)
    assert abs(found.synthetic - found.chance) < 4 * error + 0.001


def test_group_rules() -> None:
    ours = {"home": [1, 1, 2, 2], "age": [40, 8, 35, 33]}
    theirs = {"home": [1, 1, 2, 2], "age": [9, 8, 35, 33]}
    rule = EditRule("age >= 18", group="home")
    found = check_rules(WeightedPair.of(ours, theirs), {"adult": rule})["adult"]
    assert (found.original, found.synthetic) == (0, 0.5)
    assert (found.original_n, found.synthetic_n) == (2, 2)
    with refused("expression.formula.malformed", where="rule x"):
        check_rules(WeightedPair.of(ours, theirs), {"x": EditRule("age >")})
    for text in ("@pd.io.common.os.system('x')", "age.to_csv('x') != 0"):
        with refused("expression.formula.malformed", where="rule x"):
            check_rules(WeightedPair.of(ours, theirs), {"x": EditRule(text)})
    with refused("data.column.unknown", where="rule x"):
        check_rules(WeightedPair.of(ours, theirs), {"x": EditRule("age > 1", group="flat")})


def test_models_and_rules_enter_the_result(survey: pd.DataFrame) -> None:
    found = compare(
        survey,
        survey,
        models=["pay ~ age"],
        targets=["ill"],
        rules={"grown up": EditRule("age >= 18")},
        measures=["CI overlap", "TSTR", "rule violations"],
        resamples=1,
    )
    assert [r.label for r in found.results] == [
        "CI overlap: pay ~ age", "TSTR: ill", "rule violations",
    ]  # fmt: skip
    assert found["CI overlap: pay ~ age"].value == pytest.approx(1)
    assert found["rule violations"].value == 0
    assert found.to_dict()["models"][0]["terms"][0]["term"] == "Intercept"
    with refused("measure.result.absent"):
        found["KS"]
