"""Groups that leave or change, as rows of stages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.linked.people import households, patients

from caveat.attack import group_membership, group_posterior
from caveat.attack.groups import GroupWorlds, Runs
from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.table.linked import Linked


@pytest.fixture(scope="module")
def people() -> tuple:
    table = households(20, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=1, groups="hh", derived={"total": "sum(income)"}).fit(table)
    return table, model, model.tables()[0]


def test_runs_are_the_rows_of_groups():
    runs = Runs.of(np.array([2, 0, 2, 2]), 4)
    assert runs.rows.tolist() == [1, 0, 2, 3]
    assert runs.starts.tolist() == [0, 1, 1, 4, 4]
    taken = runs.take(np.array([2, 1, 0, 2]))
    assert taken.rows.tolist() == [0, 2, 3, 1, 0, 2, 3]
    assert taken.groups.tolist() == [0, 0, 0, 2, 3, 3, 3]
    kept = taken.where(taken.rows != 2)
    assert kept.rows.tolist() == [0, 3, 1, 0, 3]
    assert kept.starts.tolist() == [0, 2, 2, 3, 5]


def test_a_group_may_be_there_several_times_with_keys_of_its_own(people):
    table, model, released = people
    worlds = GroupWorlds(model.split(table), [model.split(released)], model.model)
    come, runs = worlds.repeated(np.array([4, 7, 4]))
    assert come.tables["groups"]["hh"].values.tolist() == [0, 1, 2]
    ours = np.flatnonzero(worlds.owners["members"] == 4)
    ages = table["age"].values[ours].tolist()
    assert come.tables["members"]["age"].values[runs["members"].groups == 2].tolist() == ages
    assert come.parent_rows("members").tolist() == runs["members"].groups.tolist()


def test_every_row_of_a_stage_belongs_to_a_group(people):
    table, model, released = people
    worlds = GroupWorlds(model.split(table), [model.split(released)], model.model)
    sizes = np.bincount(worlds.owners["members"])
    found = {name: np.diff(runs.starts).tolist() for name, (_, runs) in worlds.stages.items()}
    assert found["groups"] == found["members, first"] == [1] * 20
    assert found["members, later"] == (sizes - 1).tolist()
    assert list(found) == [stage.name for stage in model.plan.shape]


def test_a_release_that_breaks_a_rule_was_not_made_by_the_model(people):
    table, model, released = people
    young = np.zeros(released.n_rows, np.int64) + int(np.argmin(released["age"].numbers))
    broken = released.with_columns({"age": released["age"].with_codes(young)})
    assert broken["age"].values.max() < 18
    with refused("model.release.mismatch", where="table members"):
        GroupWorlds(model.split(table), [model.split(broken)], model.model)
    with refused("data.release.absent"):
        GroupWorlds(model.split(table), [], model.model)


def test_which_of_several_tables_has_the_groups_must_be_said():
    linked = patients(20)
    rooms = Table.from_frame({"room": ["a", "b"], "beds": [1, 2]})
    both = Linked({**linked.tables, "rooms": rooms}, linked.keys, linked.links, order=linked.order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=1, method="cart").fit(both)
    releases = model.tables()
    with refused("attack.table.absent", where="table"):
        GroupWorlds(both, releases, model)
    with refused("attack.table.unknown", where="table"):
        GroupWorlds(both, releases, model, "visits")
    worlds = GroupWorlds(both, releases, model, "patients")
    assert list(worlds.stages) == ["patients", "visits, first", "visits, later"]
    assert worlds.n_groups == 20
    assert group_membership(both, releases, model, [4], table="patients").unit == "group"
    assert group_posterior(both, releases, model, "ill", [4]).unit == "visits"
