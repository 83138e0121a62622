"""Hidden cells of a published table: which can be computed from its own totals.

The table is all that is known here. Its totals are equations between its cells, and the audit of
published tables says which hidden cells they settle: by rank, and where counts cannot be below
zero by bounds that meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs.audit import bounds, recoverable
from caveat.outputs.cell_numbers import Limits

__all__ = ["Computable", "Place", "computable", "left_out", "levels_of"]

Floats = NDArray[np.float64]
Place = tuple[str | None, ...]
"""The values of the keys of a cell, None where it is a total."""

MOST_CELLS, MOST_GRID = 20_000, 50_000
MOST_BOUNDS, SECONDS = 50, 5.0
SHARE = 0.1  # of its value: a hidden cell that is known more closely is nearly known


@dataclass(frozen=True)
class Computable:
    """What follows from a table.

    Parameters
    ----------
    rows
        The rows of hidden cells that can be computed.
    left_out
        Cells that are not in the table, have persons, and can be computed.
    complete
        Whether all hidden cells were looked at.
    near
        The rows of hidden cells for which bounds that are written leave few values.
    """

    rows: tuple[int, ...] = ()
    left_out: tuple[Place, ...] = ()
    complete: bool = True
    near: tuple[int, ...] = ()

    __repr__ = without_values


def levels_of(places: Iterable[Place]) -> list[list[str]]:
    """Return the values of each key that occur, without totals, in their order."""
    return [
        list(dict.fromkeys(value for value in column if value is not None))
        for column in zip(*places, strict=True)
    ]


def computable(
    places: Sequence[Place],
    values: Floats,
    *,
    slack: float = 0.0,
    known: frozenset[int] = frozenset(),
    whole: bool = True,
    limits: Limits | None = None,
    few: int = 1,
    gaps: bool = True,
) -> Computable:
    """Return which hidden cells follow from the others.

    Parameters
    ----------
    places
        Where each cell stands.
    values
        The values, NaN for hidden ones. If none is below zero, hidden ones are not either.
    slack
        By how much a total may miss the sum of its cells, for each of them.
    known, whole
        Hidden cells that everybody knows to be empty, and whether values are counts.
    limits, few
        What bounds that are written in hidden cells leave for them, and for how few values beside
        such bounds a hidden count is nearly known.
    gaps
        Whether combinations that are not in the table could be.

    Examples
    --------
    >>> both = [("n", "f"), ("n", "m"), ("s", "f"), ("s", "m"), ("n", None), ("s", None),
    ...         (None, "f"), (None, "m")]
    >>> computable(both, np.array([np.nan, 20, 30, 40, 25, 70, np.nan, 60])).rows
    (0, 6)
    >>> computable(both, np.array([np.nan, np.nan, np.nan, np.nan, 25, 70, 35, 60])).rows
    ()
    """
    hidden = np.isnan(values)
    hidden[list(known)] = False
    if len(places) > MOST_CELLS:
        return Computable(complete=not hidden.any())
    signed = bool(np.any(values < 0))
    absent = [] if signed else left_out(places, values, slack=slack)
    listed = [*places, *absent]
    matrix = _matrix(listed) if hidden.any() or absent else None
    if matrix is None:
        return Computable(complete=not hidden.any() and not absent)
    hidden = np.append(hidden, np.ones(len(absent), bool))
    shown = np.append(np.nan_to_num(values), np.zeros(len(absent)))
    # Who shows or leaves out empty cells does not hide them.
    least = int(whole and not absent and (0 in values or (gaps and _has_gaps(places))))
    at_least = None if slack or signed else least
    told, near = _told(listed, matrix, hidden, shown, whole, at_least, limits, few)
    rows, n = np.flatnonzero(told).tolist(), len(places)
    return Computable(
        tuple(row for row in rows if row < n),
        tuple(listed[row] for row in rows if row >= n),
        near=tuple(row for row in np.flatnonzero(near & ~told).tolist() if row < n),
    )


def _told(
    places: Sequence[Place],
    matrix: sp.csc_array,
    hidden: NDArray[np.bool_],
    shown: Floats,
    whole: bool,
    least: int | None,
    limits: Limits | None,
    few: int,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which hidden cells follow: by rank, and by bounds if there is a least value.

    And which nearly do so, where bounds are written.
    """
    inner = np.array([None not in place for place in places])
    plain = _plain_sums(places, matrix, hidden, inner)
    secret = hidden & ~plain & (np.diff(matrix.indptr) > 0)
    told: NDArray[np.bool_] = recoverable(matrix, hidden & ~plain) & secret
    near = np.zeros(len(places), bool)
    if least is None:
        return told, near
    low, high = ends = -np.full(len(places), np.inf), np.full(len(places), np.inf)
    if limits is not None:  # nothing is written in cells that are left out
        low[: len(limits[0])], high[: len(limits[1])] = limits
    said: NDArray[np.bool_] = np.isfinite(low) | np.isfinite(high)
    rest = np.flatnonzero(secret & ~told & (inner | said))
    rest = rest[np.argsort(~said[rest], kind="stable")][:MOST_BOUNDS]
    for one in bounds(
        matrix, shown, hidden, rest.tolist(), whole=whole, least=least, seconds=SECONDS,
        limits=ends if said.any() else None,
    ):  # fmt: skip
        width = one.high - one.low
        told[one.cell] |= width <= (0 if whole else 1e-9 * max(one.high, 1.0))
        near[one.cell] = bool(said.any()) and (
            width < SHARE * one.low or (whole and width + 1 < few)
        )
    return told, near


def _plain_sums(
    places: Sequence[Place],
    matrix: sp.csc_array,
    hidden: NDArray[np.bool_],
    inner: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return hidden totals of cells that are all shown: they are no secret."""
    seen = (matrix[:, inner & ~hidden] @ np.ones(int((inner & ~hidden).sum()))) > 0
    plain: NDArray[np.bool_] = hidden & ~inner & ((matrix.T @ (~seen).astype(float)) == 0)
    parts: dict[tuple[int, Place], list[int]] = {}
    for column, place in enumerate(places):
        for i, value in enumerate(place):
            if value is not None:
                parts.setdefault((i, _without(place, i)), []).append(column)
    for column in np.flatnonzero(hidden & ~inner & ~plain).tolist():
        place = places[column]
        for i in (i for i, value in enumerate(place) if value is None):
            below = parts.get((i, _without(place, i)), [])
            shown = below and not hidden[below].any()
            if shown and matrix[:, below].sum() == matrix[:, [column]].sum():
                plain[column] = True
    return plain


def _without(place: Place, i: int) -> Place:
    return place[:i] + place[i + 1 :]


def left_out(places: Sequence[Place], values: Floats, *, slack: float = 0.0) -> list[Place]:
    """Return cells of the grid that are not in the table and may have somebody.

    A cell is empty if a total says so that is the sum of the cells that are there. Others are left
    out only if a total is more than that sum.

    Parameters
    ----------
    places, values, slack
        As for :func:`computable`.

    Examples
    --------
    >>> left_out([("a", "x"), ("a", "y"), ("b", "x"), ("b", None)], np.array([20, 30, 40, 44]))
    [('b', 'y')]
    """
    inner = {place: value for place, value in zip(places, values, strict=True) if None not in place}
    totals = [(place, value) for place, value in zip(places, values, strict=True) if None in place]
    levels = levels_of(places)
    if not inner or not totals or prod(map(len, levels)) > MOST_GRID:
        return []
    sums, counts = _by_total(inner.items(), {place for place, _ in totals})
    more = {}
    for place, value in totals:
        if place in sums and not np.isnan(value) and not np.isnan(sums[place]):
            more[place] = value - sums[place] > slack * (counts[place] + 1)
    if not any(more.values()):
        return []
    masks = {tuple(value is None for value in place) for place in more}
    out: list[Place] = []
    for cell in product(*levels):
        if cell not in inner:
            said = [
                more[place] for mask in masks
                if (place := _masked(cell, mask)) in more
            ]  # fmt: skip
            if said and all(said):
                out.append(cell)
    return out


def _has_gaps(places: Sequence[Place]) -> bool:
    """Whether combinations of values are not in the table."""
    inner = [place for place in places if None not in place]
    return bool(inner) and len(inner) < prod(len(found) for found in levels_of(inner))


def _masked(cell: Place, mask: Sequence[bool]) -> Place:
    return tuple(
        None if summed else value for value, summed in zip(cell, mask, strict=True)
    )  # fmt: skip


def _by_total(
    inner: Iterable[tuple[Place, float]], totals: set[Place]
) -> tuple[dict[Place, float], dict[Place, int]]:
    """Return for each total the sum of the inner cells below it, and how many there are."""
    masks = {tuple(value is None for value in place) for place in totals}
    sums: dict[Place, float] = {}
    counts: dict[Place, int] = {}
    for cell, value in inner:
        for mask in masks:
            place = _masked(cell, mask)
            if place in totals:
                sums[place] = sums.get(place, 0.0) + value
                counts[place] = counts.get(place, 0) + 1
    return sums, counts


def _matrix(places: Sequence[Place]) -> sp.csc_array | None:
    """Return inner cells by cells; None if there would be too many inner ones.

    Of a total none of whose cells is in the table all combinations are inner cells.
    """
    inner = {place: None for place in places if None not in place}
    totals = {place for place in places if None in place}
    _, counts = _by_total(((place, 0.0) for place in inner), totals)
    levels = levels_of(places)
    for place in totals - counts.keys():
        below = [
            levels[i] if value is None else [value] for i, value in enumerate(place)
        ]  # fmt: skip
        if len(inner) + prod(map(len, below)) > MOST_GRID:
            return None
        inner |= dict.fromkeys(product(*below))
    row_of = {place: row for row, place in enumerate(inner)}
    columns = {place: column for column, place in enumerate(places)}
    masks = {tuple(value is None for value in place) for place in places}
    rows, cols = [], []
    for cell, row in row_of.items():
        for mask in masks:
            column = columns.get(_masked(cell, mask))
            if column is not None:
                rows.append(row)
                cols.append(column)
    ones = np.ones(len(rows), np.int64)
    return sp.csc_array((ones, (rows, cols)), shape=(len(row_of), len(places)))
