"""Regressions for classes: logistic, multinomial and ordinal, with draws and ridge in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.methods.base import Inputs, Settings, Target, check_codes, check_numbers, need
from caveat.synthesis.methods.normal import (
    Design,
    Regression,
    check_size,
    need_classes,
    training,
    weigh,
)

__all__ = ["Logistic", "Multinomial", "Ordinal"]


RIDGE = 1e-6
"""Half this times the squared coefficients is added to the mean loss of a record.

It keeps coefficients finite where predictors separate the classes. The intercept has no penalty.
"""

LAST_STEP = 1e-10
"""A Newton step that wins less mean log likelihood than this is the last one.

Steps win the square of what the one before them won, so nothing that matters is left.
"""

MOST_STEPS = 100  # Newton steps; five to twenty are usual

BLOCK = 2**22  # probabilities that are held at a time


@dataclass(frozen=True)
class ClassRegression(Regression, ABC):
    """A regression that gives the log probability of every class.

    Parameters
    ----------
    classes
        The codes of the classes that can occur, rising.
    """

    makes_numbers: ClassVar[bool] = False

    classes: NDArray[np.int64]

    __repr__ = without_values

    @abstractmethod
    def log_shares(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return one line for each row, one log probability for each class."""

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a class for each row; one uniform number decides a row."""
        uniforms = rng.random(inputs.n_rows)
        drawn = np.empty(inputs.n_rows, np.int64)
        for rows in _blocks(inputs.n_rows, len(self.classes)):
            cumulative = np.cumsum(np.exp(self.log_shares(inputs.take(rows))), axis=1)
            points = uniforms[rows] * cumulative[:, -1]
            drawn[rows] = self.classes[np.sum(cumulative[:, :-1] <= points[:, None], axis=1)]
        return drawn

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need classes of the target, and one linear predictor for all of them."""
        self._check(inputs)
        self._check_classes(target)

    def _check_classes(self, target: Target) -> None:
        need(target.numbers is None, "classes for numbers")
        check_codes(self.classes, target.n_levels, rising=True)
        need(len(self.classes), "no class")

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log probability of each code; -inf for a class that was never observed."""
        places = np.minimum(np.searchsorted(self.classes, codes), len(self.classes) - 1)
        result = np.empty(inputs.n_rows)
        for rows in _blocks(inputs.n_rows, len(self.classes)):
            shares = self.log_shares(inputs.take(rows))
            result[rows] = np.take_along_axis(shares, places[rows, None], axis=1)[:, 0]
        return np.where(self.classes[places] == codes, result, -np.inf)


def seen_classes(codes: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the codes that occur in the training rows."""
    return np.flatnonzero(np.bincount(codes, weights))


def _blocks(n_rows: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // width)
    return (slice(start, min(n_rows, start + step)) for start in range(0, n_rows, step))


def penalty(width: int) -> NDArray[np.float64]:
    """Return the ridge of each column of a design matrix."""
    return np.append(0.0, np.full(width - 1, RIDGE))


# -------------------------------------------------------------------------------------------------
# Logistic regression for two classes.


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


# -------------------------------------------------------------------------------------------------
# Multinomial logistic regression for any number of classes.


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
        return cls(
            design,
            _maximise_multinomial(design.matrix(rows), place, len(classes), weights),
            classes,
        )

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a linear predictor for each class."""
        self._check_classes(target)
        self._check(inputs, len(self.classes))

    def log_shares(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the log probability of each class for each row."""
        shares: NDArray[np.float64] = scipy.special.log_softmax(self.linear(inputs), axis=1)
        return shares


def _maximise_multinomial(
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


# -------------------------------------------------------------------------------------------------
# Proportional odds regression for ordered classes.


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
        slopes, cuts = _maximise_ordinal(design.matrix(rows)[:, 1:], place, len(classes), weights)
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


def _maximise_ordinal(
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
