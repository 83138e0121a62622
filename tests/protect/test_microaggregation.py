"""Groups of records that become alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.protect import (
    mdav,
    microaggregate,
)
from caveat.table import Table


@pytest.mark.parametrize(("n", "k", "cells"), [
    (79, 2, 1872), (79, 4, 912), (79, 30, 96), (983, 4, 11760), (1493, 20, 3552),
])  # fmt: skip
def test_mdav_has_the_number_of_cells_that_is_printed(n, k, cells):
    # 48 half-hours times the number of groups, floor(n / k)
    rng = np.random.default_rng(n)
    table = Table.from_frame({f"t{j}": rng.lognormal(size=n) for j in range(48)})
    found = microaggregate(table, table.names, k=k)
    assert found.step.counts["cells"] == cells == 48 * (n // k)
    assert found.step.counts["smallest"] >= k
    assert found.step.counts["largest"] <= 2 * k - 1
    rows = np.stack([found.table[name].values.astype(float) for name in table], axis=1)
    _, counts = np.unique(rows.round(9), axis=0, return_counts=True)
    assert counts.min() >= k
    means = [table[name].values.astype(float).mean() for name in table]
    assert rows.mean(axis=0) == pytest.approx(means)


def test_mdav_by_hand():
    # The centre is 3.0; 9 is farthest, with 8; from it 0 is farthest, with 1; 3 and 4 remain.
    points = np.array([[0.0], [1.0], [3.0], [4.0], [8.0], [9.0]])
    assert mdav(points, 2).tolist() == [0, 0, 1, 1, 2, 2]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 99))
def test_mdav_groups(n, k, seed):
    points = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)
    if k > n:
        with pytest.raises(CaveatError, match="the size of the groups does not fit"):
            mdav(points, k)
        return
    sizes = np.bincount(mdav(points, k))
    assert len(sizes) == n // k
    assert k <= sizes.min()
    assert sizes.max() <= max(2 * k - 1, k)


def test_missing_numbers_are_refused_by_row():
    table = Table.from_frame({"x": [1.0, None, 3.0]})
    with refused("data.value.absent", column="x", row=2):
        microaggregate(table, ["x"], k=2)
