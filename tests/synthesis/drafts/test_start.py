"""The rows that a draft begins with."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.synthesis.drafts import (
    Category,
    Correlations,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
)
from caveat.synthesis.drafts.draft import start_rows


def test_skewed_numbers_and_categories_have_the_correlations() -> None:
    """The copula alone: correlations of values, not of scores, though both columns are skewed."""
    columns = {
        "x": Numeric(10, 10, least=0, family="lognormal"),
        "y": Numeric(5, 5, least=0),
        "g": Category(("0", "1"), (0.7, 0.3)),
    }
    wanted = np.array([[1, 0.6, 0.3], [0.6, 1, 0.2], [0.3, 0.2, 1]])
    plan = DraftPlan(columns, (), (Correlations(("x", "y", "g"), wanted),), rows=4000)
    rows = start_rows(plan, 4000, np.random.default_rng(1))
    assert np.bincount(rows["g"]).tolist() == [2800, 1200]
    found = np.corrcoef([rows["x"], rows["y"], rows["g"]])
    assert np.abs(found - wanted).max() < 0.02


def test_normal_scores_have_them_exactly() -> None:
    columns = {"x": Numeric(0, 1), "y": Numeric(0, 1)}
    half = np.array([[1, 0.5], [0.5, 1]])
    plan = DraftPlan(columns, (), (Correlations(("x", "y"), half),), rows=50)
    rows = start_rows(plan, 50, np.random.default_rng(1))
    assert np.corrcoef(rows["x"], rows["y"])[0, 1] == pytest.approx(0.5, abs=1e-6)


def test_numbers_are_drawn_beside_categories_that_a_table_fixes() -> None:
    table = PublishedTable(("g", "h"), {("0", "a"): 300, ("0", "b"): 100, ("1", "b"): 600})
    columns = {"x": Numeric(0, 1), "g": Category(()), "h": Category(())}
    related = Correlations(("g", "x"), np.array([[1, -0.4], [-0.4, 1]]))
    rows = start_rows(DraftPlan(columns, (table,), (related,)), 1000, np.random.default_rng(1))
    assert np.bincount(2 * rows["g"] + rows["h"]).tolist() == [300, 100, 0, 600]
    assert np.corrcoef(rows["g"], rows["x"])[0, 1] == pytest.approx(-0.4, abs=0.02)
    assert list(rows) == ["x", "g", "h"]


def test_a_response_is_dealt_where_the_model_says_within_its_table() -> None:
    table = PublishedTable(("y", "h"), {("0", "a"): 900, ("1", "a"): 100,
                                        ("0", "b"): 500, ("1", "b"): 500})  # fmt: skip
    columns = {"x": Numeric(0, 1), "y": Category(()), "h": Category(())}
    plan = DraftPlan(columns, (table,), (), (Model("y ~ x + h", {"x": 1.5}),))
    rows = start_rows(plan, 2000, np.random.default_rng(1))
    assert np.bincount(2 * rows["y"] + rows["h"]).tolist() == [900, 500, 100, 500]
    high = rows["x"][rows["y"] == 1].mean() - rows["x"][rows["y"] == 0].mean()
    assert 0.8 < high < 1.5
