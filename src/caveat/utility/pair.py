"""One original and one release on common levels, groups, weights, the table of measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note, Unit
from caveat.registry import Registry
from caveat.risk.measure import Direction, Measure, Measurement, undefined
from caveat.showing import without_values
from caveat.table import Column, Difference, Kind, Pair, Table, align
from caveat.table.cells import Style, breaks, cut, interval_labels
from caveat.table.grouping import Groups
from caveat.table.linked import Linked, Members, children_of, members_of
from caveat.table.table import Codes, smallest_unsigned, survey_weights

Floats = NDArray[np.float64]
Weights = Floats | None

WEIGHTED = Note("weighted", "against the weighted original")


def unweighted(reason: str) -> Note:
    """Return the note on a figure that has no weighted form."""
    return Note("unweighted", "against the unweighted original: {reason}", reason=reason)


def split_weights(original: Table, weights: Any) -> tuple[Table, Weights]:
    """Take the weights off a table: they are no data.

    Parameters
    ----------
    original
        The table.
    weights
        The name of its column of weights, one number for each row, or None.

    Returns
    -------
    The table without the column, and without records of weight 0, which stand for nobody; and the
    weights of the others, which sum to their number.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m", "d"], "w": [150.0, 50.0, 0.0]})
    >>> table, weights = split_weights(people, "w")
    >>> table.names, weights.tolist()
    (('sex',), [1.5, 0.5])
    """
    original, found = weights_apart(original, weights)
    if found is None:
        return original, None
    kept = np.flatnonzero(found > 0)
    if len(kept) < len(found):
        original, found = original.take(kept), found[kept]
    return original, found * (len(found) / found.sum())


def weights_apart(original: Table, weights: Any) -> tuple[Table, Weights]:
    """Return a table without its column of weights, and the weight of every record as it stands."""
    if weights is None:
        return original, None
    if isinstance(weights, str):
        return original.drop([weights]), survey_weights(original[weights], weights)
    column = Table.from_frame({"weights": np.asarray(weights)})["weights"]
    if len(column) != len(original):
        raise CaveatError(
            f"there are {len(column):,} weights for {len(original):,} records",
            do="give one weight for each record",
            code="data.weights.mismatch",
        )
    return original, survey_weights(column, "weights")


def effective_size(weights: Floats) -> float:
    """Return (Σ w)² / Σ w²: how many records of equal weight tell as much (Kish).

    Examples
    --------
    >>> effective_size(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def redraw(weights: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return rows in proportion to their weights, each as often as its weight says, or once more.

    Systematic sampling: it adds less chance than drawing row by row.

    Examples
    --------
    >>> redraw(np.array([2.0, 1.0, 1.0]), 8, np.random.default_rng(1)).tolist()
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    start = rng.random()
    ends = np.cumsum(weights) * (size / weights.sum())
    rows = np.searchsorted(ends, start + np.arange(size), side="right")
    return np.asarray(np.minimum(rows, len(weights) - 1), dtype=np.int64)


# -------------------------------------------------------------------------------------------------
# Who belongs together in both tables of a pair.
#
# The key is taken out of the tables: a release has fresh keys, and what they are called says
# nothing.


@dataclass(frozen=True, eq=False)
class PairGroups:
    """Who belongs together in an original, a synthetic table and perhaps a control.

    Attributes
    ----------
    said
        What was said about the groups.
    original, synthetic, control
        The group of each row.
    """

    said: Groups
    original: Members
    synthetic: Members
    control: Members | None = None

    __repr__ = without_values


def groups_of(pair: Pair, said: Groups) -> tuple[Pair, PairGroups]:
    """Take the key out of a pair: the pair without it, and who belongs together."""
    key, outside = said.key, pair.control
    for what, table in (
        ("the original", pair.original),
        ("the synthetic table", pair.synthetic),
        ("the control", outside),
    ):
        if table is not None and key not in table:
            raise CaveatError(
                f"{what} does not say which rows belong together: it lacks the key",
                column=key,
                do="check its name, or release it with fresh keys",
                code="data.column.absent",
            )
    found = PairGroups(
        said,
        members_of(pair.original, key),
        members_of(pair.synthetic, key),
        None if outside is None else members_of(outside, key),
    )
    bare = Pair(
        pair.original.drop([key]),
        pair.synthetic.drop([key]),
        None if outside is None else outside.drop([key]),
        tuple(d for d in pair.differences if d.column != key),
        tuple(d for d in pair.control_differences if d.column != key),
    )
    return bare, found


def groups_of_children(original: Linked, synthetic: Linked, table: str) -> PairGroups:
    """Return whose children the rows of a table are, in an original and in a release."""
    whose = children_of(original, table), children_of(synthetic, table)
    parents = [who.parents for who in whose if who.parents is not None]
    if all(len(known.names) for known in parents):
        aligned = align(*parents)
        parents = [aligned.original, aligned.synthetic]
    ours, theirs = (
        Members(who.group, who.n_groups, known) for who, known in zip(whose, parents, strict=True)
    )
    link = original.parent_of(table)
    assert link is not None  # or it would not be a table of children
    return PairGroups(Groups(link.column, order=original.order.get(table, "")), ours, theirs)


def group_weights(members: Members, weights: Weights) -> Weights:
    """Return the weight of each group, the mean of its members', as many in sum as groups count.

    Weights of rows sum to the number of rows; those of groups then sum to the number of groups that
    so many rows of the population would make.

    Examples
    --------
    >>> household = Members(np.array([0, 0, 1]), 2)
    >>> group_weights(household, np.array([0.5, 0.5, 2.0])).tolist()
    [0.5, 2.0]
    """
    return None if weights is None else members.means(weights)


def draw_again(
    members: Members, weights: Weights, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Members]:
    """Return the rows of as many groups, drawn with replacement by their weights."""
    n, by_group = members.n_groups, group_weights(members, weights)
    chance = None if by_group is None else by_group / by_group.sum()
    return members.take(rng.choice(n, n, p=chance))


def draw_some(
    members: Members, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Members]:
    """Return the rows of so many groups, each drawn once."""
    return members.take(np.sort(rng.permutation(members.n_groups)[:n]))


# -------------------------------------------------------------------------------------------------
# One original and one synthetic table on common levels; what several measures need, once.


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


# -------------------------------------------------------------------------------------------------
# The table of utility measures: what each number says, and what it cannot see.
#
# A measure is a function of a :class:`~caveat.utility.pair.WeightedPair`; measures that need a
# model, a target or rules take these as keywords. The entries are in
# :mod:`caveat.utility.entries`.


MEASURES: Registry[Measure] = Registry()
BEST: dict[str, float] = {}
"""The value of each measure for identical tables."""

ONE_AT_A_TIME = "How variables go together: independent columns score perfectly."


def utility_measure(
    name: str,
    function: Callable[..., Measurement],
    *,
    best: float = 0.0,
    direction: Direction = "lower is better",
    unit: Unit = "score",
    needs: frozenset[str] = frozenset(),
    weighted: bool | None = True,
    **entry: Any,
) -> Measure:
    """Return an entry of MEASURES, whose function takes a WeightedPair.

    Parameters
    ----------
    name, function, direction, unit, needs, entry
        The fields of :class:`~caveat.risk.measure.Measure`.
    best
        The value for identical tables.
    weighted
        Whether it takes account of survey weights; None if the measure itself says against what it
        was measured.
    """
    return Measure(
        name=name,
        function=function if weighted is None else partial(_noted, function, weighted),
        attacker="none",
        baseline="a resample of the original, a second copy and a control",
        needs=needs,
        direction=direction,
        unit=unit,
        best=best,
        **entry,
    )


def register(*entries: Measure, built_in: bool = False) -> None:
    """Add entries to MEASURES; those of Caveat itself are built in."""
    for entry in entries:
        if entry.best is None:
            raise ValueError(f"{entry.name} has no value for identical tables")
        if MEASURES.get(entry.name, entry) is not entry:
            raise ValueError(f"there are two measures called {entry.name}")
        MEASURES.put(entry.name, entry, built_in=built_in)
        BEST[entry.name] = entry.best


def _noted(
    function: Callable[..., Measurement], weighted: bool, pair: WeightedPair, **more: Any
) -> Measurement:
    """Say whether a value was measured against the weighted original, if there are weights."""
    found = function(pair, **more)
    if pair.weights is None or found.value is None:
        return found
    note = WEIGHTED if weighted else unweighted("it has no weighted form")
    return replace(found, notes=(*found.notes, note))


def find_measure(name: str) -> Measure:
    """Return a measure by name, or say which there are."""
    try:
        return MEASURES[name]
    except KeyError:
        raise CaveatError(
            f"there is no measure {name!r}",
            do=f"choose among {', '.join(MEASURES)}",
            code="measure.name.unknown",
        ) from None


def rows_of(pair: WeightedPair) -> int:
    """Return the rows of both tables."""
    return pair.n_original + pair.n_synthetic


def measured(pair: WeightedPair, value: float | None, why: Note, **more: Any) -> Measurement:
    """Return a measurement, or the reason why there is none."""
    if value is None or not math.isfinite(value):
        return undefined(why, n=rows_of(pair))
    return Measurement(float(value), n=rows_of(pair), **more)
