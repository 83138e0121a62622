"""How all tables of some columns are counted.

Two-way tables of large data are counted several at once: columns with few levels are crossed into
blocks, two blocks are counted together, and the tables of their columns are sums of these counts.
Twenty columns in fives need thirty passes over the rows instead of 190. Weighted counts are sums
that depend on their order, and are counted table by table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.table.table import Codes, count_codes, smallest_unsigned
from caveat.utility.pair import Category
from caveat.utility.weighting import Weights

__all__ = ["DENSE_CELLS", "Counts", "count_tables"]

# A table is counted in an array of all its cells as long as that is no larger than this.
DENSE_CELLS = 1 << 22
LARGEST_CODE = 1 << 62
BLOCK_CELLS = 1 << 16  # of two blocks: near enough to the processor
ROWS_PER_CELL = 4  # fewer, and the sums cost more than the rows
PIECE = 1 << 17  # rows that are counted at once

Counts = tuple[NDArray[Any], NDArray[np.int64]]


def count_tables(
    always: Sequence[Category], free: Sequence[Category], ways: int, weights: Weights
) -> Iterator[Counts]:
    """Return the cells of all tables of some columns, in the order of `combinations`.

    Parameters
    ----------
    always
        Columns that are in every table.
    free
        The others.
    ways
        How many of the others are in each.
    weights
        Of the original's rows.
    """
    if always or ways > 2:
        return _deeper(always, free, ways, weights)
    if ways == 1:
        return (_one(column, weights) for column in free)
    return _pairs(free, weights)


def _one(column: Category, weights: Weights) -> Counts:
    theirs = count_codes(column.synthetic, column.n_levels)
    if weights is not None:
        return np.bincount(column.original, weights, column.n_levels), theirs
    return count_codes(column.original, column.n_levels), theirs


class _Block(NamedTuple):
    """Columns next to each other, crossed: the first one's place, their levels, and the codes."""

    first: int
    shape: tuple[int, ...]
    ours: Codes
    theirs: Codes

    @property
    def cells(self) -> int:
        return prod(self.shape)


def _pairs(columns: Sequence[Category], weights: Weights) -> Iterator[Counts]:
    rows = min(len(columns[0].original), len(columns[0].synthetic))
    most = min(BLOCK_CELLS, rows // ROWS_PER_CELL) if weights is None else 0
    blocks = _blocks(columns, isqrt(most))
    for place, block in enumerate(blocks):
        known = _within(block)
        for other in blocks[place + 1 :]:
            if len(block.shape) + len(other.shape) > 2 and block.cells * other.cells <= most:
                known |= _between(block, other)
        for i in range(block.first, block.first + len(block.shape)):
            for j in range(i + 1, len(columns)):
                found = known.pop((i, j), None)
                yield _two(columns[i], columns[j], weights) if found is None else found


def _blocks(columns: Sequence[Category], most: int) -> list[_Block]:
    """Cross columns with their neighbours as long as there are no more cells than so many."""
    blocks: list[_Block] = []
    for i, column in enumerate(columns):
        last, levels = blocks[-1] if blocks else None, column.n_levels
        if last is None or last.cells * levels > most:
            blocks.append(_Block(i, (levels,), column.original, column.synthetic))
            continue
        kind = smallest_unsigned(last.cells * levels)
        # Before one cell there is nothing to multiply, and 256 levels fit into a byte, not 256.
        step = kind.type(levels if last.cells > 1 else 1)
        ours, theirs = (
            codes.astype(kind) * step + more
            for codes, more in ((last.ours, column.original), (last.theirs, column.synthetic))
        )
        blocks[-1] = _Block(last.first, (*last.shape, levels), ours, theirs)
    return blocks


def _within(block: _Block) -> dict[tuple[int, int], Counts]:
    """Return the tables of two columns of a block."""
    if len(block.shape) == 1:
        return {}
    sides = [count_codes(c, block.cells).reshape(block.shape) for c in (block.ours, block.theirs)]
    axes, found = range(len(block.shape)), {}
    for i in axes:
        for j in axes[i + 1 :]:
            others = tuple(axis for axis in axes if axis not in (i, j))
            ours, theirs = (side.sum(axis=others).ravel() for side in sides)
            found[block.first + i, block.first + j] = ours, theirs
    return found


def _between(a: _Block, b: _Block) -> dict[tuple[int, int], Counts]:
    """Return the tables of a column of one block and one of another."""
    sides = [
        _joint(one, other, b.cells, a.cells * b.cells).reshape(*a.shape, b.cells)
        for one, other in ((a.ours, b.ours), (a.theirs, b.theirs))
    ]
    found = {}
    for i in range(len(a.shape)):
        others = tuple(axis for axis in range(len(a.shape)) if axis != i)
        some = [side.sum(axis=others).reshape(-1, *b.shape) for side in sides]
        for j in range(len(b.shape)):
            others = tuple(1 + axis for axis in range(len(b.shape)) if axis != j)
            ours, theirs = (side.sum(axis=others).ravel() for side in some)
            found[a.first + i, b.first + j] = ours, theirs
    return found


def _joint(a: Codes, b: Codes, levels: int, cells: int) -> NDArray[np.int64]:
    """Count two columns together, in pieces that stay near the processor."""
    counts, piece = np.zeros(cells, np.int64), max(PIECE, cells)
    for start in range(0, len(a), piece):
        codes = a[start : start + piece].astype(np.int64)
        codes *= levels
        codes += b[start : start + piece]
        counts += np.bincount(codes, minlength=cells)
    return counts


def _two(a: Category, b: Category, weights: Weights) -> Counts:
    """Count one table of two columns."""
    cells = a.n_levels * b.n_levels
    if cells <= DENSE_CELLS and weights is None:
        ours = _joint(a.original, b.original, b.n_levels, cells)
        return ours, _joint(a.synthetic, b.synthetic, b.n_levels, cells)
    return next(_deeper([], [a, b], 2, weights))


def _deeper(
    always: Sequence[Category], free: Sequence[Category], ways: int, weights: Weights
) -> Iterator[Counts]:
    """Count tables of any size, one by one.

    The crossed codes of the leading variables are kept, so that each table costs one more column.
    """
    split = len((*always, *free)[0].original)

    def deeper(start: int, left: int, codes: NDArray[np.int64], size: int) -> Iterator[Counts]:
        if left == 0:
            if size > DENSE_CELLS:
                codes, size = _dense(codes)
            ours, theirs = codes[:split], codes[split:]
            yield np.bincount(ours, weights, size), np.bincount(theirs, minlength=size)
            return
        for j in range(start, len(free) - left + 1):
            crossed, cells = _cross(codes, size, free[j])
            yield from deeper(j + 1, left - 1, crossed, cells)

    codes, size = np.zeros(split + len((*always, *free)[0].synthetic), np.int64), 1
    for column in always:
        codes, size = _cross(codes, size, column)
    return deeper(0, ways, codes, size)


def _cross(codes: NDArray[np.int64], size: int, column: Category) -> tuple[NDArray[np.int64], int]:
    more, levels = np.concatenate([column.original, column.synthetic]), column.n_levels
    if size * levels >= LARGEST_CODE:
        codes, size = _dense(codes)
    return codes * levels + more, size * levels


def _dense(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    distinct, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(distinct)
