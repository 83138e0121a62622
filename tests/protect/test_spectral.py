"""Data made from the eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.refusals import refused

from caveat.protect import (
    spectral,
)
from caveat.protect.numbers import disturb
from caveat.table import Table


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
    with refused("protection.setting.unknown", where="spectral"):
        spectral(table, ["x"], way="Q")
