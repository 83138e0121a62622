"""Tables as codes and mixed vectors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.attack.ordinary.tables import people

from caveat.attack.ordinary.common import dense, mixed, prepare
from caveat.attack.registry import run_attack
from caveat.nearest import gower_nearest
from caveat.table import Table


def test_gower_by_hand():
    """Range of age 40: |30 − 40|/40; debt negative, range 200; missing differs by 1."""
    a = pl.DataFrame({"age": [30, 50], "debt": [-100, -100], "sex": ["f", "m"]})
    b = pl.DataFrame({"age": [40, 0, None], "debt": [-300, -100, -100], "sex": ["f", "f", "m"]})
    tables = prepare(a, b)
    ours, theirs = mixed([tables.original, tables.synthetic], a.columns, tables.synthetic)
    found = gower_nearest(ours, theirs, 3)
    assert found.distance[0] == pytest.approx([1 / 3 * 30 / 40, (10 / 40 + 1) / 3, 2 / 3])
    assert found.position[0].tolist() == [1, 0, 2]


def test_columns_that_are_no_values_are_left_out():
    table = Table.from_frame(people(1, 30))
    assert prepare(table, table).original.names == table.names


def test_numbers_far_beyond_the_release_stay_finite():
    """Standardised by a release that hardly varies, they were too large for trees."""
    near = {"x": [0.0, 1e-70, 2e-70] * 10, "y": ["a", "b"] * 15}
    far = {"x": [1e75, -1e75, 2e-70] * 10, "y": ["a", "b"] * 15}
    both = prepare(far, near)
    ours, theirs = dense(both.synthetic, [both.original, both.synthetic], ["x"])
    assert ours[:3, 0].tolist() == [1e15, -1e15, pytest.approx(1.224745)]
    assert np.abs(theirs).max() < 2
    found = run_attack("prediction", far, near, keys=["x"], target="y")
    assert all(one.result.value is not None for one in found)
