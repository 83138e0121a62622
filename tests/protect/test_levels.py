"""Rare levels and the label of synthetic records."""

from __future__ import annotations

from tests.protect.tables import PEOPLE, RELEASE, values
from tests.refusals import refused

from caveat.protect import (
    code_extremes,
    group_rare_levels,
    label,
)
from caveat.table import Table, concat


def test_rare_levels():
    jobs = ["clerk"] * 6 + ["baker"] * 5 + ["smith", "smith", "judge"]
    found = group_rare_levels(Table.from_frame({"job": jobs}), ["job"], fewest=3)
    column = found.table["job"]
    assert dict(zip(column.levels, column.counts, strict=True)) == {
        "baker": 5, "clerk": 6, "other": 3,
    }  # fmt: skip
    assert found.step.counts == {"job: levels grouped": 2, "job: records": 3}


def test_a_single_rare_level_takes_another_with_it():
    jobs = ["clerk"] * 6 + ["baker"] * 5 + ["judge"]
    column = group_rare_levels(Table.from_frame({"job": jobs}), ["job"]).table["job"]
    assert dict(zip(column.levels, column.counts, strict=True)) == {"clerk": 6, "other": 6}


def test_label():
    assert values(label(PEOPLE), "synthetic") == ["synthetic"] * 5
    with refused("data.column.exists", column="sex"):
        label(PEOPLE, column="sex")


def test_tables_can_be_stacked_after_protection():
    found = code_extremes(RELEASE, top={"age": 50})
    assert concat([RELEASE, found.table]).n_rows == 12
