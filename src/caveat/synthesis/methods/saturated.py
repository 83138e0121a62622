"""Cross-tabulation of a block of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from caveat.discreet import without_values
from caveat.synthesis.methods._crosstab import Crosstab
from caveat.synthesis.methods._design import training
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Saturated"]


@dataclass(frozen=True)
class Saturated(Crosstab):
    """Shares within each cell of the columns of the block before this one.

    The pseudo-count is spread evenly over all cells of the block, so that over the whole block a
    cell with n of N records has the probability (n + alpha/C) / (N + alpha), where C is the number
    of cells. With ``proper`` the rows are bootstrapped before they are counted.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Count the cells."""
        rows = training(inputs, target, settings, rng)
        return cls.count(rows, target, settings.pseudo_count)
