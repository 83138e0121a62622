"""Fitted linked tables: drawn stage by stage, with fresh keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError, hint
from caveat.seeds import Stream, child_seed, random_root
from caveat.synthesis.cells import Cells, without_unknown
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.fresh_keys import FreshKeys
from caveat.synthesis.linked.plan import LinkedPlan
from caveat.synthesis.linked.stages import FIRST, SO_FAR, SUM, Stage, number_of
from caveat.synthesis.linked.unfold import (
    counts_column,
    least_children,
    sums_column,
    unfold,
    unknown_where,
)
from caveat.synthesis.model import LogProb, Model, recoded, whole_number, written
from caveat.synthesis.replacing import Replaced, complete_linked
from caveat.table import Column, Table
from caveat.table.align import common_levels
from caveat.table.linked import Linked, places_within

__all__ = ["LinkedModel", "fit_linked"]

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
