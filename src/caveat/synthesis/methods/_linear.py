"""What the two methods with a linear model share."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["least_squares", "log_normal_between"]

SINGULAR = 1e-10
"""Directions with an eigenvalue of X'WX below this share of the largest one are left out."""


def least_squares(
    X: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted least squares coefficients and the symmetric root of (X'WX)^-1.

    Where X'WX is singular the coefficients are the shortest ones that solve the normal equations
    (the limit of a ridge that goes to zero), and the root is that of the pseudo-inverse: directions
    of which the data say nothing take no part in a draw of the coefficients either.
    """
    values, vectors = np.linalg.eigh(X.T @ (weights[:, None] * X))
    kept = values > SINGULAR * values[-1]
    # The symmetric root: the signs of eigenvectors are arbitrary and must not decide a draw.
    root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root @ (root @ (X.T @ (weights * y))), root


def log_normal_between(
    lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log(Phi(upper) - Phi(lower)) without loss of digits in the tails; lower < upper."""
    # In the right tail both values of Phi are one: the mirror image has the digits.
    mirrored = lower > 0
    low = np.where(mirrored, -upper, lower)
    high = np.where(mirrored, -lower, upper)
    log_high = scipy.special.log_ndtr(high)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = log_high + np.log(-np.expm1(scipy.special.log_ndtr(low) - log_high))
    return np.where(np.isnan(result), -np.inf, result)
