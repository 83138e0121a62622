"""Tables of counts: their cells, how they are cleared, and how they are made to agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.showing import without_values
from caveat.synthesis.coding import ORDINARY, Coding
from caveat.synthesis.methods.tables import fit_joint
from caveat.table import Table

__all__ = [
    "MOST_CELLS",
    "ClearedTable",
    "Clearing",
    "Tables",
    "cells_of",
    "changed_by",
    "check_size",
    "clear_tables",
    "cleared_counts",
    "count_tables",
    "joint_shares",
    "lookup_of",
    "margin_of",
    "n_cells_of",
    "nearest_shares",
    "nearest_table",
    "ordinary_of",
    "places",
    "reconcile",
    "rescale",
    "total_of",
    "within",
]


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


# -------------------------------------------------------------------------------------------------
# The cells of a column in a table of counts: its levels, or for numbers the cells of the grid.
#
# A number that is modelled in two steps has one cell more for each way to be missing and for each
# special value: the cells of the grid come first.


Ints = NDArray[np.int64]


def ordinary_of(coding: Coding) -> int:
    """Return the number of cells that are ordinary values."""
    return coding.column.n_levels if coding.grid is None else coding.grid.n_cells


def n_cells_of(coding: Coding) -> int:
    """Return the number of cells of a column."""
    return ordinary_of(coding) + (coding.n_kinds - 1 if coding.two_step else 0)


def lookup_of(coding: Coding) -> Ints:
    """Return the cell of each code of a column."""
    column, grid = coding.column, coding.grid
    if grid is None:
        return np.arange(column.n_levels)
    numbers = np.append(column.numbers, np.zeros(len(column.missing)))
    cells = grid.cell_of(numbers)
    if not coding.two_step:
        return cells
    kinds = coding.kind_of.astype(np.int64)
    return np.where(kinds == ORDINARY, cells, grid.n_cells + kinds - 1)


def cells_of(codings: Mapping[str, Coding], table: Table) -> dict[str, Ints]:
    """Return the cell of each row in each of the columns."""
    return {name: lookup_of(coding)[table[name].codes] for name, coding in codings.items()}


# -------------------------------------------------------------------------------------------------
# Tables that are cleared by the rules of an office before anything is made from them.
#
# A cell with few records, or in which few of them make up most of the weight, is suppressed; what
# is left is rounded to a multiple. A cell that is suppressed looks like one that nobody is in.


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Clearing:
    """The rules that a table has to meet.

    Parameters
    ----------
    threshold
        Records in the smallest cell that is published.
    dominance
        (n, k): a cell in which the n largest weights make up more than the share k is suppressed;
        None for no such rule.
    multiple
        What counts are rounded to, half up; 1 leaves numbers of records as they are.

    Examples
    --------
    >>> print(Clearing(10, (1, 0.85), 5))
    at least 10 records in a cell, the largest weight at most 0.85 of it, rounded to multiples of 5
    """

    threshold: int = 10
    dominance: tuple[int, float] | None = None
    multiple: int = 1

    @classmethod
    def of(cls, given: Any) -> Clearing:
        """Return the rules that a user gives, or say what is wrong with them."""
        known = tuple(item.name for item in fields(cls))
        if not isinstance(given, Mapping):
            raise _wrong(
                "clearing must be a table",
                "write clearing = { threshold = 10 }",
                "synthesis.setting.type",
            )
        for name in given:
            if name not in known:
                raise _wrong(
                    f"{name!r} is no rule of clearing",
                    hint(str(name), known),
                    "synthesis.setting.unknown",
                    name,
                )
        rules = dict(given)
        for name in ("threshold", "multiple"):
            if name in rules and not (_is_whole(rules[name]) and rules[name] >= 1):
                raise _wrong(
                    f"{name} must be a whole number, 1 or more",
                    None,
                    "synthesis.setting.range",
                    name,
                )
        if rules.get("dominance") is not None:
            rules["dominance"] = _dominance(rules["dominance"])
        return cls(**rules)

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        dominance = None if self.dominance is None else list(self.dominance)
        return {"threshold": self.threshold, "dominance": dominance, "multiple": self.multiple}

    def __str__(self) -> str:
        words = [f"at least {self.threshold} records in a cell"]
        if self.dominance is not None:
            n, share = self.dominance
            largest = "the largest weight" if n == 1 else f"the {n} largest weights"
            words.append(f"{largest} at most {share:g} of it")
        words.append(f"rounded to multiples of {self.multiple}")
        return ", ".join(words)

    def allows(self, records: NDArray[Any], totals: Floats, largest: Floats) -> Flags:
        """Return which cells may be published.

        Parameters
        ----------
        records, totals
            Number of records and sum of the weights of each cell.
        largest
            Sum of the largest weights that the dominance rule is about.
        """
        allowed = records >= self.threshold
        if self.dominance is not None:
            # The weights of a cell are summed in two orders: what differs by rounding is the same.
            allowed &= largest <= self.dominance[1] * totals * (1 + 1e-12)
        return np.asarray(allowed)

    def rounded(self, totals: Floats) -> Floats:
        """Return counts as multiples, half up."""
        return np.asarray(np.floor(totals / self.multiple + 0.5) * self.multiple)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _dominance(given: Any) -> tuple[int, float]:
    pair = list(given) if isinstance(given, list | tuple) else []
    good = len(pair) == 2 and _is_whole(pair[0]) and pair[0] >= 1
    good = good and isinstance(pair[1], int | float) and not isinstance(pair[1], bool)
    if not good or not 0 < pair[1] < 1:
        raise _wrong(
            "dominance must be a number of weights and a share between 0 and 1",
            "write dominance = [1, 0.85]",
            "synthesis.setting.range",
            "dominance",
        )
    return pair[0], float(pair[1])


def _wrong(what: str, do: str | None, code: str, name: str = "") -> CaveatError:
    entry = ("clearing", name) if name else ("clearing",)
    return CaveatError(what, where="synthesis, clearing", do=do, entry=entry, code=code)


@dataclass(frozen=True, eq=False)
class ClearedTable:
    """A table as it is published.

    Parameters
    ----------
    counts
        What is published of each cell; 0 for those that are suppressed.
    suppressed
        Number of cells with records that are not published.
    changed_by
        Number of records without each of which the table would be another one: who knows all
        others and sees the table knows that such a person is in the data.
    """

    counts: Floats
    suppressed: int
    changed_by: int

    __repr__ = without_values


def clear_tables(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    margins: tuple[tuple[str, ...], ...],
    rules: Clearing,
    weights: Floats | None = None,
) -> dict[tuple[str, ...], ClearedTable]:
    """Count the tables and clear each of them.

    Examples
    --------
    >>> cells = {"sex": np.repeat([0, 0, 1, 1], [12, 3, 13, 27])}
    >>> cells["job"] = np.repeat([0, 1, 0, 1], [12, 3, 13, 27])
    >>> pair = ("sex", "job")
    >>> found = clear_tables(cells, {"sex": 2, "job": 2}, (pair,), Clearing(10, None, 5))[pair]
    >>> found.counts.tolist(), found.suppressed, found.changed_by
    ([[10.0, 0.0], [15.0, 25.0]], 1, 13)
    """
    found = {}
    for margin in margins:
        table = _Weighed.of(cells, sizes, margin, weights, rules)
        counts = table.cleared.reshape(_shape(sizes, margin))
        changed = int(np.count_nonzero(table.changed))
        found[margin] = ClearedTable(counts, table.suppressed, changed)
    return found


def cleared_counts(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    margins: Iterable[tuple[str, ...]],
    rules: Clearing,
    weights: Floats | None = None,
) -> Tables:
    """Return what is published of each cell of each table."""
    return {
        m: _Weighed.of(cells, sizes, m, weights, rules).cleared.reshape(_shape(sizes, m))
        for m in margins
    }


def _shape(sizes: Mapping[str, int], margin: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sizes[name] for name in margin)


def changed_by(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    margins: tuple[tuple[str, ...], ...],
    rules: Clearing,
    weights: Floats | None = None,
) -> Flags:
    """Return for each record whether one of the cleared tables would be another without it.

    Examples
    --------
    >>> cells = {"sex": np.repeat([0, 1, 2], [3, 10, 14])}
    >>> changed_by(cells, {"sex": 3}, (("sex",),), Clearing(10, None, 5)).tolist().index(True)
    3
    """
    found = np.zeros(len(next(iter(cells.values()))), bool)
    for margin in margins:
        found |= _Weighed.of(cells, sizes, margin, weights, rules).changed
    return found


@dataclass(frozen=True, eq=False)
class _Weighed:
    """The records of a table; with a dominance rule cell by cell, the largest weights first."""

    rules: Clearing
    order: Ints  # the records that count
    place: Ints  # the cell of each of them
    weights: Floats
    rank: Ints  # within the cell, from 0, where the rules ask for it
    n_records: int
    n_cells: int

    __repr__ = without_values

    @classmethod
    def of(
        cls,
        cells: Mapping[str, Ints],
        sizes: Mapping[str, int],
        margin: tuple[str, ...],
        weights: Floats | None,
        rules: Clearing,
    ) -> _Weighed:
        shape = _shape(sizes, margin)
        check_size(margin, shape)
        place = places(cells, sizes, margin)
        held = np.ones(len(place)) if weights is None else weights
        # Who has no weight is in no count: neither the threshold nor an attacker sees her.
        order, n_cells = np.flatnonzero(held > 0), int(np.prod(shape))
        rank = np.zeros(len(order), np.int64)
        if rules.dominance is not None:
            order = order[np.lexsort((-held[order], place[order]))]
            rank = np.arange(len(order)) - np.searchsorted(place[order], place[order])
        return cls(rules, order, place[order], held[order], rank, len(place), n_cells)

    def _sums(self, chosen: Flags) -> Floats:
        """Return the weight of some records in each cell."""
        weights = np.where(chosen, self.weights, 0.0)
        return np.bincount(self.place, weights, self.n_cells).astype(np.float64)

    @property
    def _top(self) -> int:
        return 0 if self.rules.dominance is None else self.rules.dominance[0]

    @property
    def cleared(self) -> Floats:
        """What is published of each cell."""
        totals = self._sums(np.ones(len(self.place), bool))
        allowed = self.rules.allows(self._records, totals, self._sums(self.rank < self._top))
        return np.where(allowed, self.rules.rounded(totals), 0.0)

    @property
    def _records(self) -> Ints:
        return np.bincount(self.place, minlength=self.n_cells)

    @property
    def suppressed(self) -> int:
        """Number of cells with records of which nothing is published."""
        return int(np.count_nonzero((self._records > 0) & (self.cleared == 0)))

    @property
    def changed(self) -> Flags:
        """Whether what is published of its cell would be something else without a record."""
        place, top = self.place, self._top
        totals = self._sums(np.ones(len(place), bool))[place] - self.weights
        largest = self._sums(self.rank < top)[place]
        # The next one takes the place of a record that was among the largest.
        following = self._sums(self.rank == top)[place]
        largest = np.where(self.rank < top, largest - self.weights + following, largest)
        allowed = self.rules.allows(self._records[place] - 1, totals, largest)
        without = np.where(allowed, self.rules.rounded(totals), 0.0)
        found = np.zeros(self.n_records, bool)
        found[self.order] = without != self.cleared[place]
        return found


# -------------------------------------------------------------------------------------------------
# Margins beyond a tree: one joint table for the columns that hang together, fitted to them.


def joint_shares(tables: Tables, sizes: Mapping[str, int], names: Sequence[str]) -> Tables:
    """Return the joint table of columns that has these margins, as far as they agree.

    Margins that were rounded one by one agree on nothing quite. The fit then goes round among
    tables that meet one of them each; it ends where a round changes nothing any more.

    Parameters
    ----------
    tables
        Counts or shares of the margins, none below 0.
    sizes
        The number of cells of each column.
    names
        The columns of the joint table, in the order of its axes.

    Examples
    --------
    >>> tables = {("a",): np.array([3, 1]), ("b",): np.array([10, 10])}
    >>> joint_shares(tables, {"a": 2, "b": 2}, ["a", "b"])["a", "b"].tolist()
    [[0.375, 0.375], [0.125, 0.125]]
    """
    shape = tuple(sizes[name] for name in names)
    axes, targets = [], []
    for margin, table in tables.items():
        places = [names.index(name) for name in margin]
        turned = np.asarray(table, np.float64).transpose(np.argsort(places))
        whole = [size if axis in places else 1 for axis, size in enumerate(shape)]
        total = turned.sum()
        if total <= 0:
            return {tuple(names): np.zeros(shape)}
        axes.append(tuple(sorted(places)))
        targets.append((turned / total).reshape(whole))
    joint = fit_joint(shape, axes, targets, agreeing=False)
    if joint.sum() <= 0:
        raise CaveatError(
            f"the margins of {', '.join(names)} contradict each other: no record fits them all",
            where="synthesis, margins",
            do="group levels, lower the threshold, or give margins that form a tree",
            entry=("margins",),
            code="synthesis.margins.conflict",
        )
    return {tuple(names): joint}


# -------------------------------------------------------------------------------------------------
# Noisy, rounded or partly suppressed tables of a tree become shares that agree with each other.
#
# Cleared tables are scaled, so that what was suppressed stays away (:func:`rescale`). Of noisy
# ones every cell may be somebody's (:func:`reconcile`). Each column has several estimates of its
# own distribution there: its own table, and the sums of every pair it is in. They are averaged
# with the inverse of their variances and brought to the nearest shares. Each pair is then the
# nearest non-negative table with the two distributions it has to agree with: the most probable
# one, if the noise is that of a Gaussian mechanism.


MOST_ROUNDS = 5_000
NEAR = 1e-10
"""Shares of a table are as near to their sums as this when the rounds end."""


def reconcile(
    tables: Tables,
    sizes: Mapping[str, int],
    variances: Mapping[tuple[str, ...], float] | None = None,
) -> Tables:
    """Return shares of columns and pairs that sum to 1 and agree on every column they share.

    Parameters
    ----------
    tables
        Counts of single columns and of pairs that form a tree, or several; they may be negative.
    sizes
        Number of cells of each column.
    variances
        Variance of a count of each table; all the same by default.

    Examples
    --------
    >>> pair = np.array([[5.0, -1.0], [1.0, 3.0]])
    >>> shares = reconcile({("a", "b"): pair}, {"a": 2, "b": 2})
    >>> shares["a",].tolist(), shares["b",].tolist(), shares["a", "b"].round(3).tolist()
    ([0.5, 0.5], [0.75, 0.25], [[0.5, 0.0], [0.25, 0.25]])
    """
    noise = {names: 1.0 if variances is None else variances[names] for names in tables}
    total = total_of(tables, noise)
    shares: Tables = {}
    for name in dict.fromkeys(name for names in tables for name in names):
        if total <= 0:  # nothing is known
            shares[name,] = np.full(sizes[name], 1 / sizes[name])
            continue
        told = [_sums(n, counts, name, noise[n]) for n, counts in tables.items() if name in n]
        weights = [1 / variance for _, variance in told]
        counts = np.average([sums for sums, _ in told], axis=0, weights=weights)
        shares[name,] = nearest_shares(counts / total)
    for names, counts in tables.items():
        if len(names) == 2:
            lines, columns = (shares[name,] for name in names)
            shares[names] = nearest_table(counts / (total if total > 0 else 1.0), lines, columns)
    return shares


def rescale(tables: Tables) -> Tables:
    """Return shares of a tree of pairs that sum to 1, agree, and are 0 where the tables are.

    The first table is kept; each further one is scaled to what is known of the column it hangs on.

    Examples
    --------
    >>> tables = {("a", "b"): np.array([[30, 0], [0, 10]]), ("b", "c"): np.array([[5, 0], [5, 10]])}
    >>> rescale(tables)["b", "c"].tolist()
    [[0.75, 0.0], [0.08333333333333333, 0.16666666666666666]]
    """
    known: dict[str, Floats] = {}
    found: Tables = {}
    waiting = dict(tables)
    while waiting:
        key = next((k for k in waiting if any(name in known for name in k)), next(iter(waiting)))
        table = np.asarray(waiting.pop(key), np.float64)
        shares = table / max(table.sum(), np.finfo(float).tiny)
        for axis, name in enumerate(key):
            if name in known:
                lines = np.moveaxis(shares, axis, 0)
                own = lines.sum(axis=tuple(range(1, lines.ndim)))
                overall = lines.sum(axis=0)
                scaled = [
                    want * (line / mine if mine > 0 else overall)
                    for want, line, mine in zip(known[name], lines, own, strict=True)
                ]
                shares = np.moveaxis(np.array(scaled), 0, axis)
        for axis, name in enumerate(key):
            others = tuple(a for a in range(len(key)) if a != axis)
            known.setdefault(name, shares.sum(axis=others))
        found[key] = shares
    return found


def total_of(tables: Tables, noise: Mapping[tuple[str, ...], float]) -> float:
    """Return the number of records: the mean over the tables, surer ones weighing more."""
    weights = [1 / (noise[names] * counts.size) for names, counts in tables.items()]
    sums = [float(counts.sum()) for counts in tables.values()]
    return max(float(np.average(sums, weights=weights)), 0.0)


def _sums(
    names: tuple[str, ...], counts: NDArray[Any], name: str, variance: float
) -> tuple[Floats, float]:
    """Return what a table says about one of its columns, and the variance of such a sum."""
    others = tuple(axis for axis, other in enumerate(names) if other != name)
    sums = np.asarray(counts.sum(axis=others), np.float64)
    return sums, variance * counts.size / len(sums)


def nearest_shares(values: Floats) -> Floats:
    """Return the shares that are nearest to these numbers.

    Examples
    --------
    >>> nearest_shares(np.array([0.7, 0.5, -0.2])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    falling = np.sort(values)[::-1]
    above = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    shares = np.maximum(values - above[np.flatnonzero(falling > above)[-1]], 0.0)
    return np.asarray(shares / shares.sum())


def nearest_table(table: Floats, lines: Floats, columns: Floats) -> Floats:
    """Return the non-negative table nearest to this one that has the given sums.

    It is found by projecting in turn on the tables with these sums and on those without a negative
    cell (Dykstra's algorithm).
    """
    shape = table.shape
    now, below = np.asarray(table, np.float64), np.zeros(shape)
    for _ in range(MOST_ROUNDS):
        of_lines, of_columns = lines - now.sum(axis=1), columns - now.sum(axis=0)
        off = max(np.abs(of_lines).max(), np.abs(of_columns).max())
        if off <= NEAR and now.min() >= 0:
            break
        moved = now + of_lines[:, None] / shape[1] + of_columns / shape[0]
        moved -= of_lines.sum() / (shape[0] * shape[1]) - below
        now = np.maximum(moved, 0.0)
        below = moved - now
    # The last rounds can be slow: the lines are scaled, and in each line what a column has too much
    # goes to the columns that have too little.
    now = now * _ratio(lines, now.sum(axis=1))[:, None]
    sums = now.sum(axis=0)
    taken = now * _ratio(np.maximum(sums - columns, 0.0), sums)
    given = np.maximum(columns - sums, 0.0)
    return np.asarray(now - taken + np.outer(taken.sum(axis=1), _ratio(given, given.sum())))


def _ratio(wanted: Floats, found: Floats) -> Floats:
    ones = np.ones(np.broadcast_shapes(wanted.shape, np.shape(found)))
    return np.divide(wanted, found, out=ones, where=np.asarray(found) > 0)
