"""The attacker follows the choice of predictors: in every world as if it were made again there."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from caveat.attack import membership, membership_test
from caveat.attack.adjacent import with_each_value, without_each
from caveat.attack.updates import can_update
from caveat.attack.worlds import Worlds, draw_release
from caveat.synthesis import choosing as module
from caveat.synthesis import make_plan
from caveat.synthesis.choosing import chosen_again, drawn_again, log_choice
from caveat.synthesis.pairs import Bins
from caveat.table import Table


def narrow_table(rows=60, seed=0):
    """Return seven columns that tell a little about each other: close calls."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, rows)
    columns = {f"c{i}": (base + rng.integers(0, 2 + i % 2, rows)) % 3 for i in range(6)}
    columns["number"] = [None if v == 0 else int(v * 10 + b) for v, b in
                         zip(rng.integers(0, 9, rows), base, strict=True)]  # fmt: skip
    return Table.from_frame({k: [*map(str, v)] if k != "number" else v for k, v in columns.items()})


def worlds_of(table, method, seed=3, **options):
    plan = make_plan(table, {"method": method, "predictors": 2, **options}, seed)
    plan = replace(plan, structure_seed=seed)
    model = Worlds(table, plan, []).model(table, ())
    release = draw_release(model, table.n_rows, seed, 1)
    return Worlds(table, plan, [release])


def slow_scores(table, plan, bins, name):
    """Return mutual information times the records, less chance, by its definition."""
    sampled = Worlds(table, plan, [], bins=bins).original["\0sampled"].codes == 1
    own = bins.of(name, table[name])[sampled]
    found = {}
    for other in list(plan.columns)[: list(plan.columns).index(name)]:
        codes = bins.of(other, table[other])[sampled]
        joint = np.zeros((16, 16))
        np.add.at(joint, (codes, own), 1)
        n, even = joint.sum(), np.outer(joint.sum(1), joint.sum(0)) / joint.sum()
        on = joint > 0
        seen = (joint.sum(0) > 0).sum(), (joint.sum(1) > 0).sum()
        assert n == sampled.sum()
        gain = (joint[on] * np.log(joint[on] / even[on])).sum()
        found[other] = gain - (seen[0] - 1) * (seen[1] - 1) / 2
    return found


def slow_log(scores, drawn, temperature):
    """Return the log probability of columns drawn one after the other."""
    left, log = dict(scores), 0.0
    for name in drawn:
        weights = {other: np.exp(score / temperature) for other, score in left.items()}
        log += np.log(weights[name] / sum(weights.values()))
        del left[name]
    return log


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 40)
    monkeypatch.setattr(module, "TEMPERATURE", 2.0)


def test_the_probability_of_a_draw_is_that_of_its_definition():
    worlds = worlds_of(narrow_table(), "guarded")
    plan, bins = worlds.plan, worlds.bins
    for table in (worlds.original, worlds.without(3), worlds.changed(5, {"c1": 2})):
        slow = 0.0
        for name in list(plan.columns)[3:]:
            scores = slow_scores(table, plan, bins, name)
            assert len(plan.columns[name].predictors) == 2
            slow += slow_log(scores, plan.columns[name].predictors, 2.0)
        assert log_choice(plan, table, bins) == pytest.approx(slow, rel=1e-9)


def test_all_draws_together_have_probability_one():
    worlds = worlds_of(narrow_table(), "guarded")
    name, plan = "c4", worlds.plan
    other = {n: e for n, e in plan.columns.items() if n != name}
    before = list(plan.columns)[:4]
    total = 0.0
    for drawn in permutations(before, 2):
        entry = replace(plan.columns[name], predictors=drawn)
        columns = {n: entry if n == name else other[n] for n in plan.columns}
        here = log_choice(replace(plan, columns=columns), worlds.original, worlds.bins)
        total += np.exp(here - log_choice(plan, worlds.original, worlds.bins))
    assert total == pytest.approx(np.exp(-_log_of(worlds, name)), rel=1e-9)


def _log_of(worlds, name):
    scores = slow_scores(worlds.original, worlds.plan, worlds.bins, name)
    return slow_log(scores, worlds.plan.columns[name].predictors, 2.0)


def test_columns_are_drawn_as_often_as_their_probability_says():
    table = narrow_table()
    worlds = worlds_of(table, "guarded")
    bins = Bins(table.columns, worlds.plan.columns)
    draws = [drawn_again(worlds.plan, table, seed, bins).columns["c3"].predictors
             for seed in range(1500)]  # fmt: skip
    scores = slow_scores(table, worlds.plan, bins, "c3")
    for pair in permutations(["c0", "c1", "c2"], 2):
        expected = np.exp(slow_log(scores, pair, 2.0))
        error = np.sqrt(expected * (1 - expected) / 1500)
        assert abs(draws.count(pair) / 1500 - expected) < 4 * error


@pytest.mark.parametrize("method", ["guarded", "cart"])
def test_every_world_is_that_of_a_fit_from_scratch(method):
    worlds = worlds_of(narrow_table(), method)
    assert method == "guarded" or can_update(worlds)
    records = np.arange(60)
    base, fast = without_each(worlds, records, threads=1)
    same, slow = without_each(worlds, records, threads=1, refit=True)
    assert base == pytest.approx(same, rel=1e-9)
    np.testing.assert_allclose(fast, slow, rtol=1e-8)
    for target in ("c0", "c2", "number"):
        fast = with_each_value(worlds, target, records[:12], threads=1)
        slow = with_each_value(worlds, target, records[:12], threads=1, refit=True)
        np.testing.assert_allclose(fast, slow, rtol=1e-8)


def test_plain_trees_get_other_predictors_in_some_worlds():
    worlds = worlds_of(narrow_table(), "cart")
    sampled = worlds.original["\0sampled"].codes == 1
    changed = np.array([
        chosen_again(worlds.plan, worlds.without(i), worlds.bins) is not worlds.plan
        for i in range(60)
    ])  # fmt: skip
    assert sampled.sum() == 40
    assert changed[sampled].any()
    assert not changed[~sampled].any()
    for i in np.flatnonzero(changed)[:3]:
        table = worlds.without(i)
        for name in list(worlds.plan.columns)[3:]:
            scores = slow_scores(table, worlds.plan, worlds.bins, name)
            best = sorted(sorted(scores), key=lambda other: -round(scores[other], 6))[:2]
            again = chosen_again(worlds.plan, table, worlds.bins)
            assert sorted(again.columns[name].predictors) == sorted(best)


def test_who_is_not_compared_changes_no_choice():
    worlds = worlds_of(narrow_table(), "guarded")
    out = np.flatnonzero(worlds.original["\0sampled"].codes == 0)
    for record in out[:5]:
        assert log_choice(worlds.plan, worlds.without(record), worlds.bins) == worlds.log_choice


def test_a_value_nobody_has_moves_no_other_bin():
    worlds = worlds_of(narrow_table(), "cart")
    column = Table.from_frame({"number": [7, 95]})["number"]
    wider, _ = worlds.with_values({"number": column})
    assert wider.original["number"].n_levels > worlds.original["number"].n_levels
    same = chosen_again(worlds.plan, wider.original, wider.bins)
    assert same is worlds.plan


@pytest.mark.parametrize("method", ["guarded", "cart"])
def test_the_test_of_membership_draws_the_choice_too(method):
    table = narrow_table()
    worlds = worlds_of(table, method)
    test = membership_test(table, 4, generator=worlds.plan, simulations=3, threads=1)
    assert not np.isnan(test.inside).any()
    ratio = membership(table, worlds.releases[0], generator=worlds.plan, records=[4], threads=1)
    base, without = without_each(worlds, [4], threads=1)
    assert ratio.log_ratio[0] == pytest.approx(base - without[0])
