"""Zero-concentrated differential privacy (zCDP): one number ρ for a release, which adds up.

A mechanism with ρ promises (ε, δ) for every δ at once. The tight conversion is the smallest of the
bounds by Rényi divergences of all orders (Canonne, Kamath and Steinke 2020, Proposition 12), the
simple one is ε = ρ + 2 √(ρ log 1/δ) (Bun and Steinke 2016). Both are bounds: the tight one is
smaller, so that the same ε allows more ρ.
"""

from __future__ import annotations

import math

import scipy

from caveat.privacy._checks import check_delta, check_epsilon, check_positive

__all__ = ["choice_rho", "epsilon_of", "gaussian_rho", "rho_of", "simple_rho"]

CLOSE = 1e-12
"""How near the root of an equation is found, of logarithms."""


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε that ρ promises at δ, by the tight conversion.

    Examples
    --------
    >>> round(epsilon_of(0.01321536, 1e-8), 4)
    0.8707
    """
    rho = check_positive(rho, "rho", "give a rho above 0, such as 0.01")
    return max(0.0, _bound(rho, -math.log(check_delta(delta))))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ that promises (ε, δ), by the tight conversion.

    Examples
    --------
    >>> round(rho_of(1, 1e-8), 6)
    0.017205
    """
    epsilon, log_inverse = check_epsilon(epsilon), -math.log(check_delta(delta))
    low = simple_rho(epsilon, delta)  # its bound is never smaller, so this much is allowed
    high = 2 * low
    while _bound(high, log_inverse) <= epsilon:
        low, high = high, 2 * high

    def excess(log_rho: float) -> float:
        return _bound(math.exp(log_rho), log_inverse) - epsilon

    rho = math.exp(scipy.optimize.brentq(excess, math.log(low), math.log(high), xtol=CLOSE))
    # The last digits are on the safe side.
    step = CLOSE
    while _bound(rho, log_inverse) > epsilon:
        rho, step = rho * (1 - step), min(2 * step, 0.5)
    return max(rho, low)


def simple_rho(epsilon: float, delta: float) -> float:
    """Return the ρ that solves ε = ρ + 2 √(ρ log 1/δ), which promises (ε, δ).

    Examples
    --------
    >>> round(simple_rho(1, 1e-8), 8)
    0.01321536
    """
    epsilon, log_inverse = check_epsilon(epsilon), -math.log(check_delta(delta))
    # (√(l + ε) − √l)² without the difference of two numbers that are nearly the same.
    return (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2


def gaussian_rho(sensitivity: float, sigma: float) -> float:
    """Return the ρ of Gaussian noise, discrete or not: s² / 2σ².

    Parameters
    ----------
    sensitivity
        How far all counts together move for one unit, in Euclidean distance.
    sigma
        The scale of the noise.

    Examples
    --------
    >>> gaussian_rho(1, 4)
    0.03125
    """
    sensitivity = check_positive(sensitivity, "the sensitivity", "give a number above 0")
    return (sensitivity / check_positive(sigma, "sigma", "give a number above 0")) ** 2 / 2


def choice_rho(epsilon: float) -> float:
    """Return the ρ of a choice by the exponential mechanism with ε: ε² / 8.

    Examples
    --------
    >>> choice_rho(0.5)
    0.03125
    """
    return check_epsilon(epsilon) ** 2 / 8


def _bound(rho: float, log_inverse: float) -> float:
    """Return the smallest bound over all orders 1 + x; it may lie below 0.

    The bound of an order is (1 + x)ρ + log(x / (1 + x)) + (log(1/δ) − log(1 + x)) / x. Its slope is
    0 where ρx² + log(1 + x) = log(1/δ), and only there. An order that is missed by a little gives
    a larger bound, never a wrong one. All is computed in u = log x, where nothing overflows.
    """
    log_rho = math.log(rho)

    def slope(u: float) -> float:
        return math.exp(min(2 * u + log_rho, 700.0)) + _softplus(u) - log_inverse

    low = math.log(2 * log_inverse / (1 + math.sqrt(1 + 4 * rho * log_inverse)))
    high = min((math.log(log_inverse) - log_rho) / 2, max(log_inverse, low))
    u = scipy.optimize.brentq(slope, low - 1e-6, high + 1e-6, xtol=CLOSE)
    rest = (log_inverse - _softplus(u)) * math.exp(-u)
    return rho + math.exp(u + log_rho) - _softplus(-u) + rest


def _softplus(u: float) -> float:
    """Return log(1 + eᵘ)."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))
