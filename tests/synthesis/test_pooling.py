"""Rare levels are pooled, merged, emptied or left out before anything is coded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.synthesis import Synthesizer, load, make_plan, save
from caveat.synthesis.seen import RareLevels, declared_levels, find_rare, rare_below
from caveat.table import Schema, Table

N = 200
RNG = np.random.default_rng(3)
SEX = ["f", "m"] * (N // 2)


def table(values: Any, **more: Any) -> Table:
    return Table.from_frame(pd.DataFrame({"sex": SEX, "v": values, **more}))


def cells(*rare: str, common: str = "a") -> list[str]:
    """Return values that one row has each, and half of two common ones."""
    rest = N - len(rare)
    return [*rare, *[common] * (rest // 2), *["b"] * (rest - rest // 2)]


def plan_of(values: Any, **options: Any) -> Any:
    return make_plan(table(values), options)


def texts(of: Table, name: str = "v") -> list[str]:
    return [str(level) for level in of[name].levels.tolist()]


@pytest.mark.parametrize(
    "method", ["guarded", "cart", "forest", "sample", "margins", "multinomial"]
)
def test_rare_levels_become_one_under_every_method(method: str) -> None:
    original = table(cells(*(f"secret{i}" for i in range(8))))
    model = Synthesizer(seed=1, threads=1, method=method).fit(original)
    assert (model.plan.rare["v"].how, model.plan.rare["v"].n_levels) == ("pooled", 8)
    for copy in model.tables(copies=3):
        assert set(texts(copy)) <= {"a", "b", "other"}
    assert texts(model.plan.pooled(original)) == ["a", "b", "other"]


def test_too_few_people_to_be_a_level_get_the_commonest() -> None:
    plan = plan_of(cells("secret1", "secret2"))
    assert (plan.rare["v"].how, plan.rare["v"].into) == ("commonest", "a")
    pooled = plan.pooled(table(cells("secret1", "secret2")))
    assert dict(zip(texts(pooled), pooled["v"].counts.tolist(), strict=False)) == {
        "a": 101,
        "b": 99,
    }


def test_ordered_levels_are_merged_with_their_neighbour() -> None:
    order = ["none", "some", "most", "all"]
    values = pd.Categorical(["none"] * 100 + ["some"] * 97 + ["all"] * 3, order, ordered=True)
    pooled = plan_of(values).pooled(table(values))
    assert plan_of(values).rare["v"].how == "neighbour"
    assert pooled["v"].counts.tolist()[:2] == [100, 100]


def test_a_column_of_mostly_rare_levels_is_left_out() -> None:
    values = [f"x{i % 150}y{'z' * (i % 5)}" for i in range(N)]
    plan = make_plan(table(values), {"judged": {}})
    assert plan.rare["v"].how == "left out"
    assert plan.columns["v"].settings.method == "drop"
    assert any(remark.startswith("v is left out") for remark in plan.remarks)


def test_a_part_of_the_table_loses_no_other_columns() -> None:
    values = [f"t{i % 39}" for i in range(N)]  # five or six people a level
    assert make_plan(table(values), {"rare_below": 4}).rare == {}
    part = table(values).take(np.arange(0, N, 2)).compact()
    assert make_plan(part, {"rare_below": 4}).rare["v"].how == "left out"
    plan = make_plan(part, {"rare_below": 4, "left_out": []})
    assert plan.rare["v"].how == "pooled"
    assert plan.columns["v"].settings.method != "drop"
    assert make_plan(part, {"rare_below": 4, "left_out": ["v"]}).rare["v"].how == "left out"


def test_keep_and_levels_and_rules_are_somebodys_word() -> None:
    values = cells(*(f"rare{i}" for i in range(8)))
    kept = plan_of(values, keep=["v"])
    assert (kept.rare["v"].how, kept.rare["v"].people) == ("kept", 8)
    assert any("v leaves with 8 rare levels" in remark for remark in kept.remarks)
    assert "rare0" in texts(kept.pooled(table(values)))
    declared = plan_of(values, columns={"v": {"levels": ["rare0", "rare1"]}})
    assert declared.rare["v"].n_levels == 6
    assert {"rare0", "rare1"} < set(texts(declared.pooled(table(values))))
    assert declared_levels({"rules": ["if v = 'rare3' then sex = 'f'"]}, "sex") == ["rare3", "f"]
    every = plan_of(values, rare_below=1)
    assert every.rare["v"] == kept.rare["v"]
    assert [r for r in every.remarks if "rare" in r] == [r for r in kept.remarks if "rare" in r]
    assert any("2 to 4 people" in remark for remark in plan_of(values, rare_below=2).remarks)
    schema = Schema.from_mapping({"v": {"levels": sorted(set(values))}})
    assert make_plan(schema.apply(table(values)), {}).rare == {}


@pytest.mark.parametrize("given", [0, -1, 2.5, "5", True])
def test_rare_below_is_a_whole_number(given: Any) -> None:
    with refused("synthesis.setting.range", where="synthesis"):
        rare_below(given)
    with refused("synthesis.setting.range", where="synthesis"):
        plan_of(cells("x"), rare_below=given)


def test_the_label_is_one_that_the_column_does_not_have() -> None:
    values = cells(*(f"rare{i}" for i in range(8)), common="other")
    assert plan_of(values).rare["v"].into == "other (rare)"


def test_members_of_one_group_are_one_unit() -> None:
    groups = np.repeat(np.arange(50), 4)
    values = np.where(groups < 2, "secret", np.where(groups % 2, "a", "b"))
    frame = {"hh": groups, "age": RNG.integers(0, 90, N), "v": values}
    assert find_rare(Table.from_frame(frame)["v"], 5) is None  # eight rows have it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=1, groups="hh", method="cart").fit(Table.from_frame(frame))
    (found,) = [of for name, of in model.plan.rare_columns if name == "v"]
    assert (found.how, found.n_levels, found.people) == ("commonest", 1, 2)
    for copy in model.tables(copies=3):
        assert "secret" not in texts(copy)


def test_a_model_file_keeps_what_was_pooled_and_holds_no_pooled_level(tmp_path: Path) -> None:
    original = table(cells(*(f"secret{i}" for i in range(8))))
    model = Synthesizer(seed=1, threads=1).fit(original)
    save(model, tmp_path / "m.caveat")
    again = load(tmp_path / "m.caveat")
    assert again.plan.rare == model.plan.rare
    assert again.plan.rare_below == 5
    assert b"secret" not in (tmp_path / "m.caveat").read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"how": "somehow", "counts": [1, 1, 1, 0], "levels": [], "into": ""},
        {"how": "pooled", "counts": [1, 1, 1], "levels": [], "into": ""},
        {"how": "pooled", "counts": [1, 1, -1, 0], "levels": [], "into": ""},
        {"how": "pooled", "counts": [1, 1, 1, 0], "levels": [3], "into": ""},
    ],
)
def test_a_wrong_state_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no "):
        RareLevels.from_state(wrong)


def test_pooling_twice_is_pooling_once_and_labels_of_values_go() -> None:
    frame = table(cells(*(f"secret{i}" for i in range(8))))
    schema = Schema.from_mapping({"v": {"value_labels": {"a": "first", "secret1": "hidden"}}})
    original = schema.apply(frame)
    rare = find_rare(original["v"], 5)
    assert rare is not None
    once = rare.apply(original["v"])
    assert rare.apply(once) is once
    assert dict(once.value_labels) == {"a": "first"}
    assert "secret" not in repr(rare)
    assert "secret" not in str(make_plan(original, {}))


@pytest.mark.parametrize("ordered", [True, False])
def test_a_part_that_has_rare_levels_only_is_pooled_too(ordered: bool) -> None:
    values = pd.Categorical(["a"] * 150 + ["b"] * 48 + ["c"] * 2, ["a", "b", "c"], ordered=ordered)
    rare = find_rare(table(values)["v"], 5)
    assert rare is not None
    part = table(values).take(np.array([198, 199])).compact()
    assert "c" not in texts(Table({"v": rare.apply(part["v"])}))
