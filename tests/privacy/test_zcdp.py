"""ρ and (ε, δ): published values, two other libraries, and what must hold for all numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.privacy import choice_rho, epsilon_of, gaussian_rho, rho_of, simple_rho

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "zcdp.json").read_text("utf-8"))

RHO = st.floats(1e-8, 1e3)
EPSILON = st.floats(1e-6, 1e3)
DELTA = st.floats(1e-15, 0.9)


def test_the_simple_conversion_of_the_paper() -> None:
    assert round(simple_rho(1, 1e-8), 8) == 0.01321536
    assert round(simple_rho(0.5, 1e-8), 8) == 0.00334764


@pytest.mark.parametrize("case", GOLDEN["epsilon"], ids=lambda case: f"{case['rho']}")
def test_the_tight_conversion_of_other_libraries(case: dict[str, float]) -> None:
    found = epsilon_of(case["rho"], case["delta"])
    assert found == pytest.approx(case["opendp"], rel=1e-12)
    # A grid of orders finds a little more than the smallest bound.
    assert found == pytest.approx(case["dp-accounting"], rel=1e-8)
    assert found <= case["dp-accounting"]


@pytest.mark.parametrize("rho", [1e-6, 0.003, 0.2, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_opendp_converts_alike(rho: float, delta: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=math.sqrt(0.5 / rho))
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    assert gaussian.map(1.0) == pytest.approx(gaussian_rho(1, math.sqrt(0.5 / rho)))
    assert epsilon_of(rho, delta) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@given(RHO, DELTA)
def test_the_tight_epsilon_is_no_larger_than_the_simple_one(rho: float, delta: float) -> None:
    simple = rho + 2 * math.sqrt(-rho * math.log(delta))
    assert 0 <= epsilon_of(rho, delta) <= simple * (1 + 1e-12)


@given(RHO, DELTA, st.floats(1e-3, 1e5))
def test_no_order_gives_a_smaller_bound(rho: float, delta: float, x: float) -> None:
    bound = (1 + x) * rho + math.log(x / (1 + x)) + (-math.log(delta) - math.log1p(x)) / x
    assert epsilon_of(rho, delta) <= max(0.0, bound) + 1e-9 * abs(bound)


@given(EPSILON, DELTA)
def test_the_conversions_are_inverse(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert simple_rho(epsilon, delta) <= rho
    assert epsilon_of(rho, delta) <= epsilon
    # Where δ alone pays for nearly all, ε is a difference of numbers near each other.
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-8, abs=1e-11)


@given(RHO, DELTA, st.floats(1.001, 10))
def test_more_rho_or_less_delta_is_more_epsilon(rho: float, delta: float, more: float) -> None:
    assert epsilon_of(rho, delta) <= epsilon_of(rho * more, delta)
    assert epsilon_of(rho, delta) <= epsilon_of(rho, delta / more)
    assert rho_of(rho, delta) < rho_of(rho * more, delta)


def test_the_ends_of_what_can_be_written() -> None:
    assert epsilon_of(1e-300, 1e-9) < 1e-140
    assert epsilon_of(1e-300, 5e-324) < 1e-140
    assert epsilon_of(1e100, 0.5) == pytest.approx(1e100)
    assert epsilon_of(1e-9, 1 - 1e-12) == 0
    assert epsilon_of(rho_of(1e-12, 1e-9), 1e-9) <= 1e-12


def test_gaussian_noise_and_choices() -> None:
    assert gaussian_rho(math.sqrt(2), 10) == pytest.approx(0.01)
    assert choice_rho(0.2) == pytest.approx(0.005)
