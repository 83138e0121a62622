"""The forest as a method."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synthesis.methods.cases import Case, inputs_for, target_for

from caveat.synthesis.methods import Settings
from caveat.synthesis.methods.trees import Forest

RNG = np.random.default_rng


@pytest.mark.parametrize("case", [Case(5), Case(8, numeric=True)])
def test_probabilities_are_the_mean_of_the_trees(case):
    inputs = inputs_for(300, RNG(0))
    target = target_for(case, inputs, RNG(1))
    model = Forest.fit(inputs, target, Settings(trees=7), RNG(2))
    trees = model.trees.trees
    assert len(trees) == 7
    shares = [np.exp(tree.log_prob(inputs.predictors, target.codes)) for tree in trees]
    expected = np.mean(shares, axis=0)
    assert np.exp(model.log_prob(inputs, target.codes)) == pytest.approx(expected)


def test_trees_differ_and_the_seed_decides_them():
    inputs = inputs_for(300, RNG(0))
    target = target_for(Case(5), inputs, RNG(1))
    one, same, other = (Forest.fit(inputs, target, Settings(), RNG(s)) for s in (2, 2, 3))
    p = [m.log_prob(inputs, target.codes) for m in (one, same, other)]
    assert np.array_equal(p[0], p[1])
    assert not np.array_equal(p[0], p[2])
    first, second = one.trees.trees[:2]
    assert not np.array_equal(first.rows, second.rows)
