"""Cells of keys, numbers cut into groups, and numbers that exactly one record has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.table.identifying import K, as_numbers, has_open_vocabulary, level_texts, rare_levels
from caveat.table.table import Codes, Column, Table

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


# -------------------------------------------------------------------------------------------------
# Cut numbers into groups: quantiles, equal widths, natural breaks, and the bins of a histogram.
#
# All functions work on the distinct values of a column and how often each occurs, never on the
# rows. Limits are those of R (quantiles of type 7, `seq` for equal widths), as synthpop cuts.


Style = Literal["quantile", "equal", "fisher"]
Floats = NDArray[np.float64]

# With fewer quantile groups than this, groups of equal width say more.
FEWEST_GROUPS = 3
# Natural breaks compare all pairs of values: more values than this are thinned to quantiles.
MOST_NATURAL = 2000


def breaks(values: Floats, counts: NDArray[np.int64], n: int, style: Style = "quantile") -> Floats:
    """Return the limits of `n` groups of values.

    Parameters
    ----------
    values
        The distinct values, sorted.
    counts
        How often each occurs; values that never occur are ignored.
    n
        Number of groups. Fewer result where quantiles coincide.
    style
        "quantile": equal numbers of rows, and equal widths where fewer than three groups would be
        left. "equal": equal widths. "fisher": the least sum of squares within groups.

    Examples
    --------
    >>> breaks(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 1, 1, 1, 1]), 4).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> breaks(np.array([0.0, 21.0]), np.array([9, 1]), 5).tolist()
    [0.0, 4.2, 8.4, 12.600000000000001, 16.8, 21.0]
    """
    values, counts = values[counts > 0], counts[counts > 0]
    if len(values) < 2:
        return values
    if style == "fisher":
        return _natural(values, counts, n)
    if style == "quantile":
        limits = np.unique(_quantiles(values, counts, np.linspace(0, 1, n + 1)))
        if len(limits) > FEWEST_GROUPS:
            return limits
    return np.unique(values[0] + np.arange(n + 1) * ((values[-1] - values[0]) / n))


def _quantiles(values: Floats, counts: NDArray[np.int64], shares: Floats) -> Floats:
    """Return quantiles that are linear between order statistics (type 7 of Hyndman and Fan)."""
    ends = np.cumsum(counts)
    place = (ends[-1] - 1) * shares
    # A place that is whole but for rounding must hit the value itself.
    place = np.where(np.abs(place - np.rint(place)) < 1e-9, np.rint(place), place)
    low = np.floor(place)
    below = values[np.searchsorted(ends, low, side="right")]
    above = values[np.searchsorted(ends, np.minimum(low + 1, ends[-1] - 1), side="right")]
    return np.asarray(below + (place - low) * (above - below))


def _natural(values: Floats, counts: NDArray[np.int64], n: int) -> Floats:
    """Return the limits of the groups with the least sum of squares, by dynamic programming."""
    if len(values) > MOST_NATURAL:
        values = np.unique(_quantiles(values, counts, np.linspace(0, 1, MOST_NATURAL)))
        counts = np.ones(len(values), np.int64)
    n = min(n, len(values))
    mass, first, second = (
        np.concatenate([[0.0], np.cumsum(counts * values**power)]) for power in (0, 1, 2)
    )

    def within(start: NDArray[np.intp], stop: int) -> Floats:
        total = first[stop] - first[start]
        return np.asarray(second[stop] - second[start] - total**2 / (mass[stop] - mass[start]))

    cost = np.array([within(np.array([0]), stop)[0] for stop in range(1, len(values) + 1)])
    back = []
    for groups in range(2, n + 1):
        best, cut_at = np.full(len(values), np.inf), np.zeros(len(values), np.intp)
        for stop in range(groups, len(values) + 1):
            starts = np.arange(groups - 1, stop)
            costs = cost[starts - 1] + within(starts, stop)
            cut_at[stop - 1] = starts[np.argmin(costs)]
            best[stop - 1] = costs.min()
        cost = best
        back.append(cut_at)
    stop, limits = len(values), [values[-1]]
    for cut_at in reversed(back):
        stop = int(cut_at[stop - 1])
        limits.append(values[stop])
    return np.array([values[0], *limits[:0:-1], values[-1]])


def cut(values: Floats, limits: Floats) -> NDArray[np.int64]:
    """Return the group of each value: intervals closed on the left, the last one on both sides.

    Examples
    --------
    >>> cut(np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 5.0])).tolist()
    [0, 1, 1]
    """
    return np.searchsorted(limits[1:-1], values, side="right").astype(np.int64)


def interval_labels(limits: Floats) -> list[str]:
    """Return the groups in words.

    Examples
    --------
    >>> interval_labels(np.array([16.0, 28.0, 97.0]))
    ['[16,28)', '[28,97]']
    """
    edges = [f"{limit:.8g}" for limit in limits]
    if len(edges) < 2:
        return edges
    labels = [f"[{low},{high})" for low, high in pairwise(edges)]
    return [*labels[:-1], labels[-1][:-1] + "]"]


def pretty(low: float, high: float, n: int) -> Floats:
    """Return about `n` intervals with round limits that cover a range.

    The step is 1, 2 or 5 times a power of ten, chosen as in Becker, Chambers and Wilks (1988):
    a larger step is preferred up to a bias.

    Examples
    --------
    >>> pretty(16, 97, 10).tolist()
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    """
    if high <= low:
        return np.array([low - 0.5, low + 0.5])
    step = (high - low) / n
    unit = base = 10.0 ** math.floor(math.log10(step))
    for factor, bias in ((2.0, 1.5), (5.0, 2.75), (10.0, 1.5)):
        if factor * base - step < bias * (step - unit):
            unit = factor * base
    tiny = 1e-10
    first, last = math.floor(low / unit + tiny), math.ceil(high / unit - tiny)
    return np.asarray(np.arange(first, last + 1) * unit, dtype=np.float64)


# -------------------------------------------------------------------------------------------------
# Private values: numbers that exactly one record of the original has, and rare levels.
#
# Who knows such a value knows the person; a synthetic table that holds it has taken it from them.


# From this share of the released values on, it is said.
REMARKABLE = 0.05


def quantities(column: Column) -> Column | None:
    """Return a column of numbers or dates as such, None for others."""
    return column if column.kind.is_number else as_numbers(column)


def share_alone(column: Column) -> float:
    """Return the share of the records that have a number which nobody else has, or a rare level.

    Examples
    --------
    >>> share_alone(Table.from_frame({"pay": [800, 800, 950, 1200]})["pay"])
    0.5
    """
    numbers = quantities(column)
    if not len(column):
        return 0.0
    if numbers is None:
        return float(column.counts[: len(column.levels)][_rare(column)].sum() / len(column))
    return len(_alone(numbers)) / len(column)


def chance_alone(column: Column) -> float:
    """Return the share of other records of the same population that would count by chance.

    Each record is counted against all others: it counts if exactly one of them has its number, or
    if they have its level and few of them do.

    Examples
    --------
    >>> chance_alone(Table.from_frame({"pay": [800, 800, 950, 1200]})["pay"])
    0.5
    """
    if not len(column):
        return 0.0
    numbers = quantities(column)
    if numbers is not None:
        counts = numbers.counts[: len(numbers.levels)]
        return float(counts[counts == 2].sum() / len(column))
    counts = column.counts[: len(column.levels)]
    would = (counts > 1) & (counts <= K) & has_open_vocabulary(column)
    return 0.0 if column.closed else float(counts[would].sum() / len(column))


def _alone(numbers: Column) -> NDArray[np.float64]:
    alone: NDArray[np.float64] = numbers.numbers[numbers.counts[: len(numbers.levels)] == 1]
    return alone


def _rare(column: Column) -> NDArray[np.bool_]:
    """Return which levels of a column of texts few records have."""
    if not has_open_vocabulary(column):
        return np.zeros(len(column.levels), bool)
    return rare_levels(column)


class PrivateNumbers:
    """Counts the released values that exactly one original record has, and rare levels.

    Parameters
    ----------
    original
        The original table.
    names
        The released columns.

    Examples
    --------
    >>> original = Table.from_frame({"pay": [800, 800, 950, 1200], "town": ["A", "B", "B", "A"]})
    >>> count = PrivateNumbers(original, ["pay", "town"])
    >>> count.add(Table.from_frame({"pay": [800, 1200, 1200, 1200], "town": ["A", "C", "A", "C"]}))
    >>> count.shares
    {'pay': 0.75, 'town': 0.5}
    """

    def __init__(self, original: Table, names: Iterable[str]) -> None:
        found = {name: quantities(original[name]) for name in names if name in original}
        self.alone = {name: _alone(column) for name, column in found.items() if column is not None}
        rare = {n: level_texts(original[n])[_rare(original[n])] for n in found if found[n] is None}
        self.rare = {name: texts for name, texts in rare.items() if len(texts)}
        self.hits = dict.fromkeys((*self.alone, *self.rare), 0)
        self.rows = 0

    def add(self, released: Table) -> None:
        """Count the values of a released table, or of a block of it."""
        self.rows += released.n_rows
        for name, alone in self.alone.items():
            column = quantities(released[name])
            if column is None or not len(alone):
                continue
            private = np.isin(column.numbers, alone)
            self.hits[name] += int(column.counts[: len(column.levels)][private].sum())
        for name, texts in self.rare.items():
            private = np.isin(level_texts(released[name]), texts)
            self.hits[name] += int(released[name].counts[: len(private)][private].sum())

    @property
    def shares(self) -> dict[str, float]:
        """The share of the released values that belong to exactly one person, by column."""
        return {name: hits / max(self.rows, 1) for name, hits in self.hits.items()}


def remark_on(shares: Mapping[str, float]) -> str | None:
    """Return one sentence about the columns with many private numbers; None if there are none."""
    worst = sorted((n for n in shares if shares[n] >= REMARKABLE), key=lambda n: -shares[n])
    if not worst:
        return None
    which = ", ".join(f"{name} {100 * shares[name]:.0f} %" for name in worst)
    return (
        f"released numbers that exactly one original record has, or levels that fewer than {K} "
        f'have: {which}; round or smooth numbers (smoothing = "density" or "kernel"), pool levels'
    )
