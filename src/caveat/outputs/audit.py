"""The audit of a pattern: what outsiders and single contributors can compute, and how closely.

It knows nothing of how the pattern was found. The published columns are made independent from the
smallest to the largest, in another order than the suppression took them, and what depends on them
can be computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs._fractions import Sparse, combination, reduced
from caveat.outputs.echelon import OVERFLOW, ROOM, Columns, dependent, residues, spanned

__all__ = [
    "Interval",
    "Leak",
    "bounds",
    "insiders",
    "recoverable",
    "recoverable_by_any",
    "room",
    "too_narrow",
]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Limits = tuple[NDArray[np.float64], NDArray[np.float64]]
SLACK = 1e-6  # of a linear program, relative to the largest published value


def recoverable(matrix: Any, hidden: Bools) -> Bools:
    """Return which hidden cells can be computed from the published ones, by exact arithmetic.

    Parameters
    ----------
    matrix
        Inner cells by cells, whole numbers.
    hidden
        Whether each cell is hidden.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 1], [0, 1, 1]])  # two cells and their total
    >>> recoverable(matrix, np.array([True, False, False])).tolist()
    [True, False, False]
    >>> recoverable(matrix, np.array([True, True, False])).tolist()
    [False, False, False]
    """
    given = sp.csc_array(matrix).astype(np.int64)
    hidden = np.asarray(hidden, bool)
    targets = np.flatnonzero(hidden)
    depends = np.zeros(given.shape[1], bool)
    columns = _pivots(given, hidden)
    if columns is not None:
        held = (columns.rows, columns.vals, columns.start, columns.length, columns.pivot)
        unsure = np.zeros(given.shape[1], bool)
        spanned(*held, columns.work, columns.mask, targets, depends, unsure)
        targets = np.flatnonzero(unsure)
    if len(targets):
        pivots = _slow_pivots(given, hidden) if columns is None else _in_fractions(columns)
        depends[targets] = [not reduced(_sparse(given, j), pivots) for j in targets.tolist()]
    return depends


def recoverable_by_any(matrices: Sequence[Any], hidden: Bools) -> Bools:
    """Return which hidden cells somebody can compute, by what inner cells each knows to exist.

    Parameters
    ----------
    matrices
        Inner cells by cells, for each kind of knowledge. Who knows a cell to be empty, as it has no
        inner cell, does not compute it.
    hidden
        Whether each cell is hidden.
    """
    found = [recoverable(one, hidden) & (np.diff(sp.csc_array(one).indptr) > 0) for one in matrices]
    return np.asarray(np.any(found, axis=0))


def _in_fractions(columns: Columns) -> dict[int, Sparse]:
    """Return pivots of 64 bits as fractions, for columns that do not stay within these."""
    pivots: dict[int, Sparse] = {}
    for row in np.flatnonzero(columns.pivot >= 0).tolist():
        j = columns.pivot[row]
        part = slice(columns.start[j], columns.start[j] + columns.length[j])
        at, values = columns.rows[part].tolist(), columns.vals[part].tolist()
        pivots[row] = {r: Fraction(v) for r, v in zip(at, values, strict=True)}
    return pivots


class Leak(NamedTuple):
    """A single contributor who can compute a hidden cell of others.

    Attributes
    ----------
    owner
        The contributor.
    cell
        The hidden cell.
    column
        What follows from the published cells: a multiple of the cell less the contributor's own.
    """

    owner: int
    cell: int
    column: Ints


def insiders(
    matrix: Any, hidden: Bools, targets: Bools, column_owner: Ints, row_owner: Ints
) -> list[Leak]:
    """Return which hidden cells single contributors can compute, who know their own inner cells.

    Parameters
    ----------
    matrix, hidden
        As for :func:`recoverable`.
    targets
        The hidden cells that are to be protected.
    column_owner, row_owner
        The one contributor of a cell and of an inner cell, -1 where there are several.
    """
    given = sp.csc_array(matrix).astype(np.int64)
    cells, rows = np.flatnonzero(targets), np.flatnonzero(row_owner >= 0)
    if not len(cells) or not len(rows):
        return []
    unit = sp.csc_array(
        (np.ones(len(rows), np.int64), (rows, np.arange(len(rows)))), (given.shape[0], len(rows))
    )
    left = _residues(given, hidden, sp.csc_array(sp.hstack([given[:, cells], unit], format="csc")))
    of_cell, of_row = left[: len(cells)], left[len(cells) :]
    by_row: dict[int, list[int]] = {}
    for i, column in enumerate(of_cell):
        if column:
            by_row.setdefault(min(column), []).append(i)
    leaks = []
    order = np.argsort(row_owner[rows], kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(row_owner[rows][order])) + 1):
        owner = int(row_owner[rows[mine[0]]])
        known = [of_row[i] for i in mine]
        seen = set().union(*known)
        near = [i for row in seen for i in by_row.get(row, ()) if of_cell[i].keys() <= seen]
        for i in near:
            if column_owner[cells[i]] == owner:
                continue
            shares = combination(known, of_cell[i])
            if shares is not None:
                implied = _implied(given, int(cells[i]), rows[mine], shares)
                leaks.append(Leak(owner, int(cells[i]), implied))
    return leaks


def _implied(given: Any, cell: int, rows: Ints, shares: Sequence[Fraction]) -> Ints:
    """Return the cell less the shares of the rows, as a multiple that is whole."""
    times = lcm(*(share.denominator for share in shares))
    column = times * given[:, [cell]].toarray().ravel()
    for row, share in zip(rows.tolist(), shares, strict=True):
        column[row] -= int(share * times)
    return np.asarray(column, np.int64)


@dataclass(frozen=True)
class Interval:
    """What a hidden cell can be, for all that is published and no inner cell too small."""

    cell: int
    low: float
    high: float

    __repr__ = without_values


def bounds(
    matrix: Any,
    values: NDArray[Any],
    hidden: Bools,
    cells: Sequence[int],
    *,
    whole: bool = False,
    least: int = 0,
    seconds: float = np.inf,
    limits: Limits | None = None,
) -> list[Interval]:
    """Bound hidden cells by linear programs (HiGHS).

    Parameters
    ----------
    matrix, hidden
        As for :func:`recoverable`.
    values
        The values of all cells; no inner cell may be below `least`.
    cells
        The hidden cells to bound.
    whole
        Whether values are counts: bounds are then whole numbers too.
    least
        What everybody knows each inner cell to have: 1 where it is known which cells are empty.
    seconds
        When to stop; cells that come later have no interval.
    limits
        The least and the largest value of each cell, infinite where nothing is said of it.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 1], [0, 1, 1]])
    >>> found = bounds(matrix, np.array([4, 2, 6]), np.array([True, True, False]), [0])
    >>> found[0].low, found[0].high
    (0.0, 6.0)
    """
    given, values, published = sp.csc_array(matrix), np.asarray(values, float), ~np.asarray(hidden)
    low = np.full(given.shape[0], float(least))
    ends = low, np.full(len(low), np.inf)
    if limits is not None:
        given, values, published, ends = _within(given, values, published, ends, limits)
    equations = _loose(given, values, published)
    slack = SLACK * max(1.0, float(np.abs(values).max(initial=0)))
    out = []
    end = time.monotonic() + seconds
    for cell in cells:
        if time.monotonic() > end:
            break
        rows = given.indices[given.indptr[cell] : given.indptr[cell + 1]]
        least_sum, largest = _ends(equations, rows, ends)
        if whole:
            least_sum = float(ceil(least_sum - slack))
            largest = float(floor(largest + slack)) if np.isfinite(largest) else largest
        out.append(Interval(int(cell), least_sum, largest))
    return out


def _within(
    given: Any, values: NDArray[np.float64], published: Bools, ends: Limits, limits: Limits
) -> tuple[Any, NDArray[np.float64], Bools, Limits]:
    """Write limits of hidden cells as equations: a cell less one more unknown, which has them."""
    cells = np.flatnonzero(~published & (np.isfinite(limits[0]) | np.isfinite(limits[1])))
    minus = -sp.eye_array(len(cells), dtype=given.dtype)
    wider = sp.csc_array(sp.block_array([[given, given[:, cells]], [None, minus]], format="csc"))
    low, high = (np.append(end, limit[cells]) for end, limit in zip(ends, limits, strict=True))
    more = np.zeros(len(cells))
    return (
        wider, np.append(values, more), np.append(published, np.ones(len(cells), bool)),
        (low, high),
    )  # fmt: skip


class _Loose(NamedTuple):
    """Equations between inner cells that are not published themselves.

    Attributes
    ----------
    lines, shown
        The equations, and what they add up to.
    known
        The value of each inner cell that is published; NaN for others.
    parts
        The group of each inner cell; no equation connects two groups.
    """

    lines: Any
    shown: NDArray[np.float64]
    known: NDArray[np.float64]
    parts: Ints


def _loose(given: Any, values: NDArray[np.float64], published: Bools) -> _Loose:
    lines, shown = sp.csr_array(given[:, published].T), values[published]
    alone = np.diff(lines.indptr) == 1
    known = np.full(given.shape[0], np.nan)
    known[lines.indices[lines.indptr[:-1][alone]]] = shown[alone]
    shown = shown - lines @ np.nan_to_num(known)
    lines = sp.csr_array(lines @ sp.diags_array(np.isnan(known).astype(float)))
    lines.eliminate_zeros()
    lines, shown = lines[np.diff(lines.indptr) > 0], shown[np.diff(lines.indptr) > 0]
    together = sp.block_array([[None, lines], [lines.T, None]], format="csr")
    _, parts = sp.csgraph.connected_components(together, directed=False)
    return _Loose(lines, shown, known, np.asarray(parts[lines.shape[0] :], np.int64))


def _ends(given: _Loose, rows: Ints, limits: Limits) -> tuple[float, float]:
    """Return the least and the largest sum of some inner cells."""
    from scipy.optimize import linprog

    fixed = ~np.isnan(given.known[rows])
    base, open_ = float(given.known[rows[fixed]].sum()), rows[~fixed]
    inside = np.flatnonzero(np.isin(given.parts, given.parts[open_]) & np.isnan(given.known))
    lines = given.lines[:, inside]
    used = np.diff(lines.indptr) > 0
    if not used.any():
        return base + float(limits[0][open_].sum()), np.inf if len(open_) else base
    cost = np.isin(inside, open_).astype(float)
    ends = []
    for sign in (1, -1):
        found = linprog(
            sign * cost,
            A_eq=lines[used],
            b_eq=given.shown[used],
            bounds=np.column_stack(limits)[inside],
            method="highs",
        )
        ends.append(sign * float(found.fun) if found.status == 0 else -sign * np.inf)
    return max(base, base + ends[0]), base + ends[1]


def too_narrow(
    found: Sequence[Interval], values: NDArray[Any], share: float, *, whole: bool = False
) -> list[Interval]:
    """Return the intervals that leave less room than a share of the value.

    On either side of the value; for counts, which are small and often at an end, between the ends,
    or no other number at all.

    Parameters
    ----------
    found
        The intervals.
    values
        The values of all cells, none of them negative.
    share
        The share.
    whole
        Whether values are counts.

    Examples
    --------
    >>> firm = Interval(0, 0.0, 100_046.0)
    >>> len(too_narrow([firm], np.array([100_000.0]), 0.1))
    1
    """
    values = np.asarray(values, float)
    slack = SLACK * max(1.0, float(values.max(initial=0)))
    return [one for one in found if _is_narrow(one, values[one.cell], share, slack, whole)]


def _is_narrow(one: Interval, value: float, share: float, slack: float, whole: bool) -> bool:
    width = one.high - one.low
    if whole:
        return width < 0.5 or (share * value > 1 and width < share * value)
    return width < 2 * slack or room(one, value) < share * value - slack


def room(one: Interval, value: float, *, whole: bool = False) -> float:
    """Return how far the nearer end lies from the value; of counts how far the ends are apart."""
    return one.high - one.low if whole else min(one.high - value, value - one.low)


def _pivots(given: Any, hidden: Bools) -> Columns | None:
    """Return the published columns in echelon form; None if numbers become too large."""
    sizes = np.diff(given.indptr)
    published = np.flatnonzero(~hidden)
    order = published[np.argsort(sizes[published], kind="stable")]
    try:
        columns = Columns(given, np.arange(given.shape[0]))
    except OverflowError:
        return None
    depends = np.zeros(given.shape[1], bool)
    return columns if _done(dependent, columns, order, depends) else None


def _done(work: Callable[..., Any], columns: Columns, order: Ints, *more: Any) -> bool:
    """Let a kernel work through columns, with more room when it asks; False if too large."""
    while True:
        c = columns
        end, n = work(
            c.rows, c.vals, c.start, c.length, c.pivot, c.work, c.mask, order, c.used, *more
        )
        if end == OVERFLOW:
            return False
        if end != ROOM:
            columns.used = int(end)
            return True
        # What was stored so far is found by its start; the end is where the last of it ends.
        order = order[n:]
        columns.used = int((columns.start + columns.length).max())
        columns.grow()


def _slow_pivots(given: Any, hidden: Bools) -> dict[int, Sparse]:
    pivots: dict[int, Sparse] = {}
    for j in np.flatnonzero(~hidden).tolist():
        column = reduced(_sparse(given, j), pivots)
        if column:
            pivots[min(column)] = column
    return pivots


def _sparse(given: Any, j: int) -> Sparse:
    part = slice(given.indptr[j], given.indptr[j + 1])
    rows, values = given.indices[part].tolist(), given.data[part].tolist()
    return {row: Fraction(value) for row, value in zip(rows, values, strict=True)}


def _residues(given: Any, hidden: Bools, wanted: Any) -> list[Sparse]:
    """Return what is left of columns when all that follows from published ones is taken away."""
    # One more row, which no pivot has: it says by how much a column was scaled.
    n = given.shape[1]
    scale = sp.csc_array(np.append(np.zeros(n, np.int64), np.ones(wanted.shape[1], np.int64))[None])
    whole = sp.csc_array(sp.vstack([sp.hstack([given, wanted]), scale], format="csc"))
    secret = np.append(hidden, np.ones(wanted.shape[1], bool))
    columns = _pivots(whole, secret)
    order = np.arange(n, whole.shape[1])
    if columns is None or not _done(residues, columns, order):
        pivots = _slow_pivots(given, hidden)
        return [reduced(_sparse(wanted, j), pivots) for j in range(wanted.shape[1])]
    out = []
    for j in order:
        part = slice(columns.start[j], columns.start[j] + columns.length[j])
        rows, vals = columns.rows[part].tolist(), columns.vals[part].tolist()
        times = vals[-1]
        out.append({r: Fraction(v, times) for r, v in zip(rows[:-1], vals[:-1], strict=True)})
    return out
