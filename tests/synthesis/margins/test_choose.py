"""The tree of pairs: against the definition, ties, and tables that do not fit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.synthesis.margins.plan import mutual_information, spanning_tree
from caveat.synthesis.margins.tables import Clearing

RNG = np.random.default_rng


def by_definition(one, other, weights) -> float:
    """Return the sum of p log(p / rc), less (r - 1)(c - 1) / 2n."""
    total, weights = 0.0, weights / weights.sum()
    for a in set(one):
        for b in set(other):
            p = weights[(one == a) & (other == b)].sum()
            if p > 0:
                total += p * np.log(p / (weights[one == a].sum() * weights[other == b].sum()))
    n = 1 / np.square(weights).sum()
    return total - (len(set(one)) - 1) * (len(set(other)) - 1) / (2 * n)


@pytest.mark.parametrize("size", [3, 300])  # a full table, and one that is held sparsely
@pytest.mark.parametrize("weighted", [False, True])
def test_mutual_information_is_what_it_is_called(size, weighted):
    rng = RNG(1)
    one, other = rng.integers(0, size, 40), rng.integers(0, 3, 40)
    weights = rng.uniform(0.5, 3, 40) if weighted else None
    cells, sizes = {"a": one, "b": other}, {"a": size, "b": 3}
    found = mutual_information(cells, sizes, ("a", "b"), weights)
    expected = by_definition(one, other, np.ones(40) if weights is None else weights)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_column_with_many_levels_that_means_nothing_hangs_on_nothing_much():
    rng = RNG(2)
    height = rng.integers(0, 16, 2000)
    weight = np.clip(height + rng.integers(-4, 5, 2000), 0, 15)
    noise = rng.integers(0, 200, 2000)
    cells = {"height": height, "noise": noise, "weight": weight}
    tree = spanning_tree(cells, {"height": 16, "noise": 200, "weight": 16})
    assert ("height", "weight") in tree


@settings(max_examples=40)
@given(seed=st.integers(0, 999))
def test_the_tree_is_the_best_of_all(seed):
    rng = RNG(seed)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 4}
    base = rng.integers(0, 2, 60)
    cells = {n: (base * rng.integers(0, 2) + rng.integers(0, k, 60)) % k for n, k in sizes.items()}
    worth = {p: mutual_information(cells, sizes, p) for p in combinations(sizes, 2)}
    tree = spanning_tree(cells, sizes)
    assert len(tree) == 3
    assert set().union(*tree) == set(sizes)
    trees = [t for t in combinations(worth, 3) if is_connected(t, sizes)]
    assert sum(worth[p] for p in tree) == pytest.approx(
        max(sum(worth[p] for p in t) for t in trees)
    )


def is_connected(pairs, names) -> bool:
    reached = {next(iter(names))}
    for _ in names:
        reached |= {n for p in pairs if set(p) & reached for n in p}
    return reached == set(names)


def test_ties_go_to_the_first_columns_and_no_records_are_a_tie():
    same = np.array([0, 1, 0, 1])
    sizes = dict.fromkeys("abcd", 2)
    expected = [("a", "b"), ("a", "c"), ("a", "d")]
    assert spanning_tree(dict.fromkeys("abcd", same), sizes) == expected
    assert spanning_tree(dict.fromkeys("abcd", same[:0]), sizes) == expected


def test_a_column_whose_tables_are_all_too_large_stands_alone():
    rng = RNG(3)
    cells = {"a": rng.integers(0, 9, 50), "b": rng.integers(0, 9, 50), "c": rng.integers(0, 9, 50)}
    tree = spanning_tree(cells, {"a": 2**13, "b": 2**12, "c": 9})
    assert tree == [("a", "c"), ("b", "c")]
    assert spanning_tree(cells, {"a": 2**24, "b": 9, "c": 9}) == [("a",), ("b", "c")]


def test_with_clearing_a_table_counts_for_what_is_left_of_it():
    # a and c agree, but in cells that are too small; b is one table of large cells with each
    a = np.repeat(np.arange(20), 5)
    cells = {"a": a, "b": np.arange(100) % 2, "c": a}
    sizes = {"a": 20, "b": 2, "c": 20}
    assert ("a", "c") in spanning_tree(cells, sizes)
    assert spanning_tree(cells, sizes, None, Clearing(10)) == [("a",), ("b",), ("c",)]
    found = mutual_information(cells, sizes, ("a", "c"), None, Clearing(5))
    assert found == pytest.approx(np.log(20) - 19 * 19 / 200)
    half = {"a": np.repeat([0, 1, 2], [10, 10, 5]), "b": np.repeat([0, 1, 2], [10, 10, 5])}
    found = mutual_information(half, {"a": 3, "b": 3}, ("a", "b"), None, Clearing(10))
    assert found == pytest.approx(0.8 * (np.log(2) - 1 / 50) - 0.2)
