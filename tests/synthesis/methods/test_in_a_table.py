"""The methods as a user meets them: in the plan of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.synthesis import Synthesizer

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")

N = 2000
COLUMNS = {
    "age": {"method": "normrank"},
    "region": {"method": "multinomial"},
    "town": {"method": "nested", "within": "region"},
    "education": {"method": "ordinal"},
    "income": {"method": "normal", "predictors": ["age", "sex"]},
    "smoker": {"method": "logistic"},
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, N)
    region = rng.choice(list("abcd"), N)
    income = np.round(500 + 20 * age + rng.normal(0, 200, N))
    school = np.clip((age / 25 + rng.normal(0, 1, N)).astype(int), 0, 3)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "age": age,
            "region": region,
            "town": [f"{r}{i}" for r, i in zip(region, rng.integers(0, 30, N), strict=True)],
            "education": pd.Categorical.from_codes(school, list("0123"), ordered=True),
            "income": np.where(rng.random(N) < 0.1, np.nan, income),
            "smoker": rng.choice(["no", "yes"], N, p=[0.7, 0.3]),
        }
    )


def test_a_table_by_regressions_keeps_groups_missing_values_and_relations(people):
    synthetic = Synthesizer(seed=3, columns=COLUMNS).fit(people).sample(rows=20_000)
    assert (synthetic["town"].str[0] == synthetic["region"]).all()
    # four standard errors of shares and means of two samples
    se = np.sqrt(0.09 / N + 0.09 / 20_000)
    assert synthetic["income"].isna().mean() == pytest.approx(0.1, abs=4 * se)
    se = people["income"].std() * np.sqrt(1 / N + 1 / 20_000)
    assert synthetic["income"].mean() == pytest.approx(people["income"].mean(), abs=4 * se)
    known = synthetic.dropna()
    slope = np.polyfit(known["age"], known["income"], 1)[0]
    se = 200 / (people["age"].std() * np.sqrt(0.9 * N))
    assert slope == pytest.approx(20, abs=5 * se)


def test_every_column_has_a_likelihood(people):
    result = Synthesizer(seed=3, columns=COLUMNS).fit(people).log_prob(people)
    assert not result.unknown
    assert all(np.isfinite(values).all() for values in result.columns.values())


def test_a_saturated_block_has_the_likelihood_of_its_cells(people):
    names = ["sex", "region", "education"]
    options = {name: {"method": "saturated", "pseudo_count": 40.0} for name in names}
    result = Synthesizer(seed=3, columns=options).fit(people[names]).log_prob(people[names])
    counts = people.groupby(names, observed=True)["sex"].transform("size").to_numpy()
    expected = np.log((counts + 40 / (2 * 4 * 4)) / (N + 40))
    assert result.rows == pytest.approx(expected)


@pytest.mark.parametrize(
    ("column", "method"), [("age", "logistic"), ("region", "normal"), ("region", "logistic")]
)
def test_a_method_that_does_not_suit_the_column_is_refused(people, column, method):
    with refused("synthesis.column.type", where="synthesis"):
        Synthesizer(seed=3, columns={column: {"method": method}}).fit(people)


@pytest.mark.parametrize("strata", ["", "group"])
def test_numbers_that_the_dictionary_does_not_have_have_a_probability(strata: str) -> None:
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b"], 400)
    x = np.round(rng.normal(50, 9, 400), 1)
    y = np.round(2 * x + rng.normal(0, 3, 400), 1)
    frame = pd.DataFrame({"group": group, "x": x, "y": np.where(rng.random(400) < 0.2, np.nan, y)})
    options = {name: {"method": "normal"} for name in ("x", "y")}
    model = Synthesizer(seed=2, columns=options, strata=strata).fit(frame)
    release = model.sample(rows=2000)
    assert not set(release["y"]) <= set(frame["y"])
    result = model.log_prob(release)
    assert result.unknown == {}
    assert np.isfinite(result.rows).all()
    # The mean of -log p over draws is the entropy; for the ordinary y it is that of a normal with
    # the regression's deviation, measured in units of the last decimal.
    ordinary = release["y"].notna().to_numpy()
    share = np.exp(result.columns["y"][~ordinary]).mean()
    assert 0.1 < share < 0.3
    surprise = -(result.columns["y"][ordinary] - np.log(1 - share)).mean()
    assert surprise == pytest.approx(0.5 * np.log(2 * np.pi * np.e * 9) + np.log(10), abs=0.15)


def test_a_draw_that_equals_a_special_value_counts_for_both() -> None:
    rng = np.random.default_rng(6)
    x = np.where(rng.random(500) < 0.5, 0, np.rint(rng.normal(0, 2, 500)))
    model = Synthesizer(seed=1, special={"x": [0]}, columns={"x": {"method": "normal"}}).fit(
        pd.DataFrame({"x": x})
    )
    drawn = model.sample(rows=50_000)["x"].to_numpy()
    p = float(np.exp(model.log_prob(pd.DataFrame({"x": [0.0]})).rows[0]))
    assert abs((drawn == 0).mean() - p) < 5 * np.sqrt(p * (1 - p) / 50_000)


def test_errors_of_methods_name_the_column() -> None:
    frame = pd.DataFrame({"x": ["a", "b", "c"] * 10})
    with refused("synthesis.column.type", column="x", where="synthesis"):
        Synthesizer(columns={"x": {"method": "normal"}}).fit(frame)


def test_an_ipf_block_has_the_probabilities_of_its_margins() -> None:
    # Margins ab and bc leave a and c independent given b: p(abc) = p(ab) p(bc) / p(b).
    rng = np.random.default_rng(8)
    a = rng.integers(0, 3, 600)
    b = (a + rng.integers(0, 2, 600)) % 3
    c = (b + a + rng.integers(0, 2, 600)) % 2
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.integers(0, 2, 600)}).astype("category")
    block = {"method": "ipf", "margins": [["a", "b"], ["b", "c"]]}
    model = Synthesizer(seed=1, columns=dict.fromkeys("abc", block)).fit(frame)
    result = model.log_prob(frame)
    joint = np.exp(sum(result.columns[name] for name in "abc"))
    n = len(frame)
    ab = frame.groupby(["a", "b"], observed=True)["d"].transform("size") / n
    bc = frame.groupby(["b", "c"], observed=True)["d"].transform("size") / n
    only_b = frame.groupby("b", observed=True)["d"].transform("size") / n
    np.testing.assert_allclose(joint, ab * bc / only_b, rtol=1e-9)


def test_a_block_cannot_be_given_other_predictors() -> None:
    frame = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 1] * 10, "c": [1, 0] * 10}).astype("category")
    columns = {"b": {"method": "saturated"}, "c": {"method": "saturated", "predictors": ["a"]}}
    with refused("synthesis.setting.conflict", column="c", where="synthesis"):
        Synthesizer(columns=columns).fit(frame)
