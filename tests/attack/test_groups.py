"""What the attacker knows about households equals fits of all stages on the changed data."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.synthesis.linked.people import households, patients

from caveat.attack import group_membership, group_posterior, group_privacy_loss
from caveat.attack.worlds import evidence_of
from caveat.synthesis import Synthesizer
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.linked import unfold
from caveat.synthesis.model import Model
from caveat.table import Table
from caveat.table.align import common_levels

SMALL = {"smallest": 6.0, "temperature": 1.5, "depth": 3}


def fitted(table, seed=1, method="guarded", **options):
    extra = SMALL if method == "guarded" else {"minbucket": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {"groups": "hh", "derived": {"total": "sum(income)"}, **extra, **options}
        model = Synthesizer(seed=seed, method=method, **given).fit(table)
        return model, model.tables(threads=1)


def brute(model, original, changed, releases) -> float:
    """Return the log probability of releases when all stages are fitted on other data."""
    shape, total = model.plan.shape, 0.0
    seen = [unfold(release, shape, released=True) for release in releases]
    ours, theirs = unfold(original, shape), unfold(changed, shape)
    for name, stage in model.stages.items():
        on_common = {
            n: common_levels([ours[name][n], c], n) for n, c in theirs[name].columns.items()
        }
        table = Table({n: pair[1] for n, pair in on_common.items()})
        columns = fit_columns(table, stage.plan, stage.seed, 1, structures=stage.columns)
        world = Model(stage.plan, columns, stage.names, table.n_rows, stage.seed)
        total += evidence_of(world, [tables[name] for tables in seen]).log_likelihood
    return total


def of_groups(model, original, changed, releases) -> float:
    tables = (model.split(table) for table in (original, changed))
    return brute(model.model, *tables, [model.split(one) for one in releases])


def keys_of(table) -> list[np.ndarray]:
    """Return the rows of each household, in the order in which they appear."""
    codes = table["hh"].codes
    _, first = np.unique(codes, return_index=True)
    return [np.flatnonzero(codes == codes[row]) for row in np.sort(first)]


def with_value(table, rows, name, code):
    codes = table[name].codes.astype(np.int64)
    codes[rows] = code
    return table.with_columns({name: table[name].with_codes(codes)})


problems = {
    "guarded": {},
    "cart": {"method": "cart"},
    "weights": {"weights": "w"},
    "strata": {"strata": "region"},
    "rule": {"rules": ["if age < 18 then income = 0"]},
    "ordered": {"groups": {"key": "hh", "order": "-age"}},
    "after": {"order": ["age", "sex", "role", "income", "region"]},
    "after, cart": {"order": ["age", "sex", "role", "income", "region"], "method": "cart"},
}


def problem(how, n, seed):
    table = households(n, seed)
    if how == "weights":
        rng = np.random.default_rng(seed)
        by_group = rng.choice([0.5, 1.0, 2.0], table["hh"].n_levels)
        weights = Table.from_frame({"w": by_group[table["hh"].codes]})
        table = table.with_columns(weights.columns)
    model, released = fitted(table, seed, **problems[how])
    return model.plan.pooled_rows(table), model, released  # as the attacker sees it


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(sorted(problems)), st.integers(12, 30), st.integers(0, 999), st.data())
def test_without_a_household_is_a_fit_without_it(how, n, seed, data):
    table, model, released = problem(how, n, seed)
    groups = data.draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
    found = group_membership(table, released, model, groups, threads=1)
    assert found.unit == "group"
    rows = keys_of(table)
    whole = of_groups(model, table, table, released)
    for group, ratio in zip(groups, found.log_ratio, strict=True):
        rest = table.take(np.delete(np.arange(table.n_rows), rows[group]))
        expected = whole - of_groups(model, table, rest, released)
        np.testing.assert_allclose(ratio, expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(sorted(problems)), st.integers(12, 30), st.integers(0, 999), st.data())
def test_without_a_person_is_a_fit_without_her(how, n, seed, data):
    assume(how != "rule" or 0 in households(n, seed)["income"].levels)
    table, model, released = problem(how, n, seed)
    group = data.draw(st.integers(0, n - 1))
    found = group_membership(table, released, model, [group], unit="person", threads=1)
    assert found.unit == "person"
    assert found.records.tolist() == keys_of(table)[group].tolist()
    whole = of_groups(model, table, table, released)
    for record, ratio in zip(found.records, found.log_ratio, strict=True):
        rest = table.take(np.delete(np.arange(table.n_rows), record))
        expected = whole - of_groups(model, table, rest, released)
        np.testing.assert_allclose(ratio, expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(problems)),
    st.sampled_from(["region", "sex", "role", "age"]),
    st.integers(12, 25),
    st.integers(0, 999),
    st.data(),
)
def test_another_value_is_a_fit_with_it(how, target, n, seed, data):
    assume(how != "rule" or 0 in households(n, seed)["income"].levels)
    table, model, released = problem(how, n, seed)
    assume(target in released[0])  # of few households most levels can be rare
    group = data.draw(st.integers(0, n - 1))
    n_levels = common_levels([table[target], *(r[target] for r in released)], target)[0].n_levels
    codes = data.draw(st.lists(st.integers(0, n_levels - 1), min_size=3, max_size=3))
    check_values(table, model, released, target, group, codes)


@pytest.mark.parametrize("how", problems)
def test_another_age_changes_sums_and_order(how):
    """A sum that only another world has must not decide where a released one belongs."""
    table, model, released = problem(how, 16, 0)
    levels = common_levels([table["age"], *(r["age"] for r in released)], "age")[0].n_levels
    check_values(table, model, released, "age", 3, range(0, levels, levels // 5))


def check_values(table, model, released, target, group, codes):
    found = group_posterior(table, released, model, target, [group], threads=1)
    rows = keys_of(table)[group]
    constant = target == "region"
    assert found.unit == ("group" if constant else "person")
    assert found.records.tolist() == ([group] if constant else rows.tolist())
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    levels = common_levels([table[target], *(r[target] for r in released)], target)[0]
    wide = table.with_columns({target: levels})
    for line, record in enumerate(found.records):
        for code in codes:
            other = with_value(wide, rows if constant else [record], target, code)
            expected = of_groups(model, table, other, released)
            np.testing.assert_allclose(
                found.log_likelihood[line, code], expected, rtol=1e-8, atol=1e-8
            )


@pytest.fixture(scope="module")
def visits() -> tuple:
    linked = patients(25, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=2, method="guarded", **SMALL).fit(linked)
    return linked, model, model.tables(threads=1)


def test_a_patient_leaves_with_all_visits(visits):
    linked, model, releases = visits
    whole = brute(model, linked, linked, releases)
    found = group_membership(linked, releases, model, [3, 7], threads=1)
    for group, ratio in zip((3, 7), found.log_ratio, strict=True):
        stay = np.flatnonzero(linked.parent_rows("visits") != group)
        tables = {
            "patients": linked.tables["patients"].take(np.delete(np.arange(25), group)),
            "visits": linked.tables["visits"].take(stay),
        }
        rest = replace(linked, tables=tables)
        np.testing.assert_allclose(ratio, whole - brute(model, linked, rest, releases), rtol=1e-8)


@pytest.mark.parametrize("target", ["ill", "day", "sex"])
def test_another_visit_moves_those_after_it(visits, target):
    """The order of visits, and the distances between them, follow from the changed one."""
    linked, model, releases = visits
    name = "patients" if target == "sex" else "visits"
    group = int(np.argmax(np.bincount(linked.parent_rows("visits"))))
    found = group_posterior(linked, releases, model, target, [group], threads=1)
    assert found.unit == ("group" if target == "sex" else "visits")
    table = linked.tables[name]
    held = [release.tables[name][target] for release in releases]
    wide = table.with_columns({target: common_levels([table[target], *held], target)[0]})
    for line, record in enumerate(found.records):
        for code in range(0, found.target.n_levels, max(1, found.target.n_levels // 6)):
            other = with_value(wide, [record], target, code)
            changed = replace(linked, tables={**linked.tables, name: other})
            expected = brute(model, linked, changed, releases)
            np.testing.assert_allclose(found.log_likelihood[line, code], expected, rtol=1e-8)


def test_the_loss_is_the_largest_of_all_changes():
    table, model, released = problem("guarded", 20, 5)
    groups = [2, 5, 11]
    loss = group_privacy_loss(table, released, model, groups, unknown=["region", "sex"], threads=1)
    alone = np.abs(group_membership(table, released, model, groups).log_ratio)
    assert loss.unit == "group"
    rows = keys_of(table)
    for i, group in enumerate(groups):
        largest = [alone[i]]
        for target in ("region", "sex"):
            logs = group_posterior(table, released, model, target, [group]).log_likelihood
            codes = table[target].codes[rows[group]] if target == "sex" else (
                table[target].codes[rows[group][:1]]
            )  # fmt: skip
            largest += [np.abs(line - line[c]).max() for line, c in zip(logs, codes, strict=True)]
        assert loss.observed[i] == pytest.approx(max(largest), rel=1e-9)
        regions, sexes = (len(table[name].levels) - 1 for name in ("region", "sex"))
        assert loss.adjacent[i] == 1 + regions + sexes * len(rows[group])


def test_a_column_that_only_later_members_vary_in_is_attacked():
    people = {"hh": [i // 2 for i in range(80)], "job": ["yes", "no", "yes", "yes"] * 20}
    model = Synthesizer(groups="hh", seed=1, **SMALL).fit(people)
    methods = {n: s.columns["job"].entry.settings.method for n, s in model.model.stages.items()
               if n != "groups"}  # fmt: skip
    assert methods == {"members, first": "constant", "members, later": "guarded"}
    table, released = Table.from_frame(people), model.tables()
    found = group_posterior(people, released, model, "job", [5], threads=1)
    for line, record in enumerate(found.records):
        for code in range(2):
            other = with_value(table, [record], "job", code)
            expected = of_groups(model, table, other, released)
            np.testing.assert_allclose(found.log_likelihood[line, code], expected, rtol=1e-9)


def test_a_person_leaves_a_panel_in_which_everybody_has_as_many_waves():
    rng = np.random.default_rng(1)
    answers = {"id": np.repeat(np.arange(30), 4), "pay": rng.integers(0, 9, 120)}
    panel = {name: values.tolist() for name, values in answers.items()}
    model = Synthesizer(groups="id", seed=1, method="guarded", **SMALL).fit(panel)
    found = group_membership(panel, model.tables(), model, unit="person", threads=1)
    assert np.isfinite(found.log_ratio).all()


@pytest.mark.parametrize("how", ["guarded", "cart"])
def test_what_is_ready_adds_up_whatever_the_threads(how):
    table, model, released = problem(how, 15, 3)
    for target in ("region", "sex"):
        shares: list[float] = []
        one = group_posterior(table, released, model, target, [1, 4], threads=1, done=shares.append)
        three = group_posterior(table, released, model, target, [1, 4], threads=3)
        assert sum(shares) == pytest.approx(1.0)
        np.testing.assert_array_equal(one.log_likelihood, three.log_likelihood)


def test_what_is_wrong_is_said():
    table, model, released = problem("guarded", 15, 3)
    with refused("attack.group.unknown"):
        group_membership(table, released, model, [15])
    with refused("attack.setting.unknown", where="unit"):
        group_membership(table, released, model, unit="house")
    with refused("data.column.unknown"):
        group_posterior(table, released, model, "agee")
    with refused("attack.target.unsupported", column="total"):
        group_posterior(table, released, model, "total")
    with refused("attack.model.mismatch", where="column number of members"):
        group_membership(households(15, 4), released, model)


def test_calibrated_weights_leave_nothing_exact():
    table = households(40)
    weights = Table.from_frame({"w": np.ones(table.n_rows)})["w"]
    table = table.with_columns({"w": weights})
    groups = {"key": "hh", "margins": [{"region": ["N", "S", "W"], "groups": [30, 20, 10]}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=1, groups=groups, weights="w").fit(table)
    with refused("attack.probability.unsupported", where="groups, margins"):
        group_membership(table, model.tables()[0], model)
