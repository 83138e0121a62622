"""The strong attacker who is after a household: all its members leave or change together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import FROM_THESE, Done, GuardedChanges, is_guarded
from caveat.attack.attributes import (
    Attributes,
    cells_of_values,
    check_target,
    considered,
    prior_of_each,
    tried_codes,
)
from caveat.attack.membership import Membership, PrivacyLoss, refuse_copies
from caveat.attack.posterior import check_exact
from caveat.attack.worlds import Evidence, Worlds, in_threads, plan_of, refuse_impossible
from caveat.errors import CaveatError, hint
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.showing import without_values
from caveat.synthesis.linked import GroupModel, LinkedModel, unfold
from caveat.synthesis.options import WITHOUT_MODEL
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Column, Kind, Table
from caveat.table.align import common_levels
from caveat.table.grouping import GROUPS, MEMBERS
from caveat.table.linked import Linked

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


# -------------------------------------------------------------------------------------------------
# The strong attacker who is after a household: all its members leave or change together.
#
# A risk per row understates the risk of a household, whose members vouch for each other. What is
# computed is exact, as it is for single records; every result says whose it is, of a group or of
# a person in it.


def group_membership(
    original: Any,
    synthetic: Any,
    model: GroupModel | LinkedModel,
    groups: Sequence[int] | None = None,
    *,
    unit: str = "group",
    table: str = "",
    threads: int | None = None,
    done: Done | None = None,
) -> Membership:
    """Return for each group how much more probable the release is with it than without it.

    Parameters
    ----------
    original
        The original table, or linked tables.
    synthetic
        The released copy, or a list of copies.
    model
        The fitted model.
    groups
        Positions of the groups in the order in which they appear, from 0; all by default.
    unit
        "group"; or "person": how much more probable the release is than if one member had not been
        in its group. Records of the result are then rows of the original table.
    table
        The table whose rows are the groups, if several have no parent.
    threads
        Threads; all cores by default. The result does not depend on it.
    done
        Called with the share of the work that has become ready.

    Examples
    --------
    >>> from caveat.synthesis import Synthesizer
    >>> people = {"hh": [i // 2 for i in range(80)], "job": ["yes", "no", "yes", "yes"] * 20}
    >>> model = Synthesizer(groups="hh", seed=1).fit(people)
    >>> result = group_membership(people, model.sample(), model, [0, 39])
    >>> result.unit, result.log_ratio.shape
    ('group', (2,))
    """
    worlds = GroupWorlds(*_linked(original, synthetic, model), table)
    chosen = _chosen(groups, worlds)
    _check_unit(unit)
    if worlds.n_groups < 2:
        raise CaveatError(
            "there is one group", do="there is nothing left without it", code="data.group.too-few"
        )
    records = chosen
    if unit == "group":
        logs = worlds.logs(chosen, None, None, threads, done)
    else:
        records, logs = _without_members(worlds, chosen, threads, done)
    if np.isneginf(logs).all():
        refuse_impossible([worlds.base], f"with and without each {unit}")
    with np.errstate(invalid="ignore"):
        return Membership(records, worlds.base.log_likelihood - logs, unit)


def group_posterior(
    original: Any,
    synthetic: Any,
    model: GroupModel | LinkedModel,
    target: str,
    groups: Sequence[int] | None = None,
    *,
    table: str = "",
    prior: str = DEFAULT_PRIOR,
    cells: bool = False,
    candidates: int | None = None,
    threads: int | None = None,
    done: Done | None = None,
) -> Attributes:
    """Attack one column of groups or of their members, each by someone who knows all the rest.

    Parameters
    ----------
    original, synthetic, model, groups, threads, done
        As for :func:`group_membership`.
    target
        The column the attacker wants to learn. One that is constant in a group is unknown for the
        whole group, and records of the result are groups; another is unknown for one member, and
        they are rows of the original table that has it.
    table
        The table that has the column, if several have one of this name.
    prior
        "conditional", "marginal" or "uniform"; as for :func:`caveat.attack.posterior`.
    cells, candidates
        As for :func:`caveat.attack.attributes`; of each cell one value is tried.
    """
    linked, releases, fitted = _linked(original, synthetic, model)
    name = _table_of(linked, target, table)
    linked = _with_released_levels(linked, releases, name, target)
    worlds = GroupWorlds(linked, releases, fitted, _above(linked, name)[-1])
    _check_target(worlds, name, target)
    column = linked.tables[name][target]
    place = cells_of_values(column, _entry(worlds, name, target), candidates) if cells else None
    codes = tried_codes(column, place, candidates, each=False)
    records, logs = _with_each_value(
        worlds, name, target, _chosen(groups, worlds), threads, done, codes
    )
    refuse_impossible([worlds.base], FROM_THESE)
    beliefs = prior_of_each(prior, _known(worlds, name), target, records)
    member = "person" if isinstance(model, GroupModel) else name
    unit = "group" if name == worlds.top else member
    return considered(Attributes(column, records, beliefs, logs, unit), place)


def group_privacy_loss(
    original: Any,
    synthetic: Any,
    model: GroupModel | LinkedModel,
    groups: Sequence[int] | None = None,
    *,
    unknown: Sequence[str] = (),
    table: str = "",
    threads: int | None = None,
    done: Done | None = None,
) -> PrivacyLoss:
    """Return the privacy loss of groups on the release: an ε of this instance, not a guarantee.

    Parameters
    ----------
    original, synthetic, model, groups, table, threads, done
        As for :func:`group_membership`.
    unknown
        Columns in which an adjacent data set may differ, one cell of a group or of one of its
        members at a time. The group may also be absent altogether.
    """
    linked, releases, fitted = _linked(original, synthetic, model)
    worlds = GroupWorlds(linked, releases, fitted, table)
    linked = worlds.original
    chosen, base = _chosen(groups, worlds), worlds.base.log_likelihood
    share = None if done is None else lambda ready: done(ready / (1 + len(unknown)))
    with np.errstate(invalid="ignore"):
        # What is impossible either way makes no difference.
        largest = np.nan_to_num(np.abs(base - worlds.logs(chosen, None, None, threads, share)),
                                posinf=np.inf)  # fmt: skip
        adjacent = np.ones(len(chosen), np.int64)
        place = np.full(worlds.n_groups, -1)
        place[chosen] = np.arange(len(chosen))
        for target in unknown:
            name = _table_of(linked, target, "")
            _check_target(worlds, name, target)
            records, logs = _with_each_value(worlds, name, target, chosen, threads, share)
            truth = linked.tables[name][target].codes[records].astype(np.int64)
            with_truth = np.take_along_axis(logs, truth[:, None], axis=1)
            losses = np.nan_to_num(np.abs(with_truth - logs), posinf=np.inf).max(axis=1)
            owners = place[worlds.owners[name][records]]
            np.maximum.at(largest, owners, losses)
            np.add.at(adjacent, owners, logs.shape[1] - 1)
    return PrivacyLoss(chosen, largest, np.zeros((len(chosen), 0)), adjacent, "group")


def _without_members(
    worlds: GroupWorlds, chosen: Ints, threads: int | None, done: Done | None
) -> tuple[Ints, Floats]:
    """Return the members of groups, and the log-likelihood without each of them."""
    if MEMBERS not in worlds.owners:
        raise CaveatError(
            "linked tables have no persons",
            where="unit",
            do='attack them by unit = "group"',
            code="attack.setting.unsupported",
        )
    records, own = _rows_of(worlds, MEMBERS, chosen)
    come, runs = worlds.repeated(own)
    stays = runs[MEMBERS].rows != records[runs[MEMBERS].groups]
    # Who was alone takes the group along.
    kept = np.flatnonzero(np.bincount(runs[MEMBERS].groups[stays], minlength=len(records)) > 0)
    tables = {
        **come.tables,
        GROUPS: come.tables[GROUPS].take(kept),
        MEMBERS: come.tables[MEMBERS].take(np.flatnonzero(stays)),
    }
    come = replace(come, tables=tables)
    return records, worlds.logs(own, come, kept, threads, done)


def _with_each_value(
    worlds: GroupWorlds,
    name: str,
    target: str,
    chosen: Ints,
    threads: int | None,
    done: Done | None,
    tried: Ints | None = None,
) -> tuple[Ints, Floats]:
    """Return the rows of groups in a table, and the log-likelihood with each level in each.

    Of levels that are not tried only the own one of a row has a value, the rest is NaN.
    """
    records, own = _rows_of(worlds, name, chosen)
    column = worlds.original.tables[name][target]
    codes = np.arange(column.n_levels) if tried is None else tried
    n = len(codes)
    come, runs = worlds.repeated(np.repeat(own, n))
    here = runs[name].rows == np.repeat(records, n)[runs[name].groups]
    held = come.tables[name][target]
    new = held.codes.astype(np.int64)
    new[here] = np.tile(codes, len(records))
    changed = come.tables[name].with_columns({target: held.with_codes(new)})
    come = replace(come, tables={**come.tables, name: changed})
    each = np.arange(len(own) * n)
    logs = worlds.logs(np.repeat(own, n), come, each, threads, done).reshape(len(records), n)
    if tried is None:
        return records, logs
    found = np.full((len(records), column.n_levels), np.nan)
    found[:, codes] = logs
    truth = column.codes[records].astype(np.int64)
    lacking = np.flatnonzero(~np.isin(truth, codes))
    found[lacking, truth[lacking]] = worlds.base.log_likelihood
    return records, found


def _rows_of(worlds: GroupWorlds, name: str, chosen: Ints) -> tuple[Ints, Ints]:
    """Return the rows of groups in a table, and the group of each."""
    owners = worlds.owners[name]
    rows = np.flatnonzero(np.isin(owners, chosen)) if name != worlds.top else chosen
    return rows, owners[rows]


def _linked(
    original: Any, synthetic: Any, model: GroupModel | LinkedModel
) -> tuple[Linked, list[Linked], LinkedModel]:
    """Return original and releases as linked tables, and their model."""
    several = isinstance(synthetic, Sequence) and not isinstance(synthetic, str | bytes)
    copies = list(synthetic) if several else [synthetic]
    if isinstance(model, GroupModel):
        if model.groups.margins:
            raise CaveatError(
                "the weights were calibrated to margins, and would be others without a group: "
                "nothing exact is known",
                where="groups, margins",
                do="attack a release that was made without margins",
                code="attack.probability.unsupported",
            )
        original, copies = model.split(original), [model.split(copy) for copy in copies]
        model = model.model
    original = model.plan.pooled(original)
    check_fitted_on(model, original)
    return original, copies, model


def _check_unit(unit: str) -> None:
    if unit not in ("group", "person"):
        raise CaveatError(
            f"there is no unit {unit!r}",
            where="unit",
            do=hint(unit, ["group", "person"]),
            code="attack.setting.unknown",
        )


def _chosen(groups: Sequence[int] | None, worlds: GroupWorlds) -> Ints:
    if groups is None:
        return np.arange(worlds.n_groups)
    if not len(groups):
        raise CaveatError(
            "no group is named", do="name one, or leave the groups out", code="attack.group.absent"
        )
    for group in groups:
        if not 0 <= group < worlds.n_groups:
            raise CaveatError(
                f"there is no group {group}",
                do=f"choose from 0 to {worlds.n_groups - 1} (positions are counted from 0)",
                code="attack.group.unknown",
            )
    return np.asarray(groups, np.int64)


def _table_of(linked: Linked, target: str, table: str) -> str:
    """Return the table whose column is attacked."""
    holding = [n for n in linked.sequence if target in linked.tables[n] and table in ("", n)]
    if len(holding) == 1:
        return holding[0]
    if not holding:
        names = [n for t in linked.sequence for n in linked.tables[t]]
        raise CaveatError(
            f"there is no column {target!r}", do=hint(target, names), code="data.column.unknown"
        )
    raise CaveatError(
        f"{len(holding)} tables have this column",
        column=target,
        do=f"name one of the tables {', '.join(holding)}",
        code="attack.table.absent",
    )


def _check_target(worlds: GroupWorlds, name: str, target: str) -> None:
    """Refuse a column that no stage draws; all first members may have the same value."""
    plan = worlds.model.plan
    for stage in worlds.shape:
        own = [n for n, column in stage.drawn.items() if column == target and stage.table == name]
        methods = [plan.stages[stage.name].columns[n].settings.method for n in own]
        if set(methods) - {*WITHOUT_MODEL}:
            return
    check_target(target, plan, worlds.original.tables[name])


def _entry(worlds: GroupWorlds, name: str, target: str) -> ColumnPlan:
    """Return how a column is drawn, by the last stage that draws it: of every member."""
    plan = worlds.model.plan
    found = [
        plan.stages[stage.name].columns[own]
        for stage in worlds.shape
        for own, column in stage.drawn.items()
        if column == target and stage.table == name
    ]
    return found[-1]


def _with_released_levels(
    linked: Linked, releases: Sequence[Linked], name: str, target: str
) -> Linked:
    """Return the original with the values of the releases among the levels of a column."""
    held = [one.tables[name][target] for one in releases if target in one.tables[name]]
    own = linked.tables[name]
    column = common_levels([own[target], *held], target)[0]
    return replace(linked, tables={**linked.tables, name: own.with_columns({target: column})})


def _above(linked: Linked, name: str) -> list[str]:
    """Return a table and those that its rows belong to, up to the topmost."""
    found = [name]
    while (link := linked.parent_of(found[-1])) is not None:
        found.append(link.parent)
    return found


def _known(worlds: GroupWorlds, name: str) -> Table:
    """Return what the attacker knows of a row: its columns and those of all rows above it."""
    linked, columns = worlds.original, {}
    rows = np.arange(linked.tables[name].n_rows)
    for table in _above(linked, name):
        link = linked.parent_of(table)
        keys = {linked.keys.get(table, ""), "" if link is None else link.column}
        for n, column in linked.tables[table].columns.items():
            if n not in keys and n not in columns:
                columns[n] = column.take(rows)
        rows = rows if link is None else linked.parent_rows(table)[rows]
    return Table(columns)
