"""The original as its survey weights show it.

A synthesis with weights draws from the weighted distribution of the original: its output is a
sample that needs no weights, and is compared with the weighted original. The weights are scaled to
sum to the number of records, so that the weighted original is as large as the unweighted one and
every statistic keeps its scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.table import Table
from caveat.table.table import survey_weights

__all__ = [
    "WEIGHTED", "Weights", "effective_size", "redraw", "split_weights", "unweighted",
    "weights_apart",
]  # fmt: skip

Floats = NDArray[np.float64]
Weights = Floats | None

WEIGHTED = Note("weighted", "against the weighted original")


def unweighted(reason: str) -> Note:
    """Return the note on a figure that has no weighted form."""
    return Note("unweighted", "against the unweighted original: {reason}", reason=reason)


def split_weights(original: Table, weights: Any) -> tuple[Table, Weights]:
    """Take the weights off a table: they are no data.

    Parameters
    ----------
    original
        The table.
    weights
        The name of its column of weights, one number for each row, or None.

    Returns
    -------
    The table without the column, and without records of weight 0, which stand for nobody; and the
    weights of the others, which sum to their number.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m", "d"], "w": [150.0, 50.0, 0.0]})
    >>> table, weights = split_weights(people, "w")
    >>> table.names, weights.tolist()
    (('sex',), [1.5, 0.5])
    """
    original, found = weights_apart(original, weights)
    if found is None:
        return original, None
    kept = np.flatnonzero(found > 0)
    if len(kept) < len(found):
        original, found = original.take(kept), found[kept]
    return original, found * (len(found) / found.sum())


def weights_apart(original: Table, weights: Any) -> tuple[Table, Weights]:
    """Return a table without its column of weights, and the weight of every record as it stands."""
    if weights is None:
        return original, None
    if isinstance(weights, str):
        return original.drop([weights]), survey_weights(original[weights], weights)
    column = Table.from_frame({"weights": np.asarray(weights)})["weights"]
    if len(column) != len(original):
        raise CaveatError(
            f"there are {len(column):,} weights for {len(original):,} records",
            do="give one weight for each record",
            code="data.weights.mismatch",
        )
    return original, survey_weights(column, "weights")


def effective_size(weights: Floats) -> float:
    """Return (Σ w)² / Σ w²: how many records of equal weight tell as much (Kish).

    Examples
    --------
    >>> effective_size(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def redraw(weights: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return rows in proportion to their weights, each as often as its weight says, or once more.

    Systematic sampling: it adds less chance than drawing row by row.

    Examples
    --------
    >>> redraw(np.array([2.0, 1.0, 1.0]), 8, np.random.default_rng(1)).tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    start = rng.random()
    ends = np.cumsum(weights) * (size / weights.sum())
    rows = np.searchsorted(ends, start + np.arange(size), side="right")
    return np.asarray(np.minimum(rows, len(weights) - 1), dtype=np.int64)
