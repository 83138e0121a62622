"""Columns in echelon form: more room keeps what is stored."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from caveat.outputs.audit import Columns


def test_growing_keeps_the_columns_and_drops_the_rest() -> None:
    matrix = sp.csc_array(np.array([[1, 0, 2], [0, 3, 0], [4, 0, 0]]))
    columns = Columns(matrix, np.array([2, 1, 0]))
    assert columns.rows[:5].tolist() == [0, 2, 1, 2, 0]
    size = len(columns.rows)
    columns.start[0], columns.used = 10, 12
    columns.rows[10:12], columns.vals[10:12] = [0, 1], [7, 8]
    columns.grow()
    assert columns.used == 4
    assert columns.start.tolist() == [0, 2, 3]
    assert columns.rows[:4].tolist() == [0, 1, 1, 2]
    assert columns.vals[:4].tolist() == [7, 8, 3, 2]
    assert len(columns.rows) == size
