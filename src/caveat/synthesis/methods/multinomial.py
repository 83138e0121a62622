"""Multinomial logistic regression for any number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._classes import (
    LAST_STEP,
    MOST_STEPS,
    ClassRegression,
    penalty,
    seen_classes,
)
from caveat.synthesis.methods._design import Design, check_size, need_classes, training
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Multinomial"]

Matrix = NDArray[np.float64]

MOST_PRODUCTS = 200


@dataclass(frozen=True)
class Multinomial(ClassRegression):
    """The log probabilities of the classes are linear up to a constant, which makes their sum one.

    Weighted maximum likelihood with a tiny ridge. Every class has coefficients of its own: with a
    reference class the ridge would treat that one differently. With ``proper`` the rows are
    bootstrapped before the fit.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Fit the regression."""
        need_classes(target, "multinomial")
        rows, codes, weights = training(inputs, target, settings, rng)
        classes = seen_classes(codes, weights)
        check_size(len(codes), len(classes), "classes")
        weights = weights / weights.sum()
        design = Design.of(rows, weights)
        place = np.searchsorted(classes, codes)
        return cls(design, _maximise(design.matrix(rows), place, len(classes), weights), classes)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a linear predictor for each class."""
        self._check_classes(target)
        self._check(inputs, len(self.classes))

    def log_shares(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the log probability of each class for each row."""
        shares: NDArray[np.float64] = scipy.special.log_softmax(self.linear(inputs), axis=1)
        return shares


def _maximise(
    X: NDArray[np.float64], y: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients, one column for each class.

    Newton steps with halving. The curvature of all classes together would be a matrix of (columns
    times classes) squared; each step is found by conjugate gradients instead, which need only its
    products, and are led by the curvature of the classes one by one.
    """
    rows = np.arange(len(y))
    ridge = penalty(X.shape[1])

    def loss(B: Matrix) -> tuple[float, Matrix]:
        log_p = X @ B
        log_p -= log_p.max(axis=1, keepdims=True)
        p = np.exp(log_p)
        total = p.sum(axis=1)
        fit = weights @ (np.log(total) - log_p[rows, y])
        return float(fit + np.sum(ridge @ B**2) / 2), p / total[:, None]

    B = np.zeros((X.shape[1], n_classes))
    B[0] = np.log(np.bincount(y, weights, minlength=n_classes))
    now, p = loss(B)
    for _ in range(MOST_STEPS):
        share = weights[:, None] * p
        residuals = share.copy()
        residuals[rows, y] -= weights
        gradient = X.T @ residuals + ridge[:, None] * B
        step = _newton_step(X, p, share, ridge, gradient)
        if np.sum(gradient * step) <= LAST_STEP:
            return B - step
        while (tried := loss(B - step))[0] > now:
            step /= 2
        B, (now, p) = B - step, tried
    return B


def _newton_step(X: Matrix, p: Matrix, share: Matrix, ridge: Matrix, gradient: Matrix) -> Matrix:
    """Return the inverse curvature times the gradient, by preconditioned conjugate gradients."""
    curvatures = [X.T @ (c[:, None] * X) for c in (share * (1 - p)).T]
    # The intercepts of a class nearly certain everywhere have next to no curvature of their own.
    inverses = np.linalg.inv(np.stack(curvatures) + np.diag(np.maximum(ridge, 1e-9)))

    def curvature_times(direction: Matrix) -> Matrix:
        change = X @ direction
        change -= np.sum(p * change, axis=1, keepdims=True)
        change *= share
        return np.asarray(X.T @ change + ridge[:, None] * direction)

    def lead(residual: Matrix) -> Matrix:
        led = np.asarray((inverses @ residual.T[:, :, None])[:, :, 0].T)
        # Probabilities do not change when all intercepts move together.
        led[0] -= led[0].mean()
        return led

    step = np.zeros_like(gradient)
    residual, direction = gradient, lead(gradient)
    first = length = float(np.sum(residual * direction))
    for _ in range(MOST_PRODUCTS):
        if length <= first * min(1e-2, np.sqrt(first)):
            break
        product = curvature_times(direction)
        size = length / np.sum(direction * product)
        step += size * direction
        residual = residual - size * product
        led = lead(residual)
        length, before = float(np.sum(residual * led)), length
        direction = led + length / before * direction
    return step
