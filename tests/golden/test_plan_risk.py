"""Kolb, Tang and Giessing (2024): the printed toy, and the number of tables."""

from __future__ import annotations

import pytest

from caveat.outputs.plan_risk import plan_risk, planned_tables
from caveat.risk import Scenario
from caveat.risk.isolation import msu_risk
from caveat.risk.pair import pair
from caveat.table import Table

NAMES = ("key1", "key2", "target")
SYNTHETIC = [(1, 2, 3), (1, 2, 5), (4, 12, 4), (4, 12, 4), (4, 12, 4), (5, 12, 10)]
ORIGINAL = [(1, 2, 3), (1, 2, 3), (4, 12, 4), (4, 12, 4), (4, 12, 9), (5, 12, 10)]


def table(rows):
    columns = zip(*rows, strict=True)
    return Table.from_frame({n: list(map(str, c)) for n, c in zip(NAMES, columns, strict=True)})


def test_the_toy():
    original, synthetic = table(ORIGINAL), table(SYNTHETIC)
    found = plan_risk(original, synthetic, [NAMES], ["target"])
    assert found.tables[0].risk == 1 / 2
    assert found.tcap_ratio["target"].value == 1 / 2
    both = pair(original, synthetic, Scenario(NAMES[:2], "target"))
    assert msu_risk(both).value == pytest.approx(1 / 3)


def test_the_number_of_tables():
    """Three untouched and three synthesised variables: 12 + 19 + 15 + 6 = 52."""
    plan = planned_tables("abc", "xyz")
    assert [sum(len(one) == size for one in plan) for size in (2, 3, 4, 5)] == [12, 19, 15, 6]
    assert len(plan) == 52
