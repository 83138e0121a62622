"""What a column is beside its cells."""

from __future__ import annotations

import numpy as np

from caveat.table import Column, Kind, Missing
from caveat.table.code_files import column_of, dictionary_state


def test_a_column_comes_back_from_its_state():
    codes = np.array([0, 1, 2], np.uint8)
    income = Column(
        codes, np.array([800, 1500]), Kind.INTEGER, (Missing(np.int64(-8), "not asked"),),
        "income", {800: "low"}, "int32",
    )  # fmt: skip
    state = dictionary_state(income)
    assert (state["kind"], state["missing"]) == ("integer", [[-8, "not asked"]])
    assert type(state["missing"][0][0]) is int
    back = column_of(codes, np.asarray(state["levels"]), state)
    assert back == income
    assert (back.label, back.storage, dict(back.value_labels)) == ("income", "int32", {800: "low"})


def test_dates_are_kept_as_numbers():
    days = np.array(["2026-01-01", "2026-02-01"], "M8[D]")
    state = dictionary_state(Column(np.array([0, 1]), days, Kind.DATE))
    assert (state["type"], state["levels"].tolist()) == ("<M8[D]", [20454, 20485])
