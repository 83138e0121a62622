"""The (n, k) and the p % rule, by hand; both of their users say the same about the same cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.outputs.primary import PrimaryRules, Reason, contributors_of, primary_cells
from caveat.outputs.statbarns import Rules, few_have_most, largest_can_be_told
from caveat.outputs.table_rules import dominates
from caveat.outputs.tables import Hierarchy, Layout, cells_of


@pytest.mark.parametrize(
    ("top", "plain", "with_slack"), [(91, True, True), (90, False, True), (89, False, False)]
)
def test_the_share_itself_is_too_much_with_slack_only(top: int, plain: bool, with_slack: bool):
    assert few_have_most(100, top, 0.9) is plain
    assert few_have_most(100, top, 0.9, 1e-9) is with_slack


def test_the_rest_beside_the_largest():
    two = np.array([93, 94, 95])  # of 100, the largest 60: 7, 6 and 5 beside 6
    assert largest_can_be_told(100, 60, two, 0.1).tolist() == [False, False, True]
    assert largest_can_be_told(100, 60, two, 0.1, 1e-9).tolist() == [False, False, True]


def test_an_empty_cell_is_dominated_by_nobody():
    for slack in (0, 1e-9):
        assert not few_have_most(0, 0, 0.9, slack)
        assert not largest_can_be_told(0, 0, 0, 0.1, slack)


@given(st.lists(st.integers(1, 100), min_size=2, max_size=6))
def test_tables_and_checks_agree_off_the_borders(amounts: list[int]):
    """Shares that no such cell has exactly: 0.8501 of the two largest, 10.01 % of the largest."""
    tree = Hierarchy.of(["a"])
    codes = {"k": np.zeros(len(amounts), np.int64)}
    cells = cells_of(codes, {"k": tree}, [Layout("t", ("k",))])
    who = contributors_of(cells.row_of, amounts=np.array(amounts, float))
    largest = sorted(amounts, reverse=True)
    checked = dominates(sum(amounts), largest[:2], Rules(dominance_share=0.8501, p=0.1001))
    for broken, reason, rule in zip(
        checked,
        (Reason.DOMINANCE, Reason.P_PERCENT),
        ({"dominance": (2, 0.8501)}, {"p_percent": 10.01}),
        strict=True,
    ):
        found, *_ = primary_cells(cells, who, PrimaryRules(None, singles=False, **rule))
        assert found.tolist() == [reason if broken else None] * 2
