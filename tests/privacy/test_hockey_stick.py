"""The hockey-stick divergence, and the promise of the Poisson mechanism digit by digit."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson
from tests.refusals import refused

from caveat.privacy import delta_of, poisson_delta, poisson_hockey_stick

FILE = Path(__file__).parents[1] / "golden" / "poisson_mechanism.json"
GOLDEN = json.loads(FILE.read_text("utf-8"))
OUTPUTS = np.arange(400)


@pytest.mark.parametrize(("epsilon", "alpha", "delta"), GOLDEN["equation 9"])
def test_equation_9(epsilon: float, alpha: float, delta: float) -> None:
    assert round(poisson_delta(epsilon, alpha), 4) == delta
    limit = (1 + epsilon) / math.log((1 + alpha) / alpha)
    assert poisson_delta(epsilon, alpha) == pytest.approx(poisson.sf(limit, 1 + alpha))


@pytest.mark.parametrize(("epsilon", "alpha", "delta"), GOLDEN["both sides"])
def test_below_1_both_sides_count(epsilon: float, alpha: float, delta: float) -> None:
    assert round(poisson_delta(epsilon, alpha), 4) == delta


@pytest.mark.parametrize(("epsilon", "alpha", "delta"), GOLDEN["hockey-stick"])
def test_the_exact_delta(epsilon: float, alpha: float, delta: float) -> None:
    assert round(poisson_hockey_stick(epsilon, alpha), 4) == delta


def shares(mean: float) -> np.ndarray:
    """Return the probabilities of all outputs, the last one with all that is beyond."""
    found = poisson.pmf(OUTPUTS, mean)
    return np.append(found, poisson.sf(OUTPUTS[-1], mean))


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.1, 0.3), (0.5, 1), (1, 1), (3, 0.1), (6.2, 0.1)])
def test_the_count_1_is_the_worst(epsilon: float, alpha: float) -> None:
    """As the sums over all outputs for other counts say, in both directions."""
    pairs = [(shares(a + alpha), shares(a - 1 + alpha)) for a in range(1, 60)]
    found = [max(delta_of(p, q, epsilon), delta_of(q, p, epsilon)) for p, q in pairs]
    assert max(found) == pytest.approx(found[0], rel=1e-9)
    assert poisson_hockey_stick(epsilon, alpha) == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.05, 0.5), (0.3, 2), (0.5, 1), (2, 1)])
def test_no_count_is_outside_with_a_higher_probability(epsilon: float, alpha: float) -> None:
    """Output by output, for many more counts than are worst."""
    found = []
    for a in range(1, 120):
        p, q = shares(a + alpha)[:-1], shares(a - 1 + alpha)[:-1]
        loss = OUTPUTS * math.log((a + alpha) / (a - 1 + alpha)) - 1
        outside = np.abs(loss) > epsilon
        found.append(max(p[outside].sum(), q[outside].sum()))
    assert poisson_delta(epsilon, alpha) == pytest.approx(max(found), rel=1e-9)


@given(st.floats(0.01, 8), st.floats(0.01, 20))
def test_the_exact_delta_is_the_smaller_one(epsilon: float, alpha: float) -> None:
    exact = poisson_hockey_stick(epsilon, alpha)
    assert 0 <= exact <= poisson_delta(epsilon, alpha) + 1e-12
    assert poisson_hockey_stick(epsilon + 0.1, alpha) <= exact


def test_almost_nothing_is_no_promise() -> None:
    assert poisson_delta(1e-4, 5) == poisson_delta(1e-3, 30) == 1
    assert poisson_delta(1, 1e-320) == poisson_delta(1, 1e-17) == pytest.approx(1 - math.exp(-1))


def test_a_hand_example() -> None:
    """Randomised response with 3/4: e^ε is 3, and beyond it nothing is left."""
    p, q = [0.75, 0.25], [0.25, 0.75]
    assert delta_of(p, q, math.log(3)) == pytest.approx(0, abs=1e-15)
    assert delta_of(p, q, math.log(2)) == pytest.approx(0.25)
    assert delta_of(p, p, 0) == 0
    assert delta_of([1, 0], [0, 1], 1000) == 1
    # A table with a count of 2 beside 1, no alpha, output 5: the ratio of the paper.
    assert poisson.pmf(5, 2) / poisson.pmf(5, 1) == pytest.approx(32 / math.e)


@pytest.mark.parametrize("p", [[0.5, 0.6], [-0.5, 1.5], [math.nan, 1], [[0.5, 0.5]], []])
def test_what_is_no_distribution(p: object) -> None:
    with refused("privacy.probability.range"):
        delta_of(p, [0.5, 0.5], 1)  # type: ignore[arg-type]


def test_distributions_over_different_outputs() -> None:
    with refused("privacy.probability.mismatch"):
        delta_of([1], [0.5, 0.5], 1)
