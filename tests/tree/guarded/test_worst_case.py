r"""How much one record can do to a structure, in the worst case over all data sets.

One record of weight w comes. In one candidate split it joins one side; let S be the weight of
that side, L the weight of its own class there, Q the sum of squares of the classes.

*Gini part.* The side's Q/S becomes (Q + 2wL + w^2)/(S + w), so it changes by

    d = w (2L + w - Q/S) / (S + w).

Above: Q >= L^2, and 2L - L^2/S <= S because (S - L)^2 >= 0; hence d <= w, with equality if the
side is pure (L = S) or empty (d = w). Below: L >= 0 and Q/S <= S, hence d >= w (w - S)/(w + S) >
-w, which is approached by a large side that is pure in another class, and never reached. The
other side stays.

*Penalty.* The side has one record more, whatever its weight, so that (m - n)^+ falls by 1 at most
and never rises: 0 <= e <= 1.

*Together* d + e lies in (-w, w + 1]: **the sensitivity is w + 1, so 2 at weight 1** (1 of the
Gini part and 1 of the penalty; they meet at an empty side, where both are at their largest). A
record that goes is the same with the signs turned.

*Choice.* The log probability of a candidate changes by (d_s + e_s)/tau less the change of the log
of the sum, which lies between the smallest and the largest of the (d + e)/tau of all candidates.
So it changes by less than (2w + 1)/tau, which is below 2 (w + 1)/tau: the usual bound 2 x
sensitivity / tau holds, and the penalty costs half of what it says because it moves one way only.

*Stopping.* log 1/(1 + exp(-x)) has slopes between 0 and 1, x = (n - T)/s: at most 1/s.

*Tree.* A given structure sends the record down one path with at most ``depth`` decisions. A
record that is changed is one that goes and one that comes: twice.

*Line of K classes.* Let x_k = n_k/5. Its log probability is the sum over places i of x_i -
log(sum over j >= i of exp x_j). If x_a grows by w/5, a at place j (from 0), the sums of places 0
to j grow by between 0 and w/5 each in the log, that at place j by no more than x_a itself does.
So the change lies in [-j w/5, w/5]: at most max(1, K - 1) w/5.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tree.guarded.slow import Row, Settings, Structure, Tree
from tests.tree.guarded.test_engine import random_sample

from caveat.tree.guarded import Candidates, Guard, Response, Sample, grow_guarded

SETTINGS = Settings(1.0, 8.0, 3.0, 0.2, 2)


def gain(rows, least, n_classes):
    settings = SETTINGS._replace(smallest=least / 0.3)
    tree = Tree([(2, True)], rows, Structure([-1], range(n_classes)), settings, n_classes, True,
                False)  # fmt: skip
    return tree.gain(rows, tree.splits[0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("least", [0.3, 1.0, 2.5, 3.0, 100.0])
def test_the_sensitivity_of_the_gain_is_two(n_classes, least):
    """All tables of up to five records, a binary predictor, and every record that can come."""
    kinds = list(product(range(2), range(n_classes)))
    changes = []
    for n in range(6):
        for table in combinations_with_replacement(kinds, n):
            rows = [Row([side], k, 1.0) for side, k in table]
            before = gain(rows, least, n_classes)
            for side, k in kinds:
                changes.append(gain([*rows, Row([side], k, 1.0)], least, n_classes) - before)
    # To an empty side, with or without what it lacks of the smallest child.
    assert max(changes) == pytest.approx(1.0 + min(least, 1.0))
    # To five of another class: (1 - 5)/(1 + 5) = -2/3, and less where the child is still too small.
    if least <= 5:
        assert min(changes) == pytest.approx(-4 / 6)
    assert min(changes) > -1


def test_the_gain_can_fall_by_nearly_one_but_not_by_more():
    falls = []
    for n in (10, 100, 1000):
        rows = [Row([0], 0, 1.0)] * n
        falls.append(gain([*rows, Row([0], 1, 1.0)], 1.0, 2) - gain(rows, 1.0, 2))
    assert falls == pytest.approx([-(n - 1) / (n + 1) for n in (10, 100, 1000)])


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.floats(0.01, 9)), max_size=8),
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.floats(0.01, 9)),
    st.floats(0.1, 20),
)
def test_with_weights_the_sensitivity_is_the_weight_and_one(table, record, least):
    rows = [Row([side], k, w) for side, k, w in table]
    new = Row([record[0]], *record[1:])
    change = gain([*rows, new], least, 3) - gain(rows, least, 3)
    assert -new.weight - 1e-9 < change <= new.weight + 1 + 1e-9


def drop(sample, i):
    rows = np.delete(np.arange(sample.n), i)
    codes = np.ascontiguousarray(sample.codes[:, rows])
    return Sample(codes, sample.response[rows], sample.weights[rows])


@given(
    st.integers(0, 2**20),
    st.sampled_from([0.2, 1.0, 5.0]),
    st.sampled_from([3.0, 10.0, 40.0]),
    st.integers(1, 5),
    st.booleans(),
)
def test_no_record_moves_a_structure_beyond_the_bound(seed, temperature, smallest, depth, weighted):
    rng = np.random.default_rng(seed)
    sizes, ordered = [4, 3, 2], [True, False, False]
    n_codes = int(rng.integers(2, 6))
    sample = random_sample(rng, sizes, n_codes, int(rng.integers(2, 60)), weighted)
    guard = Guard(temperature=temperature, smallest=smallest, depth=depth)
    for response in (Response(n_codes), Response(n_codes, has_order=True)):
        tree = grow_guarded(sample, Candidates(sizes, ordered), response, guard, rng)
        for i in range(min(sample.n, 10)):
            w = sample.weights[i]
            change = abs(tree.counted_on(drop(sample, i)).log_structure - tree.log_structure)
            line = max(1, n_codes - 1) * w / 5 if response.is_ranked else 0.0
            tight = depth * ((2 * w + 1) / temperature + 1 / guard.softness) + line
            assert change <= tight + 1e-9
            assert tight < depth * (2 * (w + 1) / temperature + 1 / guard.softness) + line


def test_the_bound_of_the_line_is_nearly_reached():
    """A class that outweighs all others by far, and stands last all the same."""
    n_codes = 6
    response = np.concatenate([np.full(400, 5), np.arange(5)])
    sample = Sample(np.zeros((0, 405), np.uint16), response, np.ones(405))
    tree = grow_guarded(sample, Candidates([], []), Response(n_codes), Guard(),
                        np.random.default_rng(0))  # fmt: skip
    state = tree.arrays() | {"place": np.arange(n_codes)}
    last = type(tree).from_arrays(state).counted_on(sample)
    change = last.counted_on(drop(sample, 0)).log_structure - last.log_structure
    assert change == pytest.approx((n_codes - 1) / 5, rel=1e-6)


def test_the_bound_of_the_choice_is_nearly_reached():
    """One candidate gains two, the other loses nearly one: (2w + 1)/temperature together."""
    # Of the first predictor side 1 is empty; of the second side 1 holds many of another class.
    many = 4000
    codes = np.array([[0] * (2 * many) + [1], [0] * many + [1] * many + [1]], np.uint16)
    response = np.array([0] * many + [1] * many + [0])
    sample = Sample(codes, response, np.ones(2 * many + 1))
    guard = Guard(temperature=1000.0, smallest=10.0, depth=1)
    found = Candidates([2, 2], [True, True])
    tree = grow_guarded(sample, found, Response(2), guard, np.random.default_rng(0))
    assert tree.candidate.tolist() in ([0, -1, -1], [1, -1, -1])
    # Both are about equally probable at this temperature, so that the difference shows in both.
    logs = []
    for chosen in (0, 1):
        state = tree.arrays() | {"candidate": np.array([chosen, -1, -1], np.int32)}
        fixed = type(tree).from_arrays(state)
        with_it = fixed.counted_on(sample).log_structure
        logs.append(with_it - fixed.counted_on(drop(sample, 2 * many)).log_structure)
    assert (logs[0] - logs[1]) * guard.temperature == pytest.approx(3.0, abs=0.01)
    assert math.isfinite(tree.log_structure)
