"""What the regressions for classes share: draws, probabilities and the ridge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_codes, need
from caveat.synthesis.methods._design import Regression
from caveat.synthesis.methods.base import Inputs, Target

__all__ = ["LAST_STEP", "MOST_STEPS", "RIDGE", "ClassRegression", "penalty", "seen_classes"]

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
