"""The methods as a user meets them: in the plan of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from caveat.errors import CaveatError
from caveat.synthesis import Synthesizer

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
    with pytest.raises(CaveatError, match=f"the method {method} is for"):
        Synthesizer(seed=3, columns={column: {"method": method}}).fit(people)
