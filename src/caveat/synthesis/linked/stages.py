"""Stages: in which parts linked tables are drawn, and what each part is drawn from.

A table without a parent is one stage. What kind of child a row is, its role, sex and age, is drawn
of the first child of each parent from what the parent and its own parents are; then of every
further one from these, its place, the first child and, where children stand in an order, the one
before it. The other columns of all children are one stage again: the more rows a tree has, the
better. How many children a row has is a column of its own. Columns of the parent that come
after those of its children in the visit sequence are drawn last, from the first child and the sums
over all. So everything is a product of the shares of leaves, as it is in one table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from caveat.expressions import Expression
from caveat.table import Kind
from caveat.table.linked import Linked, number_of

__all__ = ["FIRST", "PARTS", "PREVIOUS", "SO_FAR", "SUM", "Drawn", "Shape", "Stage", "number_of",
           "shape_of", "since"]  # fmt: skip

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
