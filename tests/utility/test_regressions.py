"""Automatic regressions: what the rule chooses, and how coefficients are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.table import Table
from caveat.utility import WeightedPair, compare
from caveat.utility.regressions import ROWS, agreement, automatic_models

AUTOMATIC = ("automatic coefficient ratio", "automatic interval overlap")


def people(n: int, slope: float = 2.0, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    job = np.where(rng.random(n) < 0.6, "clerk", np.where(rng.random(n) < 0.5, "baker", "nurse"))
    pay = slope * age + (sex == "m") + 1.5 * (job == "nurse") + rng.normal(size=n)
    ill = np.where(slope * age + rng.normal(size=n) > 0, "yes", "no")
    return {"age": age, "sex": sex, "job": job, "net pay": pay, "ill": ill, "noise": rng.random(n)}


def test_the_rule_chooses_responses_and_predictors_that_go_together() -> None:
    table = people(2000)
    models = automatic_models(WeightedPair.of(table, table))
    assert "`net pay` ~ `age` + `ill` + `job` + `sex`" in models
    assert not [m for m in models if "noise" in m]
    assert not [m for m in models if m.startswith("job")]  # three levels are no response
    assert any(m.startswith(("logistic: ill ~", "logistic: `ill` ~")) for m in models)


def test_what_says_the_same_is_chosen_once_and_explains_nothing() -> None:
    table = people(500)
    table["age in months"] = table["age"] * 12
    table["nearly age"] = table["age"] + np.random.default_rng(2).normal(size=500) / 5
    for model in automatic_models(WeightedPair.of(table, table)):
        response, _, right = model.partition(" ~ ")
        same = [n for n in ("age in months", "nearly age", "`age`") if n in right]
        assert len(same) <= 1, model
        assert not (response == "`age in months`" and "`age`" in right), model


def test_columns_without_relations_have_no_regression() -> None:
    rng = np.random.default_rng(3)
    table = {"a": rng.normal(size=300), "b": rng.normal(size=300), "only": ["x"] * 300}
    found = compare(table, table, measures=list(AUTOMATIC))
    for name in AUTOMATIC:
        assert found[name].value is None
        assert found[name].measurement.notes[0].code == "no-regression"


def test_the_ratio_is_that_of_the_coefficients() -> None:
    ours = people(5000)
    theirs = {**people(5000, 1.0, 2)}
    found = agreement(WeightedPair.of(ours, theirs), "`net pay` ~ age")
    assert found.terms == ("age",)
    assert found.ratios == pytest.approx([0.5], abs=0.03)
    assert found.overlaps == pytest.approx([0.0])
    # The larger slope is as far off as the smaller one; one of the other sign is worth nothing.
    assert agreement(WeightedPair.of(theirs, ours), "`net pay` ~ age").ratios == pytest.approx(
        [0.5], abs=0.03
    )
    turned = {**ours, "age": -ours["age"]}
    assert agreement(WeightedPair.of(ours, turned), "`net pay` ~ age").ratios == [0.0]


def test_the_commonest_level_is_the_reference() -> None:
    table = people(500)
    found = agreement(WeightedPair.of(table, table), "`net pay` ~ job")
    assert found.terms == ("job[T.nurse]", "job[T.baker]") or found.terms == (
        "job[T.baker]",
        "job[T.nurse]",
    )


def test_what_the_release_cannot_estimate_is_worth_nothing() -> None:
    ours = people(500)
    theirs = {**people(500), "job": np.array(["clerk"] * 500)}
    found = agreement(WeightedPair.of(ours, theirs), "`net pay` ~ age + job")
    by_term = dict(zip(found.terms, found.ratios.tolist(), strict=True))
    assert by_term["job[T.nurse]"] == 0
    assert by_term["age"] > 0.9
    # A response that does not vary in the release cannot be fitted at all.
    theirs = {**people(500), "ill": np.array(["no"] * 500)}
    found = agreement(WeightedPair.of(ours, theirs), "ill ~ age")
    assert (found.ratios.tolist(), found.overlaps.tolist(), found.n_synthetic) == ([0], [0], 0)
    with pytest.raises(CaveatError):
        agreement(WeightedPair.of({**ours, "ill": ["no"] * 500}, theirs), "ill ~ age")


@pytest.mark.parametrize("n", [2000, 40_000])
def test_the_figures_do_not_depend_on_the_rows(n: int) -> None:
    """A slope of 1.95 instead of 2 is as near, and intervals overlap alike, for any rows."""
    basis = np.linalg.qr(
        np.column_stack([np.ones(n), *np.random.default_rng(1).normal(size=(2, n))])
    )
    x, noise = np.sqrt(n) * basis[0].T[1:]
    pair = WeightedPair.of({"x": x, "y": 2 * x + noise}, {"x": x, "y": 1.95 * x + noise})
    found = agreement(pair, "y ~ x")
    assert found.n_original == min(n, ROWS)
    assert found.ratios[0] == pytest.approx(1.95 / 2, abs=0.02)
    # 1,000 records give intervals of 2 · 1.96 / √1,000.
    assert found.overlaps[0] == pytest.approx(1 - 0.05 / (3.92 / np.sqrt(1000)), abs=0.25)


def test_named_models_have_both_figures() -> None:
    table = Table.from_frame(people(800))
    model = "`net pay` ~ age + sex"
    found = compare(
        table, table, models=[model], measures=["coefficient ratio", "interval overlap"]
    )
    for name in ("coefficient ratio", "interval overlap"):
        result = found[f"{name}: {model}"]
        assert result.value == 1
        assert result.references.resample is not None
        assert result.references.resample > 0.7
        independent = result.measurement.details["independent columns"]
        assert independent is not None
        assert independent < 0.7
