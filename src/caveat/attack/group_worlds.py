"""Worlds in which whole groups leave or change: a household with all its members.

Linked tables are drawn in stages (see :mod:`caveat.synthesis.linked`), and in every world the
probability of the release is the product of those of its stages. A group that leaves takes its rows
out of each of them; one that changes brings others instead: those of which a cell has changed, and
those that are drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done
from caveat.attack.generator import plan_of
from caveat.attack.guarded import GuardedChanges, is_guarded
from caveat.attack.membership import refuse_copies
from caveat.attack.posterior import check_exact
from caveat.attack.worlds import Evidence, Worlds, in_threads
from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.linked import LinkedModel, unfold
from caveat.table import Column, Kind, Table
from caveat.table.linked import Linked

__all__ = ["GroupWorlds", "Runs", "check_fitted_on"]

OWNER = "\0owner"
"""The column that says in a stage which row of the topmost table a row belongs to."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Runs:
    """Rows by the group they belong to.

    Parameters
    ----------
    rows
        The rows, group by group.
    starts
        Where those of each group begin, and the end.
    """

    rows: Ints
    starts: Ints

    __repr__ = without_values

    @classmethod
    def of(cls, owners: Ints, n: int) -> Runs:
        """Return the rows of each of `n` groups, in the order in which they stand."""
        rows = np.argsort(owners, kind="stable")
        return cls(rows, np.searchsorted(owners[rows], np.arange(n + 1)))

    def take(self, groups: Ints) -> Runs:
        """Return the rows of some groups, one after the other.

        Examples
        --------
        >>> runs = Runs.of(np.array([1, 0, 1]), 2)
        >>> runs.take(np.array([1, 0, 1])).rows.tolist()
        [0, 2, 1, 0, 2]
        """
        sizes = np.diff(self.starts)[groups]
        starts = np.append(0, np.cumsum(sizes))
        places = np.arange(starts[-1]) - np.repeat(starts[:-1] - self.starts[groups], sizes)
        return Runs(self.rows[places], starts)

    @property
    def groups(self) -> Ints:
        """The group of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def where(self, kept: NDArray[np.bool_]) -> Runs:
        """Return the same without some of the rows."""
        return Runs(self.rows[kept], np.append(0, np.cumsum(kept))[self.starts])


class GroupWorlds:
    """The released copies seen from all data sets that differ from the original in one group.

    Parameters
    ----------
    original
        The original tables.
    releases
        The released copies.
    model
        The fitted model.
    top
        The table whose rows are the groups; the one without parent by default.
    """

    def __init__(
        self, original: Linked, releases: Sequence[Linked], model: LinkedModel, top: str = ""
    ) -> None:
        self.model = model
        self.top = _topmost(original, top)
        self.original = _below(original, self.top)
        self.shape = tuple(s for s in model.plan.shape if s.table in self.original.sequence)
        if not releases:
            raise CaveatError(
                "there is no release to attack",
                do="give at least one copy",
                code="data.release.absent",
            )
        shape = model.plan.shape
        self.releases = [unfold(release, shape, released=True) for release in releases]

    @property
    def n_groups(self) -> int:
        """Number of original groups."""
        return self.original.tables[self.top].n_rows

    @property
    def owners(self) -> Mapping[str, Ints]:
        """Of each table the group that each row belongs to."""
        return self.original.owners

    def _unfolded(self, linked: Linked) -> dict[str, tuple[Table, Ints]]:
        """Return the table of each stage, and the group of each of its rows."""
        groups = linked.tables[self.top]
        groups = groups.with_columns({OWNER: _numbers(groups.n_rows)})
        tagged = replace(linked, tables={**linked.tables, self.top: groups})
        source = {OWNER: (self.top, OWNER)}
        shape = tuple(replace(s, above={**s.above, **source}) for s in self.shape)
        return {
            name: (table.drop([OWNER]), table[OWNER].codes.astype(np.int64))
            for name, table in unfold(tagged, shape).items()
        }

    @cached_property
    def stages(self) -> Mapping[str, tuple[Worlds, Runs]]:
        """Of each stage the release seen from its own worlds, and the rows of each group."""
        found = {}
        for name, (table, owners) in self._unfolded(self.original).items():
            plan = self.model.plan.stages[name]
            check_exact(plan)
            refuse_copies(plan)
            releases = [tables[name] for tables in self.releases]
            found[name] = Worlds(table, plan, releases), Runs.of(owners, self.n_groups)
        return found

    @cached_property
    def base(self) -> Evidence:
        """How probable the releases are with the original as it is."""
        parts = [worlds.evidence(worlds.original, ()) for worlds, _ in self.stages.values()]
        impossible = {n: k for part in parts for n, k in part.impossible.items()}
        return Evidence(sum(part.finite for part in parts), impossible)

    def repeated(self, groups: Ints) -> tuple[Linked, dict[str, Runs]]:
        """Return tables that hold each of these groups, with keys of their own; and whose each is.

        The rows of a table are those of its runs.
        """
        linked, tables, runs, places = self.original, {}, {}, {}
        for name in linked.sequence:
            every = Runs.of(self.owners[name], self.n_groups)
            runs[name] = every.take(groups)
            places[name] = np.empty(len(every.rows), np.int64)
            places[name][every.rows] = np.arange(len(every.rows)) - every.starts[every.groups]
            tables[name] = linked.tables[name].take(runs[name].rows)
            if key := linked.keys.get(name):
                tables[name] = tables[name].with_columns({key: _numbers(tables[name].n_rows)})
            link = linked.parent_of(name)
            if link is not None:
                above = places[link.parent][linked.parent_rows(name)[runs[name].rows]]
                above = above + runs[link.parent].starts[runs[name].groups]
                held = _numbers(tables[link.parent].n_rows).with_codes(above)
                tables[name] = tables[name].with_columns({link.column: held})
        return replace(linked, tables={**linked.tables, **tables}), runs

    def logs(
        self,
        groups: Ints,
        come: Linked | None = None,
        whose: Ints | None = None,
        threads: int | None = None,
        done: Done | None = None,
    ) -> Floats:
        """Return the log-likelihood of each world.

        Parameters
        ----------
        groups
            The group that goes, for each world.
        come
            Groups that come instead, on the dictionaries of the original; None if none do.
        whose
            The world of each group that comes.
        """
        made = {} if come is None else self._unfolded(come)
        total, whole = np.zeros(len(groups)), sum(map(_size, self.stages.values()))
        for name, (worlds, runs) in self.stages.items():
            part = _part(done, _size((worlds, runs)) / whole)
            table, arrived = worlds.original.take([]), Runs.of(np.zeros(0, np.int64), len(groups))
            if name in made and whose is not None:
                table, owners = made[name]
                arrived = Runs.of(whose[owners], len(groups))
            total += _logs(worlds, runs.take(groups), table, arrived, threads, part)
        return total


def _size(stage: tuple[Worlds, Runs]) -> int:
    """Return the cells of a stage: about how its work compares with that of others."""
    worlds, runs = stage
    return 1 + len(worlds.plan.columns) * len(runs.rows)


def _part(done: Done | None, share: float) -> Done | None:
    return None if done is None else lambda ready: done(ready * share)


def _logs(
    worlds: Worlds,
    gone: Runs,
    come: Table,
    arrived: Runs,
    threads: int | None,
    done: Done | None,
) -> Floats:
    """Return the log-likelihood of one stage in each world."""
    wider, columns = worlds.with_values(come.columns)
    if np.array_equal(gone.starts, arrived.starts):
        differs = np.zeros(len(gone.rows), bool)
        for name, column in columns.items():
            differs |= wider.original[name].codes[gone.rows] != column.codes[arrived.rows]
        gone, arrived = gone.where(differs), arrived.where(differs)
    n_worlds = len(gone.starts) - 1
    if not len(gone.rows) and not len(arrived.rows):
        if done is not None:
            done(1.0)
        return np.full(n_worlds, worlds.evidence(worlds.original, ()).log_likelihood)
    if is_guarded(worlds.plan):
        rows = Table(columns).take(arrived.rows)
        changes = GuardedChanges(wider)
        return changes.logs_of_sets(gone.rows, gone.starts, rows, arrived.starts, threads, done)
    base = worlds.evidence(worlds.original, ())

    def one(i: int) -> float:
        old, new = (r.rows[r.starts[i] : r.starts[i + 1]] for r in (gone, arrived))
        if not len(old) and not len(new):
            return base.log_likelihood
        # A number between two that are known is taken for the nearer one: sums and distances that
        # only other worlds have must not stand beside it.
        return worlds.evidence(worlds.instead(old, come.take(new).compact())).log_likelihood

    return np.array(in_threads(one, range(n_worlds), threads, done))


def check_fitted_on(model: LinkedModel, original: Linked) -> None:
    """Refuse a model that was fitted on other tables."""
    for name, table in unfold(original, model.plan.shape).items():
        plan_of(model.stages[name], table)


def _numbers(n: int) -> Column:
    return Column(np.arange(n), np.arange(n), Kind.INTEGER)


def _topmost(linked: Linked, top: str) -> str:
    """Return the table whose rows are the groups."""
    tops = [table for table in linked.sequence if linked.parent_of(table) is None]
    if top in tops or (not top and len(tops) == 1):
        return top or tops[0]
    raise CaveatError(
        f"{top!r} is no table without parent" if top else "several tables have no parent",
        where="table",
        do=f"name one of {', '.join(tops)}",
        code="attack.table.unknown" if top else "attack.table.absent",
    )


def _below(linked: Linked, top: str) -> Linked:
    """Return a table, all that belongs to its rows, and the lookups."""
    kept = [top]
    for table in linked.sequence:
        link = linked.parent_of(table)
        if link is not None and link.parent in kept:
            kept.append(table)
    names = {*kept, *linked.lookups}
    return Linked(
        {n: table for n, table in linked.tables.items() if n in names},
        {n: key for n, key in linked.keys.items() if n in names},
        tuple(link for link in linked.links if link.child in names),
        linked.lookups,
        {n: by for n, by in linked.order.items() if n in names},
    )
