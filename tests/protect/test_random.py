"""Protections that draw: PRAM, spectral anonymisation and noise, within sampling error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.spatial import cKDTree

from caveat.errors import CaveatError
from caveat.protect import (
    Population,
    add_noise,
    ecap,
    epsilon0,
    pram,
    pram_matrix,
    scale_for,
    spectral,
    theta_for_epsilon,
)
from caveat.protect.spectral import disturb
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
    with pytest.raises(CaveatError, match=r"the smallest is \d"):
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


def matches(points: np.ndarray, way: str, seed: int) -> float:
    released = disturb(points, way, np.random.default_rng(seed))
    return float((cKDTree(points).query(released)[0] < 1e-6).mean())


@pytest.mark.parametrize(("p", "n"), [(2, 400), (3, 400), (6, 1600)])
def test_sign_changes_copy_a_share_of_2_to_the_minus_p(p, n):
    runs = 40
    shares = [
        matches(np.random.default_rng([p, r]).normal(size=(n, p)), "J", r) for r in range(runs)
    ]
    expected = 2.0**-p
    # every row is a copy with probability 2^-p, independently of the others
    assert np.mean(shares) == pytest.approx(expected, abs=4 * np.sqrt(expected / (n * runs)))


@pytest.mark.parametrize(("p", "n"), [(2, 25), (3, 25), (2, 100)])
def test_permutations_copy_a_share_of_n_to_the_1_minus_p(p, n):
    runs = 2000
    shares = [
        matches(np.random.default_rng([p, n, r]).normal(size=(n, p)), "P", r) for r in range(runs)
    ]
    expected = float(n) ** (1 - p)
    assert np.mean(shares) == pytest.approx(expected, abs=4 * np.sqrt(expected / (n * runs)))


def test_a_turn_copies_nobody_and_permutations_keep_the_mean():
    points = np.random.default_rng(1).normal(size=(400, 2))
    assert matches(points, "O", 2) == 0
    permuted = disturb(points, "P", np.random.default_rng(2))
    assert permuted.mean(axis=0) == pytest.approx(points.mean(axis=0), abs=1e-12)


EIGENVALUES = np.array([16.0, 4.0, 1.0])
TURN = np.linalg.qr(np.array([[2.0, 1, 0], [-1, 1, 1], [0, 2, 1]]))[0]
SIGMA = TURN @ np.diag(EIGENVALUES) @ TURN.T
RUNS, SIZE = 2000, 1000


@pytest.fixture(scope="module", params=["P", "J", "O"])
def spectral_runs(request):
    """Means, and covariances in the basis of the eigenvectors, of released normal samples."""
    root = TURN * np.sqrt(EIGENVALUES)
    means, covariances = [], []
    for run in range(RUNS):
        points = np.random.default_rng([7, run]).normal(size=(SIZE, 3)) @ root.T
        released = disturb(points, request.param, np.random.default_rng([8, run]))
        means.append(released.mean(axis=0))
        covariances.append(np.cov((released @ TURN).T))
    return request.param, np.array(means), np.array(covariances)


def assert_covariance(found: np.ndarray, expected: np.ndarray, runs: int) -> None:
    """Compare a covariance matrix of normal draws with the true one, entry by entry."""
    own = np.diag(expected)
    error = np.sqrt((np.outer(own, own) + expected**2) / runs)
    assert (np.abs(found - expected) < 4 * error).all()


def test_limit_of_the_mean_is_a_covariance_matrix(spectral_runs):
    # sqrt(n) (mean - mu) has covariance Sigma, 2 Sigma, 2 Sigma
    way, means, _ = spectral_runs
    factor = {"P": 1, "J": 2, "O": 2}[way]
    assert np.abs(SIGMA[np.triu_indices(3, 1)]).min() > 0.4  # not a diagonal matrix
    assert_covariance(SIZE * np.cov(means.T), factor * SIGMA, RUNS)


def test_limit_of_the_covariance_is_a_covariance_matrix(spectral_runs):
    # In the eigenbasis: variances keep 2 lambda^2, covariances are doubled to 2 lambda_k lambda_l,
    # and none of them goes with another.
    _, _, covariances = spectral_runs
    rows, columns = np.triu_indices(3)
    entries = covariances[:, rows, columns]
    error = np.sqrt(2 * EIGENVALUES[rows] * EIGENVALUES[columns] / SIZE / RUNS)
    expected = np.diag(EIGENVALUES)[rows, columns]
    assert (np.abs(entries.mean(axis=0) - expected) < 4 * error).all()
    limit = np.diag(2 * EIGENVALUES[rows] * EIGENVALUES[columns])
    assert_covariance(SIZE * np.cov(entries.T), limit, RUNS)


def test_spectral_table_shuffles_reflections_and_warns():
    rng = np.random.default_rng(3)
    table = Table.from_frame({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    found = spectral(table, ["x", "y"], way="J", seed=1)
    assert "not for release" in found.step.notes[0]
    assert found.step.seed == 1
    with pytest.raises(CaveatError, match="there is no way 'Q'"):
        spectral(table, ["x"], way="Q")


@pytest.mark.parametrize(("x", "tau"), [(0.0, 0.1), (2.0, 0.3), (4.0, 0.5)])
def test_ecap_is_the_integral(x, tau):
    n = 1000

    def inside(y: float) -> float:
        mine = stats.norm.pdf(y - x, scale=tau)
        return mine * mine / (mine + (n - 1) * stats.norm.pdf(y, scale=math.hypot(1, tau)))

    exact = integrate.quad(inside, x - 8 * tau, x + 8 * tau, limit=400)[0]
    found = ecap(np.array([x]), Population(n, normal=(0.0, 1.0)), tau)[0]
    assert found == pytest.approx(exact, abs=0.005)


def test_ecap_is_the_share_of_right_attributions():
    # Simulated: the noisy value of one person, and somebody who guesses by the posterior.
    rng = np.random.default_rng(11)
    people = np.round(rng.normal(size=200), 1)
    tau, mine = 0.25, 7
    y = people[mine] + tau * rng.standard_normal(20_000)
    weights = stats.norm.pdf(y[:, None] - people, scale=tau)
    right = (weights[:, mine] / weights.sum(axis=1)).mean()
    found = ecap(people[[mine]], Population(200, values=people), tau)[0]
    assert found == pytest.approx(right, abs=0.005)


@pytest.mark.parametrize("shape", ["gaussian", "laplace", "uniform"])
def test_the_noise_meets_the_limit_and_hardly_more(shape):
    values = np.array([-1.0, 0.0, 0.5, 2.5])
    population = Population(500, normal=(0.0, 1.0))
    scale = scale_for(values, population, 0.2, shape)
    assert ecap(values, population, scale, shape).max() <= 0.2
    assert ecap(values, population, 0.95 * scale, shape).max() > 0.2


def test_noise_on_a_table():
    rng = np.random.default_rng(12)
    original = Table.from_frame({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    release = Table.from_frame({"x": [*rng.normal(size=3999), None], "y": rng.normal(size=4000)})
    known = {"x": Population(5000, normal=(0.0, 1.0))}
    found = add_noise(original, release, known, limit=0.2, seed=5)
    scale = found.step.counts["x: standard deviation of the noise"]
    added = found.table["x"].values[:-1].astype(float) - release["x"].values[:-1].astype(float)
    assert added.std() == pytest.approx(scale, rel=4 / np.sqrt(2 * 3999))
    assert found.step.counts["x: largest ECAP"] <= 0.2
    assert found.table["x"].values[-1] is None
    assert found.table["y"] == release["y"]
    again = add_noise(original, release, known, limit=0.2, seed=5)
    assert again.table == found.table


def test_values_that_many_share_need_no_noise():
    ages = np.repeat(np.arange(20, 60), 25)
    assert scale_for(ages.astype(float), Population(1000, values=ages)) == 0.0


def test_limits_that_no_noise_can_meet():
    with pytest.raises(CaveatError, match=r"no noise brings the probability down to 0.05"):
        scale_for(np.array([1.0]), Population(10, values=np.arange(10)), 0.05)
