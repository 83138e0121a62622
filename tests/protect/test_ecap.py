"""ECAP, and noise that meets a limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats
from tests.refusals import refused

from caveat.protect import (
    Population,
    add_noise,
    ecap,
    scale_for,
)
from caveat.table import Table


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
    with refused("protection.setting.range", where="limit"):
        scale_for(np.array([1.0]), Population(10, values=np.arange(10)), 0.05)
