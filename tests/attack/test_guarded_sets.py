"""Several records that go and come together equal fits from scratch with the structure given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attack.guarded_tables import make_problem, problems

from caveat.attack.adjacent import GuardedChanges, without_each
from caveat.attack.worlds import Worlds
from caveat.table import Table


def offsets(sets) -> np.ndarray:
    return np.append(0, np.cumsum([len(one) for one in sets])).astype(np.int64)


def joined(sets) -> np.ndarray:
    return np.concatenate([np.asarray(one, np.int64) for one in sets])


def strangers(table, rng, n):
    """Return rows that nobody has: the cells of each column are from anybody."""
    return Table({m: table[m].take(rng.integers(table.n_rows, size=n)) for m in table})


def fitted(worlds: Worlds, gone, come) -> float:
    return worlds.evidence(worlds.instead(np.asarray(gone, np.int64), come)).log_likelihood


def check(problem, gone_sets, come_sizes, seed=0, threads=1):
    worlds = problem.worlds
    rng = np.random.default_rng(seed)
    sizes = np.append(0, np.cumsum(come_sizes)).astype(np.int64)
    come = strangers(worlds.original, rng, int(sizes[-1]))
    found = GuardedChanges(worlds).logs_of_sets(
        joined(gone_sets), offsets(gone_sets), come, sizes, threads
    )
    expected = [
        fitted(worlds, gone, come.take(slice(sizes[i], sizes[i + 1])))
        for i, gone in enumerate(gone_sets)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(problem=problems(), data=st.data())
def test_a_set_that_changes_is_a_fit_from_scratch(problem, data):
    n = problem.table.n_rows
    sets = st.lists(st.integers(0, n - 1), min_size=0, max_size=n // 2, unique=True)
    gone = data.draw(st.lists(sets, min_size=1, max_size=4))
    come = data.draw(
        st.lists(st.integers(0, 6), min_size=len(gone), max_size=len(gone)), label="come"
    )
    check(problem, gone, come, data.draw(st.integers(0, 1000)))


@settings(max_examples=20)
@given(problem=problems(), data=st.data())
def test_one_after_the_other_is_both_at_once(problem, data):
    """log p(D - a - b) by the set {a, b}; by b from the data that a has left already."""
    worlds, n = problem.worlds, problem.table.n_rows
    a, b = data.draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
    together = GuardedChanges(worlds).logs_of_sets(np.array([a, b]), np.array([0, 2]), threads=1)
    rest = Worlds(worlds.without(a), worlds.plan, worlds.releases, worlds.seed)
    # The same structures, counted on the rest.
    rest.__dict__["base"] = worlds.model(rest.original).columns
    later = GuardedChanges(rest).logs(np.array([b - (b > a)]), None, threads=1)
    np.testing.assert_allclose(together, later, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weights", ["", "any"])
def test_sets_of_one_record_are_single_records(weights):
    problem = make_problem(["three", "seven", "missing", "many"], 60, 2, weights, rule=True)
    worlds = problem.worlds
    changes = GuardedChanges(worlds)
    gone, starts = np.append(np.arange(60), [3, 7]), np.append(np.arange(61), 62)
    np.testing.assert_allclose(
        changes.logs_of_sets(gone, starts, threads=2)[:60],
        without_each(worlds, range(60), 2, refit=True)[1],
        rtol=1e-10,
    )
    come = strangers(problem.table, np.random.default_rng(1), 62)
    np.testing.assert_allclose(
        changes.logs_of_sets(gone, starts, come, starts, threads=2)[:60],
        changes.logs(np.arange(60), come.take(slice(0, 60)), threads=2),
        rtol=1e-12,
    )


def test_who_goes_and_comes_again_changes_nothing():
    problem = make_problem(["three", "both", "seven"], 50, 3, "any")
    worlds = problem.worlds
    changes, gone = GuardedChanges(worlds), np.array([4, 9, 11, 20])
    come = worlds.original.take(gone[[1, 0, 3, 2]])
    starts = np.array([0, 2, 4])
    found = changes.logs_of_sets(gone, starts, come, starts, threads=1)
    np.testing.assert_allclose(found, changes.base.log_likelihood, rtol=1e-13)


@pytest.mark.parametrize("temperature", [0.001, 0.02, 1e6])
@pytest.mark.parametrize("weights", ["", "any"])
def test_extreme_temperatures(temperature, weights):
    problem = make_problem(["seven", "missing", "three"], 60, 5, weights, temperature=temperature)
    check(problem, [range(i, i + 6) for i in range(0, 48, 6)], [0, 6, 2, 9, 1, 6, 0, 3])


def test_everybody_but_one_goes_and_strangers_come():
    """Nodes and strata become empty, and full again."""
    for strata in ("", "s"):
        problem = make_problem(["three", "many", "seven"], 40, 8, "two", strata=strata)
        check(problem, [range(39), range(1, 40), range(20)], [0, 60, 300], threads=2)


@pytest.mark.parametrize("kinds", [["three", "eighty", "seven"], ["eighty", "hundreds", "two"]])
def test_many_classes(kinds):
    check(make_problem(kinds, 60, 4), [[3, 4, 5], [9, 10]], [3, 0])
