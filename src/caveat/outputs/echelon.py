# mypy: disable-error-code="no-untyped-def"
"""Columns of whole numbers in echelon form, sparse and exact.

A column is reduced from its top: while its topmost row has a pivot, a multiple of the pivot's
column is taken away. What becomes empty depends on the pivots. Nothing else is touched, so most
columns are looked at once. Numbers are kept in 64 bits as long as products cannot leave them; when
one would, the kernels say so and nothing has happened.

The column that is worked on lies open in an array of all rows, with one bit for every row that is
not zero, so that the next row is found without looking at all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel, trailing_zeros

__all__ = [
    "EMPTY", "OVERFLOW", "ROOM", "Columns", "clear", "dependent", "is_set", "load", "next_row",
    "reduce", "residues", "spanned", "store", "subtract",
]  # fmt: skip

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
