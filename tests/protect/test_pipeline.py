"""Every protection as a specification names it."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.protect.pipeline import PROTECTIONS, Surroundings, protect
from caveat.synthesis.coding import SMOOTHINGS
from caveat.table import Table

ORIGINAL = survey(rows=200).select(["sex", "age", "region", "height", "occupation"])
RELEASE = survey(rows=200, seed=5).select(["sex", "age", "region", "height", "occupation"])
STEPS = {
    "add_noise": {"population": {"age": 200}, "limit": 0.3, "shape": "laplace"},
    "code_extremes": {"top": {"age": 60}, "bottom": {"age": 20}},
    "distance_filter": {"metric": "gower", "columns": ["sex", "age", "region"]},
    "donut": {"x": "age", "y": "height", "r_min": 5, "r_max": 20},
    "group_rare_levels": {"columns": ["occupation"], "fewest": 6},
    "label": {},
    "microaggregate": {"columns": ["age"], "k": 4},
    "pram": {"columns": ["region", "sex"], "theta": 0.4},
    "remove_replicated_uniques": {"keys": ["sex", "age"]},
    "robin_hood": {"attribute": "region", "keys": ["sex"], "k_target": 12, "k_initial": 2},
    "round_numbers": {"base": {"age": 10}},
    "smooth": {"columns": ["age"], "how": "spline", "by": ["sex"]},
    "spectral": {"columns": ["age"], "way": "P"},
}


def fresh(n: int, number: int) -> Table:
    return survey(rows=n, seed=100 + number).select(RELEASE.names)


def test_all_are_tried_here():
    assert set(STEPS) == set(PROTECTIONS)


@pytest.mark.parametrize("name", STEPS)
def test_each_protection(name):
    around = Surroundings(ORIGINAL, 7, fresh, SMOOTHINGS)
    table, (record,) = protect(RELEASE, [{"name": name, **STEPS[name]}], around)
    again, _ = protect(RELEASE, [{"name": name, **STEPS[name]}], around)
    assert table == again  # the same seed, the same table
    assert table != RELEASE  # it does something
    assert record.name == name
    assert record.counts
    draws = name in ("add_noise", "donut", "pram", "robin_hood", "smooth", "spectral")
    assert record.seed == (7 if draws else None)
    looks = ("add_noise", "distance_filter", "remove_replicated_uniques")
    assert record.reads_original == (name in looks)
    assert set(record.to_dict()) >= {"name", "parameters", "counts", "seed"}


def test_steps_follow_each_other():
    steps = [{"name": "code_extremes", "top": {"age": 50}}, {"name": "label", "column": "kind"}]
    table, records = protect(RELEASE, steps, Surroundings(ORIGINAL))
    assert int(table["age"].numbers.max()) == 50
    assert "kind" in table
    assert [record.name for record in records] == ["code_extremes", "label"]


def test_an_unknown_smoothing():
    steps = [{"name": "smooth", "columns": ["age"], "how": "magic"}]
    with refused("protection.setting.unknown", where="smooth"):
        protect(RELEASE, steps, Surroundings(ORIGINAL, smoothers=SMOOTHINGS))


def test_robin_hood_after_steps_that_make_keys_coarse():
    masks = {"name": "robin_hood", "attribute": "region", "keys": ["sex", "age"], "k_target": 20}
    with refused("protection.limit.failed", where="robin_hood"):
        protect(RELEASE, [masks], Surroundings(ORIGINAL))
    steps = [
        {"name": "code_extremes", "top": {"age": 69}, "bottom": {"age": 31}},
        {"name": "round_numbers", "base": {"age": 20}},
        {**masks, "k_initial": 2, "k_target": 8},
    ]
    table, records = protect(RELEASE, steps, Surroundings(ORIGINAL))
    assert table["age"].kind is RELEASE["age"].kind
    assert records[-1].counts["smallest effective k"] >= 8
    assert (table["region"].values == "?").sum() == records[-1].counts["masked"] > 0
