"""Candidate splits that do not look at the data: they follow from the dictionary alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values

__all__ = ["Candidates"]

ALL_UP_TO = 5
"""Levels up to which every way to part them in two is a candidate."""

SUBSETS = 24
"""Subsets of a predictor with more levels, beside its single levels."""

SEED = 20_11
"""Root of the subsets: a constant, the same for all data."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """All splits that a node may take.

    Parameters
    ----------
    n_levels, ordered
        Levels of each predictor, and whether their order has a meaning.

    Attributes
    ----------
    first
        Number of the first candidate of each predictor, and of all.
    sides, side_at
        For predictors without an order one line per candidate with 1 for each level that goes
        left; and where the lines of a predictor begin.

    Examples
    --------
    An order of four levels has three cuts; three levels without one are parted in three ways.

    >>> found = Candidates([4, 3], [True, False])
    >>> found.first.tolist()
    [0, 3, 6]
    >>> found.sides.reshape(3, 3).tolist()
    [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    """

    n_levels: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    __repr__ = without_values

    first: NDArray[np.int64] = field(init=False)
    sides: NDArray[np.uint8] = field(init=False)
    side_at: NDArray[np.int64] = field(init=False)

    def __init__(self, n_levels: Sequence[int], ordered: Sequence[bool]) -> None:
        counts, lines, starts, place = [], [np.zeros(0, np.uint8)], [], 0
        for levels, has_order in zip(n_levels, ordered, strict=True):
            starts.append(place)
            if has_order:
                counts.append(max(levels - 1, 0))
                continue
            own = _sides(levels)
            counts.append(len(own))
            lines.append(own.ravel())
            place += own.size
        values: dict[str, NDArray[Any]] = {
            "n_levels": np.asarray(n_levels, np.int64),
            "ordered": np.asarray(ordered, np.bool_),
            "first": np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            "sides": np.concatenate(lines),
            "side_at": np.asarray(starts, np.int64),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels take."""
        return self.ordered, self.n_levels, self.first, self.sides, self.side_at

    @property
    def n(self) -> int:
        """Number of candidates."""
        return int(self.first[-1])


def _sides(levels: int) -> NDArray[np.uint8]:
    """Return the candidates of a predictor without an order, one line each."""
    if levels <= ALL_UP_TO:
        # The last level stays on the right, so that no partition comes twice.
        numbers = np.arange(1, 1 << max(levels - 1, 0))
        return ((numbers[:, None] >> np.arange(levels)) & 1).astype(np.uint8)
    drawn = np.random.default_rng((SEED, levels)).random((SUBSETS, levels))
    half = np.argsort(np.argsort(drawn, axis=1), axis=1) < levels // 2
    return np.concatenate([np.eye(levels, dtype=np.uint8), half.astype(np.uint8)])
