"""The value that goes with the predictors in the original: an age group from an age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import check_codes, need
from caveat.synthesis.methods._crosstab import cell_names
from caveat.synthesis.methods.base import Inputs, Settings, State, Target

__all__ = ["Lookup"]


@dataclass(frozen=True)
class Lookup:
    """The most frequent code for each combination of the predictors.

    A combination that the original does not have takes the value of the nearest one in the order of
    the combinations, which for a single number is the nearest number.
    """

    makes_numbers: ClassVar[bool] = False

    keys: NDArray[np.int64]
    codes: NDArray[np.int64]

    __repr__ = without_values

    @classmethod
    def fit(
        cls,
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Count which codes go with which combination."""
        del settings, rng
        chosen, codes, weights = target.training(inputs)
        keys, place = np.unique(cell_names(chosen), return_inverse=True)
        pairs, pair = np.unique(place * target.n_levels + codes, return_inverse=True)
        mass = np.bincount(pair, weights)
        # The last of each combination's pairs after sorting by mass is the most frequent one.
        order = np.lexsort((-pairs, mass, pairs // target.n_levels))
        last = np.append(np.diff(pairs[order] // target.n_levels) > 0, True)
        return cls(keys, pairs[order][last] % target.n_levels)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Look each row up."""
        del rng
        wanted = cell_names(inputs)
        right = np.clip(np.searchsorted(self.keys, wanted), 0, len(self.keys) - 1)
        left = np.maximum(right - 1, 0)
        nearer = np.abs(wanted - self.keys[left]) < np.abs(self.keys[right] - wanted)
        return np.asarray(self.codes[np.where(nearer, left, right)])

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Return 0 where a code is the one that goes with its row, -inf elsewhere."""
        expected = self.draw(inputs, np.random.default_rng(0))
        return np.where(expected == codes, 0.0, -np.inf)

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a code of the target for each combination."""
        del inputs  # names of combinations may be any number
        need(isinstance(self.keys, np.ndarray) and self.keys.dtype == np.int64, "no combinations")
        need(self.keys.ndim == 1 and len(self.keys), "no combinations")
        need(np.all(self.keys[1:] > self.keys[:-1]), "combinations that do not rise")
        check_codes(self.codes, target.n_levels, len(self.keys))

    def state(self) -> State:
        """Return the combinations and their codes."""
        return {"keys": self.keys, "codes": self.codes}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the model from its arrays."""
        return cls(**state)
