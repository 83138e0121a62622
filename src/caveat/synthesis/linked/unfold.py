"""From linked tables to stages, and to one ordinary table for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.table import Column, Kind, Missing, Table
from caveat.table.linked import Linked, number_of, places_within
from caveat.table.table import decimals_of

__all__ = [
    "FIRST",
    "PARTS",
    "PREVIOUS",
    "SO_FAR",
    "SUM",
    "Drawn",
    "Shape",
    "Stage",
    "complete",
    "counts_column",
    "least_children",
    "placed",
    "restricted",
    "shape_of",
    "since",
    "sums_column",
    "unfold",
    "unknown_where",
]


SO_FAR = "number so far"
FIRST, PREVIOUS, SUM = "first.", "previous.", "sum."
PARTS = ("all", "first", "later", "each", "after")
FURTHER = ("later", "each")
"""The parts that know children before a row."""
Source = tuple[str, str]
"""A table and a column of it."""


def since(column: str) -> str:
    """Return the name of the column that says how far a row is from the one before it."""
    return f"{column} since the previous"


@dataclass(frozen=True)
class Drawn:
    """What is drawn of one table.

    Parameters
    ----------
    columns
        The columns that are made, in the order in which they are visited.
    silent
        Those of them that nothing is drawn from.
    context
        Columns that say what kind of child a row is: all that follows is drawn from them.
    some
        A condition on one column that at least one child of every parent meets.
    after
        Columns that are made when the children are there; every row has some.
    falling
        A number by which the children of the original behind the first one are put in order, the
        largest first, before anything is learnt: so a partner stands before the children. "" for
        the order in which they stand. Released ones stand as they were drawn.
    """

    columns: tuple[str, ...]
    silent: frozenset[str] = frozenset()
    context: tuple[str, ...] = ()
    some: Expression | None = None
    after: tuple[str, ...] = ()
    falling: str = ""


@dataclass(frozen=True)
class Stage:
    """One part of a table.

    Parameters
    ----------
    table
        The table.
    part
        "all" rows of a table without parent, the "first" children or the "later" ones, what is left
        of "each" child, or rows "after" their children.
    made
        What is drawn; numbers of children are among its columns.
    above
        Columns of the tables above by the name that they have here.
    gap
        The date that later rows have as a distance from the previous one; "" for none.
    ordered
        Whether the children of one parent stand in an order of their own, as in time.
    weights
        Where the weight of a row stands, if there is one.
    below
        Columns of the children that come before this stage, by the name that they have here: which
        child or what of all of them, the table and the column.
    own
        Columns of the row itself that are known.
    classes
        Columns that are no numbers: those of the first child serve the same column of the others.
    """

    table: str
    part: str
    made: Drawn
    above: Mapping[str, Source] = field(default_factory=dict)
    gap: str = ""
    ordered: bool = False
    weights: Source | None = None
    below: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What the stage is called."""
        return self.table if self.part == "all" else f"{self.table}, {self.part}"

    @property
    def drawn(self) -> dict[str, str]:
        """The columns that are drawn: their names in the stage, and in the table."""
        late = self.part == "later"
        return {since(n) if late and n == self.gap else n: n for n in self.made.columns}

    @property
    def before(self) -> dict[str, Source]:
        """Columns of the children before: their names here, which child it is, and the column."""
        if self.part not in FURTHER:
            return {}
        known = [n for n in self.made.columns if n not in self.made.silent]
        kind = [n for n in (*self.own, *known) if n in self.made.context]
        alike = [n for n in known if n not in kind and (self.ordered or n in self.classes)]
        found = {FIRST + n: (FIRST, n) for n in (*kind, *alike)}
        # Without an order of their own, children drawn from the one before drift away.
        previous = known if self.ordered else ()
        return found | {PREVIOUS + n: (PREVIOUS, n) for n in previous}

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that are known before anything of the stage is drawn."""
        so_far = (SO_FAR,) if self.part in FURTHER else ()
        return (*self.above, *so_far, *self.before, *self.below, *self.own)

    @property
    def only_for(self) -> dict[str, str]:
        """The given columns that serve one column alone."""
        return {
            name: since(column) if column == self.gap else column
            for name, (which, column) in self.before.items()
            if which == PREVIOUS or column not in self.made.context
        }


Shape = tuple[Stage, ...]
"""The stages of linked tables in the order in which they are drawn."""


def shape_of(linked: Linked, made: Mapping[str, Drawn], weights: Source | None = None) -> Shape:
    """Return the stages of linked tables.

    Parameters
    ----------
    linked
        The tables.
    made
        What is drawn of each, numbers of children included.
    weights
        Where the weights of the records stand.
    """
    stages: list[Stage] = []
    last: list[Stage] = []
    above: dict[str, dict[str, Source]] = {}
    for table in linked.sequence:
        own, inherited = made[table], above.get(table, {})
        known = {name: (table, name) for name in own.columns if name not in own.silent}
        # The nearest table has the plain name.
        known |= {name: source for name, source in inherited.items() if name not in known}
        for child in linked.children_of(table):
            taken = made[child].columns
            above[child] = {
                name if name not in taken else ".".join(source): source
                for name, source in known.items()
            }
        if own.after:
            below = _below(linked, made, table)
            last.append(
                Stage(table, "after", Drawn(own.after), known, weights=weights, below=below)
            )
        if linked.parent_of(table) is None:
            stages.append(Stage(table, "all", own, weights=weights))
            continue
        by = linked.order.get(table, "")
        in_time = by in own.columns and linked.tables[table][by].kind in (Kind.DATE, Kind.DATETIME)
        gap = by if in_time else ""
        classes = frozenset(
            n for n in own.columns
            if n in linked.tables[table] and not linked.tables[table][n].kind.is_number
        )  # fmt: skip
        start = Stage(table, "first", own, inherited, gap, bool(by), weights, classes=classes)
        stages += _children(start)
    return (*stages, *last)


def _children(whole: Stage) -> list[Stage]:
    """Return the stages of a child table, each with its part of the visit sequence."""
    made, columns = whole.made, whole.made.columns
    needed = {*made.context, whole.gap, *(made.some.columns if made.some is not None else ())}
    last = max((i + 1 for i, n in enumerate(columns) if n in needed), default=len(columns))
    first = replace(whole, made=replace(made, columns=columns[:last]))
    stages = [first, replace(first, part="later")]
    if last < len(columns):
        own = tuple(n for n in columns[:last] if n not in made.silent)
        rest = replace(made, columns=columns[last:], some=None)
        stages.append(replace(whole, part="each", made=rest, own=own, gap=""))
    return stages


def _below(
    linked: Linked, made: Mapping[str, Drawn], table: str
) -> dict[str, tuple[str, str, str]]:
    """Return what a row knows of its children when they are there."""
    found = {}
    for child in linked.children_of(table):
        known = [n for n in made[child].columns if n not in made[child].silent]
        for name in known:
            found[FIRST + name] = (FIRST, child, name)
            if linked.tables[child][name].kind in (Kind.NUMERIC, Kind.INTEGER):
                found[SUM + name] = (SUM, child, name)
    return found


# -------------------------------------------------------------------------------------------------
# From linked tables to one ordinary table per stage: what is drawn beside what it is drawn from.
#
# The same is done with the original, with a release and with every world that an attacker thinks
# of, so that a stage is nothing but a table with some columns that are given.


Ints = NDArray[np.int64]


def unfold(linked: Linked, shape: Shape, released: bool = False) -> dict[str, Table]:
    """Return the table of each stage by its name.

    ``released`` says that the tables are synthetic ones, whose rows stand as they were drawn.

    Examples
    --------
    >>> from caveat.synthesis.linked.unfold import Drawn, shape_of
    >>> from caveat.table.grouping import found_groups, split_groups
    >>> people = Table.from_frame({"hh": [1, 1, 2], "region": ["N", "N", "S"], "age": [40, 3, 71]})
    >>> both = split_groups(people, found_groups(people, "hh"))
    >>> made = {"groups": Drawn(("number of members", "region")), "members": Drawn(("age",))}
    >>> shape = shape_of(both, made)
    >>> for name, table in unfold(both, shape).items():
    ...     print(name, table.n_rows, table.names[1:])
    groups 2 ('region',)
    members, first 2 ('region', 'age')
    members, later 1 ('region', 'number so far', 'age')
    """
    if released:
        _check_released(linked, shape)
    else:
        linked = complete(linked, shape)
    wide = {table: _wide(linked, table) for table in linked.sequence}
    return {stage.name: _table(linked, shape, stage, wide, released) for stage in shape}


def _wide(linked: Linked, table: str) -> dict[str, Column]:
    """Return the columns of a table with the number of children that each row has."""
    columns = dict(linked.tables[table].columns)
    n = linked.tables[table].n_rows
    for child in linked.children_of(table):
        counts = np.bincount(linked.parent_rows(child), minlength=n)
        columns[number_of(child)] = counts_column(counts)
    return columns


def counts_column(counts: NDArray[np.int64]) -> Column:
    """Return whole numbers as a column; every number between the ends is a level."""
    least = int(counts.min(initial=int(counts.max(initial=0))))
    return Column(counts - least, np.arange(least, int(counts.max(initial=0)) + 1), Kind.INTEGER)


def least_children(numbers: Column) -> int:
    """Return the least number of children that is drawn: 1 where every original row has one.

    Examples
    --------
    >>> [least_children(counts_column(np.array(counts))) for counts in ([3, 1, 9], [4, 7], [0, 2])]
    [1, 1, 0]
    """
    return int(np.clip(numbers.levels[:1], 0, 1).sum())


def placed(linked: Linked, stage: Stage, released: bool = False) -> tuple[Ints, Ints]:
    """Return the rows of a child table parent by parent, and their places from 0.

    Those of an original are put in order, and where some child has to meet a condition the first
    one that does stands first. Released ones stand as they were drawn.
    """
    made, parents = stage.made, linked.parent_rows(stage.table)
    if released:
        rows = np.argsort(parents, kind="stable")
        return rows, places_within(parents[rows])
    rows, places = linked.arranged(stage.table)
    if made.some is not None:
        meets = made.some.holds(linked.tables[stage.table].columns)[rows]
        # The place of the first that meets it; a row before it moves down by one.
        best = np.full(int(parents.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(best, parents[rows][meets], places[meets])
        first = best[parents[rows]]
        moved = np.where(places == first, 0, places + (places < first))
        rows = rows[np.lexsort((moved, parents[rows]))]
    if made.falling:
        height = -linked.tables[stage.table][made.falling].cell_numbers[rows]
        height[places == 0] = -np.inf
        rows = rows[np.lexsort((height, parents[rows]))]  # stable; what is missing comes last
    return rows, places


def complete(linked: Linked, shape: Shape) -> Linked:
    """Return the tables without the groups that break a condition on their members."""
    for stage in shape:
        if stage.made.some is None or stage.part != "first":
            continue
        link = linked.parent_of(stage.table)
        assert link is not None
        meets = stage.made.some.holds(linked.tables[stage.table].columns)
        parents = linked.parent_rows(stage.table)
        kept = np.bincount(parents[meets], minlength=linked.tables[link.parent].n_rows) > 0
        if not kept.all():
            tables = {**linked.tables, **_kept(linked, link.parent, kept)}
            linked = replace(linked, tables=tables)
    return linked


def _kept(linked: Linked, table: str, kept: NDArray[np.bool_]) -> dict[str, Table]:
    """Return some rows of a table, and what belongs to them."""
    found = {table: linked.tables[table].take(np.flatnonzero(kept))}
    for child in linked.children_of(table):
        found |= _kept(linked, child, kept[linked.parent_rows(child)])
    return found


def _check_released(linked: Linked, shape: Shape) -> None:
    """Refuse a release in which the first child of a parent breaks what some child has to meet."""
    for stage in shape:
        if stage.made.some is None or stage.part != "first":
            continue
        rows, places = placed(linked, stage, released=True)
        meets = stage.made.some.holds(linked.tables[stage.table].columns)[rows]
        broken = int((~meets & (places == 0)).sum())
        if broken:
            raise CaveatError(
                f"the generator cannot have made this release: in {broken:,} groups the first "
                "member breaks a rule",
                where=f"table {stage.table}",
                do="check that original, release and generator belong together",
                code="model.release.mismatch",
            )


def restricted(stage: Stage, column: Column, name: str) -> Column:
    """Return a column of first children with the levels that they can have, and no others."""
    if stage.part != "first" or stage.made.some is None or name not in stage.made.some.columns:
        return column
    every = column.with_codes(np.arange(column.n_levels))
    allowed = stage.made.some.holds({name: every})
    n = len(column.levels)
    return replace(
        column,
        codes=(np.cumsum(allowed) - 1)[column.codes],
        levels=column.levels[allowed[:n]],
        missing=tuple(m for m, kept in zip(column.missing, allowed[n:], strict=True) if kept),
    )


def _table(
    linked: Linked,
    shape: Shape,
    stage: Stage,
    wide: dict[str, dict[str, Column]],
    released: bool,
) -> Table:
    own = wide[stage.table]
    everyone, here, places = _rows(linked, shape, stage, released)
    rows = everyone[here]
    earlier = {PREVIOUS: everyone[here - 1], FIRST: everyone[here - places]}
    first = _first(shape, stage.table)
    found = dict(_above(linked, stage, wide, rows))
    if SO_FAR in stage.given:
        found[SO_FAR] = counts_column(places)
        for name, (which, column) in stage.before.items():
            held = own[column].take(earlier[which])
            held = restricted(first, held, column) if which == FIRST else held
            known = which == FIRST and column in stage.own
            found[name] = held if known else unknown_where(held, places == 0)
    for name, (what, child, column) in stage.below.items():
        first = _first(shape, child)
        everyone, places = placed(linked, first, released)
        if what == SUM:
            found[name] = sums_column(wide[child][column], linked.parent_rows(child), len(rows))
        else:
            held = wide[child][column].take(everyone[places == 0])
            found[name] = restricted(first, held, column)
    found |= {name: own[name].take(rows) for name in stage.own}
    for name, column in stage.drawn.items():
        held = own[column].take(rows)
        if name != column:
            held = _gaps(held, own[column].take(earlier[PREVIOUS]))
        found[name] = restricted(stage, held, column)
    return Table(found, linked.tables[stage.table].backend)


def _first(shape: Shape, table: str) -> Stage:
    """Return the stage of the first children, or the only one of a table without parent."""
    return next(stage for stage in shape if stage.table == table)


def _rows(linked: Linked, shape: Shape, stage: Stage, released: bool) -> tuple[Ints, Ints, Ints]:
    """Return the rows of a table as they stand, which of them are in a stage, and their places."""
    if stage.part in ("all", "after"):
        rows = np.arange(linked.tables[stage.table].n_rows)
        return rows, rows, np.zeros_like(rows)
    everyone, places = placed(linked, _first(shape, stage.table), released)
    everybody = {"first": places == 0, "each": places >= 0}
    here = np.flatnonzero(everybody.get(stage.part, places > 0))
    return everyone, here, places[here]


def _above(
    linked: Linked, stage: Stage, wide: dict[str, dict[str, Column]], rows: Ints
) -> Iterator[tuple[str, Column]]:
    """Yield what the tables above say about the parents of these rows, and their weight."""
    at, table = {stage.table: rows}, stage.table
    while (link := linked.parent_of(table)) is not None:
        at[link.parent], table = linked.parent_rows(table)[at[table]], link.parent
    source, weight = stage.weights or ("", "")
    if source in at and weight in wide[source]:  # weights are not released
        yield weight, wide[source][weight].take(at[source])
    for name, (source, column) in stage.above.items():
        yield name, wide[source][column].take(at[source])


def unknown_where(column: Column, rows: NDArray[np.bool_]) -> Column:
    """Return a column whose cells are empty in some rows: there is nobody yet to know of."""
    if not rows.any():
        return column
    empty = [i for i, m in enumerate(column.missing) if m.code is None]
    missing = column.missing if empty else (*column.missing, Missing())
    code = len(column.levels) + (empty[0] if empty else len(column.missing))
    codes = np.where(rows, code, column.codes.astype(np.int64))
    return replace(column, codes=codes, missing=missing)


def sums_column(column: Column, owners: Ints, n: int) -> Column:
    """Return the sum of a column over the children of each of `n` parents; missing cells are 0."""
    sums = np.bincount(owners, np.nan_to_num(column.cell_numbers), n)
    exact = column.kind is not Kind.NUMERIC
    levels, codes = np.unique(
        np.round(sums, 0 if exact else decimals_of(column)), return_inverse=True
    )
    return Column(codes, levels.astype(np.int64) if exact else levels, column.kind)


def _gaps(column: Column, previous: Column) -> Column:
    """Return how far each date is from the previous one, in its own ticks."""
    gaps = column.cell_numbers - previous.cell_numbers
    levels, codes = np.unique(gaps, return_inverse=True)
    return Column(codes, levels.astype(np.int64), Kind.INTEGER)
