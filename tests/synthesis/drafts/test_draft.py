"""Drafts as a whole: published numbers come out of the file again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from tests.refusals import refused

from caveat.expressions import Expression
from caveat.synthesis.drafts import (
    Category,
    Correlations,
    Derived,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
    draft,
)
from caveat.synthesis.drafts.draft import _on_grid

MATRIX = np.array([[1, 0.8, 0.4, -0.2], [0.8, 1, 0.3, 0], [0.4, 0.3, 1, 0.1], [-0.2, 0, 0.1, 1]])
FIRMS = DraftPlan(
    {
        "goods": Numeric(800, 900, least=0, family="lognormal"),
        "staff": Numeric(300, 250, least=0, decimals=2),
        "other": Numeric(50, 80, least=0),
        "interest": Numeric(-5, 20),
        "costs": Derived(Expression("goods + staff + other - interest")),
        "costs again": Derived(Expression("costs")),
    },
    (),
    (Correlations(("goods", "staff", "other", "interest"), MATRIX),),
    rows=1000,
)


def test_correlations_are_exact_and_sums_hold_in_every_row() -> None:
    table = draft(FIRMS).table
    cells = {name: table[name].cell_numbers for name in table}
    found = np.corrcoef([cells[name] for name in ("goods", "staff", "other", "interest")])
    assert np.abs(found - MATRIX).max() < 1e-6
    total = cells["goods"] + cells["staff"] + cells["other"] - cells["interest"]
    assert np.abs(cells["costs"] - total).max() < 1e-9
    assert np.array_equal(cells["costs"], cells["costs again"])
    assert min(cells[name].min() for name in ("goods", "staff", "other")) >= 0


def test_the_same_seed_gives_the_same_table_and_another_one_another() -> None:
    assert draft(FIRMS, seed=3).table == draft(FIRMS, seed=3).table
    assert draft(FIRMS, seed=3).table != draft(FIRMS, seed=4).table


def test_coefficients_and_standard_errors_as_statsmodels_sees_them() -> None:
    plan = DraftPlan(
        {
            "age": Numeric(45, 12, least=18, most=90),
            "edu": Category(("low", "high"), (0.6, 0.4)),
            "pay": Numeric(2000, 700),
        },
        (),
        (),
        (Model("pay ~ age + edu", {"age": 15.0, "edu[T.high]": 400.0}, {"age": 2.0}),),
        rows=800,
    )
    made = draft(plan)
    table = made.table
    high = table["edu"].values == "high"
    x = sm.add_constant(np.column_stack([high, table["age"].cell_numbers]))
    found = sm.OLS(table["pay"].cell_numbers, x).fit()
    assert found.params[1:] == pytest.approx([400, 15], rel=1e-6)
    assert found.bse[2] == pytest.approx(2.0, rel=1e-6)
    assert {one.words for one in made.nearness} == {"met"}


def test_without_optimisation_it_is_only_near() -> None:
    rough, fine = (draft(FIRMS, optimise=o) for o in (False, True))
    assert rough.mean_error("correlation") < 0.01
    assert 1 < rough.mean_error("sd") < 50
    assert fine.mean_error("sd") < 1e-3


def test_levels_that_are_whole_numbers_are_written_so() -> None:
    columns = {"n": Category(("1", "02"), (0.5, 0.5)), "m": Category(("1", "2"), (0.5, 0.5)),
               "k": Numeric(3, 1, whole=True)}  # fmt: skip
    table = draft(DraftPlan(columns, rows=10)).table
    assert [str(table[name].kind) for name in table] == ["category", "integer", "integer"]


def test_weights_decide_between_numbers_that_cannot_both_be_met() -> None:
    """The mean of the parts and that of their product with 2 contradict each other by a little."""
    found = []
    for weight in (0.0001, 100.0):
        columns = {
            "x": Numeric(10, 2),
            "t": Derived(Expression("2 * x"), mean=20.05, weight=weight),
        }
        found.append(draft(DraftPlan(columns, rows=400)).table["x"].cell_numbers.mean())
    assert found[0] == pytest.approx(10, abs=0.002)
    assert found[1] == pytest.approx(10.025, abs=0.002)


def test_totals_are_exact_to_the_last_digit() -> None:
    columns = {
        "pay": Numeric(1234.56, 300, least=0, decimals=2),
        "age": Numeric(41.3, 11, least=16, most=90, whole=True),
    }
    table = draft(DraftPlan(columns, rows=1000)).table
    assert round(table["pay"].cell_numbers.sum(), 4) == 1234560
    assert table["age"].cell_numbers.sum() == 41300


def test_a_published_total_is_exact_where_other_numbers_contradict_it() -> None:
    """The model puts the mean of y at 11, or that of a at 90."""
    model = Model("linear: y ~ a", {"Intercept": 1, "a": 0.1})
    y = Numeric(10, 5, decimals=2)
    found = []
    for exact in (True, False):
        columns = {"a": Numeric(100, 20, decimals=2, exact=exact), "y": y}
        made = draft(DraftPlan(columns, models=(model,), rows=1000))
        cells = made.table["a"].cell_numbers
        found.append(sum(round(cell * 100) for cell in cells.tolist()))
    assert found[0] == 10_000_000
    assert abs(found[1] - 10_000_000) > 10_000


@pytest.mark.parametrize(
    ("column", "unit", "least", "most"),
    [
        (Numeric(3, 2, least=0.4, most=9.6, whole=True), 1, 1, 9),
        (Numeric(3, 2, least=0.4, whole=True), 1, 1, np.inf),
        (Numeric(1, 2, least=0.004, decimals=2), 100, 0.01, np.inf),
    ],
)
def test_bounds_do_not_break_the_digits(
    column: Numeric, unit: int, least: float, most: float
) -> None:
    cells = draft(DraftPlan({"x": column}, rows=200)).table["x"].cell_numbers
    assert (cells == np.rint(cells * unit) / unit).all()
    assert cells.min() >= least
    assert cells.max() <= most
    assert round(cells.sum(), 6) == 200 * (column.mean or 0)


@pytest.mark.parametrize("lack", [-250, -3, 0, 7, 1234])
def test_what_a_total_lacks_is_spread_within_the_bounds(lack: int) -> None:
    cells = np.array([0.0, 0.01, 1.0, 2.5, 9.99, 10.0])
    mean = (cells.sum() + lack / 100) / 6
    one = Numeric(mean, 3, least=0, most=10, decimals=2, exact=True)
    found = _on_grid(one, cells + 0.001)
    steps = np.rint(found * 100).astype(int)
    assert steps.sum() == 2350 + lack
    assert (found == steps / 100).all()
    assert found.min() >= 0
    assert found.max() <= 10


@pytest.mark.parametrize(
    ("more", "entry"),
    [
        ({"models": (Model("y ~ log(x)", {"log(x)": 0.5}),)}, ("model", 0, "formula")),
        ({"columns": {"z": Derived(Expression("log(x)"))}}, ("columns", "z", "formula")),
    ],
)
def test_what_is_no_number_is_refused(more: dict[str, Any], entry: tuple[str | int, ...]) -> None:
    columns = {"x": Numeric(0, 1), "y": Numeric(0, 1), **more.pop("columns", {})}
    with refused("draft.formula.undefined") as raised:
        draft(DraftPlan(columns, rows=50, **more))
    assert raised.value.entry == entry


def test_a_draft_has_neither_one_row_nor_millions() -> None:
    for rows in (1, 200_001):
        with refused("draft.entry.range", entry=("rows",)):
            draft(FIRMS, rows=rows)


def test_logarithms_up_to_their_bound() -> None:
    columns = {"x": Numeric(3, 2, least=0), "z": Derived(Expression("log(x)"), mean=0.8)}
    made = draft(DraftPlan(columns, rows=300))
    assert {one.words for one in made.nearness} <= {"met", "very near"}


def test_a_repaired_correlation_is_reported_beside_the_published_one() -> None:
    bad = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    related = (Correlations(("x", "y", "z"), bad, repair=True),)
    made = draft(DraftPlan({name: Numeric(0, 1) for name in "xyz"}, (), related, rows=200))
    found = [one for one in made.nearness if one.kind == "correlation"]
    assert [one.wanted for one in found] == [0.9, -0.9, 0.9]
    assert [one.got for one in found] == pytest.approx([0.5, -0.5, 0.5], abs=1e-3)
    assert {one.words for one in found} == {"missed"}


def test_a_model_with_large_numbers_is_met_as_statsmodels_sees_it() -> None:
    columns = {
        "income": Numeric(450_000, 300_000, least=0, decimals=0),
        "age": Numeric(40, 10),
        "car": Category(("no", "yes"), (0.5, 0.5)),
    }
    model = Model("logistic: car ~ income + age", {"income": 1.5e-6, "age": 0.03})
    made = draft(DraftPlan(columns, models=(model,), rows=500))
    table = made.table
    cells = [table[name].cell_numbers for name in ("income", "age")]
    x = sm.add_constant(np.column_stack([cells[0] / 1e6, cells[1]]))
    found = sm.Logit(table["car"].values == "yes", x).fit(disp=0).params
    assert found[1:] == pytest.approx([1.5, 0.03], rel=1e-4)
    told = [one.got for one in made.nearness if one.kind == "coefficient"]
    assert told == pytest.approx([found[1] / 1e6, found[2]], rel=1e-6)


def test_a_fit_that_has_no_estimate_says_so() -> None:
    columns = {name: Category(("n", "y"), (0.5, 0.5)) for name in "ab"}
    table = PublishedTable(("a", "b"), {("n", "n"): 50, ("y", "y"): 50}, weight=1e6)
    plan = DraftPlan(columns, (table,), (), (Model("b ~ a", {"a[T.y]": 0.3}, weight=1e-6),))
    (found,) = [one for one in draft(plan).nearness if one.kind == "coefficient"]
    assert (found.got, found.words) == (None, "cannot be computed")
    assert found.why == "the fit does not converge"


def test_terms_that_cannot_be_told_apart_are_named() -> None:
    columns = {"x": Numeric(0, 1), "z": Derived(Expression("2 * x")), "y": Numeric(0, 1)}
    model = Model("y ~ x + z", {"x": 5.3, "z": -2.5}, {"x": 0.02})
    made = draft(DraftPlan(columns, models=(model,), rows=100))
    found = [one for one in made.nearness if one.what.endswith("in y ~ x + z")]
    assert [(one.kind, one.got, one.why) for one in found] == [
        (kind, None, "the rows do not determine x, z")
        for kind in ("coefficient", "standard error", "coefficient")
    ]


def test_a_correlation_with_a_constant_cannot_be_computed() -> None:
    columns = {"s": Category(("a", "b"), (0.999, 0.001)), "x": Numeric(0, 1), "y": Numeric(0, 1)}
    matrix = np.array([[1, 0.03, 0], [0.03, 1, 0.2], [0, 0.2, 1]])
    plan = DraftPlan(columns, (), (Correlations(("s", "x", "y"), matrix),), rows=100)
    found = [one for one in draft(plan).nearness if one.kind == "correlation"]
    assert [(one.what, one.words, one.why) for one in found] == [
        ("s with x", "cannot be computed", "s is constant"),
        ("s with y", "cannot be computed", "s is constant"),
        ("x with y", "met", ""),
    ]
    assert [one.got for one in found] == [None, None, pytest.approx(0.2, abs=1e-6)]


def test_two_rows_have_a_line_and_no_standard_error() -> None:
    columns = {"x": Numeric(0, 1), "y": Numeric(5, 1)}
    made = draft(DraftPlan(columns, models=(Model("y ~ x", {"x": 0.3}, {"x": 0.1}),), rows=2))
    slope, error = made.nearness[-2:]
    assert (slope.kind, slope.why) == ("coefficient", "")
    x, y = (made.table[name].cell_numbers for name in columns)
    assert slope.got == pytest.approx((y[1] - y[0]) / (x[1] - x[0]))
    assert (error.got, error.why) == (None, "there are no more rows than terms")
