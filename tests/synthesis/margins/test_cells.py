"""Cells of columns: levels, cells of a grid, and the kinds behind them."""

from __future__ import annotations

import numpy as np

from caveat.synthesis.coding import Coding, Grid
from caveat.synthesis.margins.tables import cells_of, lookup_of, n_cells_of, ordinary_of
from caveat.table import Table

TABLE = Table.from_frame(
    {"sex": ["f", "m", None, "f"], "age": [20, 29, 30, 39], "income": [0, 100, None, 250]}
)


def test_classes_are_their_codes_missing_ones_too():
    coding = Coding.of(TABLE["sex"], (), "sex")
    assert (n_cells_of(coding), ordinary_of(coding)) == (3, 3)
    assert lookup_of(coding).tolist() == [0, 1, 2]


def test_numbers_are_cells_of_the_grid():
    coding = Coding.of(TABLE["age"], (), "age", Grid(20, 39, 1, bins=2))
    assert (n_cells_of(coding), ordinary_of(coding)) == (2, 2)
    assert cells_of({"age": coding}, TABLE)["age"].tolist() == [0, 0, 1, 1]


def test_special_values_and_ways_to_be_missing_come_after_the_cells():
    grid = Grid(0, 299, 1, special=(0.0,), bins=3)
    coding = Coding.of(TABLE["income"], (0,), "income", grid)
    assert (n_cells_of(coding), ordinary_of(coding)) == (5, 3)
    assert cells_of({"income": coding}, TABLE)["income"].tolist() == [3, 1, 4, 2]
    assert np.array_equal(lookup_of(coding), [3, 1, 2, 4])
