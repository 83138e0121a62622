"""Work is counted before it is done: what is attacked, how, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.attack.targets import (
    LEAST,
    MOST_CELLS,
    STANDARD,
    AttackWork,
    allot,
    fit_work,
    group_work,
    work_of,
)
from caveat.datasets import households, survey
from caveat.synthesis import Synthesizer
from caveat.synthesis.linked import GroupModel
from caveat.table import Table

works = st.builds(
    AttackWork,
    world=st.floats(1, 1e9),
    candidates=st.integers(1, 10_000),
    values=st.integers(0, 100_000),
    preparation=st.floats(0, 1e10),
)


def clients(n: int = 400) -> Table:
    rng = np.random.default_rng(3)
    return Table.from_frame(
        {
            "job": rng.choice(["a", "b", "c"], n),
            "balance": np.round(np.exp(rng.normal(6, 1, n)), 2),
            "y": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        }
    )


@given(attacks=st.lists(works, min_size=1, max_size=6), wanted=st.integers(1, 50_000))
def test_what_is_allotted_stays_within_the_bound(attacks, wanted):
    numbers = allot(attacks, wanted, STANDARD.targets)
    done = sum(work.of(n) for work, n in zip(attacks, numbers, strict=True) if n)
    assert done <= STANDARD.targets * (1 + 1e-9)
    for work, n in zip(attacks, numbers, strict=True):
        assert n == 0 or min(LEAST, wanted) <= n <= wanted
        assert n * work.values <= max(MOST_CELLS, LEAST * work.values)


def test_what_needs_less_leaves_the_rest_to_the_others():
    one, ten, hundred = (AttackWork(1, n) for n in (1, 10, 100))
    assert allot([one, one], wanted=220, most=1e9) == [220, 220]
    assert allot([one, ten, hundred], wanted=50, most=1_600) == [50, 50, 10]
    assert allot([hundred, one, ten], wanted=50, most=600) == [0, 50, 50]
    assert allot([AttackWork(1e9, 1)], wanted=5, most=1) == [0]


def test_records_are_sampled_before_candidates():
    work = AttackWork(10, 100)
    assert work.within(100_000) == work  # a hundred records by all candidates
    assert work.within(LEAST * 1_000) == work  # ten of them
    fewer = work.within(LEAST * 300)
    assert fewer.candidates == 30
    assert fewer.of(LEAST) <= LEAST * 300
    assert work.within(1).candidates == 2


def test_a_number_of_guarded_trees_costs_its_cells_and_not_its_values():
    table = clients()
    model = Synthesizer(method="guarded", seed=1).fit(table)
    work = work_of(model, table, "balance")
    grid = model.plan.columns["balance"].grid
    assert work.values == table["balance"].n_levels > 300
    assert work.candidates <= grid.n_cells + len(grid.special)
    assert work_of(model, table, "y").candidates == 2


def test_a_look_up_by_the_number_costs_every_value():
    table = clients()
    names = {"class": np.digitize(table["balance"].cell_numbers, [200.0, 600.0])}
    table = table.with_columns(Table.from_frame(names).columns)
    derived = {"class": {"lookup": "balance"}}
    model = Synthesizer(method="guarded", seed=1, derived=derived).fit(table)
    assert work_of(model, table, "balance").candidates == table["balance"].n_levels


def test_plain_trees_cost_their_rows():
    small, large = clients(200), clients(400)
    works = [
        work_of(Synthesizer(method="cart", seed=1).fit(t), t, "y").world for t in (small, large)
    ]
    assert works[1] == pytest.approx(2 * works[0])
    model = Synthesizer(method="cart", seed=1).fit(large)
    assert work_of(model, large, "balance").candidates == large["balance"].n_levels
    assert work_of(model, large, "balance", in_cells=True).candidates == 20
    assert fit_work(model.plan, 400) == 2 * fit_work(model.plan, 200)


def test_membership_moves_one_record_in_every_tree():
    table = survey(300).drop(["person", "interviewed", "occupation", "bmi"])
    model = Synthesizer(method="guarded", seed=1).fit(table)
    work = work_of(model, table)
    assert (work.candidates, work.values) == (1, 0)
    assert work.world >= work_of(model, table, "marital").world


def test_groups_cost_their_members():
    people = households(60)
    model = Synthesizer(groups="household", method="guarded", seed=1, rules=[]).fit(people)
    assert isinstance(model, GroupModel)
    group = group_work(model.model, 60)
    person = group_work(model.model, 60, members=2.4)
    assert person.candidates == 2
    assert person.world == pytest.approx(2 * group.world)
    income = Table.from_frame(people)["income"]
    by_value = group_work(model.model, 60, income, "income", members=2.4)
    in_cells = group_work(model.model, 60, income, "income", members=2.4, in_cells=True)
    assert by_value.candidates == 2 * income.n_levels
    assert in_cells.candidates <= 2 * (64 + len(income.missing))
    assert in_cells.world == by_value.world
