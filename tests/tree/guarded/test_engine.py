"""The engine draws what its formulas say."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2
from tests.tree.guarded.slow import Row, Settings, Structure, Tree, splits_of

from caveat.tree.guarded import Candidates, Guard, Response, Sample, grow_guarded

TINY = Guard(temperature=2.0, smallest=8.0, backoff=3.0, floor=0.2, depth=2)


def too_far(observed: Counter, probabilities: dict, n: int) -> bool:
    """Say whether counts are off their probabilities: chi-square at one in a million."""
    common = [key for key, p in probabilities.items() if n * p >= 5]
    expected = [n * probabilities[key] for key in common]
    seen = [observed[key] for key in common]
    rest = n - sum(expected)
    if rest > 5:
        expected.append(rest)
        seen.append(n - sum(seen))
    else:
        assert n - sum(seen) < 30
    value = sum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True))
    return value > chi2.isf(1e-6, max(len(expected) - 1, 1))


def sample_of(codes, response, weights=None):
    weights = np.ones(len(response)) if weights is None else np.asarray(weights, float)
    lines = np.asarray(codes, np.uint16).reshape(len(codes), len(response))
    return Sample(lines, np.asarray(response, np.int64), weights)


def random_sample(rng, sizes, n_codes, n, weighted=False):
    codes = [rng.integers(0, size, n) for size in sizes]
    response = (
        (sum(codes) + rng.integers(0, 2, n)) % n_codes if codes else rng.integers(0, n_codes, n)
    )
    return sample_of(codes, response, rng.choice([0.5, 1.0, 2.5], n) if weighted else None)


def slow_tree(sample, sizes, ordered, tree):
    guard, response = tree.guard, tree.response
    rows = [
        Row(sample.codes[:, i].tolist(), int(sample.response[i]), float(sample.weights[i]))
        for i in range(sample.n)
    ]
    settings = Settings(guard.temperature, guard.smallest, guard.backoff, guard.floor,
                        guard.depth)  # fmt: skip
    structure = Structure(tree.candidate.tolist(), tree.place.tolist())
    return Tree(list(zip(sizes, ordered, strict=True)), rows, structure, settings,
                response.n_codes, response.has_order, response.is_number)  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_structures_come_as_often_as_their_probability_says(weighted):
    """Split or not, which candidate, and the line of classes, all at once."""
    rng = np.random.default_rng(1)
    sizes, ordered, n = [3, 2], [True, False], 6000
    sample = random_sample(rng, sizes, 3, 9, weighted)
    found, response = Candidates(sizes, ordered), Response(3)
    seen, logs = Counter(), {}
    for _ in range(n):
        tree = grow_guarded(sample, found, response, TINY, rng)
        key = (*tree.candidate.tolist(), "|", *tree.place.tolist())
        seen[key] += 1
        logs[key] = tree.log_structure
        if seen[key] == 1:
            slow = slow_tree(sample, sizes, ordered, tree)
            assert tree.log_structure == pytest.approx(slow.log_structure, rel=1e-12)
    probabilities = {key: math.exp(value) for key, value in logs.items()}
    assert len(seen) > 50
    assert 0.95 < sum(probabilities.values()) < 1 + 1e-9
    assert not too_far(seen, probabilities, n)


def test_all_structures_together_have_probability_one():
    """One split at most: stop, or one of the candidates, for each line of the classes."""
    rng = np.random.default_rng(2)
    sizes, ordered = [4, 3, 6], [True, False, False]
    sample, found = random_sample(rng, sizes, 3, 12), Candidates(sizes, ordered)
    guard = Guard(temperature=1.0, smallest=8.0, depth=1)
    tree = grow_guarded(sample, found, Response(3), guard, rng)
    total = 0.0
    for place in permutations(range(3)):
        for chosen in range(-1, found.n):
            candidate = [-1] if chosen < 0 else [chosen, -1, -1]
            state = tree.arrays() | {
                "candidate": np.array(candidate, np.int32),
                "place": np.array(place, np.int64),
                "counts": np.zeros((len(candidate), 4)),
            }
            total += math.exp(type(tree).from_arrays(state).counted_on(sample).log_structure)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_the_line_of_classes_is_drawn_by_their_counts():
    rng = np.random.default_rng(3)
    sample = sample_of([], [0] * 8 + [1] * 3 + [2])
    powers = [math.exp(n / 5) for n in (8, 3, 1)]
    expected = {}
    for line in permutations(range(3)):
        p, left = 1.0, sum(powers)
        for k in line:
            p, left = p * powers[k] / left, left - powers[k]
        expected[line] = p
    n = 4000
    trees = [grow_guarded(sample, Candidates([], []), Response(3), TINY, rng) for _ in range(n)]
    seen = Counter(tuple(np.argsort(tree.place).tolist()) for tree in trees)
    assert not too_far(seen, expected, n)
    for tree in trees[:50]:
        line = tuple(np.argsort(tree.place).tolist())
        assert math.exp(tree.log_structure) == pytest.approx(expected[line])


RESPONSES = (Response(3), Response(7), Response(12, True, True), Response(5, has_order=True),
             Response(2), Response(1))  # fmt: skip


@pytest.mark.parametrize("response", RESPONSES)
def test_draws_follow_log_prob_and_every_code_is_possible(response):
    rng = np.random.default_rng(4)
    sizes, ordered = [4, 3], [True, False]
    sample = random_sample(rng, sizes, response.n_codes, 60)
    # Nobody has the last code: it can be drawn all the same.
    sample.response[sample.response == response.n_codes - 1] = 0
    tree = grow_guarded(sample, Candidates(sizes, ordered), response, TINY, rng)
    slow = slow_tree(sample, sizes, ordered, tree)
    n = 8000
    for first in range(4):
        for second in range(3):
            all_codes = np.arange(response.n_codes)
            rows = np.tile(np.array([[first], [second]], np.uint16), len(all_codes))
            logs = tree.log_prob(rows, all_codes)
            assert np.isfinite(logs).all()
            assert math.fsum(np.exp(logs)) == pytest.approx(1.0, abs=1e-12)
            by_hand = [slow.log_prob([first, second], code) for code in all_codes.tolist()]
            np.testing.assert_allclose(logs, by_hand, rtol=1e-10, atol=1e-12)
    drawn = tree.draw(np.tile(np.array([[1], [2]], np.uint16), n), rng)
    logs = tree.log_prob(np.tile(np.array([[1], [2]], np.uint16), response.n_codes),
                         np.arange(response.n_codes))  # fmt: skip
    assert not too_far(Counter(drawn.tolist()), dict(enumerate(np.exp(logs).tolist())), n)


@pytest.mark.parametrize("seed", range(6))
def test_counts_of_nodes_are_those_of_their_records(seed):
    rng = np.random.default_rng(seed)
    sizes, ordered = [5, 7, 3], [True, False, False]
    sample = random_sample(rng, sizes, 4, 80, weighted=True)
    tree = grow_guarded(sample, Candidates(sizes, ordered), Response(4), TINY, rng)
    slow = slow_tree(sample, sizes, ordered, tree)
    assert len(tree.candidate) > 3
    for m in range(len(tree.candidate)):
        weights = np.zeros(4)
        for row in slow.rows[m]:
            weights[tree.place[row.response]] += row.weight
        np.testing.assert_allclose(np.diff(tree.counts[m]), weights, atol=1e-12)
        assert (tree.parent[m], tree.depth[m]) == (slow.parent[m], slow.depth(m))
    leaves = [slow.path(sample.codes[:, i].tolist())[-1] for i in range(sample.n)]
    assert tree.apply(sample.codes).tolist() == leaves


@pytest.mark.parametrize(
    ("sizes", "n_codes", "n"),
    [([], 3, 40), ([1], 3, 40), ([3], 1, 40), ([3, 2], 3, 10), ([4], 2, 1), ([4], 3, 0)],
    ids=["no predictors", "a predictor of one level", "one code", "ten rows", "one row", "nobody"],
)
def test_small_cases_have_a_tree(sizes, n_codes, n):
    rng = np.random.default_rng(0)
    sample = random_sample(rng, sizes, n_codes, n)
    ordered = [False] * len(sizes)
    tree = grow_guarded(sample, Candidates(sizes, ordered), Response(n_codes), TINY, rng)
    slow = slow_tree(sample, sizes, ordered, tree)
    assert tree.log_structure == pytest.approx(slow.log_structure, rel=1e-12, abs=1e-12)
    if sum(sizes) <= 1:
        assert tree.candidate.tolist() == [-1]
    codes = np.zeros((len(sizes), 50), np.uint16)
    drawn = tree.draw(codes, rng)
    assert drawn.min() >= 0 and drawn.max() < n_codes  # noqa: PT018
    if n == 0:
        logs = tree.log_prob(codes[:, :n_codes], np.arange(n_codes))
        # The line is halved: one class, then the other two.
        assert sorted(np.exp(logs).tolist()) == pytest.approx([0.25, 0.25, 0.5])


def test_candidates_are_those_of_the_page():
    sizes = [(4, True), (1, True), (1, False), (2, False), (5, False), (6, False), (9, False)]
    found = Candidates(*zip(*sizes, strict=True))
    expected = splits_of(sizes)
    assert found.n == len(expected) == 3 + 0 + 0 + 1 + 15 + (6 + 24) + (9 + 24)
    for number, (p, left) in enumerate(expected):
        assert found.first[p] <= number < found.first[p + 1]
        if not found.ordered[p]:
            at = found.side_at[p] + (number - found.first[p]) * sizes[p][0]
            line = found.sides[at : at + sizes[p][0]]
            assert set(np.flatnonzero(line).tolist()) == left
            assert 0 < len(left) < sizes[p][0]
