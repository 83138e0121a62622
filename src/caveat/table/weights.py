"""Survey weights: how many people each record stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.column import Column

__all__ = ["survey_weights"]


def survey_weights(column: Column, name: str) -> NDArray[np.float64]:
    """Return the weights of all records, or say in which row one cannot be used."""
    if not column.kind.is_number:
        raise CaveatError(
            "weights must be numbers", column=name, do="choose another", code="data.weights.type"
        )
    weights = column.cell_numbers
    for bad, what, code in (
        (np.isnan(weights), "missing", "data.weights.absent"),
        (weights < 0, "negative", "data.weights.range"),
    ):
        if bad.any():
            raise CaveatError(
                f"{int(bad.sum()):,} weights are {what}",
                column=name,
                row=int(np.argmax(bad)) + 1,
                do="give every record a weight of zero or more",
                code=code,
            )
    if not weights.sum() > 0:
        raise CaveatError(
            "all weights are zero", column=name, do="choose another", code="data.weights.range"
        )
    return weights
