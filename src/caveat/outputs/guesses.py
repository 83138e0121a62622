"""Guessed records beside the true ones: how many are right, which, and how many are invented."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError

__all__ = ["Guesses"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guessed blocks beside the true one: kinds of records, how often guessed, how often there.

    A *kind* is a combination of values (and of the block it lies in). All shares are of kinds,
    unless records are named.

    Parameters
    ----------
    blocks
        One row per guess: the count of each kind.
    truth
        The true counts.
    """

    blocks: Ints
    truth: Ints

    __repr__ = without_values

    @cached_property
    def frequency(self) -> Floats:
        """How many of each kind a guess has on average; kinds are ranked by it."""
        return np.asarray(self.blocks.mean(axis=0))

    @cached_property
    def confidence(self) -> Floats:
        """Share of the guesses that have each kind."""
        return np.asarray((self.blocks > 0).mean(axis=0))

    @property
    def agreement(self) -> float:
        """Share of the records that a guess has right on average, each counted once."""
        common = np.minimum(self.blocks, self.truth).sum(axis=1).mean()
        return float(common / self.truth.sum())

    @property
    def correlation(self) -> float | None:
        """Correlation of how often a kind is guessed and how many there are; None if constant."""
        some = (self.truth > 0) | (self.frequency > 0)
        guessed, there = self.frequency[some], self.truth[some]
        if np.ptp(guessed) == 0 or np.ptp(there) == 0:
            return None
        return float(np.corrcoef(guessed, there)[0, 1])

    @property
    def spurious(self) -> float:
        """Kinds that were guessed and do not exist, by the number that do: may exceed 1."""
        return float(((self.frequency > 0) & (self.truth == 0)).sum() / (self.truth > 0).sum())

    @property
    def missed(self) -> float:
        """Share of the kinds that exist and were never guessed."""
        exists = self.truth > 0
        return float(((self.frequency == 0) & exists).sum() / exists.sum())

    def precision(self, k: int, *, most: int | None = None) -> float:
        """Return the share of the k kinds guessed most often that exist.

        Parameters
        ----------
        k
            Number of kinds. Of kinds guessed equally often the expected share is counted.
        most
            Only kinds that so many records have at most count as found: 1 for uniques.
        """
        if not 1 <= k <= len(self.truth):
            raise CaveatError(
                f"there are {len(self.truth)} kinds", where="k", code="outputs.setting.range"
            )
        return float(self._found(k, most) / k)

    def recall(self, k: int, *, most: int | None = None) -> float | None:
        """Return the share of the existing kinds (of at most so many records) in the first k."""
        n = int(self._counts(most).sum())
        return float(self._found(k, most) / n) if n else None

    def _counts(self, most: int | None) -> NDArray[np.bool_]:
        limit = math.inf if most is None else most
        return np.asarray((self.truth > 0) & (self.truth <= limit))

    def _found(self, k: int, most: int | None) -> float:
        right = self._counts(most)
        last = np.sort(self.frequency)[::-1][k - 1]
        above, tied = self.frequency > last, self.frequency == last
        return float(right[above].sum() + (k - above.sum()) * right[tied].mean())

    def rare(self, r: int) -> float | None:
        """Return the share that r records have, of kinds met once to r times in all guesses.

        The certainty about rare records of Sánchez et al. (2024), Table 1; close to 0 by design.
        """
        met = self.blocks.sum(axis=0)
        some = (met > 0) & (met <= r)
        return float((self.truth[some] == r).mean()) if some.any() else None
