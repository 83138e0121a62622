"""Guarded trees with everything that a plan can ask for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from caveat.datasets import survey
from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer
from caveat.table import Schema, Table

SURVEY = Schema.from_mapping({"income": {"missing": {"-8": "not asked"}}}).apply(
    survey(rows=600).drop(["person"])
)
OPTIONS = {
    "method": "guarded",
    "rules": ["if age < 18 then marital = 'single'"],
    "derived": {"bmi": "round(weight / (height / 100) ** 2, 1)"},
    "special": {"friends": [0]},
}


@pytest.mark.parametrize("strata", ["", "sex"])
def test_same_seed_same_tables_whatever_the_threads(strata: str) -> None:
    found = [
        Synthesizer(seed=5, threads=threads, strata=strata, **OPTIONS).fit(SURVEY)
        for threads in (1, 2, 5)
    ]
    tables = [model.tables(copies=2) for model in found]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0][0] != tables[0][1]
    assert Synthesizer(seed=6, strata=strata, **OPTIONS).fit(SURVEY).tables() != tables[0][:1]


def test_rules_hold_although_every_value_is_possible_everywhere() -> None:
    """The young are single by the rule; others are not, and grown-ups keep all levels."""
    table = Synthesizer(seed=5, **OPTIONS).fit(SURVEY).tables(rows=4000)[0]
    ages, marital = np.array(table["age"].values, float), np.array(table["marital"].values)
    assert (ages < 18).sum() > 20
    assert set(marital[ages < 18]) == {"single"}
    assert set(marital[ages >= 18]) == set(SURVEY["marital"].levels)


def test_an_order_of_two_columns_holds() -> None:
    rng = np.random.default_rng(3)
    start = rng.integers(0, 300, 500)
    frame = pd.DataFrame({"start": start, "end": start + rng.integers(0, 60, 500)})
    model = Synthesizer(seed=1, method="guarded", rules=["start <= end"]).fit(frame)
    out = model.sample(rows=3000)
    assert (out["start"] <= out["end"]).all()
    assert out["start"].nunique() > 150


def test_derived_columns_follow_their_formula() -> None:
    table = Synthesizer(seed=5, **OPTIONS).fit(SURVEY).tables()[0]
    weight, height, bmi = (np.array(table[n].values, float) for n in ("weight", "height", "bmi"))
    there = ~np.isnan(weight) & ~np.isnan(height)
    assert there.sum() > 300
    expected = np.round(weight[there] / (height[there] / 100) ** 2, 1)
    np.testing.assert_allclose(bmi[there], expected, atol=1e-9)


def test_strata_are_modelled_apart() -> None:
    """In stratum a the second column copies the first, in b it is its opposite."""
    rng = np.random.default_rng(0)
    stratum, x = rng.choice(["a", "b"], 2000), rng.choice(["no", "yes"], 2000)
    other = np.where(x == "no", "yes", "no")
    frame = pd.DataFrame({"s": stratum, "x": x, "y": np.where(stratum == "a", x, other)})
    options = {"strata": "s", "method": "guarded", "guard": "light"}
    out = Synthesizer(seed=1, **options).fit(frame).sample(rows=2000)
    same = out["x"] == out["y"]
    assert same[out["s"] == "a"].mean() > 0.97
    assert same[out["s"] == "b"].mean() < 0.03


def test_weights_make_a_self_weighting_sample() -> None:
    # 100 records of kind a count 9 times each, 900 of kind b once: half and half in the population.
    frame = pd.DataFrame({"kind": ["a"] * 100 + ["b"] * 900, "w": [9.0] * 100 + [1.0] * 900})
    model = Synthesizer(seed=1, weights="w", method="guarded").fit(frame)
    assert model.plan.weight_unit == 2
    out = model.sample(rows=4000)
    assert list(out.columns) == ["kind"]
    # (450 + 1/2) / (900 + 1) of all weight in units of 2.
    share = np.exp(model.log_prob(Table.from_frame(frame)).columns["kind"][0])
    assert share == pytest.approx(0.5, abs=1e-12)
    assert abs((out["kind"] == "a").mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)


def test_missing_kinds_and_special_values_come_back() -> None:
    table = Synthesizer(seed=5, **OPTIONS).fit(SURVEY).tables(rows=4000)[0]
    for name in ("income", "friends"):
        n = len(SURVEY[name].levels)
        before, after = SURVEY[name].counts[n:] / 600, table[name].counts / 4000
        ways = [m.label for m in table[name].missing]
        assert ways == [m.label for m in SURVEY[name].missing]
        np.testing.assert_allclose(after[len(table[name].levels) :], before, atol=0.04)
    zeros = np.array(SURVEY["friends"].values, float) == 0
    drawn = np.array(table["friends"].values, float) == 0
    assert abs(drawn.mean() - zeros.mean()) < 0.04


def test_what_is_too_much_for_any_tree_is_drawn_from_its_own_distribution() -> None:
    n = 70_000
    frame = {"sex": ["f", "m"] * n, "place": [f"k{i % n}" for i in range(2 * n)]}
    synthesizer = Synthesizer(seed=1, method="guarded", keep=["place"])
    with pytest.warns(CaveatWarning) as told:
        model = synthesizer.fit(Table.from_frame(frame))
    assert model.plan.columns["place"].settings.method == "sample"
    assert any("place has 70,000 levels, too many for a tree" in str(w.message) for w in told)
