"""The matrix of regressions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.synthesis.coding import Part
from caveat.synthesis.methods import Inputs
from caveat.synthesis.methods.normal import Design


def small() -> Inputs:
    number = Part(np.array([0, 1, 1, 2]), 3, True, np.array([1.0, 3.0, 7.0]))
    factor = Part(np.array([2, 0, 2, 1]), 4, False)
    constant = Part(np.array([1, 1, 1, 1]), 2, True, np.array([5.0, 6.0]))
    return Inputs((number, factor, constant), 4)


def test_numbers_are_standardised_and_factors_become_columns_without_the_most_frequent():
    inputs = small()
    design = Design.of(inputs, np.ones(4))
    values = np.array([1.0, 3.0, 3.0, 7.0])
    z = (values - 3.5) / np.sqrt(((values - 3.5) ** 2).mean())
    expected = np.column_stack([np.ones(4), z, [0, 1, 0, 0], [0, 0, 0, 1]])
    assert design.width == 4
    assert design.matrix(inputs) == pytest.approx(expected)


def test_an_unseen_level_counts_as_the_most_frequent_one():
    design = Design.of(small(), np.ones(4))
    number, _, constant = small().take(np.array([0])).parts
    unseen = Inputs((number, Part(np.array([3]), 4, False), constant), 1)
    reference = Inputs((number, Part(np.array([2]), 4, False), constant), 1)
    assert np.array_equal(design.matrix(unseen), design.matrix(reference))


def test_weights_decide_the_reference_the_mean_and_what_was_seen():
    weights = np.array([1.0, 5.0, 0.0, 2.0])
    design = Design.of(small(), weights)
    assert design.centres[0] == pytest.approx((1 + 15 + 14) / 8)
    # level 0 has the weight 5, so 1 and 2 have columns
    assert design.columns[1].tolist() == [-1, 2, 3, -1]


def test_the_product_needs_no_matrix():
    inputs = small()
    design = Design.of(inputs, np.ones(4))
    coefficients = np.random.default_rng(0).normal(size=(design.width, 3))
    assert design.times(inputs, coefficients) == pytest.approx(design.matrix(inputs) @ coefficients)


def test_without_predictors_there_is_the_intercept():
    design = Design.of(Inputs((), 3), np.ones(3))
    assert np.array_equal(design.matrix(Inputs((), 3)), np.ones((3, 1)))
    assert np.array_equal(Design.from_state(design.state()).matrix(Inputs((), 2)), np.ones((2, 1)))


def test_a_matrix_beyond_memory_and_infinities_are_refused():
    n = 20_000
    wide = Inputs((Part(np.arange(n), n, False),), n)
    with refused("synthesis.predictor.too-many"):
        Design.of(wide, np.ones(n))
    infinite = Inputs((Part(np.array([0, 1]), 2, True, np.array([0.0, np.inf])),), 2)
    with refused("data.value.infinite"):
        Design.of(infinite, np.ones(2))
