"""A factor, usually a long one, within the levels of another column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from caveat.discreet import without_values
from caveat.synthesis.methods._crosstab import Crosstab
from caveat.synthesis.methods._design import training
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Nested"]


@dataclass(frozen=True)
class Nested(Crosstab):
    """Shares within each level of the grouping column, whatever the other columns are.

    A group without training rows has the shares of all rows. With ``proper`` the rows are
    bootstrapped before they are counted.
    """

    __repr__ = without_values

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Count the codes in each group."""
        return cls.count(training(inputs, target, settings, rng), target)
