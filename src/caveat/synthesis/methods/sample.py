"""Draws from the distribution of the column itself, whatever the other columns are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_numbers, need
from caveat.synthesis.methods.base import Inputs, Settings, State, Target

__all__ = ["Sample"]


@dataclass(frozen=True)
class Sample:
    """The shares of the codes.

    With ``proper`` the weights of the rows are drawn too (a Bayesian bootstrap): the shares of a
    first column have a sampling error, and leaving it out makes intervals too short.
    """

    makes_numbers: ClassVar[bool] = False

    shares: NDArray[np.float64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls,
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Count the codes."""
        _, codes, weights = target.training(inputs)
        if settings.proper:
            weights = weights * rng.exponential(size=len(weights))
        counts = np.bincount(codes, weights, minlength=target.n_levels)
        return cls(counts / counts.sum())

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a code for each row."""
        cumulative = np.cumsum(self.shares)
        drawn = np.searchsorted(cumulative, rng.random(inputs.n_rows) * cumulative[-1], "right")
        return np.asarray(np.minimum(drawn, np.flatnonzero(self.shares)[-1]))

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log share of each code."""
        del inputs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares)[codes])

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a share for each code, and one that is not zero."""
        del inputs
        check_numbers(self.shares, target.n_levels, low=0.0)
        need(0 < self.shares.sum() < np.inf, "shares without a sum")

    def state(self) -> State:
        """Return the shares."""
        return {"shares": self.shares}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its shares."""
        return cls(**state)
