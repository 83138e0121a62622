"""Propensity models against statsmodels and by hand; the ways to standardise pMSE."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from tests.refusals import refused

from caveat.table import ColumnSchema, Schema, Table
from caveat.utility import (
    Propensity,
    WeightedPair,
    compare,
    detection,
    expected_pmse,
    pairs_null,
    permutation_null,
    propensity,
)
from caveat.utility.propensity import fit_logistic, orthonormal_basis
from caveat.utility.stacked import stack


def test_logistic_as_statsmodels() -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(300), rng.normal(size=(300, 3)), rng.normal(2000, 800, 300)])
    y = rng.random(300) < 1 / (1 + np.exp(-x[:, 1] + 0.5 * x[:, 2]))
    found = fit_logistic(orthonormal_basis(x), y)
    other = sm.GLM(y.astype(float), x, family=sm.families.Binomial()).fit()
    assert found.scores == pytest.approx(other.fittedvalues, abs=1e-7)
    assert found.deviance == pytest.approx(other.deviance)
    assert found.converged


def test_columns_that_follow_from_others_do_not_count() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    x = np.column_stack([np.ones(50), a, b, a - 3 * b, np.zeros(50), 1 + a])
    assert orthonormal_basis(x).shape[1] == 3


def test_separated_groups_do_not_break_the_fit() -> None:
    x = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    found = fit_logistic(orthonormal_basis(x), np.repeat([False, True], 20))
    assert np.isfinite(found.scores).all()
    assert found.scores[:20].max() < 1e-6
    assert found.scores[20:].min() > 1 - 1e-6


def test_figures_by_hand() -> None:
    scores = np.array([0.9, 0.5, 0.5, 0.1])
    found = Propensity(scores, np.array([True, True, False, False]), "cart", 3)
    assert found.pMSE == pytest.approx((0.16 + 0 + 0 + 0.16) / 4)
    assert pytest.approx(0.5) == found.SPECKS
    assert found.U == 3.5
    assert found.AUC == 3.5 / 4
    # Right: the first and the two originals; a score of ½ is not above ½.
    assert pytest.approx(0.25) == found.PO50


def test_figures_as_scipy() -> None:
    rng = np.random.default_rng(6)
    scores = np.round(rng.random(200), 2)
    synthetic = np.arange(200) < 80
    found = Propensity(scores, synthetic, "logit", 1)
    assert pytest.approx(stats.ks_2samp(scores[:80], scores[80:]).statistic) == found.SPECKS
    assert pytest.approx(stats.mannwhitneyu(scores[:80], scores[80:]).statistic) == found.U


def test_numbers_keep_their_missing_ways_apart(people: Table) -> None:
    both = stack(WeightedPair.of(people, people))
    assert both.names[-2:] == ("pay: empty", "pay: -8 (not asked)")
    place = both.names.index("pay")
    missing = people["pay"].is_missing
    values = both.values[place][both.codes[place]]
    assert (values[: len(people)][missing] == 0).all()
    assert both.codes[-1].sum() == 2 * people["pay"].counts[-1]
    assert both.is_synthetic[: len(people)].all()


def test_design_has_one_column_for_each_product() -> None:
    data = {"a": list("xyzxyz"), "b": list("ppqqpq"), "c": [1.0, 2.0, 4.0, 8.0, 9.0, 7.0]}
    both = stack(WeightedPair.of(data, data))
    assert both.design(0).shape == (12, 1 + 2 + 1 + 1)
    assert both.design(1).shape == (12, 5 + 2 * 1 + 2 * 1 + 1)
    assert both.design(2).shape == (12, 10 + 2)
    assert [both.n_terms(order) for order in range(3)] == [5, 10, 12]


def test_designs_that_would_not_fit_into_memory_are_refused(monkeypatch, people: Table) -> None:
    monkeypatch.setattr(sys.modules["caveat.utility.propensity"], "MOST_CELLS", 1000)
    pair = WeightedPair(people, people)
    with refused("measure.model.too-large"):
        propensity(pair, "logit")
    result = compare(people, people, measures=["S_pMSE logit"], resamples=1)["S_pMSE logit"]
    assert result.value is None
    assert "columns" in result.measurement.notes[0]


def test_permutations_are_halved_in_synthpops_way(people: Table) -> None:
    """A synthesis from the right model has one random half: S_pMSE is 1 on average.

    With a logistic model the null is known: the halved mean of 60 permutations must agree with it.
    """
    rng = np.random.default_rng(1)
    pair = WeightedPair(people, people.take(rng.integers(0, len(people), len(people))))
    null = permutation_null(pair, "logit", repetitions=60, seed=2)
    df = propensity(pair, "logit").df
    expected = expected_pmse(df, len(people), len(people))
    error = null.values.std(ddof=1) / 2 / np.sqrt(60)
    assert abs(null.halved - expected) < 4 * error
    assert null.mean == pytest.approx(2 * null.halved)


def test_pairs_of_copies(people: Table) -> None:
    rng = np.random.default_rng(1)
    copies = [people.take(rng.integers(0, len(people), len(people))) for _ in range(3)]
    pairs = [WeightedPair(people, copy) for copy in copies]
    null = pairs_null(pairs, "logit")
    each = [
        propensity(WeightedPair(copies[i], copies[j]), "logit").pMSE
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert null.values == pytest.approx(each)
    with refused("measure.copy.too-few"):
        pairs_null(pairs[:1])


def test_pairs_in_the_result(people: Table) -> None:
    rng = np.random.default_rng(1)
    copies = [people.take(rng.integers(0, len(people), len(people))) for _ in range(2)]
    found = compare(people, copies, measures=["pMSE", "S_pMSE pairs"], resamples=1)
    between = propensity(WeightedPair(*copies)).pMSE
    assert found["S_pMSE pairs"].value == pytest.approx(2 * found["pMSE"].value / between)
    alone = compare(people, copies[:1], measures=["S_pMSE pairs"])
    assert alone.results == ()


def test_boosted_scores_are_out_of_fold(people: Table) -> None:
    """Shuffled labels cannot be learnt: the scores of unseen rows say nothing about them."""
    rng = np.random.default_rng(4)
    pair = WeightedPair(people, people.take(rng.integers(0, len(people), len(people))))
    found = propensity(pair, "boosting")
    assert found.scores == pytest.approx(detection(pair).scores)
    null = permutation_null(pair, "boosting", repetitions=2, names=["sex", "age"])
    assert (null.values > 0).all()
    assert null.without_split == 0


def test_more_rows_of_one_table_do_not_look_like_a_difference(people: Table) -> None:
    twice = people.take(np.concatenate([np.arange(len(people))] * 2))
    found = propensity(WeightedPair(people, twice), "logit")
    assert found.pMSE == pytest.approx(0, abs=1e-12)
    assert found.share == pytest.approx(2 / 3)


def test_codes_declared_as_missing_hold_for_both_tables() -> None:
    schema = Schema({"x": ColumnSchema(missing={-8: ""})})
    ours = schema.apply(Table.from_frame({"x": [-8, 1, 2, 3]}))
    pair = WeightedPair.of(ours, {"x": [-8, 1, 2, 3]})
    assert propensity(pair).pMSE == 0
    assert stack(pair).names == ("x", "x: -8")


def test_copies_pull_detection_below_a_half(people: Table) -> None:
    found = detection(WeightedPair(people, people))
    assert found.leaks
    assert found.auc < 0.45
    assert len(found.scores) == 2 * len(people)


def test_detection_of_another_population() -> None:
    rng = np.random.default_rng(9)
    ours = {"a": rng.normal(0, 1, 300), "b": rng.choice(list("pqr"), 300)}
    theirs = {"a": rng.normal(3, 1, 300), "b": rng.choice(list("pqr"), 300)}
    found = detection(WeightedPair.of(ours, theirs))
    # Two normals three standard deviations apart: the best AUC is Φ(3/√2) = 0.983.
    assert 0.95 < found.auc < 0.995
    assert not found.leaks


def test_a_design_with_too_many_terms_pools_rare_levels(monkeypatch) -> None:
    rng = np.random.default_rng(8)
    n, shares = 3_000, 1 / np.arange(1, 401)
    towns = rng.choice(400, (2, n), p=shares / shares.sum())
    pair = WeightedPair.of(
        {"town": [f"t{i}" for i in towns[0]], "age": rng.integers(0, 90, n)},
        {"town": [f"t{i}" for i in towns[1]], "age": rng.integers(0, 90, n)},
    )
    free = propensity(pair, "logit")
    assert free.pooled == 0
    module = sys.modules["caveat.utility.propensity"]  # the function has its name
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    monkeypatch.setattr(module, "MOST_PRODUCTS", 6_000 * 50**2)
    found = propensity(pair, "logit")
    whole, pooled = stack(pair), stack(pair).pooled(50)
    assert pooled.n_terms(0) <= 50 < whole.n_terms(0)
    assert found.df == pooled.n_terms(0) - 1
    assert found.pooled == whole.n_levels[0] - pooled.n_levels[0] > 300
    # The levels that are left are the most frequent ones, and their rows are told apart as before.
    counts = np.bincount(whole.codes[0])
    kept = np.argsort(-counts, kind="stable")[: pooled.n_levels[0] - 1]
    assert counts[kept].min() >= np.delete(counts, kept).max()
    code = int(kept[0])
    same = pooled.codes[0][whole.codes[0] == code]
    assert len(set(same.tolist())) == 1
    (result,) = compare(
        pair.original, pair.synthetic, measures=["S_pMSE logit"], resamples=0
    ).results
    assert [note.code for note in result.measurement.notes] == ["rare-levels-pooled"]
    expected = found.pMSE / expected_pmse(found.df, n, n)
    assert result.value == pytest.approx(expected)


def test_too_many_numbers_leave_the_logistic_model_out(monkeypatch) -> None:
    rng = np.random.default_rng(8)
    first, second = ({f"x{i}": rng.integers(0, 50, 300) for i in range(20)} for _ in range(2))
    module = sys.modules["caveat.utility.propensity"]
    monkeypatch.setattr(module, "MOST_PRODUCTS", 600 * 10**2)
    monkeypatch.setattr(module, "FEW_CELLS", 0)
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    (result,) = compare(first, second, measures=["S_pMSE logit"], resamples=0).results
    assert result.value is None
    assert [note.code for note in result.measurement.notes] == ["left-out"]


def panel(people: int, seed: int) -> dict[str, np.ndarray]:
    """Six rows of each person, who is born, and lives, in one place."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(people), 6)
    born, place = rng.integers(0, 40, people), rng.integers(0, 12, people).astype(str)
    skill = rng.normal(size=people)
    pay = np.round(skill[of] + rng.normal(size=len(of)) / 3, 2)
    return {"id": of, "born": born[of], "place": place[of], "pay": pay,
            "year": np.tile(np.arange(6), people)}  # fmt: skip


@pytest.mark.parametrize(("name", "as_rows"), [("S_pMSE", 8), ("S_pMSE logit", 4)])
def test_the_null_of_groups_is_that_of_whole_groups(name: str, as_rows: float) -> None:
    """Other people of the same population are no poor release, whatever single rows would say."""
    ours, theirs = panel(500, 1), panel(500, 2)
    groups = compare(ours, theirs, groups="id", measures=[name], resamples=0)[name].value
    rows = [{k: v for k, v in side.items() if k != "id"} for side in (ours, theirs)]
    alone = compare(*rows, measures=[name], resamples=0)[name].value
    assert alone is not None
    assert groups is not None
    assert groups < 3
    assert alone > as_rows


def test_groups_of_an_original_with_weights_are_redrawn_whole() -> None:
    ours = panel(100, 1) | {"w": np.repeat(np.arange(1.0, 101.0), 6)}
    pair = WeightedPair.of(ours, panel(100, 2), weights="w", groups="id")
    drawn = pair.redrawn(np.random.default_rng(1))
    assert drawn.groups is not None
    assert (drawn.groups.original.sizes == 6).all()
    assert drawn.n_original == 600
    assert permutation_null(pair, repetitions=3).mean > 0
