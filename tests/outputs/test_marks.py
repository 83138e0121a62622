"""Columns that say which cells are hidden."""

from __future__ import annotations

import numpy as np
import pandas as pd

from caveat.outputs.cell_numbers import Marks, marks_of, unmarked
from caveat.table import Table


def table(**columns: list[object]) -> Table:
    return Table.from_frame(pd.DataFrame(columns))


def test_a_status_says_which_cells_are_hidden() -> None:
    assert marks_of(table(status=["shown", "hidden"])) == Marks("status", frozenset({1}), False)
    assert marks_of(table(Flag=["", "confidential"])) == Marks("Flag", frozenset({1}), False)
    assert marks_of(table(status=["shown", "secondary"])) == Marks("status", frozenset({1}), True)
    assert marks_of(table(status=["shown", "retired"])) is None
    assert marks_of(table(status=["shown", "hidden"]), keys=("status",)) is None
    assert marks_of(table(why=["", "hidden"]), "why") == Marks("why", frozenset({1}), False)


def test_a_zero_in_the_place_of_a_hidden_cell_is_none() -> None:
    marks = Marks("status", frozenset({1, 2}), False)
    np.testing.assert_array_equal(unmarked(np.array([0.0, 0, 5]), marks), [0, np.nan, 5])
    np.testing.assert_array_equal(unmarked(np.array([0.0, 0, 5]), None), [0, 0, 5])
