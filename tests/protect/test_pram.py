"""Post-randomisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.protect import (
    epsilon0,
    pram,
    pram_matrix,
    theta_for_epsilon,
)
from caveat.table import Table

THETAS = (0.1, 0.2, 0.3)


@pytest.mark.parametrize(("theta", "brute"), [(0.7, 0.8473), (0.5, 0.0), (0.1, 2.1972)])
def test_epsilon_of_two_equal_categories_by_brute_force(theta, brute):
    # the short form with the two most frequent categories gives -0.8473 at 0.7
    assert epsilon0(pram_matrix([50, 50], theta)) == pytest.approx(brute, abs=5e-5)


def test_full_exchange_is_no_privacy():
    assert epsilon0(pram_matrix([70, 30], 1.0)) == math.inf
    assert epsilon0(pram_matrix([70, 30], 0.0)) == math.inf


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=9), st.floats(0, 1))
def test_the_matrix_is_invariant(counts, theta):
    matrix = pram_matrix(counts, theta)
    assert matrix.min() >= 0
    assert matrix.sum(axis=1) == pytest.approx(1)
    assert np.array(counts) @ matrix == pytest.approx(np.array(counts, float))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=6), st.floats(0.02, 0.3))
def test_theta_is_the_inverse_of_epsilon(counts, theta):
    level = epsilon0(pram_matrix(counts, theta))
    assert theta_for_epsilon(counts, level) == pytest.approx(theta, rel=1e-6)


def test_an_epsilon_out_of_reach():
    with refused("protection.limit.failed", where="pram"):
        theta_for_epsilon([1000, 10, 1], 0.01)


def test_pram_changes_the_share_it_says():
    counts = np.array([6000, 3000, 1000])
    table = Table.from_frame({"x": np.repeat(["a", "b", "c"], counts)})
    found = pram(table, ["x"], theta=0.3, seed=2)
    matrix = pram_matrix(counts, 0.3)
    moved = np.array([
        [(found.table["x"].codes[table["x"].codes == i] == j).sum() for j in range(3)]
        for i in range(3)
    ])  # fmt: skip
    expected = counts[:, None] * matrix
    assert (np.abs(moved - expected) <= 4 * np.sqrt(expected * (1 - matrix))).all()
    assert found.step.counts["x: changed"] == moved.sum() - np.trace(moved)
    assert found.step.counts["x: epsilon0"] == epsilon0(matrix)
    assert found.table == pram(table, ["x"], theta=0.3, seed=2).table
