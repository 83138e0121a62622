"""Logistic regression by iteratively reweighted least squares, stopped as R's ``glm`` stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.showing import without_values

__all__ = ["NEW_SHARE", "Logistic", "fit_logistic", "iterate", "orthonormal_basis"]

Floats = NDArray[np.float64]

# R's glm: relative change of the deviance, and the share of a column that must be new.
TOLERANCE = 1e-8
NEW_SHARE = 1e-11
MOST_STEPS = 25
# Beyond this linear predictor a probability is 0 or 1 to the last digit.
FARTHEST = 30.0


@dataclass(frozen=True, eq=False)
class Logistic:
    """A fitted logistic regression.

    Attributes
    ----------
    scores
        Fitted probabilities.
    rank
        Number of coefficients that could be estimated, the constant included.
    deviance
        Minus twice the log-likelihood.
    steps
        Number of iterations.
    converged
        Whether the deviance had settled.
    """

    scores: Floats
    rank: int
    deviance: float
    steps: int
    converged: bool

    __repr__ = without_values


def orthonormal_basis(design: Floats) -> Floats:
    """Return orthonormal columns that span the design.

    A column is left out when less than 1e-11 of its length is new, as R's ``glm`` does.

    Examples
    --------
    >>> orthonormal_basis(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]])).shape
    (2, 2)
    """
    base = np.empty((design.shape[0], min(design.shape)), order="F")
    rank = 0
    for column in design.T:
        length = float(np.linalg.norm(column))
        if length == 0 or rank == base.shape[1]:
            continue
        rest = column / length
        for _ in range(2):  # once more, to clean up rounding
            rest = rest - base[:, :rank] @ (base[:, :rank].T @ rest)
        new = float(np.linalg.norm(rest))
        if new >= NEW_SHARE:
            base[:, rank] = rest / new
            rank += 1
    return base[:, :rank]


def fit_logistic(
    basis: Floats, response: NDArray[np.bool_], weights: Floats | None = None
) -> Logistic:
    """Fit a logistic regression.

    Parameters
    ----------
    basis
        Orthonormal columns that span the design; see :func:`orthonormal_basis`.
    response
        Whether each observation is a success.
    weights
        How often each observation counts; once unless given.

    Examples
    --------
    >>> x = np.column_stack([np.ones(4), [0.0, 0.0, 1.0, 1.0]])
    >>> y = np.array([True, False, True, True])
    >>> fit_logistic(orthonormal_basis(x), y).scores[:2].round(6).tolist()
    [0.5, 0.5]
    """

    def step(working: Floats, weight: Floats) -> Floats:
        return np.asarray(basis @ _weighted_least_squares(basis, working, weight))

    return iterate(step, basis.shape[1], response, weights)


def iterate(
    step: Callable[[Floats, Floats], Floats],
    rank: int,
    response: NDArray[np.bool_],
    weights: Floats | None,
) -> Logistic:
    """Fit a logistic regression, given what fits a linear one.

    Parameters
    ----------
    step
        Takes a response and weights, and returns the fitted values of weighted least squares.
    rank
        Number of coefficients.
    response, weights
        As for :func:`fit_logistic`.
    """
    y = response.astype(np.float64)
    mean = (y + 0.5) / 2
    eta = np.log(mean / (1 - mean))
    deviance = _deviance(y, mean, weights)
    converged, steps = False, 0
    while not converged and steps < MOST_STEPS:
        steps += 1
        variance = mean * (1 - mean)
        working = eta + (y - mean) / variance
        eta = step(working, variance if weights is None else variance * weights)
        mean = 1 / (1 + np.exp(-np.clip(eta, -FARTHEST, FARTHEST)))
        before, deviance = deviance, _deviance(y, mean, weights)
        converged = abs(deviance - before) / (abs(deviance) + 0.1) < TOLERANCE
    return Logistic(mean, rank, deviance, steps, converged)


def _deviance(y: Floats, mean: Floats, weights: Floats | None) -> float:
    likelihood = np.log(np.where(y > 0, mean, 1 - mean))
    return float(-2 * (likelihood if weights is None else weights * likelihood).sum())


def _weighted_least_squares(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Solve the normal equations; on an orthonormal basis only the weights make them ill."""
    weighted = x * weight[:, None]
    normal = weighted.T @ x
    try:
        return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), weighted.T @ y))
    except scipy.linalg.LinAlgError:  # separated groups: weights of zero
        root = np.sqrt(weight)
        return np.asarray(scipy.linalg.lstsq(x * root[:, None], y * root)[0])
