"""Predictors of wide tables: those that tell most, and those that somebody ties to a column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.choosing import MOST, WIDE, Bins, Choice
from caveat.synthesis.store import load, save
from caveat.table import Table


def wide(columns=65, rows=400, seed=0):
    """Return columns of which x3 and x7 alone tell something about the last."""
    rng = np.random.default_rng(seed)
    found = {f"x{i}": rng.integers(0, 4, rows) for i in range(columns)}
    found[f"x{columns - 1}"] = np.where(rng.random(rows) < 0.5, found["x3"], found["x7"])
    return Table.from_frame(found)


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


def test_the_plan_says_how() -> None:
    said = str(make_plan(wide(), {"method": "cart"})).splitlines()
    assert said[65] == (
        "predictors: 44 columns are drawn from 20 columns before them each, those that tell most "
        "about them (mutual information less chance, in 400 records), beside what rules, derived "
        "columns and strata need; the strongest are taken, and the strong attacker takes them "
        "again in every world"
    )
    drawn = str(make_plan(wide(), {"columns": {"x40": {"method": "cart"}}}, seed=1))
    assert "; for guarded trees they are drawn, of two columns the one that tells 20 nats" in drawn
    assert "; for others the strongest are taken" in drawn


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
    with pytest.raises(CaveatError, match="x8"):
        make_plan(table, options | {"columns": {"x8": {"predictors": ["nobody"]}}})
    plan = make_plan(table, options)
    assert plan.columns["x8"].predictors == ("x6",)
    assert "x8" not in plan.choice.declared
    assert plan.choice.declared["x6"] == ("x2", "x5")
    assert {"x2", "x5"} <= {*plan.columns["x6"].predictors}
    assert len(plan.columns["x6"].predictors) == 4
    assert "x0" in plan.columns["x1"].predictors
    assert {"x3", "x7", "x2"} == {*plan.columns["x11"].predictors}


@pytest.mark.parametrize("given", ["some", 0, -3, True, 2.5, ["x1"]])
def test_other_words_are_refused(given) -> None:
    with pytest.raises(CaveatError, match="predictors must be auto, all, a whole number"):
        make_plan(wide(10), {"predictors": given})


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


def test_numbers_dates_and_missing_values_have_few_codes() -> None:
    table = survey(rows=2000)
    for options in ({"method": "cart"}, {}):
        plan = make_plan(table, options, seed=1)
        bins = Bins(table.columns, plan.columns)
        for name in plan.columns:
            codes = bins.of(name, table[name])
            assert codes.max() < 16
            assert len(np.unique(codes)) >= min(2, len(np.unique(table[name].codes)))
            apart = table[name].is_missing
            if table[name].kind.is_number and apart.any():
                assert not set(codes[apart]) & set(codes[~apart])


def test_a_model_file_keeps_the_choice(tmp_path) -> None:
    model = Synthesizer(seed=1).fit(wide())
    save(model, tmp_path / "m.caveat")
    again = load(tmp_path / "m.caveat")
    assert again.plan == model.plan
    assert again.plan.choice == model.plan.choice
    broken = replace(model.plan.choice, most=3)
    save(replace(model, plan=replace(model.plan, choice=broken)), tmp_path / "b.caveat")
    with pytest.raises(CaveatError, match="damaged"):
        load(tmp_path / "b.caveat")


@pytest.mark.parametrize("change", [{"most": 0}, {"rows": 0}, {"temperature": 0.0}, {"most": "20"}])
def test_states_that_are_no_choice(change) -> None:
    state = Choice(20, 400, 20.0, {"x": ("y",)}).state()
    assert Choice.from_state(state) == Choice(20, 400, 20.0, {"x": ("y",)})
    with pytest.raises(ValueError, match="no "):
        Choice.from_state(state | change)


def test_groups_are_drawn_from_everything_before() -> None:
    table = wide(70).with_columns({"household": Table.from_frame(
        {"household": np.repeat(np.arange(200), 2)})["household"]})  # fmt: skip
    whole = Synthesizer(seed=1, groups="household", method="cart").plan(table)
    assert all(stage.choice is None for stage in whole.stages.values())
    with pytest.raises(CaveatError, match="not in groups or linked ones"):
        Synthesizer(seed=1, groups="household", predictors=5).plan(table)


def test_the_worst_case_of_the_draws() -> None:
    plan = make_plan(wide(23), {"predictors": 20}, seed=1)
    bound = 2 * 20 * 2 * (np.log(400) + 1 + 14.5) / 20
    assert plan.choice.worst_case(plan.columns) == pytest.approx(bound)
    plain = make_plan(wide(23), {"predictors": 20, "method": "cart"})
    assert plain.choice.worst_case(plain.columns) == 0
    said = plain.choice.described(plain.columns)
    assert (said["columns"], said["most"], said["rows"], said["temperature"]) == (2, 20, 400, None)
