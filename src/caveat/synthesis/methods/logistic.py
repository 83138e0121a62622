"""Logistic regression for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.methods._checks import need
from caveat.synthesis.methods._classes import (
    LAST_STEP,
    MOST_STEPS,
    ClassRegression,
    penalty,
    seen_classes,
)
from caveat.synthesis.methods._design import Design, need_classes
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Logistic"]

PRIOR_DEVIATION = 2.5
"""Of a coefficient in a proper synthesis.

Where predictors separate the classes the likelihood is flat, and a draw from it alone would turn a
certain answer round half of the time.
"""


@dataclass(frozen=True)
class Logistic(ClassRegression):
    """The log odds of the second class are linear; weighted maximum likelihood with a tiny ridge.

    With ``proper`` the coefficients are drawn from a normal distribution around the estimate. Its
    precision is the information X'W diag(p(1-p)) X, the weights scaled to sum to the number of
    records, plus that of a N(0, 2.5^2) prior on each coefficient.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Fit the regression."""
        need_classes(target, "logistic")
        rows, codes, weights = target.training(inputs)
        classes = seen_classes(codes, weights)
        if len(classes) > 2:
            raise CaveatError(
                f"the method logistic is for two classes, and this column has {len(classes):,}",
                do="use multinomial, or ordinal if the classes are ordered",
                code="synthesis.column.type",
            )
        weights = weights / weights.sum()
        design = Design.of(rows, weights)
        if len(classes) == 1:
            return cls(design, np.zeros(design.width), classes)
        X = design.matrix(rows)
        coefficients, information = _maximise(X, codes == classes[1], weights)
        if settings.proper:
            precision = len(weights) * information + PRIOR_DEVIATION**-2 * np.eye(design.width)
            noise = rng.standard_normal(design.width)
            coefficients = coefficients + np.linalg.solve(np.linalg.cholesky(precision).T, noise)
        return cls(design, coefficients, classes)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need two classes, or the only one."""
        super().check(inputs, target)
        need(len(self.classes) <= 2, "more than two classes")

    def log_shares(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the log probability of each class for each row."""
        if len(self.classes) == 1:
            return np.zeros((inputs.n_rows, 1))
        odds = self.linear(inputs)
        return np.hstack([scipy.special.log_expit(-odds), scipy.special.log_expit(odds)])


def _maximise(
    X: NDArray[np.float64], y: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the coefficients and the mean information of a record (Newton with halved steps)."""
    ridge = penalty(X.shape[1])
    sign = np.where(y, 1.0, -1.0)

    def loss(beta: NDArray[np.float64]) -> float:
        return float(ridge @ beta**2 / 2 - weights @ scipy.special.log_expit(sign * (X @ beta)))

    beta = np.zeros(X.shape[1])
    share = weights @ y
    beta[0] = np.log(share) - np.log1p(-share)
    now = loss(beta)
    for _ in range(MOST_STEPS):
        p = scipy.special.expit(X @ beta)
        information = X.T @ ((weights * p * (1 - p))[:, None] * X) + np.diag(ridge)
        gradient = X.T @ (weights * (p - y)) + ridge * beta
        step = np.linalg.solve(information, gradient)
        if gradient @ step <= LAST_STEP:
            return beta - step, information
        while (then := loss(beta - step)) > now:
            step /= 2
        beta, now = beta - step, then
    return beta, information
