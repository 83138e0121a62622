"""What a protection does to each group."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.protect.record import burdens, odds_ratios
from caveat.table import Column, Kind, Missing, Table


def people(counts):
    """Return a table of (group, outcome) with given counts."""
    rows = [cell for cell, n in counts.items() for _ in range(n)]
    return Table.from_frame({"group": [g for g, _ in rows], "ill": [o for _, o in rows]})


BEFORE = people({("a", "y"): 20, ("a", "n"): 80, ("b", "y"): 5, ("b", "n"): 5})


def test_odds_ratio_and_its_interval():
    found = odds_ratios(BEFORE, "group", "ill", "y")
    assert found["a"].value == 1
    assert found["a"].interval is None
    one = found["b"]
    assert one.value == 4
    assert one.n == 10
    # exp(log 4 ± 1.96 √(1/5 + 1/5 + 1/20 + 1/80))
    reach = 1.959964 * np.sqrt(0.4625)
    assert one.interval == pytest.approx((4 * np.exp(-reach), 4 * np.exp(reach)), rel=1e-6)
    assert odds_ratios(BEFORE, "group", "ill", "y", reference="b")["a"].value == 0.25


def test_missing_and_masked_records_are_left_out():
    codes = BEFORE["group"].codes.astype(np.int64)
    codes[[0, 1, 100]] = 2
    masked = Column(codes, BEFORE["group"].levels, Kind.CATEGORY, (Missing("?"),))
    found = odds_ratios(BEFORE.with_columns({"group": masked}), "group", "ill", "y")
    assert found["a"].n == 98
    assert found["b"].value == pytest.approx((4 / 5) / (18 / 80))


def test_a_group_without_the_outcome_has_no_ratio():
    after = people({("a", "y"): 20, ("a", "n"): 80, ("b", "n"): 5})
    small, large = burdens(BEFORE, after, "group", "ill", "y")
    assert (small.group, large.group) == ("b", "a")
    assert small.after.value is None
    assert small.lost == 0.5
    assert large.lost == 0
    assert "b" not in repr(small).replace("Burden", "")


def test_a_group_that_was_merged_or_vanished():
    after = people({("a", "y"): 20, ("a", "n"): 80, ("rest", "y"): 4, ("rest", "n"): 6})
    small, _ = burdens(BEFORE, after, "group", "ill", "y", merged={"b": "rest"})
    assert small.after.value == pytest.approx((4 / 6) / (20 / 80))
    assert small.lost == 1
    gone, _ = burdens(BEFORE, after, "group", "ill", "y")
    assert gone.after.value is None
    assert gone.lost == 1


def test_what_is_refused():
    with refused("data.level.unknown", column="ill"):
        odds_ratios(BEFORE, "group", "ill", "maybe")
    with refused("data.level.unknown", column="group"):
        odds_ratios(BEFORE, "group", "ill", "y", reference="c")
    empty = Table.from_frame({"group": [None, None], "ill": list("yn")})
    with refused("protection.group.empty", column="group"):
        odds_ratios(empty, "group", "ill", "y")
