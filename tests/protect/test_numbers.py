"""Extremes, rounding and smoothing of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.protect.tables import values
from tests.refusals import refused

from caveat.protect import (
    code_extremes,
    round_numbers,
    smooth,
)
from caveat.synthesis.coding import SMOOTHINGS
from caveat.table import ColumnSchema, Schema, Table


def test_extremes():
    table = Table.from_frame({"income": [-50.0, 100.0, None, 9000.5]})
    found = code_extremes(table, top={"income": 5000}, bottom={"income": 0})
    assert values(found, "income") == [0.0, 100.0, None, 5000.0]
    assert found.step.counts == {"income: at the top": 1, "income: at the bottom": 1}
    with refused("protection.setting.range", column="income"):
        code_extremes(table, top={"income": 1}, bottom={"income": 2})


def test_a_protected_number_never_becomes_a_declared_code():
    table = Table.from_frame({"income": [-12, -8, 40, -9]})
    table = Schema({"income": ColumnSchema(missing={-8: "not asked"})}).apply(table)
    found = round_numbers(table, {"income": 8})
    # -12 rounds to -16 (even multiple), -9 to -8, which would read as "not asked"
    assert values(found, "income") == [-16, -8, 40, -7]
    assert found.table["income"].is_missing.tolist() == [False, True, False, False]


def test_rounding_goes_to_the_even_multiple():
    table = Table.from_frame({"x": [14, 15, 25, 26]})
    found = round_numbers(table, {"x": 10})
    assert values(found, "x") == [10, 20, 20, 30]
    assert found.step.counts == {"x: changed": 4}


@pytest.mark.parametrize("name", ["kernel", "spline"])
def test_smoothing_hides_values_and_keeps_groups(name):
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 2000)
    table = Table.from_frame({"sex": sex, "x": np.round(100 * sex + rng.normal(size=2000), 2)})
    found = smooth(table, ["x"], SMOOTHINGS[name], by=["sex"], seed=3)
    x = np.array(values(found, "x"))
    assert (x[sex == 1] > 50).all()
    assert (x[sex == 0] < 50).all()
    assert x[sex == 0].mean() == pytest.approx(0, abs=4 / np.sqrt((sex == 0).sum()) * 1.2)
    assert np.isin(x, table["x"].levels).mean() < 0.05
    assert found.table == smooth(table, ["x"], SMOOTHINGS[name], by=["sex"], seed=3).table
