"""Blocks rebuilt many times from published tables, and how good they are beside chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.outputs.blocks import Figure, reconstruct, system
from caveat.outputs.reconstruction import attack_tables, rebuild, surest
from caveat.table import Table

ATTRIBUTES = {"p": "abc", "q": "xy"}


@settings(max_examples=15)
@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.booleans())
def test_every_rebuilt_block_is_a_solution(counts, bound):
    """Against the list of all blocks that agree with the figures."""
    block = np.array(counts).reshape(3, 2)
    figures = [
        Figure({}, int(block.sum())),
        *(Figure({"p": p}, int(n)) for p, n in zip("abc", block.sum(axis=1), strict=True)),
        Figure({"q": "x"}, int(block[:, 0].sum()), at_most=bound),
    ]
    every = {tuple(s) for s in reconstruct(ATTRIBUTES, figures).solutions.tolist()}
    found = rebuild(system(ATTRIBUTES, figures), times=10)
    assert {tuple(s) for s in found.tolist()} <= every


def test_all_solutions_are_met_and_a_start_is_followed():
    figures = [Figure({}, 4), Figure({"p": ["a", "b"]}, 4), Figure({"q": "x"}, 2)]
    told = system(ATTRIBUTES, figures)
    every = {tuple(s) for s in reconstruct(ATTRIBUTES, figures).solutions.tolist()}
    assert {tuple(s) for s in rebuild(told, times=200, seed=3).tolist()} == every
    assert (rebuild(told, times=20, seed=3) == rebuild(told, times=20, seed=3)).all()
    # Whoever believes in ax and by finds blocks of these alone.
    assert set(np.flatnonzero(rebuild(told, times=20, start=[1, 0, 0, 1, 0, 0]).sum(axis=0))) <= {
        0, 1, 2, 3
    }  # fmt: skip
    sure = rebuild(told, times=20, start=np.array([1, 0, 0, 1, 0, 0.0]))
    assert sure[:, 0].mean() > rebuild(told, times=20)[:, 0].mean()


def test_what_cannot_be_rebuilt():
    with refused("outputs.table.conflict"):
        rebuild(system({"p": "ab"}, [Figure({}, 3), Figure({"p": "a"}, 4)]))
    told = system({"p": "ab"}, [Figure({}, 3)])
    with refused("outputs.setting.range", where="times"):
        rebuild(told, times=0)
    with refused("outputs.setting.range", where="start"):
        rebuild(told, start=np.zeros(2))


def population(blocks: int = 3) -> Table:
    """Return blocks of persons whose ethnicity depends on their race, as in a census."""
    rng = np.random.default_rng(8)
    rows = []
    for block in range(blocks):
        n = int(rng.integers(60, 120))
        race = rng.choice(4, n, p=rng.dirichlet([8, 2, 1, 0.5]))
        hispanic = rng.random(n) < np.array([0.1, 0.03, 0.05, 0.6])[race]
        age = np.minimum(rng.gamma(3, 12, n) // 15, 5).astype(int)
        rows += [
            (f"block {block}", *map(str, row))
            for row in zip(rng.choice(list("fm"), n), age, race, hispanic, strict=True)
        ]
    names = ("block", "sex", "age", "race", "hispanic")
    columns = zip(*rows, strict=True)
    return Table.from_frame({n: list(c) for n, c in zip(names, columns, strict=True)})


FEW = [["sex", "age"], ["race", "hispanic"]]
CENSUS = [["sex", "age", "race"], ["sex", "age", "hispanic"], ["race", "hispanic"]]


@pytest.fixture(scope="module")
def attacked():
    people = population()
    return [attack_tables(people, plan, by="block", times=20) for plan in (FEW, CENSUS)]


@pytest.mark.parametrize("informed", [True, False])
def test_correlation_lies_where_it_was_published(informed):
    """Sánchez et al. (2024): .71 to .99 between frequency and multiplicity, by construction."""
    for plan in (FEW, [*FEW, ["sex", "race"], ["age", "race"]]):
        found = attack_tables(population(), plan, by="block", times=20, informed=informed)
        assert 0.71 < found.published.correlation < 0.99
        # What is ranked first is common: ten kinds, and each has several records.
        first = np.argsort(-found.published.frequency)[:10]
        assert found.published.truth[first].min() >= 3
        assert 0.5 < found.chance.correlation < found.published.correlation


def test_chance_is_far_from_nothing(attacked):
    few, census = attacked
    assert few.chance.agreement == census.chance.agreement > 0.4
    assert 0 < few.published.agreement - few.chance.agreement < 0.15
    assert census.published.agreement > 0.9
    n = int((few.published.truth > 0).sum())
    assert few.published.precision(10) == 1
    assert few.published.precision(10, most=1) == 0
    assert few.chance.spurious > few.published.spurious > census.published.spurious > 0
    assert census.published.recall(n, most=1) > few.published.recall(n, most=1)
    for with_tables, without in few.summary().values():
        assert with_tables is not None
        assert without is not None


def test_shares_of_the_truth(attacked):
    found, people = attacked[0], population()
    rows = list(zip(*(people[name].values.tolist() for name in people), strict=True))
    once = sum(rows.count(row) == 1 for row in rows)
    assert found.unique == pytest.approx(once / len(rows))
    assert found.random_matches == pytest.approx(len(set(rows)) / len(rows))
    assert found.names == ("block", "sex", "age", "race", "hispanic")
    assert len(found.cells) == 3 * 2 * 6 * 4 * 2


def test_what_is_told_without_doubt():
    people = Table.from_frame({"sex": list("ffmmm"), "ill": list("yynny"), "at": list("ababb")})
    found = attack_tables(people, [["sex", "ill"]], by="at", times=5)
    assert found.published.agreement == 1
    # At a both are told (f y, m n), at b the woman (y) but not the men.
    assert found.unequivocal(["sex"]) == 3 / 5
    assert found.unequivocal(["sex", "ill"]) == 1
    loose = attack_tables(people, [["sex"], ["ill"]], by="at", times=30)
    assert loose.unequivocal(["sex"]) == 0
    with refused("data.column.unknown"):
        found.unequivocal(["age"])


def test_hidden_counts_say_less():
    people = population(1)
    plans = [
        attack_tables(people, CENSUS, by="block", times=10, hide_below=least)
        for least in (0, 3, 10)
    ]
    shares = [found.published.agreement for found in plans]
    assert shares[0] > shares[1] > shares[2]


def test_plans_that_are_refused():
    people = population(1)
    with refused("outputs.table.absent", where="tables"):
        attack_tables(people, [])
    with refused("outputs.column.conflict", column="block"):
        attack_tables(people, [["block", "sex"]], by="block")
    wide = Table.from_frame({f"c{i}": [*range(30)] for i in range(3)})
    with refused("outputs.cell.too-many", where="tables"):
        attack_tables(wide, [["c0", "c1", "c2"]])


def test_missing_values_are_values():
    people = Table.from_frame({"sex": ["f", None, "m"], "ill": list("yyn")})
    found = attack_tables(people, [["sex", "ill"]], times=2)
    assert found.published.agreement == 1
    assert ("empty", "y") in found.cells


def test_how_sure_a_promise_lets_one_become():
    assert surest(0.5, 0) == 0.5
    assert surest(0.5, np.log(3)) == pytest.approx(0.75)
    assert (surest(0, 5), surest(1, 5)) == (0, 1)
    with refused("outputs.setting.range"):
        surest(0.5, -1)
