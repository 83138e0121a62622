"""The engine against a slow tree that is obviously right, and its invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tree.slow_tree import SlowData, grow_slowly
from tests.tree.strategies import Problem, problems

from caveat.tree import Control, Job, Predictors, Tree, grow, grow_many


def grow_problem(problem: Problem) -> Tree:
    return grow(
        problem.predictors,
        problem.codes,
        problem.n_response,
        values=problem.values,
        weights=problem.weights,
        control=problem.control,
    )


def splits(tree: Tree) -> dict[frozenset[int], int]:
    """The split variable of each node, nodes known by their rows."""
    spans = zip(tree.start, tree.stop, strict=True)
    return {
        frozenset(tree.rows[start:stop].tolist()): int(tree.feature[node])
        for node, (start, stop) in enumerate(spans)
    }


def leaves(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(tree.donors(leaf).tolist()) for leaf in range(tree.n_leaves)}


def compare(tree: Tree, data: SlowData, control: Control) -> None:
    root = grow_slowly(data, tuple(range(len(data.codes))), control)
    assert splits(tree) == {frozenset(node.rows): node.feature for node in root.walk()}
    expected = {frozenset(node.rows): node for node in root.walk()}
    for node, deviance in enumerate(tree.deviance()):
        slow = expected[frozenset(tree.rows[tree.start[node] : tree.stop[node]].tolist())]
        assert deviance == pytest.approx(float(slow.risk), rel=1e-9, abs=1e-9)
        assert tree.improve[node] == pytest.approx(float(slow.improve), rel=1e-9, abs=1e-12)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_same_as_slow_tree(problem: Problem) -> None:
    compare(grow_problem(problem), problem.slow, problem.control)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_shares_donors_and_leaves(problem: Problem) -> None:
    tree = grow_problem(problem)
    weights = np.array(problem.slow.weights, float)
    leaf_of_row = tree.apply(problem.predictors)
    shares = tree.leaf_shares()
    for leaf in range(tree.n_leaves):
        donors = tree.donors(leaf)
        assert np.array_equal(donors, np.flatnonzero(leaf_of_row == leaf))
        part = slice(shares.offsets[leaf], shares.offsets[leaf + 1])
        mass = np.bincount(problem.codes[donors], weights[donors], minlength=problem.n_response)
        assert np.array_equal(shares.codes[part], np.flatnonzero(mass))
        assert shares.shares[part] == pytest.approx(mass[mass > 0] / mass.sum(), rel=1e-12)


@pytest.mark.parametrize("n_response", [63, 64, 65, 200])
def test_codes_of_a_leaf_rise_however_many_there_are(n_response: int) -> None:
    codes = np.arange(2 * n_response)[::-1].repeat(3) % n_response
    column = (np.arange(len(codes)) % 2).astype(np.uint8)
    tree = grow(
        Predictors([column], [2], [False]),
        codes.astype(np.uint16),
        n_response,
        control=Control(minbucket=1, cp=-1.0, max_depth=1),
    )
    shares = tree.leaf_shares()
    for leaf in range(tree.n_leaves):
        part = slice(shares.offsets[leaf], shares.offsets[leaf + 1])
        mass = np.bincount(codes[tree.donors(leaf)], minlength=n_response)
        assert np.array_equal(shares.codes[part], np.flatnonzero(mass))
        assert shares.shares[part] == pytest.approx(mass[mass > 0] / mass.sum(), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_row_order_does_not_matter(problem: Problem, random: object) -> None:
    order = np.array(random.sample(range(len(problem.codes)), len(problem.codes)))
    moved = problem._replace(
        columns=[column[order] for column in problem.columns],
        codes=problem.codes[order],
        weights=None if problem.weights is None else problem.weights[order],
    )
    tree, other = grow_problem(problem), grow_problem(moved)
    assert leaves(tree) == {frozenset(order[list(leaf)].tolist()) for leaf in leaves(other)}
    for name in ("feature", "threshold", "bits", "improve", "leaf_codes", "leaf_weights"):
        assert np.array_equal(getattr(tree, name), getattr(other, name))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_integer_weights_are_repeated_rows(problem: Problem) -> None:
    """With minbucket 1 and minsplit 1, which count rows, weights and copies are the same."""
    weights = np.array(problem.slow.weights)
    rows = np.repeat(np.arange(len(weights)), weights)
    control = Control(1, 1, problem.control.cp, problem.control.max_depth)
    weighted = grow_problem(problem._replace(weights=weights.astype(float), control=control))
    repeated = grow(
        problem.predictors,
        problem.codes,
        problem.n_response,
        values=problem.values,
        rows=rows,
        control=control,
    )
    assert leaves(weighted) == leaves(repeated)
    assert np.array_equal(weighted.leaf_weights, repeated.leaf_weights)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_gaps_between_ordered_codes_do_not_matter(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wider = [
        np.sort(rng.choice(50, levels, replace=False)).astype(np.uint8)
        for levels in problem.n_levels
    ]
    columns = [
        new[column] if ordered else column
        for new, column, ordered in zip(wider, problem.columns, problem.ordered, strict=True)
    ]
    recoded = problem._replace(
        columns=columns,
        n_levels=[
            50 if ordered else levels
            for levels, ordered in zip(problem.n_levels, problem.ordered, strict=True)
        ],
    )
    assert leaves(grow_problem(problem)) == leaves(grow_problem(recoded))


def survey(n_rows: int, seed: int = 3) -> tuple[list[np.ndarray], list[int], list[bool]]:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n_rows)
    n_levels = [2, 5, 9, 14, 30, 400]
    ordered = [False, True, False, False, False, True]
    columns = []
    for levels, in_order in zip(n_levels, ordered, strict=True):
        noisy = hidden + rng.normal(size=n_rows)
        ranks = np.argsort(np.argsort(noisy))
        column = (ranks * levels // n_rows).astype(np.uint16)
        columns.append(column if in_order else rng.permutation(levels).astype(np.uint16)[column])
    return columns, n_levels, ordered


@pytest.mark.parametrize("response", [0, 1, 3])
def test_names_of_nominal_levels_do_not_matter(response: int) -> None:
    """With large leaves no subsets tie; between equals the order of the levels decides."""
    columns, n_levels, ordered = survey(4000)
    others = [i for i in range(6) if i != response]
    rng = np.random.default_rng(1)
    renamed = [
        columns[i] if ordered[i] else rng.permutation(n_levels[i]).astype(np.uint16)[columns[i]]
        for i in others
    ]
    trees = [
        grow(
            Predictors(chosen, [n_levels[i] for i in others], [ordered[i] for i in others]),
            columns[response],
            n_levels[response],
            control=Control(minbucket=60),
        )
        for chosen in ([columns[i] for i in others], renamed)
    ]
    assert trees[0].n_leaves > 10
    assert leaves(trees[0]) == leaves(trees[1])


@pytest.mark.parametrize(("response", "numbers"), [(0, False), (2, False), (5, True)])
def test_subtrees_of_a_large_table_are_grown_alike(response: int, numbers: bool) -> None:
    """Codes of subtrees are brought together in large tables; the tree must not change."""
    columns, n_levels, ordered = survey(40_000)
    rows = np.flatnonzero(np.random.default_rng(5).random(40_000) < 0.05)
    others = [i for i in range(6) if i != response]
    names = [n_levels[i] for i in others], [ordered[i] for i in others]
    values = np.sqrt(np.arange(n_levels[response])) if numbers else None
    large = grow(
        Predictors([columns[i] for i in others], *names),
        columns[response],
        n_levels[response],
        values=values,
        rows=rows,
    )
    small = grow(
        Predictors([columns[i][rows] for i in others], *names),
        columns[response][rows],
        n_levels[response],
        values=values,
    )
    assert small.n_leaves > 50
    assert np.array_equal(large.rows, rows[small.rows])
    assert np.array_equal(large.start, small.start)
    assert np.array_equal(large.improve, small.improve)


@pytest.mark.parametrize("weighted", [False, True])
def test_sorted_search_of_many_levels_and_classes(weighted: bool) -> None:
    """More cells than rows: the classes are sorted by level instead of being tabulated."""
    rng = np.random.default_rng(11)
    column = rng.integers(0, 200, 60).astype(np.uint8)
    codes = np.minimum(rng.integers(0, 5, 60) + column // 100, 4).astype(np.uint8)
    weights = rng.integers(1, 4, 60).astype(float) if weighted else None
    control = Control(minbucket=3, minsplit=6, cp=0.0)
    problem = Problem([column], [200], [True], codes, 5, None, weights, control)
    tree = grow_problem(problem)
    assert tree.n_leaves > 5
    compare(tree, problem.slow, control)


def test_classes_are_not_saturated_but_numbers_are() -> None:
    """Two binary predictors, four cells: only the sum of squares pays for every cell."""
    a = np.repeat([0, 0, 1, 1], 25).astype(np.uint8)
    b = np.tile(np.repeat([0, 1], 25), 2).astype(np.uint8)
    y = np.concatenate([np.arange(25) < ones for ones in (2, 4, 7, 11)]).astype(np.uint8)
    predictors = Predictors([a, b], [2, 2], [False, False])
    assert grow(predictors, y, 2).n_leaves == 1  # class 0 is the majority everywhere
    numbers = grow(predictors, y, 2, values=np.array([0.0, 1.0]))
    assert numbers.n_leaves == 4


def test_values_of_any_kind_give_the_same_tree() -> None:
    """A linear change of the values changes no split, be they decimals or not."""
    columns, n_levels, ordered = survey(3000)
    predictors = Predictors(columns[:5], n_levels[:5], ordered[:5])
    base = np.arange(400.0)
    tree = grow(predictors, columns[5], 400, values=base)
    for scale, shift in ((0.01, 5.0), (np.pi, -1e3), (1e12, 0.0), (1e-12, 1e-9)):
        other = grow(predictors, columns[5], 400, values=base * scale + shift)
        assert leaves(other) == leaves(tree)
        assert other.improve == pytest.approx(tree.improve * scale * scale, rel=1e-6)


def test_fractional_weights() -> None:
    """Weights that are all the same fraction are no weights at all."""
    columns, n_levels, ordered = survey(2000)
    predictors = Predictors(columns[:4], n_levels[:4], ordered[:4])
    for response, values in ((4, None), (5, np.arange(400.0)), (5, np.sin(np.arange(400.0)))):
        plain = grow(predictors, columns[response], n_levels[response], values=values)
        weighted = grow(
            predictors,
            columns[response],
            n_levels[response],
            values=values,
            weights=np.full(2000, 0.3),
        )
        assert leaves(weighted) == leaves(plain)
        assert weighted.deviance() == pytest.approx(plain.deviance() * 0.3, rel=1e-7)


def test_wide_columns_are_searched_in_bins_and_say_so() -> None:
    rng = np.random.default_rng(2)
    wide = rng.integers(0, 100_000, 70_000).astype(np.uint32)
    codes = (wide > 40_000).astype(np.uint8)
    tree = grow(Predictors([wide], [100_000], [True]), codes, 2)
    assert tree.binned == (0,)
    # A bin holds 70,000 / 4,096 rows, about 24 codes: a cut is at most that far from the truth.
    assert abs(int(tree.threshold[0]) - 40_000) < 200
    assert np.array_equal(tree.apply(Predictors([wide], [100_000], [True]))[tree.rows],
                          np.repeat(np.arange(tree.n_leaves),
                                    (tree.stop - tree.start)[tree.leaf_nodes]))  # fmt: skip
    narrow = Predictors([wide.clip(0, 65_534)], [65_535], [True])
    assert grow(narrow, codes, 2).binned == ()


def test_many_trees_at_once() -> None:
    columns, n_levels, ordered = survey(5000)
    table = Predictors(columns, n_levels, ordered)
    jobs = [
        Job(
            predictors=table.select([i for i in range(6) if i != response]),
            response_codes=columns[response],
            n_levels=n_levels[response],
            values=np.arange(400.0) if response == 5 else None,
        )
        for response in range(6)
    ]
    one, two = grow_many(jobs), grow_many(jobs, threads=2)
    for a, b in zip(one, two, strict=True):
        assert all(np.array_equal(x, b.arrays()[name]) for name, x in a.arrays().items())


def test_a_table_is_shared_not_copied() -> None:
    columns, n_levels, ordered = survey(100)
    table = Predictors(columns, n_levels, ordered)
    part = table.select([3, 1]).rows(slice(10, 60))
    assert part.table is table.table
    assert (part.n_rows, part.n_columns) == (50, 2)
    assert part.n_levels.tolist() == [14, 5]
    tree = grow(part, columns[0][10:60], 2, control=Control(cp=0.0))
    other = grow(
        Predictors([columns[3][10:60], columns[1][10:60]], [14, 5], [False, True]),
        columns[0][10:60],
        2,
        control=Control(cp=0.0),
    )
    assert tree.n_leaves > 1
    assert np.array_equal(tree.rows, other.rows)
    assert np.array_equal(tree.apply(part), other.apply(part))
