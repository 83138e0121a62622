"""Figures of single variables and of pairs, by hand, by scipy and from the papers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.refusals import refused

from caveat.table import Table
from caveat.table.coding import LARGEST, SMALLEST
from caveat.utility import WeightedPair, associations, variables
from caveat.utility.correlations import association_matrix, kendall_difference, pca_ks
from caveat.utility.variables import univariate_error

numbers = st.lists(st.integers(-20, 20), min_size=2, max_size=40)


@given(numbers, numbers)
def test_distances_as_scipy(ours: list[int], theirs: list[int]) -> None:
    (found,) = variables(WeightedPair.of({"x": ours}, {"x": theirs}))
    assert found.ks == pytest.approx(stats.ks_2samp(ours, theirs, method="asymp").statistic)
    width = max(ours) - min(ours)
    if width:
        expected = stats.wasserstein_distance(ours, theirs) / width
        assert found.wasserstein == pytest.approx(expected)
        moved = abs(np.median(ours) - np.median(theirs))
        assert found.median_similarity == pytest.approx(max(0, 1 - moved / width))
    else:
        assert found.wasserstein is None


def test_coverage_by_hand() -> None:
    pair = WeightedPair.of({"x": [0, 10, 20, 100]}, {"x": [10, 20, 80, 120]})
    (found,) = variables(pair)
    # 10 of 100 is uncovered below, nothing above; one of four values lies outside.
    assert found.range_coverage == pytest.approx(0.9)
    assert found.boundary_adherence == pytest.approx(0.75)
    assert found.invented == 2
    assert found.invented_share == pytest.approx(0.5)
    assert found.category_coverage is None


def from_shares(shares: dict[str, float], n: int = 100) -> list[str]:
    rows = [level for level, share in shares.items() for _ in range(round(share * n))]
    return rows + ["rest"] * (n - len(rows))


@pytest.mark.parametrize("generator", ["DPGAN", "RTVAE"])
def test_vanished_categories(generator: str, golden: dict[str, Any]) -> None:
    """The published sums, from tables with the published shares of the lost categories."""
    lost = {k: v for k, v in golden["vanished"][generator].items() if k != "sum"}
    ours = {name: from_shares(shares) for name, shares in lost.items()}
    theirs = {name: ["rest"] * 100 for name in lost}
    found = variables(WeightedPair.of(ours, theirs))
    total = sum(variable.vanished_share for variable in found)
    assert total == pytest.approx(golden["vanished"][generator]["sum"])


def test_ways_to_be_missing_are_told_apart(people: Table) -> None:
    pay = people["pay"]
    swapped = pay.codes.copy()
    empty, code = len(pay.levels), len(pay.levels) + 1
    swapped[pay.codes == empty] = code
    release = people.with_columns({"pay": pay.with_codes(swapped)})
    found = {v.name: v for v in variables(WeightedPair(people, release))}
    assert found["pay"].missing_similarity == pytest.approx(1 - pay.counts[empty] / len(people))
    assert found["age"].missing_similarity == 1


def test_spikes() -> None:
    rng = np.random.default_rng(2)
    flat = rng.integers(0, 200, 900)
    ours = {"x": np.concatenate([flat, np.full(100, 50)])}
    half = {"x": np.concatenate([flat, np.full(50, 50), rng.integers(0, 200, 50)])}
    (found,) = variables(WeightedPair.of(ours, half))
    assert found.spikes == 1
    p, q = ((np.array(t["x"]) == 50).mean() for t in (ours, half))
    assert found.spikes_kept == pytest.approx(q / p)


def test_univariate_error_by_hand() -> None:
    """Counts 40, 50, 10 against 44, 50, 6: errors min(4, 10 %), 0, min(4, 40 %); median 4."""
    ours = {"x": from_shares({"a": 0.4, "b": 0.5})}
    theirs = {"x": from_shares({"a": 0.44, "b": 0.5})}
    assert univariate_error(WeightedPair.of(ours, theirs)) == pytest.approx(4)


def test_association_matrix_as_numpy_and_scipy(people: Table) -> None:
    found = association_matrix(people)
    names = people.names
    frame = people.to_frame("pandas")
    place = {name: i for i, name in enumerate(names)}
    pearson = np.corrcoef(frame["age"], frame["height"])[0, 1]
    assert found[place["age"], place["height"]] == pytest.approx(pearson)
    held = ~people["pay"].is_missing
    pay = people["pay"].numbers[people["pay"].codes[held]]
    partial = np.corrcoef(pay, frame["age"][held])[0, 1]
    assert found[place["pay"], place["age"]] == pytest.approx(partial)
    table = np.array([[((frame["sex"] == s) & (frame["job"] == j)).sum()
                       for j in sorted(set(frame["job"]))] for s in "fm"])  # fmt: skip
    cramer = stats.contingency.association(table, method="cramer")
    assert found[place["sex"], place["job"]] == pytest.approx(cramer)
    groups = [frame["height"][frame["job"] == j] for j in sorted(set(frame["job"]))]
    f = stats.f_oneway(*groups).statistic
    k, n = len(groups), len(frame)
    eta = np.sqrt(f * (k - 1) / (f * (k - 1) + n - k))
    assert found[place["job"], place["height"]] == pytest.approx(eta)
    assert np.array_equal(found, found.T)


def test_constant_columns_have_no_association() -> None:
    data = {"a": [1, 2, 3, 4], "b": [5, 5, 5, 5], "c": list("xxxx"), "d": list("pqpq")}
    found = association_matrix(Table.from_frame(data))
    off = ~np.eye(4, dtype=bool)
    assert np.isnan(found[1][off[1]]).all()
    assert np.isnan(found[2][off[2]]).all()
    pair = WeightedPair.of(data, data)
    assert associations(pair).mean_absolute == 0


def test_kendall_as_scipy() -> None:
    rng = np.random.default_rng(4)
    a = rng.integers(0, 9, 100)
    ours, theirs = {"a": a, "b": a + rng.integers(0, 5, 100)}, {"a": a, "b": rng.permutation(a)}
    gap = abs(stats.kendalltau(a, ours["b"]).statistic - stats.kendalltau(a, theirs["b"]).statistic)
    assert kendall_difference(WeightedPair.of(ours, theirs)) == pytest.approx(gap)


def test_principal_components() -> None:
    """Two variables whose correlation turns around: the first component stretches, KS is large."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=2000)
    ours = {"a": a, "b": a + rng.normal(0, 0.1, 2000)}
    theirs = {"a": a, "b": -a + rng.normal(0, 0.1, 2000)}
    first, second = pca_ks(WeightedPair.of(ours, theirs))
    assert min(first, second) > 0.3
    same = pca_ks(WeightedPair.of(ours, ours))
    assert same == [0, 0]


def test_pieces_of_rows_give_the_same_associations_and_components(
    people: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = people.take(np.random.default_rng(3).integers(0, len(people), len(people)))
    whole = association_matrix(people), pca_ks(WeightedPair.of(people, other))
    monkeypatch.setattr(import_module("caveat.utility.correlations"), "PIECE", 37)
    assert association_matrix(people) == pytest.approx(whole[0], abs=1e-13, nan_ok=True)
    assert pca_ks(WeightedPair.of(people, other)) == pytest.approx(whole[1], abs=2 / len(people))
    weights = np.linspace(0.5, 1.5, len(people))
    weighted = pca_ks(WeightedPair.of(people, other, weights))
    assert weighted != pytest.approx(whole[1], abs=1e-9)
    monkeypatch.setattr(import_module("caveat.utility.correlations"), "PIECE", len(people))
    again = pca_ks(WeightedPair.of(people, other, weights))
    assert again == pytest.approx(weighted, abs=2 / len(people))


def test_associations_of_the_largest_and_smallest_numbers_are_finite() -> None:
    """Squares of larger ones overflowed, and a decomposition did not converge."""

    def table(seed: int) -> dict[str, object]:
        rng = np.random.default_rng(seed)
        x, y = rng.choice([-LARGEST, LARGEST, 3e74], 60), rng.choice([SMALLEST, 0, LARGEST], 60)
        return {"x": x, "y": y, "c": rng.choice(["a", "b"], 60)}

    pair = WeightedPair.of(table(1), table(2))
    found = associations(pair)
    for matrix in (found.original, found.synthetic):
        assert np.isfinite(matrix).all()
        assert np.abs(matrix).max() <= 1 + 1e-12
    assert np.isfinite(pca_ks(pair)).all()
    with refused("data.value.too-large", column="x", row=1):
        WeightedPair.of({**table(1), "x": [1e200, 2.5] * 30}, table(2))
