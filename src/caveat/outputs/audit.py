# mypy: disable-error-code="no-untyped-def"
"""The audit of a pattern: what outsiders and single contributors can compute, and how closely."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import ceil, floor, lcm
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.compiling import inner, kernel, trailing_zeros
from caveat.showing import without_values

Sparse = dict[int, Fraction]


def reduced(column: Sparse, pivots: Mapping[int, Sparse]) -> Sparse:
    """Return what is left of a column without multiples of the pivots, each under its top row.

    Examples
    --------
    >>> reduced({0: Fraction(1), 2: Fraction(1)}, {0: {0: Fraction(2), 1: Fraction(2)}})
    {2: Fraction(1, 1), 1: Fraction(-1, 1)}
    """
    left = dict(column)
    waiting = [row for row in left if row in pivots]
    heapify(waiting)
    while waiting:
        top = heappop(waiting)
        if top not in left:  # gone with another, or waiting twice
            continue
        pivot = pivots[top]
        share = left[top] / pivot[top]
        for row, value in pivot.items():
            if row not in left and row in pivots:
                heappush(waiting, row)
            rest = left.get(row, 0) - share * value
            if rest:
                left[row] = Fraction(rest)
            else:
                left.pop(row, None)
    return left


def combination(known: Sequence[Sparse], target: Sparse) -> list[Fraction] | None:
    """Return how much of each known column makes the target; None if they cannot.

    Examples
    --------
    >>> one, two = {0: Fraction(1)}, {0: Fraction(1), 1: Fraction(2)}
    >>> combination([one, two], {1: Fraction(1)})
    [Fraction(-1, 2), Fraction(1, 2)]
    """
    # Each column carries below its rows which known columns it is made of.
    mark = 1 + max([row for column in [*known, target] for row in column], default=0)
    pivots: dict[int, Sparse] = {}
    for i, column in enumerate(known):
        left = reduced({**column, mark + i: Fraction(1)}, pivots)
        if min(left) < mark:
            pivots[min(left)] = left
    left = reduced(target, pivots)
    if any(row < mark for row in left):
        return None
    return [-left.get(mark + i, Fraction(0)) for i in range(len(known))]


# -------------------------------------------------------------------------------------------------
# Columns of whole numbers in echelon form, sparse and exact.
#
# A column is reduced from its top: while its topmost row has a pivot, a multiple of the pivot's
# column is taken away. What becomes empty depends on the pivots. Nothing else is touched, so most
# columns are looked at once. Numbers are kept in 64 bits as long as products cannot leave them;
# when one would, the kernels say so and nothing has happened.
#
# The column that is worked on lies open in an array of all rows, with one bit for every row that
# is not zero, so that the next row is found without looking at all of them.


EMPTY, ROOM, OVERFLOW = -1, -2, -3
LARGEST = 2**31 - 1  # products of two, and differences of products, stay within 64 bits


@inner
def is_set(mask, row):
    """Whether a row is not zero."""
    return (mask[row >> 6] >> (row & 63)) & 1


@inner
def next_row(mask, row):
    """Return the first row from `row` on that is not zero; -1 if there is none."""
    word = row >> 6
    if word >= len(mask):
        return -1
    bits = mask[word] & (np.int64(-1) << (row & 63))
    while bits == 0:
        word += 1
        if word >= len(mask):
            return -1
        bits = mask[word]
    return 64 * word + trailing_zeros(bits)


@inner
def _gcd(a, b):
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@kernel
def clear(work, mask):
    """Make the open column empty."""
    row = next_row(mask, 0)
    while row >= 0:
        work[row] = 0
        row = next_row(mask, row + 1)
    mask[:] = 0


@kernel
def load(rows, vals, first, n, work, mask):
    """Open a column."""
    for i in range(first, first + n):
        row = rows[i]
        work[row] = vals[i]
        mask[row >> 6] |= np.int64(1) << (row & 63)


@kernel
def _divide(work, mask):
    """Divide the open column by what its entries have in common; return the largest of them."""
    row, common = next_row(mask, 0), 0
    while row >= 0 and common != 1:
        common = _gcd(common, work[row])
        row = next_row(mask, row + 1)
    row, largest = next_row(mask, 0), 0
    while row >= 0:
        if common > 1:
            work[row] //= common
        largest = max(largest, abs(work[row]))
        row = next_row(mask, row + 1)
    return largest


@kernel
def subtract(work, mask, row, rows, vals, first, n, lead):
    """Take a stored column away from the open one so that the row is gone; False if too large."""
    common = _gcd(work[row], lead)
    times, take = lead // common, work[row] // common
    if times < 0:
        times, take = -times, -take
    if times != 1:
        at = next_row(mask, 0)
        while at >= 0:
            work[at] *= times
            at = next_row(mask, at + 1)
    largest = np.int64(0)
    for i in range(first, first + n):
        at = rows[i]
        value = work[at] - take * vals[i]
        work[at] = value
        bit = np.int64(1) << (at & 63)
        if value == 0:
            mask[at >> 6] &= ~bit
        else:
            mask[at >> 6] |= bit
            largest = max(largest, abs(value))
    if times != 1 or largest > LARGEST:
        return _divide(work, mask) <= LARGEST
    return True


@kernel
def reduce(work, mask, row, last, pivot, start, length, rows, vals):
    """Reduce the open column from a row on.

    Stops at the first row without a pivot, unless that is `last` or later: from there on every
    row that has a pivot is reduced. Returns the topmost row that is left, or why there is none.
    """
    top = EMPTY
    row = next_row(mask, row)
    while row >= 0:
        column = pivot[row]
        if column < 0:
            if top < 0:
                top = row
            if row < last:
                return top
            row = next_row(mask, row + 1)
            continue
        first = start[column]
        n, lead = length[column], vals[first]
        if rows[first] != row:  # never: pivots are stored with their own row first
            return OVERFLOW
        if not subtract(work, mask, row, rows, vals, first, n, lead):
            return OVERFLOW
        row = next_row(mask, row + 1)
    return top


@kernel
def store(work, mask, rows, vals, first):
    """Write the open column, close it, and return where it ends; -2 without room for it."""
    at, row = first, next_row(mask, 0)
    while row >= 0:
        if at >= len(rows):
            return ROOM
        rows[at], vals[at] = row, work[row]
        at += 1
        row = next_row(mask, row + 1)
    return at


@kernel
def dependent(rows, vals, start, length, pivot, work, mask, columns, used, depends):
    """Make pivots of columns one after the other; mark those that depend on the ones before.

    Returns where the store ends and how many columns were done, or why it stopped.
    """
    for i in range(len(columns)):
        j = columns[i]
        load(rows, vals, start[j], length[j], work, mask)
        top = reduce(work, mask, 0, len(pivot), pivot, start, length, rows, vals)
        if top == OVERFLOW:
            return OVERFLOW, i
        depends[j] = top == EMPTY
        if top >= 0:
            end = store(work, mask, rows, vals, used)
            clear(work, mask)
            if end == ROOM:
                return ROOM, i
            start[j], length[j], used = used, end - used, end
            pivot[top] = j
    return used, len(columns)


@kernel
def spanned(rows, vals, start, length, pivot, work, mask, columns, depends, unsure):
    """Mark the columns that depend on the pivots, and those of which numbers become too large."""
    for j in columns:
        load(rows, vals, start[j], length[j], work, mask)
        top = reduce(work, mask, 0, len(pivot), pivot, start, length, rows, vals)
        depends[j], unsure[j] = top == EMPTY, top == OVERFLOW
        clear(work, mask)


@kernel
def residues(rows, vals, start, length, pivot, work, mask, columns, used):
    """Reduce columns in all rows that have a pivot; returns as `dependent` does."""
    for i in range(len(columns)):
        j = columns[i]
        load(rows, vals, start[j], length[j], work, mask)
        if reduce(work, mask, 0, 0, pivot, start, length, rows, vals) == OVERFLOW:
            return OVERFLOW, i
        end = store(work, mask, rows, vals, used)
        clear(work, mask)
        if end == ROOM:
            return ROOM, i
        start[j], length[j], used = used, end - used, end
    return used, len(columns)


class Columns:
    """Stored columns, with room for what they become.

    Parameters
    ----------
    matrix
        Whole numbers as a ``scipy.sparse.csc_array``.
    places
        The place of each row: the topmost is 0.

    Raises
    ------
    OverflowError
        If an entry is too large to begin with.
    """

    def __init__(self, matrix, places: NDArray[np.int64]) -> None:
        import scipy.sparse as sp

        if np.abs(matrix.data).max(initial=0) > LARGEST:
            raise OverflowError
        moved = sp.csc_array(
            (matrix.data, places[matrix.indices], matrix.indptr), shape=matrix.shape
        )
        moved.sort_indices()
        moved.eliminate_zeros()
        size = max(4 * moved.nnz, 1 << 16)
        self.used = int(moved.nnz)
        self.rows = np.zeros(size, np.int64)
        self.vals = np.zeros(size, np.int64)
        self.rows[: self.used], self.vals[: self.used] = moved.indices, moved.data
        self.start = moved.indptr[:-1].astype(np.int64)
        self.length = np.diff(moved.indptr).astype(np.int64)
        self.pivot = np.full(matrix.shape[0], -1, np.int64)
        self.work = np.zeros(matrix.shape[0], np.int64)
        self.mask = np.zeros((matrix.shape[0] + 63) // 64, np.int64)

    def grow(self) -> None:
        """Leave out what no column uses any more, and make room."""
        kept = np.repeat(self.start - np.cumsum(self.length) + self.length, self.length)
        kept += np.arange(len(kept))
        size = max(len(self.rows), 4 * len(kept))
        for name in ("rows", "vals"):
            fresh = np.zeros(size, np.int64)
            fresh[: len(kept)] = getattr(self, name)[kept]
            setattr(self, name, fresh)
        self.start = np.cumsum(self.length) - self.length
        self.used = len(kept)


# -------------------------------------------------------------------------------------------------
# The audit of a pattern: what outsiders and single contributors can compute, and how closely.
#
# It knows nothing of how the pattern was found. The published columns are made independent from
# the smallest to the largest, in another order than the suppression took them, and what depends
# on them can be computed.


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
