"""Tables of counts, and what can be read off them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError

__all__ = ["MOST_CELLS", "Tables", "check_size", "count_tables", "margin_of", "places", "within"]

Tables = dict[tuple[str, ...], NDArray[Any]]
"""Counts or shares by the columns of a table; one axis for each column."""

MOST_CELLS = 2**24
"""Cells of the largest table."""


def count_tables(
    cells: Mapping[str, NDArray[np.int64]],
    sizes: Mapping[str, int],
    margins: Iterable[Sequence[str]],
    weights: NDArray[np.float64] | None = None,
) -> Tables:
    """Count the records in each cell of each table.

    Parameters
    ----------
    cells, sizes
        The cell of each record in each column, and how many cells a column has. A record whose
        cells are below 0 is in no table.
    margins
        The columns of each table.
    weights
        Survey weights; None when every record counts once.

    Examples
    --------
    >>> cells = {"sex": np.array([0, 0, 1]), "job": np.array([1, 2, 2])}
    >>> count_tables(cells, {"sex": 2, "job": 3}, [("sex", "job")])["sex", "job"].tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    found: Tables = {}
    for margin in margins:
        shape = tuple(sizes[name] for name in margin)
        check_size(margin, shape)
        place, own = places(cells, sizes, margin), weights
        if (counted := place >= 0).sum() < len(place):
            place, own = place[counted], None if weights is None else weights[counted]
        counts = np.bincount(place, own, minlength=int(np.prod(shape)))
        found[tuple(margin)] = counts.reshape(shape)
    return found


def places(
    cells: Mapping[str, NDArray[np.int64]], sizes: Mapping[str, int], margin: Sequence[str]
) -> NDArray[np.int64]:
    """Return the number of the cell of a table that each record is in; below 0 for none."""
    place = np.zeros(len(cells[margin[0]]), np.int64)
    for name in margin:
        place = place * sizes[name] + cells[name]
    return place


def check_size(margin: Sequence[str], shape: Sequence[int]) -> None:
    """Refuse a table that is too large."""
    if not within(shape):
        raise CaveatError(
            f"the table of {' × '.join(margin)} has more than {MOST_CELLS:,} cells",
            where="synthesis, margins",
            do="group levels, take fewer bins, or leave a column out of it",
            entry=("margins",),
            code="synthesis.table.too-large",
        )


def within(shape: Sequence[int]) -> bool:
    """Whether a table of this shape is small enough."""
    return float(np.prod([float(n) for n in shape])) <= MOST_CELLS


def margin_of(tables: Tables, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the table of some columns, in this order, from one that has them all.

    Examples
    --------
    >>> margin_of({("a", "b"): np.array([[1, 2, 3], [4, 5, 6]])}, ["b"]).tolist()
    [5.0, 7.0, 9.0]
    """
    whole = next(key for key in tables if set(names) <= set(key))
    table = np.asarray(tables[whole], np.float64)
    others = tuple(axis for axis, name in enumerate(whole) if name not in names)
    left = [name for name in whole if name in names]
    return np.asarray(table.sum(axis=others).transpose([left.index(name) for name in names]))
