"""Normal linear regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.methods._checks import check_number, check_same, need
from caveat.synthesis.methods._design import Design, Regression, need_numbers
from caveat.synthesis.methods._linear import least_squares, log_normal_between
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Normal"]

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
