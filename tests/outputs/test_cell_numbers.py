"""Columns of published tables as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from caveat.outputs.cell_numbers import (
    base_of,
    last_place,
    limits,
    mostly_numbers,
    numbers,
    rounded_to,
    written_decimal,
)
from caveat.table import Table

TABLE = Table.from_frame(pd.DataFrame({
    "region": ["n", "s", "w"], "mean": ["1.767,26", "0,5", "*"], "note": ["12", "7", "few"],
}))  # fmt: skip


def test_text_is_read_by_the_sign_that_fits() -> None:
    assert written_decimal(TABLE) == ","
    np.testing.assert_array_equal(numbers(TABLE["mean"], "mean"), [1767.26, 0.5, np.nan])
    assert [mostly_numbers(TABLE[name]) for name in TABLE.names] == [False, True, True]


def test_what_is_said_of_rounding_comes_before_the_guess() -> None:
    counts = np.array([15.0, 20, 35, 5, 70, 45])
    assert (base_of(None, counts), base_of(1, counts), base_of(10, counts)) == (5, 0, 10)
    assert (base_of(None, None), rounded_to(counts[:5])) == (0, 0)
    assert (last_place(np.array([1.25, 2.0])), last_place(counts)) == (0.01, 0)


def test_bounds_leave_limits() -> None:
    cells = ["<10", "≤10", ">5", "≥5", "*", "12"]
    column = Table.from_frame(pd.DataFrame({"n": cells}))["n"]
    found, amounts = limits(column), limits(column, whole=False)
    assert found is not None
    assert amounts is not None
    inf = np.inf
    np.testing.assert_array_equal(found, [[-inf, -inf, 6, 5, -inf, -inf], [9, 10, *[inf] * 4]])
    np.testing.assert_array_equal(amounts, [[-inf, -inf, 5, 5, -inf, -inf], [10, 10, *[inf] * 4]])
    assert limits(TABLE["mean"]) is None
