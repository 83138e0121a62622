"""Columns like those of the original."""

from __future__ import annotations

import numpy as np

from caveat.generators.contract import column_like
from caveat.table import Column, Kind, Missing


def test_missing_cells_keep_their_way_whatever_value_stands_there() -> None:
    ways = (Missing(), Missing(-8, "not asked"))
    pay = Column(np.array([0, 1, 2]), np.array([1.5]), Kind.NUMERIC, ways)
    made = column_like(pay, np.array([np.nan, 2.5, np.nan, 0.5]), np.array([1, 0, 2, 0]))
    assert made.values.tolist() == [None, 2.5, -8, 0.5]
    assert made.missing == ways
    assert made.levels.tolist() == [0.5, 2.5]
