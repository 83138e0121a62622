"""How many predictors are chosen, what is said about it, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.wide import wide

from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.choosing import Choice
from caveat.synthesis.store import load, save
from caveat.table import Table


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


@pytest.mark.parametrize("given", ["some", 0, -3, True, 2.5, ["x1"]])
def test_other_words_are_refused(given) -> None:
    with refused("synthesis.setting.type", where="synthesis"):
        make_plan(wide(10), {"predictors": given})


def test_a_model_file_keeps_the_choice(tmp_path) -> None:
    model = Synthesizer(seed=1).fit(wide())
    save(model, tmp_path / "m.caveat")
    again = load(tmp_path / "m.caveat")
    assert again.plan == model.plan
    assert again.plan.choice == model.plan.choice
    broken = replace(model.plan.choice, most=3)
    save(replace(model, plan=replace(model.plan, choice=broken)), tmp_path / "b.caveat")
    with refused("model.file.damaged"):
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
    with refused("synthesis.setting.conflict", where="synthesis"):
        Synthesizer(seed=1, groups="household", predictors=5).plan(table)


def test_the_worst_case_of_the_draws() -> None:
    plan = make_plan(wide(23), {"predictors": 20}, seed=1)
    bound = 2 * 20 * 2 * (np.log(400) + 1 + 14.5) / 20
    assert plan.choice.worst_case(plan.columns) == pytest.approx(bound)
    plain = make_plan(wide(23), {"predictors": 20, "method": "cart"})
    assert plain.choice.worst_case(plain.columns) == 0
    said = plain.choice.described(plain.columns)
    assert (said["columns"], said["most"], said["rows"], said["temperature"]) == (2, 20, 400, None)
