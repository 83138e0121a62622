"""Correlations kept: what counts as a correlation, what is kept, and that rows do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from caveat.table import Table
from caveat.utility import WeightedPair, compare
from caveat.utility import correlations as room
from caveat.utility.correlations import correlations, independent_pair


def two(n: int, r: float, seed: int = 1) -> dict[str, Any]:
    """Two numbers whose correlation in the sample is exactly r, and a third that is alone."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=(3, n))
    basis = np.linalg.qr(np.column_stack([np.ones(n), x, y]))[0][:, 1:]
    return {"x": basis[:, 0], "y": r * basis[:, 0] + np.sqrt(1 - r**2) * basis[:, 1], "z": z}


@pytest.mark.parametrize(
    ("ours", "theirs", "kept"),
    [
        (0.95, 0.39, 0),
        (0.95, 0.93, 1),
        (0.4, 0.31, 1),
        (0.4, 0.25, 0),
        (0.15, 0.06, 0),
        (0.4, -0.4, 0),
    ],
)
def test_a_coefficient_is_kept_if_it_is_near_and_half_as_strong(
    ours: float, theirs: float, kept: int
) -> None:
    found = correlations(WeightedPair.of(two(5000, ours), two(5000, theirs, 2)))
    assert (found.kept, found.measurable) == (kept, 1)
    assert [r.names for r in found.not_kept()] == [("x", "y")][kept:]


def test_pairs_not_to_trust_are_named_with_both_values() -> None:
    (worst,) = correlations(WeightedPair.of(two(500, 0.95), two(500, 0.39))).not_kept()
    assert worst.names == ("x", "y")
    assert worst.original == pytest.approx(0.95, abs=0.01)
    assert worst.synthetic == pytest.approx(0.39, abs=0.06)
    # What the original does not have, and the release does, is named too, and counts for nothing.
    found = correlations(WeightedPair.of(two(500, 0.0), two(500, 0.6)))
    assert (found.measurable, found.share) == (0, None)
    assert [r.names for r in found.not_kept()] == [("x", "y")]


@pytest.mark.parametrize("n", [60, 600, 20_000])
def test_chance_is_no_correlation_whatever_the_levels_and_rows(n: int) -> None:
    rng = np.random.default_rng(n)
    table = {f"n{i}": rng.normal(size=n) for i in range(4)}
    table |= {f"c{i}": rng.integers(0, 3 + 8 * i, n).astype(str) for i in range(4)}
    found = correlations(WeightedPair.of(table, table))
    assert found.measurable <= 1  # of 28 pairs, at the 1 % level
    apart = found.ours.values[0][~np.eye(8, dtype=bool)]
    assert np.nanmean(apart) < 3 / np.sqrt(n)


@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_the_share_does_not_depend_on_the_rows(n: int) -> None:
    """The same defect, one relation of three gone, is the same share for any number of rows."""
    rng = np.random.default_rng(5)

    def table(broken: bool) -> dict[str, Any]:
        a = rng.normal(size=n)
        b, c = a + rng.normal(size=n), np.where(a + rng.normal(size=n) > 0, "u", "v")
        d = rng.normal(size=n) if broken else b + rng.normal(size=n)
        return {"a": a, "b": b, "c": c, "d": d}

    found = correlations(WeightedPair.of(table(False), table(True)))
    assert (found.kept, found.measurable) == (3, 6)
    assert {r.names for r in found.not_kept()} == {("a", "d"), ("b", "d"), ("c", "d")}


def test_the_two_ends_stand_beside_the_share() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=2000)
    table = Table.from_frame({f"x{i}": a + rng.normal(size=2000) for i in range(5)})
    result = compare(table, table, measures=["correlations kept"])["correlations kept"]
    assert (result.value, result.references.resample) == (1.0, 1.0)
    assert result.measurement.details["independent columns"] == 0.0
    note = next(n for n in result.measurement.notes if n.code == "pairs-kept")
    assert (note.parameters, note.public) == ({"kept": 10, "pairs": 10}, True)
    shuffled = independent_pair(WeightedPair.of(table, table))
    assert sorted(shuffled.synthetic["x0"].codes) == sorted(table["x0"].codes)


def test_members_of_a_group_are_no_records_of_their_own() -> None:
    """Two columns of 20 groups that go together by chance do not by their 2,000 rows."""
    rng = np.random.default_rng(4)
    of = np.repeat(np.arange(20), 100)
    table = {"of": of, "a": rng.normal(size=20)[of], "b": rng.normal(size=20)[of]}
    rows = correlations(WeightedPair.of({k: table[k] for k in "ab"}, {k: table[k] for k in "ab"}))
    groups = correlations(WeightedPair.of(table, table, groups="of"))
    assert rows.measurable == 1
    assert groups.measurable == 0


def test_weights_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weighted original is compared: its heavy half has the correlation, the other has none."""
    strong, none = two(1000, 0.8), two(1000, 0.0, 2)
    table = {name: np.concatenate([strong[name], none[name]]) for name in strong}
    weights = np.repeat([1.0, 1e-6], 1000)
    found = correlations(WeightedPair.of(table, strong, weights))
    assert (found.kept, found.measurable) == (1, 1)
    assert correlations(WeightedPair.of(table, strong)).kept == 0


def test_of_many_columns_some_are_drawn_and_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_COLUMNS", 4)
    rng = np.random.default_rng(6)
    a = rng.normal(size=400)
    table = Table.from_frame({f"x{i}": a + rng.normal(size=400) for i in range(9)})
    found = compare(table, table, measures=["correlations kept"], model_rows=200)
    result = found["correlations kept"]
    notes = {n.code: n.parameters for n in result.measurement.notes}
    assert notes["sampled-columns"] == {"columns": 4, "of": 9}
    assert notes["pairs-kept"]["pairs"] == 6
    assert notes["sampled-rows-only"]["ours"] == 200
