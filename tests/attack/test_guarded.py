"""The attacker on guarded releases equals a slow implementation that begins with raw records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attack.guarded_tables import (
    SMALL,
    Problem,
    design_of,
    make_problem,
    problems,
    records_of,
)
from tests.refusals import refused

from caveat.attack.adjacent import can_move, is_guarded, with_each_value, without_each
from caveat.attack.worlds import Worlds, draw_release
from caveat.datasets import survey
from caveat.synthesis import Synthesizer, make_plan
from caveat.table import Column, Kind, Table


@settings(max_examples=40)
@given(problem=problems())
def test_the_total_is_that_of_the_formulas(problem):
    worlds = problem.worlds
    design = design_of(problem, worlds)
    release = records_of(worlds.releases[0], problem.plan)
    slow = design.log_prob(records_of(problem.table, problem.plan), release)
    fast = worlds.evidence(problem.table, ()).log_likelihood
    np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(problem=problems(), data=st.data())
def test_every_neighbour_is_that_of_the_formulas(problem, data):
    worlds = problem.worlds
    design = design_of(problem, worlds)
    release = records_of(worlds.releases[0], problem.plan)
    rows = data.draw(st.lists(st.integers(0, problem.table.n_rows - 1), min_size=3, max_size=3))

    def slow(table):
        return design.log_prob(records_of(table, problem.plan), release)

    _, without = without_each(worlds, rows, threads=1)
    expected = [slow(worlds.without(row)) for row in rows]
    np.testing.assert_allclose(without, expected, rtol=1e-9, atol=1e-9)
    for name in problem.plan.columns:
        found = with_each_value(worlds, name, rows[:1], threads=1)[0]
        codes = range(len(found)) if len(found) <= 6 else data.draw(
            st.lists(st.integers(0, len(found) - 1), min_size=4, max_size=4, unique=True)
        )  # fmt: skip
        for code in codes:
            expected = slow(worlds.changed(rows[0], {name: code}))
            np.testing.assert_allclose(found[code], expected, rtol=1e-9, atol=1e-9, err_msg=name)


def slow_and_fast(problem):
    worlds = problem.worlds
    release = records_of(worlds.releases[0], problem.plan)
    slow = design_of(problem, worlds).log_prob(records_of(problem.table, problem.plan), release)
    return slow, worlds.evidence(problem.table, ()).log_likelihood


def test_a_record_of_weight_zero_tells_nothing():
    problem = make_problem(["three", "few"], 40, 1, weights="any")
    nothing = int(np.argmin(problem.table["w"].cell_numbers))
    assert problem.table["w"].cell_numbers[nothing] == 0
    worlds = problem.worlds
    base, (without,) = without_each(worlds, [nothing], threads=1)
    assert without == base
    assert np.all(with_each_value(worlds, "a", [nothing], threads=1) == base)


def test_strata_with_a_number_of_two_parts_before():
    """Numbers with kinds stand behind the stratum, and their kinds are taken for it."""
    slow, fast = slow_and_fast(make_problem(["missing", "three"], 40, 3, strata="s"))
    assert fast == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("temperature", [0.001, 0.02, 1e6])
@pytest.mark.parametrize("weights", ["", "any"])
def test_extreme_temperatures(temperature, weights):
    problem = make_problem(["seven", "missing", "three"], 60, 5, weights, temperature=temperature)
    worlds = problem.worlds
    design = design_of(problem, worlds)
    release = records_of(worlds.releases[0], problem.plan)
    _, without = without_each(worlds, range(10), threads=1)
    expected = [
        design.log_prob(records_of(worlds.without(i), problem.plan), release) for i in range(10)
    ]
    np.testing.assert_allclose(without, expected, rtol=1e-9)
    found = with_each_value(worlds, "c", [0], threads=1)[0]
    tables = [worlds.changed(0, {"c": code}) for code in range(3)]
    expected = [design.log_prob(records_of(table, problem.plan), release) for table in tables]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("weights", ["", "any"])
def test_all_records_and_all_values_at_once_are_each_of_them_alone(weights):
    """Worlds done together share tables and sums; fits from scratch share nothing."""
    problem = make_problem(["three", "seven", "missing", "many"], 60, 2, weights, rule=True)
    worlds, rows = problem.worlds, range(60)
    for threads in (1, 3):
        together = without_each(worlds, rows, threads)[1]
        np.testing.assert_allclose(
            together, without_each(worlds, rows, 2, refit=True)[1], rtol=1e-9
        )
    for name in problem.plan.columns:
        together = with_each_value(worlds, name, range(12), 2)
        alone = with_each_value(worlds, name, range(12), 2, refit=True)
        np.testing.assert_allclose(together, alone, rtol=1e-9)


@pytest.mark.parametrize("kinds", [["three", "eighty", "seven"], ["eighty", "hundreds", "two"]])
def test_many_classes(kinds):
    """Beyond 64 they are judged in groups, beyond 300 they are not lined up."""
    problem = make_problem(kinds, 60, 4)
    assert problem.table["b"].n_levels in (80, 310)
    worlds = problem.worlds
    design = design_of(problem, worlds)
    release = records_of(worlds.releases[0], problem.plan)
    tables = [problem.table, worlds.without(3), *(worlds.changed(3, {"b": c}) for c in (0, 79))]
    expected = [design.log_prob(records_of(t, problem.plan), release) for t in tables]
    base, (without,) = without_each(worlds, [3], 1)
    found = [base, without, *with_each_value(worlds, "b", [3], 1)[0, [0, 79]]]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_copies_share_their_structure():
    """It counts once, the shares once for each copy and released row."""
    problem = make_problem(["three", "both", "seven"], 40, 6)
    one = problem.worlds
    larger = draw_release(one.model(problem.table, ()), 55, 1)
    worlds = Worlds(problem.table, problem.plan, [*one.releases, larger], problem.seed)
    design = design_of(problem, worlds)
    rows = [r for release in worlds.releases for r in records_of(release, problem.plan)]
    assert len(rows) == 95
    base, (without,) = without_each(worlds, [5], 1)
    expected = [
        design.log_prob(records_of(table, problem.plan), rows)
        for table in (problem.table, worlds.without(5))
    ]
    np.testing.assert_allclose([base, without], expected, rtol=1e-9)


def test_a_derived_column_and_a_foreign_level_do_not_stand_in_the_way():
    original = survey(rows=200).select(["sex", "height", "weight", "bmi"])
    options = {"derived": {"bmi": "weight / (height / 100) ** 2"}, "smallest": 20}
    model = Synthesizer(seed=3, method="guarded", **options).fit(original)
    worlds = Worlds(original, model.plan, model.tables())
    for fast, slow in zip(
        without_each(worlds, [0, 7]), without_each(worlds, [0, 7], refit=True), strict=True
    ):
        assert fast == pytest.approx(slow, rel=1e-12)
    foreign = original.to_frame()
    foreign["sex"] = foreign["sex"].astype(str).replace({"male": "other"})
    with refused("attack.release.mismatch", column="sex"):
        with_each_value(Worlds(original, model.plan, [Table.from_frame(foreign)]), "sex", [0])


@pytest.mark.parametrize("weights", ["", "weight"])
@pytest.mark.parametrize("derived", [
    {"marital": {"lookup": "education"}},
    {"education": {"lookup": ["sex", "age"]}},
    {"income": {"lookup": ["sex", "age"]}},
    {"friends": {"lookup": "age"}, "marital": {"lookup": ["sex", "education"]}},
])  # fmt: skip
def test_looked_up_columns_do_not_stand_in_the_way(derived, weights):
    table = survey(rows=90, seed=4).select(
        ["sex", "age", "income", "education", "friends", "marital"]
    )
    if weights:
        heavy = np.random.default_rng(3).integers(0, 5, 90)
        table = table.with_columns({"weight": Column(heavy, np.arange(5), Kind.INTEGER)})
    how = {"weights": weights, "drop": [weights]} if weights else {}
    plan = make_plan(table, {**SMALL, "derived": derived, **how})
    problem = Problem(table, plan, 7)
    worlds = problem.worlds
    assert can_move(plan)
    assert not is_guarded(plan)
    base, fast = without_each(worlds, np.arange(90))
    again, slow = without_each(worlds, np.arange(90), refit=True)
    assert base == again
    assert np.array_equal(np.isinf(fast), np.isinf(slow))
    assert np.isfinite(fast).sum() > 0
    assert fast[np.isfinite(fast)] == pytest.approx(slow[np.isfinite(slow)], rel=1e-11)
    for target in ("sex", "marital"):
        some = np.arange(0, 90, 30)
        fast = with_each_value(worlds, target, some)
        slow = with_each_value(worlds, target, some, refit=True)
        assert np.array_equal(np.isinf(fast), np.isinf(slow))
        assert fast[np.isfinite(fast)] == pytest.approx(slow[np.isfinite(slow)], rel=1e-11)
