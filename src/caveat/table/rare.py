"""Rare levels: values of a column that few people have and that nobody declared as public."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table.column import Column, Kind

__all__ = [
    "MOST",
    "K",
    "has_open_vocabulary",
    "is_mostly_rare",
    "level_texts",
    "rare_levels",
    "units_of_levels",
]

K = 5
"""Units that must have a level before it may leave, unless it is declared."""


MOST = 0.5
"""Share of the records with a value from which on a column with rare levels is left out."""


def units_of_levels(column: Column, units: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Return how many units have each ordinary level of a column.

    Parameters
    ----------
    column
        Any column.
    units
        The unit of each row, such as the key of a household; every row is one by default.

    Examples
    --------
    >>> column = Column(np.array([0, 0, 1, 1]), np.array(["a", "b"], object), Kind.CATEGORY)
    >>> units_of_levels(column, np.array([1, 1, 1, 2])).tolist()
    [1, 2]
    """
    n = len(column.levels)
    if units is None:
        return column.counts[:n]
    _, owners = np.unique(np.asarray(units), return_inverse=True)
    owners = owners.reshape(-1).astype(np.int64)
    pairs = np.unique(owners * column.n_levels + column.codes)
    return np.bincount(pairs % column.n_levels, minlength=column.n_levels)[:n]


def has_open_vocabulary(column: Column) -> bool:
    """Whether a level of a column is a text that somebody wrote.

    Numbers and dates have a range, and yes or no needs no declaration.
    """
    return not column.kind.is_number and column.kind is not Kind.BOOLEAN


def rare_levels(
    column: Column,
    units: NDArray[Any] | None = None,
    k: int = K,
    declared: Collection[Any] = (),
) -> NDArray[np.bool_]:
    """Return which levels of a column fewer than k units have, and nobody declared.

    Levels that no row has are not rare: they are nobody's. Ways to be missing are no levels. Of a
    column whose levels were declared in a schema none is rare.

    Parameters
    ----------
    column
        Any column.
    units
        The unit of each row, such as the key of a household; every row is one by default.
    k
        The smallest number of units that may share a level; 1 for any.
    declared
        Levels that are public.

    Examples
    --------
    >>> column = Column(np.array([0] * 6 + [1, 2]), np.array(["a", "b", "c"], object), Kind.TEXT)
    >>> rare_levels(column, declared=["c"]).tolist()
    [False, True, False]
    """
    if column.closed:
        return np.zeros(len(column.levels), bool)
    counts = units_of_levels(column, units)
    rare = (counts > 0) & (counts < k)
    if len(declared):
        rare &= ~np.isin(level_texts(column), [str(value) for value in declared])
    return np.asarray(rare)


def is_mostly_rare(column: Column, units: NDArray[Any] | None = None, k: int = K) -> bool:
    """Whether most records with a value have a rare level, so that pooling would leave little.

    Examples
    --------
    >>> texts = np.array([f"t{i}" for i in range(9)], object)
    >>> is_mostly_rare(Column(np.arange(9), texts, Kind.TEXT))
    True
    """
    if not has_open_vocabulary(column):
        return False
    counts = column.counts[: len(column.levels)]
    return bool(counts[rare_levels(column, units, k)].sum() > MOST * counts.sum())


def level_texts(column: Column) -> NDArray[Any]:
    """Return the levels of a column as texts, by which levels of any type are compared."""
    if column.levels.dtype.kind == "M":
        return column.levels.astype(str).astype(object)
    return np.array([str(level) for level in column.levels.tolist()], object)
