"""Utility against the weighted original: every measure, its expectation, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import Synthesizer
from caveat.cli import app
from caveat.table import Table, read, write
from caveat.utility import MEASURES, EditRule, check_rules, compare
from caveat.utility.analyses import compare_model
from caveat.utility.pair import WeightedPair, effective_size, find_measure, redraw, split_weights
from caveat.utility.propensity import expected_pmse, permutation_null, propensity

WEIGHTED, UNWEIGHTED = "against the weighted original", "against the unweighted original"


# What rests on the standard errors of the original: with weights they are the sandwich's.
STANDARD_ERRORS = (
    "same significance", "CI overlap", "lack of fit", "coefficient difference",
    "coefficient ratio", "interval overlap",
    "automatic coefficient ratio", "automatic interval overlap",
)  # fmt: skip


def sample(n: int, seed: int) -> tuple[Table, np.ndarray[Any, Any]]:
    """People, and weights that depend on what they are: unweighted figures are wrong."""
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.integers(0, 4, n)
    y = 0.5 * x + rng.normal(size=n)
    weights = np.exp(0.8 * x + 0.3 * g + rng.normal(0, 0.5, n))
    table = Table.from_frame(
        {
            "x": np.round(x, 2),
            "g": np.array(list("abcd"))[g],
            "y": np.where(rng.random(n) < 0.1, np.nan, np.round(y, 2)),
            "ill": np.where(rng.random(n) < 1 / (1 + np.exp(-x)), "yes", "no"),
        }
    )
    return table, weights


def drawn(table: Table, weights: np.ndarray[Any, Any], n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    return table.take(rng.choice(len(table), n, p=weights / weights.sum()))


@pytest.mark.parametrize("share", [0.5, 1, 2])
def test_a_right_synthesis_scores_one_by_the_formula(share: float) -> None:
    """Drawn from the weighted distribution, S_pMSE is 1 on average: no design effect is in it."""
    scores = []
    for seed in range(40):
        table, weights = sample(600, seed)
        assert effective_size(weights) < 0.55 * 600
        pair = WeightedPair(table, drawn(table, weights, round(600 * share), seed), weights=weights)
        found = propensity(pair, "logit")
        scores.append(found.pMSE / expected_pmse(found.df, 600, pair.n_synthetic))
    error = np.std(scores, ddof=1) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - 1) < 2.5 * error
    assert error < 0.12


def test_a_right_synthesis_scores_about_one_by_permutation() -> None:
    scores, blind = [], []
    for seed in range(12):
        table, weights = sample(600, seed)
        release = drawn(table, weights, 600, seed)
        pair = WeightedPair(table, release, weights=weights)
        null = permutation_null(pair, repetitions=5, seed=seed)
        scores.append(propensity(pair).pMSE / null.halved)
        other = WeightedPair(table, release)
        blind.append(propensity(other).pMSE / permutation_null(other, repetitions=5).halved)
    assert 0.7 < np.mean(scores) < 1.2
    assert min(blind) > max(scores)


def test_weights_of_one_are_no_weights() -> None:
    table, weights = sample(300, 1)
    release = drawn(table, weights, 300, 2)
    asked: dict[str, Any] = {
        "measures": [m.name for m in MEASURES.values() if m.needs <= {"model", "target"}],
        "models": ["y ~ x + g", "ill ~ x"],
        "targets": ["ill", "y"],
        "resamples": 0,
    }
    plain = compare(table, release, **asked)
    ones = compare(table, release, weights=np.full(300, 7.0), **asked)
    for one, other in zip(plain.results, ones.results, strict=True):
        if one.measure.name in STANDARD_ERRORS:
            continue
        assert (other.value is None) == (one.value is None), one.label
        if one.value is not None:
            assert other.value == pytest.approx(one.value, rel=1e-9, abs=1e-9), one.label


def test_whole_weights_count_as_so_many_records() -> None:
    table, _ = sample(200, 3)
    times = np.random.default_rng(4).integers(1, 5, 200)
    release = sample(200, 5)[0]
    singles = [
        "total variation", "KS", "Wasserstein", "Hellinger one-way", "missing similarity",
        "median similarity", "correlation difference", "correlation difference, largest",
        "PCA-KS", "vanished",
    ]  # fmt: skip
    pairs = ["JSD two-way", "MabsDD two-way", "Hellinger two-way", "k-marginal", "MAPE two-way"]
    repeated = table.take(np.repeat(np.arange(200), times))
    # Limits of groups are quantiles of the rows at hand: tables of categories have none.
    for names, columns in ((singles, list(table)), (pairs, ["g", "ill"])):
        many = compare(repeated.select(columns), release, measures=names, resamples=0)
        few = compare(table.select(columns), release, measures=names, resamples=0, weights=times)
        for one, other in zip(many.results, few.results, strict=True):
            assert other.value == pytest.approx(one.value, rel=1e-9, abs=1e-9), one.label


def test_models_are_weighted_with_the_sandwich() -> None:
    table, weights = sample(400, 6)
    release = drawn(table, weights, 400, 7)
    found = compare_model(WeightedPair(table, release, weights=weights), "y ~ x")
    held = ~table["y"].is_missing
    y, w = table["y"].cell_numbers[held], weights[held]
    x = sm.add_constant(table["x"].cell_numbers[held])
    bread = np.linalg.inv(x.T @ (x * w[:, None]))
    beta = bread @ (x.T @ (w * y))
    scores = x * (w * (y - x @ beta))[:, None]
    expected = np.sqrt(np.diag(bread @ scores.T @ scores @ bread))
    np.testing.assert_allclose(found.coefficients.original, beta)
    np.testing.assert_allclose(found.coefficients.original_se, expected, rtol=1e-6)
    assert WEIGHTED in found.notes
    logit = compare_model(WeightedPair(table, release, weights=weights), "ill ~ x")
    x = sm.add_constant(table["x"].cell_numbers)
    yes = (table["ill"].codes == 1).astype(float)
    beta = logit.coefficients.original
    p = 1 / (1 + np.exp(-x @ beta))
    np.testing.assert_allclose(x.T @ (weights * (yes - p)), 0, atol=1e-4)
    bread = np.linalg.inv(x.T @ (x * (weights * p * (1 - p))[:, None]))
    scores = x * (weights * (yes - p))[:, None]
    expected = np.sqrt(np.diag(bread @ scores.T @ scores @ bread))
    np.testing.assert_allclose(logit.coefficients.original_se, expected, rtol=1e-4)
    several = compare_model(WeightedPair(table, release, weights=weights), "g ~ x")
    assert f"{UNWEIGHTED}: a multinomial model" in several.notes


def test_lack_of_fit_of_a_right_synthesis_is_its_degrees_of_freedom() -> None:
    ratios = []
    for seed in range(40):
        table, weights = sample(400, seed)
        pair = WeightedPair(table, drawn(table, weights, 400, seed), weights=weights)
        found = compare_model(pair, "y ~ x")
        ratios.append((found.lack_of_fit or 0) / found.df)
    assert 0.6 < np.mean(ratios) < 1.6


def test_every_measure_says_against_what() -> None:
    table, weights = sample(200, 8)
    copies = [drawn(table, weights, 200, seed) for seed in (1, 2)]
    rules = {"adult": EditRule("x < 9"), "home": EditRule("x < 9", group="g")}
    found = compare(
        table.with_columns({"w": Table.from_frame({"w": weights})["w"]}),
        copies,
        measures=[m.name for m in MEASURES.values()],
        models=["y ~ x"],
        targets=["ill"],
        rules=rules,
        control=sample(200, 9)[0],
        resamples=1,
        weights="w",
    )
    for result in found.results:
        notes = " ".join(result.measurement.notes)
        assert result.value is None or WEIGHTED in notes or UNWEIGHTED in notes, result.label
    assert UNWEIGHTED in found["Kendall difference"].measurement.notes[-1]
    assert found["rule violations"].measurement.notes == (
        WEIGHTED,
        f"{UNWEIGHTED}: home, groups have no weight",
    )
    assert any("weighted original: its 200 records" in remark for remark in found.remarks)
    assert "w" not in found.first.names
    plain = compare(table, copies, measures=["KS"], resamples=0)
    assert plain["KS"].measurement.notes == ()


def test_rules_count_records_by_their_weights() -> None:
    pair = WeightedPair.of({"age": [10, 20, 30]}, {"age": [10]}, weights=[2.0, 1.0, 1.0])
    found = check_rules(pair, {"old": EditRule("age > 15")})["old"]
    assert (found.original, found.chance, found.original_n) == (0.5, 0.5, 3)
    assert find_measure("KS")(pair).value == 0.5


def test_weights_are_checked() -> None:
    people = {"sex": ["f", "m"], "w": [1.0, -1.0]}
    with refused("data.weights.range", column="w", row=2):
        compare(people, people, weights="w")
    with refused("data.weights.mismatch"):
        compare(people, people, weights=[1, 2, 3])
    with refused("data.weights.type", column="sex"):
        compare(people, people, weights="sex")
    table, weights = split_weights(Table.from_frame(people), [0, 3])
    assert len(table) == 1
    assert weights is not None
    assert weights.tolist() == [1.0]


def test_rows_are_redrawn_as_often_as_they_weigh() -> None:
    weights = np.array([0.25, 3.5, 1.25, 1.0])
    rows = redraw(weights, 6, np.random.default_rng(3))
    counts = np.bincount(rows, minlength=4)
    assert counts.sum() == 6
    assert (np.abs(counts - weights) < 1).all()


def test_five_columns_of_eusilc(shared: Path, tmp_path: Path) -> None:
    """3.8 against the unweighted original, though the weighted means are right."""
    names = ["age", "rb090", "pl030", "pb220a", "hsize"]
    table = read(shared / "data" / "laeken_eusilc.csv").select([*names, "rb050"])
    plain = Synthesizer(seed=1, method="cart", weights="rb050")
    release = Table.from_frame(plain.fit(table).sample())
    asked: dict[str, Any] = {"measures": ["S_pMSE", "S_pMSE logit"], "resamples": 0}
    blind = compare(table.select(names), release, **asked)
    found = compare(table, release, weights="rb050", **asked)
    # The figures of docs/utility.md.
    assert blind["S_pMSE"].value == pytest.approx(3.79, abs=0.005)
    assert found["S_pMSE"].value == pytest.approx(1.17, abs=0.005)
    assert found["S_pMSE logit"].value < 1.5
    write(table, tmp_path / "original.csv")
    write(release, tmp_path / "release.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("original", "release")]
    result = CliRunner().invoke(app, ["compare", *files, "--weights", "rb050"])
    assert result.exit_code == 0
    assert "measured against the weighted original" in " ".join(result.output.split())
