"""Tables that are cleared by the rules of an office before anything is made from them.

A cell with few records, or in which few of them make up most of the weight, is suppressed; what is
left is rounded to a multiple. A cell that is suppressed looks like one that nobody is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError, hint
from caveat.synthesis.margins.tables import Tables, check_size, places

__all__ = ["ClearedTable", "Clearing", "changed_by", "clear_tables", "cleared_counts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
