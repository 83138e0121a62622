"""The network of DataSynthesizer, by hand and by what it must keep."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.studies.outliers import BINS, bins_of, classes_of, grow, network_copy


def frame(n: int = 4000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, n)
    b = (a + (rng.random(n) < 0.1)) % 4
    c = (b * 2 + rng.integers(0, 2, n)) % 8
    lone = rng.integers(0, 3, n)
    amount = np.where(rng.random(n) < 0.2, np.nan, rng.normal(100 * a, 10))
    return pl.DataFrame({"a": a, "b": b, "c": c, "lone": lone, "amount": amount}).with_columns(
        pl.col("amount").fill_nan(None), pl.col("a").cast(pl.String)
    )


def test_bins_are_equally_wide_and_closed_on_the_right() -> None:
    codes, edges = bins_of(np.array([0.0, 1.0, 1.5, np.nan, 20.0]))
    assert codes.tolist() == [0, 0, 1, BINS, BINS - 1]
    assert np.diff(edges) == pytest.approx(np.ones(BINS))


def test_numbers_with_few_values_are_their_own_classes() -> None:
    few = classes_of(pl.Series("x", [3, 1, None, 3]))
    assert few.levels == (1, 3)
    assert few.codes.tolist() == [1, 0, 2, 1]
    many = classes_of(pl.Series("x", list(range(30))))
    assert (many.levels, many.n) == (None, BINS + 1)


def test_a_column_hangs_on_what_tells_most_about_it() -> None:
    columns = {name: classes_of(frame()[name]) for name in frame().columns}
    network = grow(columns, np.random.default_rng(1))
    names = [name for name, _ in network]
    assert sorted(names) == sorted(columns)
    for position, (name, parents) in enumerate(network):
        assert len(parents) == min(position, 2)
        assert set(parents) <= set(names[:position]), name
    # Nothing tells about the lone column, which therefore comes last unless it was drawn first.
    assert "lone" in (names[0], names[-1])


def test_a_copy_keeps_margins_kinds_and_missing_cells() -> None:
    original = frame()
    made = network_copy(original, 5)
    assert made.schema == original.schema
    assert made.height == original.height
    for name in ("a", "b", "c", "lone"):
        ours, theirs = (f[name].value_counts(normalize=True).sort(name) for f in (original, made))
        assert ours[name].to_list() == theirs[name].to_list()
        error = np.sqrt(0.25 / original.height)
        assert np.abs(ours["proportion"] - theirs["proportion"]).max() < 5 * error
    assert made["amount"].null_count() == pytest.approx(0.2 * original.height, abs=140)
    # b follows a in nine of ten rows.
    same = (made["a"].cast(pl.Int64) == made["b"]).mean()
    assert same == pytest.approx(0.9, abs=0.03)


def test_whole_numbers_stay_whole() -> None:
    original = pl.DataFrame({"age": np.arange(100) % 50, "x": np.arange(100) % 2})
    made = network_copy(original, 1)
    assert made["age"].dtype == original["age"].dtype
    assert made["age"].is_between(0, 49).all()
    assert made.equals(network_copy(original, 1))
