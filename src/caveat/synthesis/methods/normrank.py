"""Normal linear regression on the normal scores of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_codes, check_number, need
from caveat.synthesis.methods._design import Design, Regression, need_numbers, training, weigh
from caveat.synthesis.methods._linear import least_squares, log_normal_between
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Normrank"]


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
