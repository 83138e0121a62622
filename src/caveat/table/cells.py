"""Cells of keys, and the sparse table of cells by target that nearly every measure is a sum over.

Arrays in, arrays out: these functions know codes only. A cell is a combination of key codes that
occurs in at least one of the tables; cells are numbered 0, 1, … in the order of their codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.table.column import Codes

__all__ = ["Ints", "Joint", "cross", "dense", "key_cells"]

Ints = NDArray[np.int64]

# Products of numbers of levels stay below this, so that a combined code fits into 64 bits.
LARGEST_CODE = 2**62


def key_cells(tables: Sequence[Sequence[Codes]], n_levels: Sequence[int]) -> tuple[list[Ints], int]:
    """Give every combination of codes that occurs in any of the tables a number.

    Parameters
    ----------
    tables
        For each table the code arrays of its columns; codes mean the same in all tables.
    n_levels
        Number of codes of each column.

    Returns
    -------
    The cell of each row, table by table, and the number of cells.

    Examples
    --------
    >>> import numpy as np
    >>> original = [np.array([0, 0, 1]), np.array([2, 2, 0])]
    >>> synthetic = [np.array([1, 1]), np.array([0, 1])]
    >>> cells, n = key_cells([original, synthetic], [2, 3])
    >>> [c.tolist() for c in cells], n
    ([[0, 0, 1], [1, 2]], 3)
    """
    lengths = [len(table[0]) for table in tables]
    combined, size = np.zeros(sum(lengths), np.int64), 1
    for j, levels in enumerate(n_levels):
        if size * levels >= LARGEST_CODE:
            combined, size = dense(combined, size)
        combined *= levels
        combined += np.concatenate([table[j] for table in tables])
        size *= levels
    combined, size = dense(combined, size)
    return np.split(combined, np.cumsum(lengths)[:-1]), size


def dense(codes: Ints, size: int) -> tuple[Ints, int]:
    """Renumber codes below ``size`` as 0, 1, … in order, without gaps."""
    if size <= 4 * len(codes) + (1 << 20):
        used = np.zeros(size, dtype=bool)
        used[codes] = True
        return (np.cumsum(used) - 1)[codes], int(used.sum())
    distinct, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(distinct)


@dataclass(frozen=True, eq=False)
class Joint:
    """Counts of (cell, target) pairs in both tables; only pairs that occur in one of them.

    Attributes
    ----------
    cell, target
        The pair, sorted by cell, then by target.
    d, s
        How many original and synthetic records have it.
    n_cells, n_targets
        Number of cells and of target codes.
    """

    cell: Ints
    target: Ints
    d: Ints
    s: Ints
    n_cells: int
    n_targets: int

    __repr__ = without_values

    @cached_property
    def starts(self) -> Ints:
        """Position of the first pair of each cell."""
        first = np.empty(len(self.cell), dtype=bool)
        first[:1] = True
        np.not_equal(self.cell[1:], self.cell[:-1], out=first[1:])
        return np.flatnonzero(first)

    def by_cell(self, counts: Ints) -> Ints:
        """Sum counts of pairs over the targets of each cell."""
        return np.add.reduceat(counts, self.starts) if len(counts) else np.zeros(0, np.int64)

    def spread(self, of_cell: NDArray[np.generic]) -> NDArray[np.generic]:
        """Give every pair the value of its cell."""
        return np.repeat(of_cell, np.diff(self.starts, append=len(self.cell)))

    @cached_property
    def d_cell(self) -> Ints:
        """Original records in each cell."""
        return self.by_cell(self.d)

    @cached_property
    def s_cell(self) -> Ints:
        """Synthetic records in each cell."""
        return self.by_cell(self.s)

    @cached_property
    def d_all(self) -> Ints:
        """Original records in the cell of each pair."""
        return self.spread(self.d_cell)  # type: ignore[return-value]

    @cached_property
    def s_all(self) -> Ints:
        """Synthetic records in the cell of each pair."""
        return self.spread(self.s_cell)  # type: ignore[return-value]

    @cached_property
    def disclosive_in_original(self) -> NDArray[np.bool_]:
        """Whether all original records of the cell have this target. Counts, never shares."""
        return np.asarray((self.d == self.d_all) & (self.d > 0))

    @cached_property
    def disclosive_in_synthetic(self) -> NDArray[np.bool_]:
        """Whether all synthetic records of the cell have this target."""
        return np.asarray((self.s == self.s_all) & (self.s > 0))

    @cached_property
    def cell_disclosive_in_synthetic(self) -> NDArray[np.bool_]:
        """Whether the cell of the pair has one target only in the synthetic table."""
        flag = self.by_cell(self.disclosive_in_synthetic.astype(np.int64)) > 0
        return self.spread(flag)  # type: ignore[return-value]

    @cached_property
    def d_target(self) -> Ints:
        """Original records with each target."""
        return np.bincount(self.target, self.d, self.n_targets).astype(np.int64)

    @cached_property
    def s_target(self) -> Ints:
        """Synthetic records with each target."""
        return np.bincount(self.target, self.s, self.n_targets).astype(np.int64)

    def find(self, cell: Ints, target: Codes) -> Ints:
        """Return the position of given pairs, all of which must occur."""
        wanted = cell * self.n_targets + target
        size = self.n_cells * self.n_targets
        if size <= 4 * len(wanted) + (1 << 20):
            lookup = np.zeros(size, dtype=np.int64)
            lookup[self.cell * self.n_targets + self.target] = np.arange(len(self.cell))
            return np.asarray(lookup[wanted])
        return np.asarray(np.searchsorted(self.cell * self.n_targets + self.target, wanted))


def cross(
    cell: Ints, target: Codes, other_cell: Ints, other_target: Codes, n_cells: int, n_targets: int
) -> Joint:
    """Tabulate cells by targets in the original and in the synthetic table.

    Examples
    --------
    >>> import numpy as np
    >>> joint = cross(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0]), np.array([0]), 2, 2)
    >>> joint.cell.tolist(), joint.target.tolist(), joint.d.tolist(), joint.s.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 2, 1], [1, 0, 0])
    """
    size = n_cells * n_targets
    ours, theirs = cell * n_targets + target, other_cell * n_targets + other_target
    if size <= 4 * (len(ours) + len(theirs)) + (1 << 20):
        d, s = np.bincount(ours, minlength=size), np.bincount(theirs, minlength=size)
        pairs = np.flatnonzero(d + s)
        d, s = d[pairs], s[pairs]
    else:
        our_pairs, our_counts = np.unique(ours, return_counts=True)
        their_pairs, their_counts = np.unique(theirs, return_counts=True)
        pairs = np.union1d(our_pairs, their_pairs)
        d, s = np.zeros((2, len(pairs)), np.int64)
        d[np.searchsorted(pairs, our_pairs)] = our_counts
        s[np.searchsorted(pairs, their_pairs)] = their_counts
    cells, targets = np.divmod(pairs, n_targets)
    return Joint(cells, targets, d, s, n_cells, n_targets)
