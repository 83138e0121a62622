"""Predictors of wide tables: those that tell most, and those that somebody ties to a column."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.wide import wide

from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.choosing import MOST, WIDE
from caveat.table import Table


def test_up_to_sixty_columns_nothing_is_chosen() -> None:
    plan = make_plan(wide(WIDE), {"method": "cart"})
    assert plan.choice is None
    assert len(plan.columns["x59"].predictors) == 59
    assert "predictors:" not in str(plan)


@pytest.mark.parametrize("method", ["cart", "guarded"])
def test_above_sixty_the_strongest_are_taken_or_drawn(method) -> None:
    table = wide(rows=3000)
    plan = make_plan(table, {"method": method}, seed=1)
    last = plan.columns["x64"].predictors
    assert len(last) == MOST
    assert {"x3", "x7"} <= {*last}
    # Those with no more candidates than are taken have all of them.
    assert plan.columns["x20"].predictors == tuple(f"x{i}" for i in range(20))
    assert len(plan.columns["x21"].predictors) == MOST
    in_order = sorted(last, key=lambda name: int(name[1:]))
    assert (list(last) == in_order) == (method == "cart")
    assert set(last[:2]) == {"x3", "x7"} or method == "cart"
    assert plan.choice is not None
    assert plan.choice.rows == 3000
    assert sorted(plan.choice.declared) == sorted(f"x{i}" for i in range(21, 65))


def test_a_number_holds_in_narrow_tables_too_and_all_in_wide_ones() -> None:
    few = make_plan(wide(10), {"method": "cart", "predictors": 2})
    assert few.columns["x9"].predictors == ("x3", "x7")
    assert few.columns["x2"].predictors == ("x0", "x1")
    every = make_plan(wide(), {"method": "cart", "predictors": "all"})
    assert every.choice is None
    assert len(every.columns["x64"].predictors) == 64


def test_what_is_declared_is_always_in() -> None:
    options = {
        "method": "cart",
        "predictors": 2,
        "rules": ["if x0 == 3 then x1 = 0", "x4 <= x8"],
        "derived": {"x9": "x5 + x6"},
        "strata": "x2",
        "columns": {"x8": {"predictors": ["x6"]}},
    }
    table = wide(12).with_columns({"x9": wide(12)["x9"]})
    with refused("synthesis.predictor.conflict", column="x8", where="synthesis"):
        make_plan(table, options | {"columns": {"x8": {"predictors": ["nobody"]}}})
    plan = make_plan(table, options)
    assert plan.columns["x8"].predictors == ("x6",)
    assert "x8" not in plan.choice.declared
    assert plan.choice.declared["x6"] == ("x2", "x5")
    assert {"x2", "x5"} <= {*plan.columns["x6"].predictors}
    assert len(plan.columns["x6"].predictors) == 4
    assert "x0" in plan.columns["x1"].predictors
    assert {"x3", "x7", "x2"} == {*plan.columns["x11"].predictors}


def test_drawn_predictors_hang_on_the_seed_alone() -> None:
    one, same, other = (make_plan(wide(), {}, seed=seed) for seed in (1, 1, 2))
    assert one.columns == same.columns
    assert one.columns != other.columns
    fitted = Synthesizer(seed=1).fit(wide())
    assert fitted.plan.columns == one.columns
    assert Synthesizer(seed=1).plan(wide()) == one


def test_chance_is_taken_away() -> None:
    """A column of many codes says nothing more than one of few, if neither says anything."""
    rng, rows = np.random.default_rng(3), 3000
    columns = {f"many{i}": rng.integers(0, 16, rows) for i in range(30)}
    columns |= {f"few{i}": rng.integers(0, 2, rows) for i in range(30)}
    columns["last"] = rng.integers(0, 8, rows)
    plan = make_plan(Table.from_frame(columns), {"method": "cart", "predictors": 20})
    many = sum(name.startswith("many") for name in plan.columns["last"].predictors)
    assert 4 <= many <= 16
