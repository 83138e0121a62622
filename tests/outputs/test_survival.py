"""Survival tables, and what stands beside their counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.outputs.checking import check_table
from caveat.outputs.statbarns import Rules, Verdict
from caveat.outputs.table_rules import is_survival, survival_barns
from caveat.table import Table

AT_RISK = np.array([200, 180, 150, 100])
EVENTS = np.array([20, 15, 30, 12])
TABLE = pd.DataFrame({
    "time": [0, 1, 2, 3], "n.risk": AT_RISK, "n.event": EVENTS,
    "survival": np.cumprod(1 - EVENTS / AT_RISK).round(5),
})  # fmt: skip


def cells(frame: pd.DataFrame, rules: Rules | None = None) -> list[tuple[str, object]]:
    return [(one.rule, one.cells or one.reason) for one in check_table(frame, rules).findings]


def test_a_table_as_r_prints_it_is_safe() -> None:
    assert is_survival(Table.from_frame(TABLE))
    found = check_table(TABLE)
    assert (found.form, found.verdict) == ("survival table", Verdict.SAFE)
    beside = TABLE.assign(**{"std.err": 0.01, "lower": 0.5, "upper": 0.9})
    assert check_table(beside).verdict is Verdict.SAFE


def test_other_counts_are_counts() -> None:
    assert cells(TABLE.assign(censored=[0, 15, 3, 20])) == [("survival", ((2, "censored"),))]
    strict = Rules(survival_threshold=16)
    assert cells(TABLE, strict) == [("survival", ((1, "n.event"), (3, "n.event")))]


@pytest.mark.parametrize("column", ["survival", "hazard", "cumulative hazard"])
def test_hidden_events_are_told_by_what_was_made_of_them(column: str) -> None:
    events = np.array([20, 4, 30, 12])
    shares = {
        "survival": np.cumprod(1 - events / AT_RISK),
        "hazard": events / AT_RISK,
        "cumulative hazard": np.cumsum(events / AT_RISK),
    }
    frame = pd.DataFrame({"time": [0, 1, 2, 3], "at_risk": AT_RISK, column: shares[column]})
    found = check_table(frame)
    assert [(one.cells, one.reason) for one in found.findings] == [
        (((1, column),), f"row 2: fewer than 10 persons leave, as {column} tells")
    ]
    hidden = frame.assign(events=["20", "<10", "30", "12"])
    assert [one.cells for one in check_table(hidden).findings] == [((1, column),)]
    rough = frame.assign(**{column: shares[column].round(2)})
    assert [one.reason for one in check_table(rough).findings] == [
        "how many leave in each line is not said"
    ]


def test_per_cent_are_shares() -> None:
    frame = TABLE.drop(columns="n.event").assign(survival=100 * np.cumprod(1 - EVENTS / AT_RISK))
    assert check_table(frame).verdict is Verdict.SAFE
    assert cells(frame, Rules(survival_threshold=16)) == [
        ("survival", ((1, "survival"), (3, "survival")))
    ]


@pytest.mark.parametrize("arms", [["a", "a", "b", "b"], [1, 1, 2, 2]])
def test_groups_have_their_own_lines(arms: list[object]) -> None:
    frame = pd.DataFrame({"arm": arms, "time": [0, 1, 0, 1], "at_risk": [200, 100, 95, 60],
                          "events": [60, 30, 20, 20]})  # fmt: skip
    assert check_table(frame).verdict is Verdict.SAFE  # 95 is not five less than 100
    mixed = frame.iloc[[0, 2, 1, 3]].reset_index(drop=True)
    assert check_table(mixed).verdict is Verdict.SAFE
    few = frame.assign(at_risk=[200, 195, 95, 60])
    assert cells(few) == [("survival", ((1, "at_risk"),))]


def test_what_stands_beside_is_held_to_its_barn() -> None:
    ends = check_table(TABLE.assign(max=[80, 81, 82, 83]))
    assert ends.verdict is Verdict.REFUSE
    assert ends.barns == ("hazard and survival tables", "maxima and minima")
    assert [one.rule for one in ends.findings] == ["endpoint"]
    assert cells(TABLE.assign(turnover=[7, 8, 9, 10])) == [
        ("unknown", "what turnover holds is not known")
    ]
    assert cells(TABLE.assign(cost=["€7,000", "€8,000", "€1", "€2"])) == [
        ("unknown", "what cost holds is not known")
    ]
    assert survival_barns(Table.from_frame(TABLE)) == ("hazard and survival tables",)


def test_an_empty_survival_table() -> None:
    with refused("data.table.empty"):
        check_table(TABLE.head(0))
