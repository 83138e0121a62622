"""Normal linear regression, of numbers or of their ranks, and the matrix of its predictors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.coding import Part
from caveat.synthesis.methods.base import (
    Inputs,
    Settings,
    State,
    Target,
    check_codes,
    check_number,
    check_numbers,
    check_same,
    need,
)
from caveat.synthesis.methods.trees import fit_rows

__all__ = ["Normal", "Normrank"]


MOST_CELLS = 2**27
"""Largest matrix that is built for a fit, in numbers (a gigabyte)."""


@dataclass(frozen=True)
class Design:
    """Which column of the matrix each level of each predictor fills; column 0 is the intercept.

    Numbers are standardised with the mean and the standard deviation of the training rows, and left
    out where they are constant. Factors, ordered or not, have one 0/1 column per level seen in
    training except the most frequent one; a level that was not seen counts as that one.

    Parameters
    ----------
    columns
        For a factor the column of each level, for a number its one column; -1 for none.
    centres, scales
        Mean and standard deviation of numbers; 0 and 1 for factors.
    """

    columns: tuple[NDArray[np.int64], ...]
    centres: NDArray[np.float64]
    scales: NDArray[np.float64]

    __repr__ = without_values

    @classmethod
    def of(cls, inputs: Inputs, weights: NDArray[np.float64]) -> Self:
        """Return the design that training rows with these weights give."""
        columns, centres, scales, width = [], [], [], 1
        for part in inputs.parts:
            counts = weigh(part.codes, weights, part.n_levels)
            own, centre, scale = _factor(counts) if part.numbers is None else _number(part, counts)
            columns.append(np.where(own >= 0, own + width, -1))
            centres.append(centre)
            scales.append(scale)
            width += int((own >= 0).sum())
        check_size(inputs.n_rows, width, "columns of 0/1 variables")
        return cls(tuple(columns), np.array(centres), np.array(scales))

    @property
    def width(self) -> int:
        """Number of columns of the matrix."""
        return 1 + sum(int((own >= 0).sum()) for own in self.columns)

    def matrix(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the matrix, one row for each row of the inputs."""
        return self.times(inputs, np.eye(self.width))

    def times(self, inputs: Inputs, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of the matrix with coefficients, without building the matrix.

        Every level of a predictor has one line of contributions, which its rows look up.
        """
        result = np.repeat(coefficients[:1], inputs.n_rows, axis=0)
        for part, own, centre, scale in zip(
            inputs.parts, self.columns, self.centres, self.scales, strict=True
        ):
            if (own < 0).all():
                continue
            lines = np.where(own[:, None] >= 0, coefficients[own], 0.0)
            if part.numbers is None:
                result += lines[part.codes]
            else:
                result += ((part.values - centre) / scale)[:, None] * lines
        return result

    def check(self, inputs: Inputs) -> None:
        """Need the levels of these inputs, each with a column of the matrix or none."""
        n = len(inputs.parts)
        levels = [1 if part.numbers is not None else part.n_levels for part in inputs.parts]
        need([len(own) for own in self.columns] == levels, "a design for other inputs")
        used = np.concatenate([*self.columns, np.zeros(0, np.int64)])
        need(np.all(used >= -1), "columns below the first one")
        need(np.array_equal(used[used >= 0], np.arange(1, self.width)), "columns out of order")
        check_numbers(self.centres, n)
        check_numbers(self.scales, n, low=np.finfo(float).tiny)

    def state(self) -> State:
        """Return what a file has to hold."""
        return {
            "columns": np.concatenate([*self.columns, np.zeros(0, np.int64)]),
            "lengths": np.array([len(own) for own in self.columns], np.int64),
            "centres": self.centres,
            "scales": self.scales,
        }

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the design that a file holds."""
        columns, lengths = state["columns"], state["lengths"]
        check_codes(lengths, len(columns) + 1)
        need(columns.dtype == np.int64 and lengths.sum() == len(columns), "no columns")
        parts = np.split(columns, np.cumsum(lengths))[:-1]
        return cls(tuple(parts), state["centres"], state["scales"])


@dataclass(frozen=True)
class Regression:
    """What all regressions hold: a design and one or more columns of coefficients."""

    design: Design
    coefficients: NDArray[np.float64]

    __repr__ = without_values

    def linear(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the linear predictors, a line for each row and a column for each predictor."""
        return self.design.times(inputs, self.coefficients.reshape(self.design.width, -1))

    def _check(self, inputs: Inputs, n_predictors: int | None = None) -> None:
        """Need a design for these inputs, and coefficients for so many linear predictors."""
        self.design.check(inputs)
        width = self.design.width
        check_numbers(self.coefficients, width if n_predictors is None else (width, n_predictors))

    def state(self) -> State:
        """Return what a file has to hold."""
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**own, "design": self.design.state()}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the regression that a file holds."""
        return cls(**{**state, "design": Design.from_state(state["design"])})


def _number(part: Part, counts: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, float]:
    assert part.numbers is not None
    seen = counts > 0
    numbers, shares = part.numbers[seen], counts[seen] / counts.sum()
    if not np.isfinite(numbers).all():
        raise CaveatError(
            "a predictor has infinite values",
            do="leave it out of the predictors, declare the infinities special, or use cart",
            code="data.value.infinite",
        )
    centre = float(numbers @ shares)
    scale = float(np.sqrt((numbers - centre) ** 2 @ shares))
    if len(numbers) < 2 or scale == 0:
        return np.array([-1]), 0.0, 1.0
    return np.array([0]), centre, scale


def _factor(counts: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, float]:
    own = counts > 0
    own[np.argmax(counts)] = False
    return np.where(own, np.cumsum(own) - 1, -1), 0.0, 1.0


def check_size(n_rows: int, width: int, what: str) -> None:
    """Refuse a matrix that would not fit into memory."""
    if n_rows * width > MOST_CELLS:
        raise CaveatError(
            f"{width:,} {what} for {n_rows:,} records are too many for a regression",
            do="choose fewer predictors, group rare levels, or use cart",
            code="synthesis.predictor.too-many",
        )


def weigh(codes: NDArray[Any], weights: NDArray[np.float64], n_levels: int) -> NDArray[np.float64]:
    """Return the total weight of each code."""
    return np.asarray(np.bincount(codes, weights, minlength=n_levels), np.float64)


def training(
    inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
) -> tuple[Inputs, NDArray[Any], NDArray[np.float64]]:
    """Return inputs, codes and weights of the rows to fit on, bootstrapped if proper."""
    return replace(target, rows=fit_rows(target, settings, rng)).training(inputs)


def need_classes(target: Target, method: str) -> None:
    """Refuse numbers."""
    if target.numbers is not None:
        raise CaveatError(
            f"the method {method} is for classes, and this column holds numbers",
            do="use normal, normrank or cart",
            code="synthesis.column.type",
        )


def need_numbers(target: Target, method: str) -> NDArray[np.float64]:
    """Return the numbers of the target, or refuse classes."""
    if target.numbers is None:
        raise CaveatError(
            f"the method {method} is for numbers, and this column holds classes",
            do="use logistic, multinomial, ordinal or cart",
            code="synthesis.column.type",
        )
    return target.numbers


# -------------------------------------------------------------------------------------------------
# What the two methods with a linear model share.


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


# -------------------------------------------------------------------------------------------------
# Normal linear regression.


NOT_ROUNDED = 15  # decimals of numbers that are no multiples of a unit


@dataclass(frozen=True)
class Normal(Regression):
    """A normal distribution around a linear predictor, fitted by weighted least squares.

    The variance is the weighted mean of the squared residuals. With ``proper`` the coefficients are
    drawn from N(beta, variance (X'WX)^-1), the weights scaled to sum to the number of records.
    """

    makes_numbers: ClassVar[bool] = True

    deviation: float
    numbers: NDArray[np.float64]
    decimals: int

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Fit the regression."""
        numbers = need_numbers(target, "normal")
        rows, codes, weights = target.training(inputs)
        y = numbers[codes]
        if not np.isfinite(y).all():
            raise CaveatError(
                "the method normal is for finite numbers",
                do="declare the infinities special, or use cart",
                code="data.value.infinite",
            )
        weights = weights * (len(weights) / weights.sum())
        design = Design.of(rows, weights)
        X = design.matrix(rows)
        # Centred, because a date in nanoseconds leaves no digits for the residuals.
        centre = np.average(y, weights=weights)
        coefficients, root = least_squares(X, y - centre, weights)
        residuals = y - centre - X @ coefficients
        deviation = float(np.sqrt(np.average(residuals**2, weights=weights)))
        if settings.proper:
            coefficients = coefficients + deviation * root @ rng.standard_normal(len(root))
        coefficients[0] += centre
        return cls(design, coefficients, deviation, numbers, target.decimals)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need one linear predictor, and the numbers of the target."""
        self._check(inputs)
        need(target.numbers is not None, "numbers for classes")
        check_same(self.numbers, target)
        check_number(self.deviation, low=0.0)
        need(type(self.decimals) is int and self.decimals == target.decimals, "other decimals")

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw a number for each row; it is not rounded yet."""
        return self.linear(inputs)[:, 0] + self.deviation * rng.standard_normal(inputs.n_rows)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the log probability of the number each code stands for."""
        return self.log_prob_of_numbers(inputs, self.numbers[codes])

    def log_prob_of_numbers(
        self, inputs: Inputs, values: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the log probability that a draw is rounded to each value.

        None where numbers are not rounded to a unit, or the unit is too small for their size.
        """
        half = 0.5 * 10.0**-self.decimals
        if self.decimals >= NOT_ROUNDED or np.spacing(np.abs(self.numbers).max()) > half:
            return None
        means = self.linear(inputs)[:, 0]
        if self.deviation == 0:
            hit = np.round(means, self.decimals) == np.round(values, self.decimals)
            return np.where(hit, 0.0, -np.inf)
        distance = values - means
        return log_normal_between(
            (distance - half) / self.deviation, (distance + half) / self.deviation
        )


# -------------------------------------------------------------------------------------------------
# Normal linear regression on the normal scores of ranks.


@dataclass(frozen=True)
class Normrank(Regression):
    """A normal variable behind the ranks: regressed on the inputs, drawn, and cut into real values.

    The weighted distribution function F cuts the real line into one cell per value c, from
    Phi^-1 F(c-) to Phi^-1 F(c). The score of a record is the mean of a standard normal variable
    within the cell of its value; scores are regressed on the inputs, and the variance of the
    regression includes the variance within cells. So the distribution of the column is kept exactly
    when the inputs say nothing about it, however many records share a value.
    """

    makes_numbers: ClassVar[bool] = False

    deviation: float
    values: NDArray[np.int64]
    cuts: NDArray[np.float64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Fit the regression; with ``proper`` on a bootstrap of the rows."""
        need_numbers(target, "normrank")
        rows, codes, weights = training(inputs, target, settings, rng)
        counts = weigh(codes, weights, target.n_levels)
        values = np.flatnonzero(counts)
        shares = counts[values] / counts.sum()
        cuts = scipy.special.ndtri(np.cumsum(shares)[:-1])
        scores, within = _scores(cuts, shares)
        design = Design.of(rows, weights)
        X = design.matrix(rows)
        cell = np.searchsorted(values, codes)
        coefficients, _ = least_squares(X, scores[cell], weights)
        squares = (scores[cell] - X @ coefficients) ** 2 + within[cell]
        deviation = float(np.sqrt(np.average(squares, weights=weights)))
        return cls(design, coefficients, deviation, values, cuts)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need one linear predictor, and cut points between values of the target."""
        self._check(inputs)
        check_codes(self.values, target.n_levels, rising=True)
        check_number(self.deviation, low=0.0)
        need(target.numbers is not None and len(self.values), "no values")
        need(self.cuts.dtype == np.float64, "cut points of another type")
        need(self.cuts.shape == (len(self.values) - 1,), "cut points for other values")
        need(not np.any(np.isnan(self.cuts)), "no cut points")
        need(np.all(self.cuts[1:] >= self.cuts[:-1]), "cut points that fall")

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a normal score for each row and give the value whose cell it falls into."""
        scores = self.linear(inputs)[:, 0] + self.deviation * rng.standard_normal(inputs.n_rows)
        return self.values[np.searchsorted(self.cuts, scores)]

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log probability of the cell of each value."""
        ends = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        cell = np.minimum(np.searchsorted(self.values, codes), len(self.values) - 1)
        means = self.linear(inputs)[:, 0]
        result = log_normal_between(
            (ends[cell] - means) / self.deviation, (ends[cell + 1] - means) / self.deviation
        )
        return np.where(self.values[cell] == codes, result, -np.inf)


def _scores(
    cuts: NDArray[np.float64], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of a standard normal variable within each cell."""
    density = np.concatenate([[0.0], np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi), [0.0]])
    moment = np.concatenate([[0.0], cuts, [0.0]]) * density
    means = -np.diff(density) / shares
    return means, np.maximum(1 - np.diff(moment) / shares - means**2, 0.0)
