"""Histograms of both tables: every row counted, limits given or found."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.utility import WeightedPair, compare, histogram
from caveat.utility.tables import all_tables


def test_histogram_counts_every_row(people) -> None:
    pair = WeightedPair.of(people, people)
    for name in pair.names:
        found = histogram(pair, name)
        assert found.observed.sum() == len(people)
        assert found.shares[0].sum() == pytest.approx(1)
    assert histogram(pair, "pay").n_missing == 2
    assert histogram(pair, "old").limits is None


def test_values_on_a_limit_but_for_rounding() -> None:
    """0.1 + 0.2 is a hair above 0.3 and falls into the bin that ends there."""
    values = [0.0, 0.1, 0.1 + 0.2, 0.5, 0.7, 0.9, 1.0]
    pair = WeightedPair.of({"x": values}, {"x": values})
    found = histogram(pair, "x", limits=np.array([0.0, 0.3, 0.6, 1.0]))
    assert found.observed.tolist() == [3, 1, 3]


def test_limits_may_be_given(people) -> None:
    pair = WeightedPair.of(people, people)
    found = histogram(pair, "age", limits=np.array([30.0, 50.0, 70.0]))
    ages = np.array(people.to_frame("dict")["age"])
    assert found.observed.tolist() == [(ages <= 50).sum(), (ages > 50).sum()]


def test_of_very_many_variables_some_pairs_are_counted(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    names = [f"v{i}" for i in range(30)]
    first, second = ({name: rng.integers(0, 3, 40) for name in names} for _ in range(2))
    pair = WeightedPair.of(first, second)
    every = all_tables(pair, 2)
    assert len(every) == every.possible == 435
    monkeypatch.setattr("caveat.utility.tables.MOST_TABLES", 150)
    some = all_tables(pair, 2)
    assert len(some) <= 150 < some.possible
    assert some.tables == all_tables(pair, 2).tables
    place = {table: i for i, table in enumerate(every.tables)}
    for i, table in enumerate(some.tables):
        assert some.columns["S_pMSE"][i] == every.columns["S_pMSE"][place[table]]
    assert set(some.variable_scores()) == set(names)
    assert len(all_tables(pair, 1)) == 30
    (result,) = compare(first, second, measures=["S_pMSE two-way"], resamples=0).results
    assert result.measurement.n == len(some)
    assert "some-tables" in [note.code for note in result.measurement.notes]
