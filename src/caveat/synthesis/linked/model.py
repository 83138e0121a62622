"""Fitted groups and linked tables: drawn stage by stage, with fresh keys."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.expressions import Expression
from caveat.seeds import Stream, child_seed, random_root
from caveat.showing import without_values
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import Cells, ColumnModel, computed, without_unknown
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.linked.plan import LinkedPlan, kind_columns, make_linked_plan
from caveat.synthesis.linked.unfold import (
    FIRST,
    SO_FAR,
    SUM,
    Stage,
    counts_column,
    least_children,
    sums_column,
    unfold,
    unknown_where,
)
from caveat.synthesis.model import LogProb, Model, recoded, whole_number, written
from caveat.synthesis.options import look_ups, sources_first
from caveat.synthesis.replacing import FreshKeys, Replaced, complete_linked, dropping
from caveat.table import Column, Kind, Table
from caveat.table.align import common_levels
from caveat.table.grouping import (
    GROUPS,
    MEMBERS,
    Groups,
    found_groups,
    join_groups,
    size_columns,
    split_groups,
)
from caveat.table.identifying import judge
from caveat.table.linked import Linked, number_of, places_within
from caveat.table.table import decimals_of, survey_weights

__all__ = ["GroupModel", "GroupPlan", "LinkedModel", "fit_groups", "fit_linked", "plan_groups"]


Ints = NDArray[np.int64]
Columns = dict[str, Column]


@dataclass(frozen=True)
class LinkedModel:
    """Fitted linked tables. They hold values of original records and are as confidential.

    Parameters
    ----------
    plan
        The plan they were fitted by.
    stages
        The fitted synthesiser of each stage, by its name.
    outline
        Tables without rows: names, keys and links of what comes out; lookups are whole.
    keys
        What makes the keys of each table that has one.
    rows
        Number of original rows of the tables without parent.
    seed
        The root seed.
    dictionaries
        The child tables without rows, their dictionaries whole: what nobody is known to have yet,
        and dates that are found from distances, are cells of them.
    replaced
        By table the columns that are replaced by invented values once the others are drawn.
    """

    plan: LinkedPlan
    stages: Mapping[str, Model]
    outline: Linked
    keys: Mapping[str, FreshKeys]
    rows: Mapping[str, int]
    seed: int
    dictionaries: Mapping[str, Table] = field(repr=False, default_factory=dict)
    replaced: Mapping[str, Replaced] = field(repr=False, default_factory=dict)

    __repr__ = without_values

    def tables(
        self, rows: Mapping[str, int] | None = None, copies: int = 1, threads: int | None = None
    ) -> list[Linked]:
        """Draw synthetic copies.

        Parameters
        ----------
        rows
            Rows of the tables without parent; as many as the original has by default.
        copies
            Number of copies.
        threads
            Blocks drawn at the same time; all cores by default. The result does not depend on it.
        """
        whole_number(copies, "copies", 1)
        for name, number in (rows or {}).items():
            if name not in self.rows:
                raise CaveatError(
                    f"{name!r} is no table without parent",
                    where="rows",
                    do=hint(name, [*self.rows]),
                    code="data.table.unknown",
                )
            whole_number(number, "rows", 0)
        wanted = {**self.rows, **(rows or {})}
        return [_Draw(self, wanted, copy, threads).linked() for copy in range(copies)]

    def complete(self, linked: Linked, copy: int = 0) -> Linked:
        """Return a drawn copy with its invented columns."""
        return complete_linked(self.replaced, linked, self.seed, copy)

    def log_prob(self, linked: Linked) -> dict[str, LogProb]:
        """Return the log probability of every cell of released tables, stage by stage."""
        tables = unfold(linked, self.plan.shape, released=True)
        return {name: model.log_prob(tables[name]) for name, model in self.stages.items()}


class _Draw:
    """One copy while it is drawn."""

    def __init__(
        self, model: LinkedModel, rows: Mapping[str, int], copy: int, threads: int | None
    ) -> None:
        self.model = model
        self.rows = rows
        self.copy = copy
        self.threads = threads
        self.columns: dict[str, Columns] = {}
        self.parents: dict[str, Ints] = {}
        self.counts: dict[str, Ints] = {}
        self.firsts: dict[str, Columns] = {}
        self.numbers = {stage.name: i for i, stage in enumerate(model.plan.shape)}

    def linked(self) -> Linked:
        """Draw all tables and give them keys."""
        outline, plan = self.model.outline, self.model.plan
        for table in outline.sequence:
            stages = [s for s in plan.shape if s.table == table and s.part != "after"]
            if outline.parent_of(table) is None:
                # A table of nothing but keys has no stage.
                rows = self.rows[table]
                self.columns[table] = self._stage(stages[0], {}, rows, 0) if stages else {}
            else:
                self._children(table, stages)
        for stage in plan.shape:
            if stage.part == "after":
                self._after(stage)
        tables = {
            name: empty if name in outline.lookups else self._table(name, empty)
            for name, empty in outline.tables.items()
        }
        return replace(outline, tables=tables)

    def _table(self, name: str, outline: Table) -> Table:
        """Return a drawn table with the columns of the original in their order."""
        columns = dict(self.columns[name])
        keys = self.model.keys
        if name in keys:
            columns[self.model.outline.keys[name]] = keys[name].make(self._size(name))
        link = self.model.outline.parent_of(name)
        if link is not None:
            made = keys[link.parent].make(self._size(link.parent))
            # What the child's column is called and looks like, with the keys of its parents.
            columns[link.column] = replace(
                outline[link.column], codes=made.codes[self.parents[name]], levels=made.levels
            )
        return Table({n: columns[n] for n in outline if n in columns}, outline.backend)

    def _size(self, table: str) -> int:
        if self.model.outline.parent_of(table) is None:
            return self.rows[table]
        return len(self.parents[table])

    def _stage(self, stage: Stage, given: Columns, n: int, place: int) -> Columns:
        """Draw the rows of a stage; return what it makes."""
        model = self.model.stages[stage.name]
        known = Table(given)
        cells = {
            name: without_unknown(recoded(model.columns[name], known, name)) for name in stage.given
        }
        seed = child_seed(
            self.model.seed, Stream.STAGES, self.copy, self.numbers[stage.name], place
        )
        drawn = replace(model, seed=seed).draw(cells, n, self.threads)
        return {name: drawn[name].column for name in model.names}

    def _children(self, table: str, stages: list[Stage]) -> None:
        """Draw the children of all rows of the table above, one place after the other."""
        link = self.model.outline.parent_of(table)
        assert link is not None
        counts = self._possible_counts(link.parent, table)
        by_part = {stage.part: stage for stage in stages}
        # A table in which nobody has a child, or a second one, has no such stage.
        most = counts.max(initial=0) if "later" in by_part else int("first" in by_part)
        counts = np.minimum(counts, most)
        self.counts[table] = counts
        self.parents[table] = np.repeat(np.arange(len(counts)), counts)
        self.columns[table], self.firsts[table] = {}, {}
        rounds = list(_rounds(counts, any(stage.ordered for stage in stages)))
        for parts in (("first", "later"), ("each", "each")):
            drawn = self._in_rounds([by_part.get(part) for part in parts], rounds)
            self.columns[table] |= {name: _gathered(drawn[name], name) for name in drawn}
        if not rounds:
            self.columns[table] = dict(self.model.dictionaries[table].columns)

    def _possible_counts(self, parent: str, table: str) -> Ints:
        """Return how many children each row has; a regression may draw a number that no row can."""
        name = number_of(table)
        column = self.columns[parent][name]
        fitted = next(s for s in self.model.plan.shape if name in s.drawn and s.table == parent)
        least = least_children(self.model.stages[fitted.name].columns[name].coding.column)
        counts = np.asarray(column.cell_numbers.astype(np.int64))
        if (counts < least).any():
            counts = np.maximum(counts, least)
            self.columns[parent][name] = counts_column(counts)
        return counts

    def _in_rounds(
        self, stages: list[Stage | None], rounds: list[tuple[Ints, Ints]]
    ) -> dict[str, list[tuple[Ints, Column]]]:
        """Draw what stages make of the first children, then of the others: rows and cells."""
        pieces: dict[str, list[tuple[Ints, Column]]] = {}
        last: tuple[Ints, Columns] = np.zeros(0, np.int64), {}
        for owners, places in rounds:
            stage = stages[min(int(places[0]), 1)]
            if stage is None:
                continue
            previous = {n: c.take(np.searchsorted(last[0], owners)) for n, c in last[1].items()}
            given = self._given(stage, owners, places, previous)
            drawn = self._stage(stage, given, len(owners), int(places[0]))
            last = owners, self._own(stage, drawn, previous)
            if places[0] == 0:
                self.firsts[stage.table] |= last[1]
            rows = self._starts(stage.table)[owners] + places
            for name, column in last[1].items():
                pieces.setdefault(name, []).append((rows, column))
        return pieces

    def _starts(self, table: str) -> Ints:
        """Return the row of the first child of each parent."""
        counts = self.counts[table]
        return np.asarray(np.cumsum(counts) - counts)

    def _after(self, stage: Stage) -> None:
        """Draw what a row has when its children are there."""
        n = self._size(stage.table)
        given = {
            name: self.columns[source][column] for name, (source, column) in stage.above.items()
        }
        for name, (what, child, column) in stage.below.items():
            held, owners = self.columns[child][column], self.parents[child]
            if what == SUM:
                given[name] = sums_column(held, owners, n)
            else:
                given[name] = held.take(np.unique(owners, return_index=True)[1])
        self.columns[stage.table] |= self._stage(stage, given, n, 0)

    def _given(self, stage: Stage, owners: Ints, places: Ints, previous: Columns) -> Columns:
        """Return what is known about the rows of a stage before they are drawn."""
        at, table = {}, stage.table
        rows = owners
        while (link := self.model.outline.parent_of(table)) is not None:
            at[link.parent], table = rows, link.parent
            rows = self.parents[table][rows] if table in self.parents else rows
        given = {
            name: self.columns[source][column].take(at[source])
            for name, (source, column) in stage.above.items()
        }
        if SO_FAR not in stage.given:
            return given
        given[SO_FAR] = counts_column(places)
        rows = self._starts(stage.table)[owners] + places
        given |= {name: self.columns[stage.table][name].take(rows) for name in stage.own}
        heads = np.searchsorted(np.flatnonzero(self.counts[stage.table]), owners)
        first = {n: column.take(heads) for n, column in self.firsts[stage.table].items()}
        for name, (which, column) in stage.before.items():
            known = (first if which == FIRST else previous).get(column)
            if known is None:  # nobody is before the first
                nobody = np.zeros(len(owners), np.int64)
                held = self.model.dictionaries[stage.table][column].with_codes(nobody)
                known = unknown_where(held, nobody == 0)
            given[name] = known
        return given

    def _own(self, stage: Stage, drawn: Columns, last: Columns) -> Columns:
        """Return drawn columns by their names in the table; distances become values again."""
        found = {}
        for name, column in drawn.items():
            own = stage.drawn[name]
            if own != name:
                column = _moved(column, last[own], self.model.dictionaries[stage.table][own])
            found[own] = column
        return found


def _gathered(pieces: list[tuple[Ints, Column]], name: str) -> Column:
    """Return one column from cells that were drawn apart, with the rows that they are in."""
    stacked = common_levels([column for _, column in pieces], name)
    codes = np.empty(sum(len(column) for column in stacked), np.int64)
    for (rows, _), column in zip(pieces, stacked, strict=True):
        codes[rows] = column.codes
    return stacked[0].with_codes(codes)


def _rounds(counts: Ints, ordered: bool) -> Iterator[tuple[Ints, Ints]]:
    """Yield who has a child that is drawn next, and its place: the first, then all others.

    Where children stand in an order, each place is a round of its own.
    """
    owners = np.flatnonzero(counts > 0)
    if len(owners):
        yield owners, np.zeros(len(owners), np.int64)
    if ordered:
        for place in range(1, int(counts.max(initial=0))):
            owners = np.flatnonzero(counts > place)
            yield owners, np.full(len(owners), place)
    elif (counts > 1).any():
        owners = np.repeat(np.arange(len(counts)), np.maximum(counts - 1, 0))
        yield owners, 1 + places_within(owners)


def _moved(gaps: Column, previous: Column, dictionary: Column) -> Column:
    """Return the dates that are so far from the previous ones."""
    numbers = previous.cell_numbers + gaps.cell_numbers
    return Cells(Coding(dictionary), numbers=numbers).column


def fit_linked(
    linked: Linked,
    plan: LinkedPlan,
    seed: int | None = None,
    threads: int | None = None,
    done: Callable[[str, ColumnModel], None] | None = None,
) -> LinkedModel:
    """Fit every stage of linked tables.

    Parameters
    ----------
    linked
        The original tables.
    plan
        Their plan.
    seed
        Root of all randomness; drawn at random when None.
    threads
        Columns fitted at the same time; all cores by default. The result does not depend on it.
    done
        Called with the name and the model of each column that is ready.
    """
    seed = random_root() if seed is None else seed
    threads = threads or os.cpu_count() or 1
    linked = plan.pooled(linked)
    tables = unfold(linked, plan.shape)
    stages, plans = {}, {}
    for number, stage in enumerate(plan.shape):
        table, own = tables[stage.name], child_seed(seed, number)
        plans[stage.name] = replace(plan.stages[stage.name], structure_seed=own)
        columns = fit_columns(table, plans[stage.name], own, threads, done)
        names = written(plans[stage.name], table)
        stages[stage.name] = Model(plans[stage.name], columns, names, table.n_rows, own)
    plan = replace(plan, stages=plans, structure_seed=seed)
    rows = {
        name: linked.tables[name].n_rows
        for name in linked.sequence
        if linked.parent_of(name) is None
    }
    keys = {
        table: FreshKeys.unlike(linked.tables[table][key])
        for table, key in linked.keys.items()
        if table not in linked.lookups
    }
    return LinkedModel(
        plan, stages, _outline(linked), keys, rows, seed, dict(_dictionaries(linked))
    )


def _outline(linked: Linked) -> Linked:
    tables = {
        name: table if name in linked.lookups else table.take(slice(0, 0)).compact()
        for name, table in linked.tables.items()
    }
    return replace(linked, tables=tables)


def _dictionaries(linked: Linked) -> Iterator[tuple[str, Table]]:
    """Yield the tables without rows, their dictionaries whole."""
    for name in linked.sequence:
        if linked.parent_of(name) is not None:
            own = {linked.keys.get(name, ""), linked.parent_of(name).column}  # type: ignore[union-attr]
            table = linked.tables[name]
            yield name, table.drop([n for n in own if n in table]).take(slice(0, 0))


# -------------------------------------------------------------------------------------------------
# Groups in one table: a household file in, a household file out.


AGE = re.compile(r"(?i)^(age|alter|edad)$")
ADULT = 18
NEARLY_ALL = 0.999
"""Share of groups with an adult from which on every synthetic group has one, unless rules say."""
SIZE = "sum(1)"
"""The formula of columns that say how many members a group has."""


@dataclass(frozen=True)
class GroupPlan(LinkedPlan):
    """The plan of a table with groups; its groups are in ``groups``."""

    groups: Groups = field(default_factory=lambda: Groups(""))


def plan_groups(table: Table, given: Any, options: Mapping[str, Any]) -> GroupPlan:
    """Return the plan of a table whose rows belong to groups; what is not said is found.

    Parameters
    ----------
    table
        The original table.
    given
        The name of the key, :class:`caveat.table.grouping.Groups` or entries of a specification.
    options
        As for :func:`caveat.synthesis.make_plan`. Rules may say what some member of every group
        meets, ``any(age >= 18)``; derived columns may sum up the members, ``sum(income)``.
    """
    groups = found_groups(table, given)
    options = dropping(options)
    derived = dict(options.get("derived", {}))
    sizes = [
        name
        for name in size_columns(table, groups.key, groups.constant or ())
        if name not in derived and "method" not in options.get("columns", {}).get(name, {})
    ]
    after = _after_members(table, groups, options)
    late = _late({**dict.fromkeys(sizes, SIZE), **derived}, after)
    options["derived"] = {n: text for n, text in derived.items() if n not in late}
    remarks = []
    if "rules" not in options and (rule := adult_rule(table, groups)):
        options["rules"] = [rule]
        remarks.append(f"every group gets an adult: rule {rule!r} was found; rules = [] drops it")
    if groups.role:
        order = [n for n in options.get("order") or () if n != groups.role]
        options["order"] = [groups.role, *order]
    linked = split_groups(table, groups)
    plan = make_linked_plan(
        linked,
        options,
        context=_context(linked, groups),
        late=late,
        after=after,
        falling={} if groups.order else {MEMBERS: age_column(table, groups)},
    )
    whole = {item: getattr(plan, item) for item in plan.__dataclass_fields__}
    return GroupPlan(**{**whole, "remarks": (*remarks, *plan.remarks)}, groups=groups)


def _after_members(table: Table, groups: Groups, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of groups that the visit sequence has behind one of the members."""
    given = [n for n in options.get("order") or () if n in table]
    whole = [*given, *(n for n in table if n not in given)]
    whole = sources_first(whole, look_ups(options), given)
    constant = (groups.key, *(groups.constant or ()))
    left = {*options.get("drop", ()), options.get("weights", "")}
    judged = options.get("judged")
    left |= set(judge(table) if judged is None else judged)
    first = next((i for i, n in enumerate(whole) if n not in constant and n not in left), 0)
    strata = options.get("strata", "")
    return tuple(n for n in whole[first:] if n in constant and n != strata)


def _late(derived: Mapping[str, Any], after: Sequence[str]) -> dict[str, str]:
    """Return the formulas that can be computed when everything is drawn, each after its sources."""
    needs = {n: Expression(text).columns for n, text in derived.items() if isinstance(text, str)}
    late = {n for n in needs if Expression(derived[n]).is_of_groups}
    while more := {n for n in needs if n not in late and {*late, *after} & set(needs[n])}:
        late |= more
    found: dict[str, str] = {}
    while left := [n for n in needs if n in late and n not in found]:
        ready = [n for n in left if not set(needs[n]) & (set(left) - {n})]
        if not ready or any(n in needs[n] for n in ready):
            raise CaveatError(
                f"{' and '.join(left)} are derived from each other",
                where="synthesis, derived",
                do="synthesise one of them",
                entry=("derived",),
                code="synthesis.formula.conflict",
            )
        found |= {n: str(derived[n]) for n in ready}
    return found


def _context(linked: Linked, groups: Groups) -> dict[str, list[str]]:
    """Return the columns that say what kind of member somebody is, if the groups name some."""
    told = [name for name in (groups.role, groups.order.removeprefix("-")) if name]
    table = linked.tables[MEMBERS]
    found = kind_columns(table, [name for name in table if name not in told])
    return {MEMBERS: [*told, *found]}


def adult_rule(table: Table, groups: Groups) -> str:
    """Return the rule that some member is an adult, if (nearly) every group of the table has one.

    Examples
    --------
    >>> people = Table.from_frame({"hh": [1, 1, 2], "age": [40, 3, 71]})
    >>> adult_rule(people, found_groups(people, "hh"))
    'any(age >= 18)'
    """
    name = age_column(table, groups)
    if not name:
        return ""
    ages, key = table[name].cell_numbers, table[groups.key]
    if not (ages < ADULT).any():
        return ""
    adults = np.bincount(key.codes, ages >= ADULT, key.n_levels)[key.counts > 0]
    return f"any({name} >= {ADULT})" if (adults > 0).mean() >= NEARLY_ALL else ""


def age_column(table: Table, groups: Groups) -> str:
    """Return the column that holds the age of members, "" if there is none."""
    constant = groups.constant or ()
    ages = [n for n in table if AGE.match(n) and n not in constant]
    return next((n for n in ages if table[n].kind in (Kind.INTEGER, Kind.NUMERIC)), "")


@dataclass(frozen=True)
class GroupModel:
    """A fitted synthesiser of a table with groups. It is as confidential as the table.

    Parameters
    ----------
    model
        The fitted groups and members.
    names
        The columns of the output in their order.
    n_rows
        Number of original records.
    kinds
        What computed columns are like, without rows, and their decimals.
    backend
        The kind of frame that came in.
    population
        Number of groups that the weights of the sample stand for; 0 without weights.
    replaced
        The columns that are replaced by invented values once the others are drawn.
    """

    model: LinkedModel
    names: tuple[str, ...]
    n_rows: int
    kinds: Mapping[str, tuple[Column, int]]
    backend: str = ""
    population: int = 0
    replaced: Replaced = field(default_factory=Replaced, repr=False)

    __repr__ = without_values

    @property
    def plan(self) -> GroupPlan:
        """The plan it was fitted by."""
        plan = self.model.plan
        assert isinstance(plan, GroupPlan)
        return plan

    @property
    def groups(self) -> Groups:
        """Which rows belong together."""
        return self.plan.groups

    @property
    def seed(self) -> int:
        """The root seed."""
        return self.model.seed

    @property
    def n_groups(self) -> int:
        """Number of original groups."""
        return self.model.rows[GROUPS]

    def with_seed(self, seed: int) -> GroupModel:
        """Return the same fit with another seed for its draws."""
        return replace(self, model=replace(self.model, seed=seed))

    def sample(
        self,
        groups: int | Literal["population"] | None = None,
        copies: int = 1,
        threads: int | None = None,
    ) -> Any:
        """Draw synthetic copies as frames of the kind that came in.

        Parameters
        ----------
        groups
            Groups of each copy; as many as the original has by default. "population": as many as
            the weights of the sample stand for.
        copies
            Number of copies. One gives a frame, several a list of frames.
        threads
            Blocks drawn at the same time; all cores by default. The result does not depend on it.
        """
        drawn = enumerate(self.tables(groups, copies, threads))
        frames = [self.complete(table, copy).compact().to_frame() for copy, table in drawn]
        return frames[0] if copies == 1 else frames

    def complete(self, table: Table, copy: int = 0) -> Table:
        """Return a drawn copy with its invented columns."""
        return self.replaced.complete(table, self.seed, copy, key=self.groups.key)

    def tables(
        self,
        groups: int | Literal["population"] | None = None,
        copies: int = 1,
        threads: int | None = None,
    ) -> list[Table]:
        """Draw synthetic copies as tables."""
        if groups == "population" and not self.population:
            raise CaveatError(
                "a population is expanded by the weights of groups, and there are none",
                where="rows",
                do='name them: weights = "…" in [synthesis]',
                code="synthesis.weights.absent",
            )
        n = self.population if groups == "population" else groups
        rows = None if n is None else {GROUPS: whole_number(n, "groups", 1)}
        return [self._joined(linked) for linked in self.model.tables(rows, copies, threads)]

    def _joined(self, linked: Linked) -> Table:
        """Return one table; what follows from all members of a group is computed now."""
        table = join_groups(linked, [*linked.tables[GROUPS], *linked.tables[MEMBERS]])
        codes = table[self.groups.key].codes
        for name, text in self.plan.late.items():
            column, decimals = self.kinds[name]
            values = Expression(text).evaluate(table.columns, codes)
            table = table.with_columns({name: computed(column, values, decimals)})
        return replace(table.select([n for n in self.names if n in table]), backend=self.backend)

    def split(self, data: Any) -> Linked:
        """Return a table, the original or a release, as the model sees it."""
        table = Table.from_frame(data)
        groups = replace(
            self.groups,
            constant=tuple(n for n in self.groups.constant or () if n in table),
        )
        return split_groups(table, groups)

    def log_prob(self, data: Any) -> dict[str, LogProb]:
        """Return the log probability of every cell of a table, stage by stage."""
        return self.model.log_prob(self.split(data))


def fit_groups(
    table: Table,
    plan: GroupPlan,
    seed: int | None = None,
    threads: int | None = None,
    done: Callable[[str, ColumnModel], None] | None = None,
) -> GroupModel:
    """Fit a table whose rows belong to groups."""
    linked = split_groups(table, plan.groups)
    model = fit_linked(linked, plan, seed, threads, done)
    kinds = {name: (table[name].take(slice(0, 0)), decimals_of(table[name])) for name in plan.late}
    left = {*plan.dropped, plan.weights}
    names = tuple(name for name in table if name not in left)
    population = 0
    if plan.weights:
        top = linked.tables[GROUPS][plan.weights]
        population = round(float(survey_weights(top, plan.weights).sum()))
    return GroupModel(model, names, table.n_rows, kinds, table.backend, population)
