"""Models on a sample of large tables: what is drawn, and how large the error of that is."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.utility import WeightedPair, compare, permutation_null, stacked
from caveat.utility import propensity as propensity_of
from caveat.utility.correlations import _cramer
from caveat.utility.propensity import Null
from caveat.utility.stacked import auc_error, detection, pmse_error, sample_of

MODELS = ("pMSE", "S_pMSE", "S_pMSE logit", "detection AUC")


def tables(rows: int, seed: int = 1) -> tuple[Table, Table]:
    """An original, and a release in which x and y go together less."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, rows)), rng.normal(size=(2, rows))
    return tuple(
        Table.from_frame(
            {
                "x": np.round(x[i], 2),
                "y": np.round(share * x[i] + noise[i], 2),
                "c": np.array(list("abcd"))[np.digitize(x[i], [-1, 0, 1])],
            }
        )
        for i, share in enumerate((1.0, 0.3))
    )


def test_tables_up_to_the_bound_are_taken_whole() -> None:
    pair = WeightedPair.of(*tables(300))
    assert sample_of(pair) is pair
    assert pmse_error(pair, propensity_of(pair).scores) == 0
    found = compare(*tables(300))
    assert not [n for name in MODELS for n in found[name].measurement.notes]


def test_a_sample_is_the_same_rows_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked, "ROWS", 200)
    original, release = tables(500)
    pair, other = WeightedPair.of(original, release), WeightedPair.of(original, original)
    sample = sample_of(pair)
    assert (sample.n_original, sample.n_synthetic) == (200, 200)
    assert sample.original["x"].values.tolist() == sample_of(other).original["x"].values.tolist()
    # A table that is small enough stays whole beside one that is not.
    uneven = sample_of(WeightedPair.of(original, release.take(range(150))))
    assert (uneven.n_original, uneven.n_synthetic) == (200, 150)


def test_somebody_says_how_many_rows_models_get() -> None:
    found = compare(*tables(1000), model_rows=150)
    for name in MODELS:
        (note,) = found[name].measurement.notes
        assert (note.parameters["ours"], note.parameters["all_ours"]) == (150, 1000)
    assert found.first.model_rows == 150
    whole = compare(*tables(1000))
    assert found["k-marginal"].value == whole["k-marginal"].value
    with refused("measure.setting.range"):
        compare(*tables(1000), model_rows=99)


def test_groups_and_reference_values_get_as_many_rows() -> None:
    homes = {"home": [i // 2 for i in range(800)], "x": [i % 7 for i in range(800)]}
    names = ["pMSE", "pMSE joined"]
    found = compare(homes, homes, groups="home", measures=names, model_rows=120, resamples=1)
    assert [found[name].measurement.n for name in names] == [240, 240]


def test_resamples_of_a_large_table_share_their_permutations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    original, release = tables(300)

    def counted(pair: WeightedPair, **more: int) -> Null:
        drawn.append(pair)
        return permutation_null(pair, **more)

    monkeypatch.setattr(
        import_module("caveat.utility.entries.general"), "permutation_null", counted
    )
    apart = compare(original, release, measures=["S_pMSE"])
    assert len(drawn) == 4  # the release and three resamples
    monkeypatch.setattr(stacked, "TWIN_ROWS", 299)
    together = compare(original, release, measures=["S_pMSE"])
    assert len(drawn) == 6
    assert together["S_pMSE"].value == apart["S_pMSE"].value  # the release has its own


def test_groups_are_drawn_whole_and_weights_go_with_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stacked, "ROWS", 90)
    key = [i // 3 for i in range(300)]
    frame = {"key": key, "x": key, "weight": [1 + k for k in key]}
    pair = WeightedPair.of(frame, {"key": key, "x": key}, weights="weight", groups="key")
    sample = sample_of(pair)
    assert sample.groups is not None
    assert set(sample.groups.original.sizes) == {3}
    assert sample.n_original == 90
    weights = sample.weights / sample.weights[0]
    numbers = sample.original["x"].cell_numbers
    np.testing.assert_allclose(weights, (1 + numbers) / (1 + numbers[0]))


def test_every_measured_model_says_what_it_was_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked, "ROWS", 200)
    found = compare(*tables(1000))
    for name in MODELS:
        (note,) = found[name].measurement.notes
        assert note.code == "sampled-rows"
        assert note.parameters["ours"] == note.parameters["theirs"] == 200
        assert note.parameters["all_ours"] == 1000
        assert 0 < note.parameters["error"] < found[name].value
        assert found[name].measurement.n == 400
    assert found["correlation difference"].measurement.n == 2000  # counted over all rows


@pytest.mark.parametrize("name", ["SPECKS", "PO50", "U"])
def test_what_is_read_off_the_scores_says_its_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacked, "ROWS", 200)
    found = compare(*tables(500), measures=[name], resamples=0)[name].measurement
    assert [note.code for note in found.notes] == ["sampled-rows-only"]
    assert str(found.notes[0]) == (
        "on 200 of 500 original and 200 of 500 synthetic rows, drawn at random"
    )


def test_the_error_is_that_of_drawing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of many samples spread about their mean as each of them says of itself.

    Of 30 samples the spread is known to 13 %; the errors take the shape of the model as given, and
    a tree that is grown again on other rows is another one.
    """
    monkeypatch.setattr(stacked, "ROWS", 1000)
    whole = tables(12_000)
    far: dict[str, list[tuple[float, float]]] = {"cart": [], "logit": [], "auc": []}
    for seed in range(30):
        monkeypatch.setattr(stacked, "SEED", seed)
        pair = WeightedPair.of(*whole)
        sample = sample_of(pair)
        for model in ("cart", "logit"):
            scored = propensity_of(sample, model)
            far[model].append((scored.pMSE, pmse_error(pair, scored.scores)))
        found = detection(sample)
        far["auc"].append((found.auc, auc_error(pair, found.scores)))
    for model, values in far.items():
        drawn, said = np.array(values).T
        ratio = drawn.std(ddof=1) / said.mean()
        assert 0.6 < ratio < 1.6, (model, ratio)


def test_the_null_is_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = WeightedPair.of(*tables(400))
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(import_module("caveat.utility.propensity"), "THREADS", threads)
        found.append(permutation_null(pair, repetitions=8).values.tolist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 200)])
def test_counting_all_cells_and_those_that_occur_is_the_same(weights, monkeypatch) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 20, (2, 200))
    sizes = [np.bincount(codes, weights) for codes in (a, b)]
    dense = _cramer(a, b, weights, *sizes)
    monkeypatch.setattr(import_module("caveat.utility.correlations"), "DENSE_CELLS", 0)
    assert _cramer(a, b, weights, *sizes) == dense
