"""Columns like those of the original, from cells that somebody else made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table import Column

__all__ = ["column_like"]


def column_like(original: Column, values: NDArray[Any], codes: NDArray[Any]) -> Column:
    """Return a column of new values with the kind and the ways to be missing of the original.

    Parameters
    ----------
    original
        The column to be like.
    values
        The ordinary values, one per row, of the type of its levels.
    codes
        Codes of the original; where they say that a cell is missing, its value does not count.

    Examples
    --------
    >>> from caveat.table import Kind, Missing
    >>> age = Column(np.array([0, 1, 2]), np.array([31, 47]), Kind.INTEGER, (Missing(-8),))
    >>> column_like(age, np.array([33, 33, 40]), np.array([0, 2, 0])).values.tolist()
    [33, -8, 40]
    """
    n = len(original.levels)
    missing = codes >= n
    levels, places = np.unique(values[~missing], return_inverse=True)
    cells = np.empty(len(codes), dtype=np.int64)
    cells[~missing] = places.ravel()
    cells[missing] = codes[missing] - n + len(levels)
    return replace(original, codes=cells, levels=levels)
