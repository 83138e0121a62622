"""Private quantile regression: exact values, the right minimum, and errors of the simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, kstest

from caveat.seeds import rng_of
from caveat.studies import STUDIES
from caveat.studies.study import Output
from caveat.studies.weights import (
    KERNELS,
    REFERENCE,
    SIMULATIONS,
    TAUS,
    errors,
    fit,
    perturbation,
    ridge_for,
    run_dp_quantiles,
    smoothed_loss,
)


def at(z: float) -> np.ndarray:
    return np.array([z])


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        ("Laplacian", 1.196585),
        ("logistic", 1.506372),
        ("Epanechnikov", 0.712488),
        ("uniform", 0.745),
    ],
)
def test_the_exact_values_of_the_kernels(kernel: str, value: float) -> None:
    assert KERNELS[kernel].mean(at(0.7))[0] == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("z", [-2.5, -0.7, 0.0, 0.3, 1.8])
def test_a_kernel_is_what_it_says(kernel: str, z: float) -> None:
    """The mean of |z + V|, the distribution and the supremum, by integrating the density."""
    one = KERNELS[kernel]

    def density(v: float) -> float:
        return float(one.density(at(v))[0])

    points = sorted({-1.0, 0.0, 1.0, -z, z})
    mean = quad(lambda v: abs(z + v) * density(v), -40, 40, points=points, limit=200)[0]
    below = quad(density, -40, z, points=[p for p in points if p < z], limit=200)[0]
    assert one.mean(at(z))[0] == pytest.approx(mean, abs=1e-6)
    assert one.distribution(at(z))[0] == pytest.approx(below, abs=1e-6)
    assert one.density(np.linspace(-3, 3, 601)).max() == pytest.approx(one.largest)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_smoothed_loss_tends_to_the_check_loss(kernel: str) -> None:
    u = np.array([-2.0, 1.0])
    found = smoothed_loss(u, 0.25, kernel, 1e-3)
    assert found == pytest.approx([1.5, 0.25], abs=1e-3)


def test_the_true_coefficients() -> None:
    truths = [[simulation.truth(tau) for tau in TAUS] for simulation in SIMULATIONS]
    assert [t[0] for t in truths[0]] == pytest.approx(
        [-0.2897, 1.6510, 3.0, 4.3490, 6.2897, 7.6527], abs=5e-5
    )
    assert [t[0] for t in truths[1]] == pytest.approx(
        [3.5129, 5.8768, 9.9315, 16.8629, 32.9573, 49.0517], abs=5e-5
    )
    assert [t[1] for t in truths[2]] == pytest.approx(
        [0.3551, 1.3255, 2.0, 2.6745, 3.6449, 4.3263], abs=5e-5
    )


@pytest.mark.parametrize("simulation", SIMULATIONS[1:])
def test_records_keep_the_bound(simulation) -> None:
    x, _ = simulation.draw(rng_of(1), 3, 1000)
    assert np.linalg.norm(x, axis=2).max() <= simulation.bound


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_fit_is_the_minimum(kernel: str) -> None:
    """No step in any direction lowers the perturbed objective."""
    x, y = SIMULATIONS[1].draw(rng_of(4), 5, 400)
    b = perturbation(rng_of(5), 5, 3, 0.95, SIMULATIONS[1].bound, 1.0)
    found = fit(x, y, 0.95, ridge=12.0, linear=b, kernel=kernel, h=1.0)

    def objective(theta: np.ndarray) -> np.ndarray:
        u = y - np.einsum("rnp,rp->rn", x, theta)
        loss = smoothed_loss(u, 0.95, kernel, 1.0).sum(axis=1)
        return loss + 6 * (theta**2).sum(axis=1) + (b * theta).sum(axis=1)

    best = objective(found)
    for step in np.eye(3) * 0.01:
        assert (objective(found + step) > best).all()
        assert (objective(found - step) > best).all()


def test_the_perturbation_has_its_length_and_direction() -> None:
    b = perturbation(rng_of(1), 20_000, 3, 0.25, 2.0, 0.5)
    length = np.linalg.norm(b, axis=1)
    assert kstest(length, gamma(3, scale=2 * 0.75 * 2 / 0.5).cdf).pvalue > 0.001
    # A coordinate of a uniform direction in three dimensions is uniform.
    assert kstest(b[:, 1] / length, "uniform", args=(-1, 2)).pvalue > 0.001
    assert ridge_for(10, 1) == 100


def test_the_errors_are_those_of_another_implementation() -> None:
    """All 54 cells; both are means, ours of 60 runs and the other of 200."""
    off = []
    for key, reference in REFERENCE.items():
        for one, value in zip(errors(*key, runs=60), reference, strict=True):
            off.append((one.mean - value) / (one.standard_error * math.sqrt(1.3)))
    assert len(off) == 54
    assert np.abs(off).max() < 3.5
    assert np.sqrt(np.mean(np.square(off))) < 1.5


def test_the_study_says_what_was_wrong() -> None:
    found = run_dp_quantiles(Output(), runs=20)
    assert [len(grid.rows) for grid in found.grids] == [5, 6, 6, 6, 6]
    first = found.grids[1]
    assert first.header[:3] == ("quantile", "truth", "zero")
    assert first.rows[0][1:3] == ("-0.2897", "2.255")
    assert first.header[3:6] == ("no noise", "±", "reference")
    assert first.groups[2] == (3, 4, 5)
    text = "\n".join(found.remarks)
    assert "drawn anew at every call" in text
    assert "signs cancel" in text
    assert "dp-quantiles" in STUDIES
