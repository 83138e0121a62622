"""Rows come nearer to targets: numbers by derivatives, categories by evolution."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.expressions import Expression
from caveat.synthesis.drafts import Category, Correlations, Derived, DraftPlan, Model, Numeric
from caveat.synthesis.drafts.draft import start_rows
from caveat.synthesis.drafts.targets import Search, movable, targets_of


def test_numbers_move_as_little_as_meets_a_mean() -> None:
    plan = DraftPlan({"x": Numeric(1, 1)}, rows=4)
    mean = [t for t in targets_of(plan, 4) if getattr(t, "kind", "") == "mean"]
    found = Search(plan.columns, mean).move_numbers({"x": np.array([0.0, 1, 2, 3])}, ["x"])
    assert found["x"] == pytest.approx([-0.5, 0.5, 1.5, 2.5])


def test_numbers_stay_within_their_bounds() -> None:
    plan = DraftPlan({"x": Numeric(1, 1.4, least=0)}, rows=200)
    search = Search(plan.columns, targets_of(plan, 200))
    found = search.move_numbers({"x": np.linspace(0, 1, 200)}, ["x"])["x"]
    assert found.min() >= 0
    assert (found.mean(), found.std(ddof=1)) == pytest.approx((1, 1.4), abs=1e-8)


def test_parts_move_for_the_sake_of_their_total() -> None:
    columns = {"x": Numeric(1, 1), "y": Numeric(2, 1), "t": Derived(Expression("x + y"), sd=1.9)}
    plan = DraftPlan(columns, rows=100)
    rows = start_rows(plan, 100, np.random.default_rng(1))
    found = Search(columns, targets_of(plan, 100)).move_numbers(rows, ["x", "y"])
    assert (found["x"] + found["y"]).std(ddof=1) == pytest.approx(1.9, abs=1e-8)
    assert found["x"].std(ddof=1) == pytest.approx(1, abs=1e-8)


def test_categories_evolve_without_changing_their_shares() -> None:
    columns = {
        "y": Category(("0", "1"), (0.5, 0.5)),
        "g": Category(("a", "b", "c"), (0.3, 0.3, 0.4)),
    }
    model = Model("y ~ g", {"Intercept": -0.5, "g[T.b]": 0.4})
    plan = DraftPlan(columns, (), (), (model,), rows=2000)
    rows = start_rows(plan, 2000, np.random.default_rng(1))
    targets = targets_of(plan, 2000)
    search = Search(columns, targets)
    after = search.evolve(rows, movable(columns, whole=True), np.random.default_rng(1))
    assert [np.bincount(after[n]).tolist() for n in columns] == [
        np.bincount(rows[n]).tolist() for n in columns
    ]
    before, now = (np.abs(targets[-1].distance(r)).max() for r in (rows, after))
    assert now < 0.05
    assert now < before


def test_whole_numbers_stay_whole() -> None:
    columns = {"x": Numeric(10, 3, whole=True, least=0, most=30), "y": Numeric(4, 2, whole=True)}
    half = Correlations(("x", "y"), np.array([[1, 0.5], [0.5, 1]]))
    plan = DraftPlan(columns, (), (half,), rows=500)
    rows = {n: np.round(c) for n, c in start_rows(plan, 500, np.random.default_rng(1)).items()}
    found = Search(columns, targets_of(plan, 500)).evolve(
        rows, ["x", "y"], np.random.default_rng(1)
    )
    assert all((cells == np.round(cells)).all() for cells in found.values())
    assert np.corrcoef(found["x"], found["y"])[0, 1] == pytest.approx(0.5, abs=1e-4)
    # A published mean is exact before rows evolve, and stays what it is.
    assert found["x"].sum() == rows["x"].sum()
