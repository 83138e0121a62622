"""The predictors of regression models as a dense matrix."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.coding import Part
from caveat.synthesis.methods._checks import check_codes, check_numbers, need
from caveat.synthesis.methods.base import Inputs, Settings, State, Target
from caveat.synthesis.methods.cart import fit_rows

__all__ = [
    "MOST_CELLS",
    "Design",
    "Regression",
    "check_size",
    "need_classes",
    "need_numbers",
    "training",
    "weigh",
]

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
