"""What a grown tree can do: apply, draw, give likelihoods, be stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.tree.strategies import Problem, problems

from caveat.tree import Control, Forest, Predictors, Tree, grow, grow_forest


def by_hand() -> tuple[Predictors, Tree]:
    """Level 0 has 12 rows of class 0, level 2 has 6 rows: 4 of class 1 and 2 of class 2."""
    column = np.array([0] * 12 + [2] * 6, np.uint8)
    codes = np.array([0] * 12 + [1, 1, 1, 1, 2, 2], np.uint8)
    predictors = Predictors([column], [4], [False])
    return predictors, grow(predictors, codes, 3)


def test_shares_by_hand() -> None:
    _, tree = by_hand()
    offsets, codes, shares = tree.leaf_shares()
    left = 0 if codes[0] == 0 else 1
    assert tree.n_leaves == 2
    assert tree.donors(left).tolist() == list(range(12))
    part = slice(offsets[1 - left], offsets[2 - left])
    assert codes[part].tolist() == [1, 2]
    assert shares[part].tolist() == [4 / 6, 2 / 6]


def test_unseen_levels_follow_the_larger_child() -> None:
    predictors, tree = by_hand()
    larger = tree.apply(predictors)[0]
    unseen = Predictors([np.array([1, 3], np.uint8)], [4], [False])
    assert tree.apply(unseen).tolist() == [larger, larger]


def test_codes_between_two_levels_go_to_the_nearer() -> None:
    """Levels 2 and 7 are seen: 4 is nearer to 2, 5 to 7; rpart's cut is at 4.5."""
    column = np.repeat([2, 7], 10).astype(np.uint8)
    predictors = Predictors([column], [10], [True])
    tree = grow(predictors, (column > 5).astype(np.uint8), 2)
    new = Predictors([np.arange(10, dtype=np.uint8)], [10], [True])
    low = tree.apply(predictors)[0]
    assert (tree.apply(new) == low).tolist() == [True] * 5 + [False] * 5


def test_draw_is_the_inverse_distribution_function() -> None:
    _, tree = by_hand()
    rows = Predictors([np.full(6, 2, np.uint8)], [4], [False])
    uniforms = np.array([0.0, 0.3, 0.66, 0.67, 0.9, np.nextafter(1.0, 0.0)])
    assert tree.draw(rows, uniforms).tolist() == [1, 1, 1, 2, 2, 2]


def test_log_prob_by_hand() -> None:
    _, tree = by_hand()
    rows = Predictors([np.array([0, 2, 2, 0], np.uint8)], [4], [False])
    found = tree.log_prob(rows, np.array([0, 1, 2, 1], np.uint8))
    assert found == pytest.approx([0.0, np.log(4 / 6), np.log(2 / 6), -np.inf])


def mixed(n_rows: int) -> tuple[Predictors, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, levels, n_rows).astype(np.uint8) for levels in (3, 8, 60)]
    response = (rng.integers(0, 4, n_rows) + columns[1] // 3 + columns[2] // 25).astype(np.uint8)
    return Predictors(columns, [3, 8, 60], [False, False, True]), response


@pytest.mark.parametrize("numbers", [False, True])
def test_draws_agree_with_log_prob(numbers: bool) -> None:
    """Frequencies of 100,000 draws lie within 5 standard errors of the leaf shares."""
    predictors, response = mixed(400)
    values = np.arange(9.0) if numbers else None
    tree = grow(predictors, response, 9, values=values, control=Control(minbucket=30))
    n_draws = 100_000
    rng = np.random.default_rng(4)
    for row in (0, 7, 99):
        one = Predictors(
            [np.full(n_draws, codes[row]) for codes in predictors.table.codes],
            predictors.n_levels,
            predictors.ordered,
        )
        drawn = tree.draw(one, rng.random(n_draws))
        shares = np.exp(tree.log_prob(one.rows(slice(0, 9)), np.arange(9, dtype=np.uint8)))
        assert shares.sum() == pytest.approx(1.0)
        counts = np.bincount(drawn, minlength=9)
        assert np.all(counts[shares == 0] == 0)
        error = np.sqrt(n_draws * shares * (1 - shares))
        assert np.all(np.abs(counts - n_draws * shares) <= 5 * error)


def test_threads_and_chunks_change_nothing() -> None:
    predictors, response = mixed(200_000)
    tree = grow(predictors, response, 9, rows=np.arange(2_000))
    uniforms = np.random.default_rng(1).random(200_000)
    whole = tree.draw(predictors, uniforms)
    assert np.array_equal(whole, tree.draw(predictors, uniforms, threads=3))
    assert np.array_equal(tree.apply(predictors), tree.apply(predictors, threads=2))
    assert np.array_equal(
        tree.log_prob(predictors, response), tree.log_prob(predictors, response, threads=2)
    )
    parts = [
        tree.draw(predictors.rows(slice(at, at + 70_000)), uniforms[at : at + 70_000])
        for at in range(0, 200_000, 70_000)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("n_levels", [2, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("n_rows", [700, 1024])
def test_rows_reach_the_leaf_that_their_splits_lead_to(n_levels: int, n_rows: int) -> None:
    """Sets of any size, thresholds, codes of 16 and 32 bits, in blocks that are full or not."""
    rng = np.random.default_rng(n_levels)
    columns = [rng.integers(0, n, n_rows).astype(np.uint32) for n in (n_levels, n_levels, 70_000)]
    table = Predictors(columns, [n_levels, n_levels, 70_000], [False, True, True])
    codes = ((columns[0] % 3 + columns[1] // 7 + columns[2] // 9_000) % 5).astype(np.uint8)
    tree = grow(table, codes, 5, control=Control(minbucket=1, cp=0.0))
    part = slice(3, n_rows - 1)
    leaf_of_node = np.cumsum(tree.feature < 0) - 1
    expected = []
    for row in np.stack(columns, axis=1)[part].tolist():
        node = 0
        while tree.feature[node] >= 0:
            code, first = row[tree.feature[node]], int(tree.level_set[node])
            if first < 0:
                goes_left = code <= tree.threshold[node]
            else:
                goes_left = int(tree.bits[first + code // 64]) >> code % 64 & 1
            node = int(tree.left[node] if goes_left else tree.right[node])
        expected.append(int(leaf_of_node[node]))
    assert {0, 2} <= set(tree.feature.tolist())
    assert tree.apply(table.rows(part)).tolist() == expected


@settings(max_examples=30, deadline=None)
@given(problems())
def test_a_stored_tree_is_the_same_tree(problem: Problem) -> None:
    tree = grow(problem.predictors, problem.codes, problem.n_response, values=problem.values)
    again = Tree.from_arrays(tree.arrays())
    assert np.array_equal(again.apply(problem.predictors), tree.apply(problem.predictors))
    assert np.array_equal(again.deviance(), tree.deviance())
    assert (again.values is None) == (problem.values is None)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("left", [0, -1, -1]),
        ("right", [9, -1, -1]),
        ("feature", [5, -1, -1]),
        ("level_set", [7, -1, -1]),
        ("level_set", [-1, -1, -1]),
        ("leaf_offsets", [0, 3, 2]),
        ("leaf_codes", [0, 1, 9]),
        ("stop", [99, 12, 18]),
        ("ordered", [True, False]),
        ("values", [1.0]),
    ],
)
def test_arrays_that_are_no_tree(name: str, broken: list[Any]) -> None:
    _, tree = by_hand()
    arrays = tree.arrays()
    dtype = arrays[name].dtype if name in arrays else np.float64
    arrays[name] = np.array(broken, dtype)
    with pytest.raises(ValueError, match=name):
        Tree.from_arrays(arrays)
    del arrays["bits"]
    with pytest.raises(ValueError):
        Tree.from_arrays(arrays)


def small_forest(threads: int = 1, **more: Any) -> tuple[Predictors, np.ndarray, Forest]:
    predictors, response = mixed(600)
    forest = grow_forest(
        predictors,
        response,
        9,
        n_trees=8,
        n_candidates=1,
        seed=np.random.SeedSequence(12),
        threads=threads,
        **more,
    )
    return predictors, response, forest


def test_forest_shares_are_means_of_the_trees() -> None:
    predictors, response, forest = small_forest()
    shares = np.mean([tree.shares(predictors, response) for tree in forest.trees], axis=0)
    assert forest.shares(predictors, response) == pytest.approx(shares, rel=1e-12)
    assert forest.apply(predictors).shape == (8, 600)
    every = sum(forest.shares(predictors, np.full(600, code, np.uint8)) for code in range(9))
    assert every == pytest.approx(np.ones(600))


def test_forest_does_not_depend_on_threads_and_its_trees_differ() -> None:
    predictors, _, forest = small_forest()
    again = small_forest(threads=2)[2]
    uniforms = np.random.default_rng(2).random(600)
    assert np.array_equal(forest.draw(predictors, uniforms), again.draw(predictors, uniforms))
    assert len({tree.feature.tobytes() for tree in forest.trees}) == 8
    assert {int(tree.feature[0]) for tree in forest.trees} > {0}


def test_forest_draws_agree_with_its_shares() -> None:
    """Within 5 standard errors of the mixture, for one row repeated."""
    predictors, _, forest = small_forest()
    n_draws = 50_000
    one = Predictors(
        [np.full(n_draws, codes[5]) for codes in predictors.table.codes],
        predictors.n_levels,
        predictors.ordered,
    )
    counts = np.bincount(forest.draw(one, np.random.default_rng(6).random(n_draws)), minlength=9)
    shares = forest.shares(one.rows(slice(0, 9)), np.arange(9, dtype=np.uint8))
    error = np.sqrt(n_draws * shares * (1 - shares))
    assert np.all(np.abs(counts - n_draws * shares) <= 5 * error)


def test_forest_of_numbers_on_some_rows() -> None:
    rows = np.arange(100, 400)
    predictors, _, forest = small_forest(values=np.arange(9.0), rows=rows)
    assert all(set(tree.rows.tolist()) <= set(rows.tolist()) for tree in forest.trees)
    assert np.all(np.isfinite(forest.log_prob(predictors, forest.draw(predictors, np.zeros(600)))))
