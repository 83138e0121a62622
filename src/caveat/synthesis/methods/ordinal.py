"""Proportional odds regression for ordered classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_numbers, need
from caveat.synthesis.methods._classes import (
    LAST_STEP,
    MOST_STEPS,
    RIDGE,
    ClassRegression,
    seen_classes,
)
from caveat.synthesis.methods._design import Design, check_size, need_classes, training, weigh
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Ordinal"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Ordinal(ClassRegression):
    """The log odds of at most class k are a cut point minus one linear predictor for all k.

    Weighted maximum likelihood with a tiny ridge on the coefficients. The cut points rise. With
    ``proper`` the rows are bootstrapped before the fit.
    """

    cuts: NDArray[np.float64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Fit the regression."""
        need_classes(target, "ordinal")
        rows, codes, weights = training(inputs, target, settings, rng)
        classes = seen_classes(codes, weights)
        check_size(len(codes), len(classes), "classes")
        weights = weights / weights.sum()
        design = Design.of(rows, weights)
        if len(classes) == 1:
            return cls(design, np.zeros(design.width), classes, np.zeros(0))
        place = np.searchsorted(classes, codes)
        slopes, cuts = _maximise(design.matrix(rows)[:, 1:], place, len(classes), weights)
        return cls(design, np.append(0.0, slopes), classes, cuts)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need cut points that rise, one between two classes."""
        super().check(inputs, target)
        check_numbers(self.cuts, len(self.classes) - 1)
        need(np.all(np.diff(self.cuts) > 0), "cut points that do not rise")

    def log_shares(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the log probability of each class for each row."""
        ends = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        distance = ends - self.linear(inputs)
        return _log_between(distance[:, :-1], distance[:, 1:], np.diff(ends))


def _log_between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], gap: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log(expit(upper) - expit(lower)), where gap is upper - lower.

    The difference equals expit(upper) expit(-lower) (1 - exp(-gap)): no digits cancel.
    """
    return np.asarray(
        scipy.special.log_expit(upper) + scipy.special.log_expit(-lower) + np.log(-np.expm1(-gap))
    )


def _maximise(
    X: Matrix, y: NDArray[np.int64], n_classes: int, weights: Matrix
) -> tuple[Matrix, Matrix]:
    """Return slopes and cut points (Newton with halved steps, from the shares of the classes)."""
    n_cuts = n_classes - 1
    below = np.cumsum(np.bincount(y, weights, minlength=n_classes))[:-1]
    found = np.append(np.log(below) - np.log1p(-below), np.zeros(X.shape[1]))
    ridge = np.append(np.zeros(n_cuts), np.full(X.shape[1], RIDGE))

    def ends_of(parameters: Matrix) -> Matrix:
        return np.concatenate([[-np.inf], parameters[:n_cuts], [np.inf]])

    def loss(parameters: Matrix) -> float:
        ends = ends_of(parameters)
        gaps = np.diff(ends)
        if gaps.min() <= 0:
            return np.inf
        eta = X @ parameters[n_cuts:]
        log_p = _log_between(ends[y] - eta, ends[y + 1] - eta, gaps[y])
        return float(ridge @ parameters**2 / 2 - weights @ log_p)

    now = loss(found)
    for _ in range(MOST_STEPS):
        gradient, curvature = _derivatives(X, y, weights, ends_of(found), found[n_cuts:])
        gradient += ridge * found
        step = np.linalg.solve(curvature + np.diag(ridge), gradient)
        if gradient @ step <= LAST_STEP and loss(found - step) < np.inf:
            found = found - step
            break
        while (then := loss(found - step)) > now:
            step /= 2
        found, now = found - step, then
    return found[n_cuts:], found[:n_cuts]


def _derivatives(
    X: Matrix, y: NDArray[np.int64], weights: Matrix, ends: Matrix, slopes: Matrix
) -> tuple[Matrix, Matrix]:
    """Return gradient and curvature of the mean loss by cut points and slopes.

    A record with the class between the cut points l and u has the loss -log(expit(u) - expit(l)).
    """
    n_classes = len(ends) - 1
    eta = X @ slopes
    lower, upper = scipy.special.expit(ends[y] - eta), scipy.special.expit(ends[y + 1] - eta)
    with np.errstate(over="ignore"):
        between = (1 / np.expm1(np.diff(ends)))[y]
    by_upper, by_lower = weights * (1 - upper + between), weights * (lower + between)
    mixed = weights * between * (1 + between)
    at_upper, at_lower = weights * upper * (1 - upper), weights * lower * (1 - lower)

    def per_cut(of_upper: Matrix, of_lower: Matrix) -> Matrix:
        return weigh(y, of_upper, n_classes)[:-1] + weigh(y, of_lower, n_classes)[1:]

    gradient = np.append(per_cut(-by_upper, by_lower), X.T @ (by_upper - by_lower))
    neighbours = -weigh(y, mixed, n_classes)[1:-1]
    cuts = np.diag(per_cut(at_upper + mixed, at_lower + mixed))
    cuts += np.diag(neighbours, 1) + np.diag(neighbours, -1)
    cross = np.zeros((n_classes, X.shape[1]))
    np.add.at(cross, y, -at_upper[:, None] * X)
    np.add.at(cross, np.maximum(y - 1, 0), -at_lower[:, None] * X)
    slope = X.T @ ((at_upper + at_lower)[:, None] * X)
    return gradient, np.block([[cuts, cross[:-1]], [cross[:-1].T, slope]])
