"""One original and one synthetic table on common levels; what several measures need, once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.showing import without_values
from caveat.table import Column, Difference, Kind, Pair, Table, align
from caveat.table.cells import Style, breaks, cut, interval_labels
from caveat.table.grouping import Groups
from caveat.table.table import Codes, smallest_unsigned
from caveat.utility.grouping import PairGroups, groups_of
from caveat.utility.weighting import Weights, redraw, split_weights

__all__ = ["Categories", "Category", "WeightedPair"]


@dataclass(frozen=True, eq=False)
class Category:
    """One column as categories: numbers in groups, every way to be missing a level of its own.

    Attributes
    ----------
    original, synthetic
        Codes of the rows.
    labels
        What the codes mean.
    empty
        Which of the codes stand for an empty cell, as opposed to a declared code.
    """

    original: Codes
    synthetic: Codes
    labels: tuple[str, ...]
    empty: NDArray[np.bool_]

    __repr__ = without_values

    @property
    def n_levels(self) -> int:
        """Number of codes."""
        return len(self.labels)


Categories = dict[str, Category]
Result = TypeVar("Result")


class WeightedPair(Pair):
    """A pair of tables whose original may have survey weights; what measures share is kept.

    Parameters
    ----------
    original, synthetic
        Tables with the same columns and levels, as :func:`caveat.table.align` returns them.
    differences
        In what the tables differed before they were brought on common levels.
    weights
        Positive survey weights of the original's rows; the synthetic table has none.
    control
        Records that were not used to make the release, on the same levels.
    control_weights
        Their survey weights.
    groups
        Which rows belong together, if that is known; the key itself is in no table.

    Attributes
    ----------
    remarks
        What was found or decided on the way, in words.
    doubts
        What among it puts in doubt that the tables belong together.
    twin
        A pair that was drawn in the same way, if there is one.
    model_rows
        Rows of each table that models are fitted to; None for the usual number.
    """

    def __init__(
        self,
        original: Table,
        synthetic: Table,
        differences: Sequence[Difference] = (),
        weights: Weights = None,
        control: Table | None = None,
        control_weights: Weights = None,
        groups: PairGroups | None = None,
    ) -> None:
        if not (len(original) and len(synthetic)):
            raise CaveatError(
                "a table has no row",
                do="give tables with at least one row",
                code="data.table.empty",
            )
        free = [n for n in original if original[n].kind in (Kind.TEXT, Kind.ID)]
        super().__init__(
            original.drop(free),
            synthetic.drop(free),
            None if control is None else control.drop(free),
            tuple(differences),
        )
        self.control_weights = control_weights
        self.groups = groups
        self.doubts = tuple(
            Note("tables-differ", str(d))
            for d in differences
            if d.is_alarm and d.column not in free
        )
        self.remarks = (
            *map(str, differences),
            *(f"{n}: left out, {original[n].kind} values are not compared" for n in free),
        )
        if not self.names:
            raise CaveatError(
                "there is no column to compare",
                do="declare kinds other than text and id",
                code="data.column.too-few",
            )
        self.weights = None if weights is None else weights * (len(weights) / weights.sum())
        self.twin: WeightedPair | None = None
        self.model_rows: int | None = None
        self._memory: dict[Hashable, Any] = {}
        self._of_original: dict[Hashable, Any] = {}

    @classmethod
    def of(
        cls,
        original: Any,
        synthetic: Any,
        weights: Any = None,
        control: Any = None,
        groups: str | Groups | None = None,
    ) -> WeightedPair:
        """Align two tables or frames of any origin, and perhaps a control.

        The weights are the name of a column of the original, or one number for each of its rows;
        the groups are the column that says which rows belong together.

        Examples
        --------
        >>> people = {"sex": ["f", "m", "m"], "age": [31, 47, 52]}
        >>> WeightedPair.of(people, people).names
        ('sex', 'age')
        """
        ours, numbers = split_weights(Table.from_frame(original), weights)
        outside = None if control is None else Table.from_frame(control)
        theirs, found = Table.from_frame(synthetic), None
        if groups is not None:
            bare, found = groups_of(Pair(ours, theirs, outside), Groups.of(groups))
            ours, theirs, outside = bare.original, bare.synthetic, bare.control
        pair = align(ours, theirs, outside)
        return cls(
            pair.original, pair.synthetic, pair.differences, numbers, pair.control, groups=found
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return self.original.names

    @property
    def n_original(self) -> int:
        """Rows of the original."""
        return self.original.n_rows

    @property
    def n_synthetic(self) -> int:
        """Rows of the synthetic table."""
        return self.synthetic.n_rows

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """The columns whose differences have a meaning."""
        return tuple(n for n in self.names if self.original[n].kind.is_number)

    @cached_property
    def nominal(self) -> tuple[str, ...]:
        """The other columns."""
        return tuple(n for n in self.names if n not in self.numeric)

    def columns(self, name: str) -> tuple[Column, Column]:
        """Return a column of both tables."""
        return self.original[name], self.synthetic[name]

    def weigh(self, codes: Codes, n: int) -> NDArray[Any]:
        """Return how many records of the original have each code, by their weights."""
        return np.bincount(codes, self.weights, n)

    def counts(self, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return how many records have each code of a column: the original's by their weights."""
        ours, theirs = self.columns(name)
        return self.weigh(ours.codes, ours.n_levels), theirs.counts

    def redrawn(self, rng: np.random.Generator) -> WeightedPair:
        """Return the pair with the original's rows, or groups, as often as their weights say."""
        if self.weights is None:
            return self
        groups = self.groups
        if groups is None:
            rows = redraw(self.weights, self.n_original, rng)
        else:
            ours = groups.original
            rows, ours = ours.take(redraw(ours.means(self.weights), ours.n_groups, rng))
            groups = replace(groups, original=ours)
        return WeightedPair(self.original.take(rows), self.synthetic, groups=groups)

    def choose(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """Return the named columns, all of them if none are named."""
        if names is None:
            return self.names
        for name in names:
            if name not in self.names:
                raise CaveatError(
                    "there is no such column to compare",
                    column=name,
                    do=f"choose among {', '.join(self.names)}",
                    code="data.column.unknown",
                )
        return tuple(names)

    def select(self, names: Sequence[str]) -> WeightedPair:
        """Return the pair of some columns."""
        chosen = self.choose(names)
        tables = self.original.select(chosen), self.synthetic.select(chosen)
        return WeightedPair(*tables, weights=self.weights)

    def categories(self, groups: int = 5, style: Style = "quantile") -> Categories:
        """Return every column as categories; numbers are cut on both tables pooled."""
        return self.once(
            ("categories", groups, style),
            lambda: {name: _categorise(*self.columns(name), groups, style) for name in self.names},
        )

    def once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return what `make` gives, computed once for each key."""
        return _once(self._memory, key, make)

    def once_of_original(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return what `make` gives, computed once for each key and original, with its weights."""
        return _once(self._of_original, key, make)

    def with_original_of(self, other: WeightedPair) -> WeightedPair:
        """Return itself, and share what follows from the original alone: it is the other's."""
        self._of_original = other._of_original
        return self


def _once(memory: dict[Hashable, Any], key: Hashable, make: Callable[[], Result]) -> Result:
    if key not in memory:
        memory[key] = make()
    found: Result = memory[key]
    return found


def _categorise(ours: Column, theirs: Column, groups: int, style: Style) -> Category:
    n = len(ours.levels)
    if ours.kind.is_number:
        pooled = (ours.counts + theirs.counts)[:n]
        limits = breaks(ours.numbers, pooled, groups, style)
        position, labels = cut(ours.numbers, limits), interval_labels(limits)
    else:
        position, labels = np.arange(n), [str(level) for level in ours.levels.tolist()]
    labels = labels or ["none"]  # a column that holds nothing but missing cells
    ways = np.arange(len(ours.missing)) + len(labels)
    lookup = np.concatenate([position, ways]).astype(smallest_unsigned(len(labels) + len(ways)))
    empty = np.zeros(len(labels) + len(ways), dtype=bool)
    empty[len(labels) :] = [m.code is None or m.code != m.code for m in ours.missing]
    return Category(
        lookup[ours.codes],
        lookup[theirs.codes],
        (*labels, *(str(m) for m in ours.missing)),
        empty,
    )
