"""Wrong numbers are one sentence, wherever they are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.privacy import (
    Limit,
    Spent,
    choice_rho,
    choose,
    discrete_gaussian,
    discrete_gaussian_log_pmf,
    epsilon_of,
    gaussian_rho,
    poisson_counts,
    poisson_delta,
    poisson_hockey_stick,
    rho_of,
    simple_rho,
)

COUNTS = np.array([1, 2])
EPSILONS: list[Callable[[Any], object]] = [
    lambda e: rho_of(e, 1e-6),
    lambda e: simple_rho(e, 1e-6),
    lambda e: poisson_delta(e, 1),
    lambda e: poisson_hockey_stick(e, 1),
    lambda e: Limit(e, 1e-6),
    lambda e: Spent(epsilon=e, delta=1e-6),
    lambda e: choose(COUNTS, e),
    choice_rho,
]
DELTAS: list[Callable[[Any], object]] = [
    lambda d: rho_of(1, d),
    lambda d: simple_rho(1, d),
    lambda d: epsilon_of(0.1, d),
    lambda d: Limit(1, d),
]
OTHERS: dict[str, Callable[[Any], object]] = {
    "rho": lambda r: epsilon_of(r, 1e-6),
    "the sensitivity": lambda s: gaussian_rho(s, 1),
    "sigma": lambda s: gaussian_rho(1, s),
    "sigma ": lambda s: discrete_gaussian(COUNTS, s),
    "sigma  ": lambda s: discrete_gaussian_log_pmf([0], s),
    "the alpha of the Poisson mechanism": lambda a: poisson_counts(COUNTS, a),
    "the alpha of the Poisson mechanism ": lambda a: poisson_delta(1, a),
    "the alpha of the Poisson mechanism  ": lambda a: poisson_hockey_stick(1, a),
}
NOT_POSITIVE = [0, -1, math.nan, math.inf, "1", None, True]


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize("use", EPSILONS)
def test_epsilon_is_above_0(use: Callable[[Any], object], value: Any) -> None:
    if value is None and use is EPSILONS[5]:
        return  # a cost without an epsilon is another mistake
    with refused("privacy.setting.range"):
        use(value)


@pytest.mark.parametrize("value", [0, 1, -1e-9, 2, math.nan, "0.1", None, True])
@pytest.mark.parametrize("use", DELTAS)
def test_delta_is_between_0_and_1(use: Callable[[Any], object], value: Any) -> None:
    with refused("privacy.setting.range"):
        use(value)


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize("name", OTHERS)
def test_other_numbers_are_above_0(name: str, value: Any) -> None:
    with refused("privacy.setting.range"):
        OTHERS[name](value)
