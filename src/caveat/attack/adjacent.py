"""The log-likelihood of the release in every adjacent data set, guarded and on workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from caveat.attack.updates import ChoiceChanges, LookupChanges, Updates, can_update
from caveat.attack.worlds import Evidence, Worlds, affected_columns, in_threads, refuse_impossible
from caveat.cluster import Workers, workers_now
from caveat.cluster.workers import Kept, shared_folder
from caveat.errors import CaveatError
from caveat.risk import key_cells
from caveat.showing import without_values
from caveat.synthesis import Plan
from caveat.synthesis.coding import ORDINARY
from caveat.synthesis.column_model import Cells, ColumnModel, inputs_of, without_unknown
from caveat.synthesis.fitting import predictors_of
from caveat.synthesis.methods.guarded import Guarded, Points, Stratified, predictor_codes
from caveat.synthesis.model import recoded
from caveat.synthesis.options import Order
from caveat.synthesis.pairs import SAMPLED
from caveat.synthesis.store import load_plan, save_plan
from caveat.table import Column, Table
from caveat.table.code_files import open_array, open_code_files, write_code_files
from caveat.table.drafts import unwritable
from caveat.tree.guarded import GuardedTree, Sample
from caveat.tree.guarded.adjacent import Change, Moves, logs_of_moves, moves_work, released_codes

CHUNK = 10_000
"""Worlds that one thread follows together: a second or two of work."""

CHOICE = 0.5
"""The part of the work that the predictors of a wide table take."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Done = Callable[[float], None]


def _in_parts(done: Done | None, later: float) -> tuple[Done | None, Done | None]:
    """Return what is called with the share of a first part of the work, and of a later one."""
    if done is None:
        return None, None
    return lambda ready: done(ready * (1 - later)), lambda ready: done(ready * later)


def is_guarded(plan: Plan) -> bool:
    """Whether every column that is drawn is a guarded tree, and each release has a probability."""
    return can_move(plan) and all(e.settings.method != "lookup" for e in plan.columns.values())


def can_move(plan: Plan) -> bool:
    """Whether a world is made by moving counts: as `is_guarded`, but columns may be looked up."""
    apart = ("derived", "drop", "constant", "given", "lookup")
    methods = [entry.settings.method for entry in plan.columns.values()]
    ordered = any(isinstance(rule, Order) for rule in plan.rules)
    return "guarded" in methods and not ordered and set(methods) <= {"guarded", *apart}


def cells_alike(plan: Plan, target: str) -> bool:
    """Whether values of one cell move the trees alike: nothing reads the value itself."""
    looked_up = [e for e in plan.columns.values() if e.settings.method == "lookup"]
    reads = any(target == rule.target or target in rule.sources for rule in plan.rules)
    reads = reads or any(target in entry.predictors for entry in looked_up)
    return not (reads or plan.strata or plan.weights == target)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Records as the trees see them."""

    table: Table
    cells: Mapping[str, Cells]
    plan: Plan

    __repr__ = without_values

    @cached_property
    def weights(self) -> Floats:
        if not self.plan.weights:
            return np.ones(self.table.n_rows)
        # The table as a whole was checked; single records of it may all have the weight 0.
        return self.table[self.plan.weights].cell_numbers / self.plan.weight_unit


@dataclass(frozen=True, eq=False)
class _View:
    """One tree of the plan: whose it is, and which records it is counted on."""

    model: ColumnModel
    names: tuple[str, ...]
    tree: GuardedTree
    points: Points | None
    is_kind: bool
    stratum: int | None

    __repr__ = without_values

    def of(self, rows: _Rows, name: str) -> tuple[Change, Floats | None]:
        """Return the records in the codes of this tree, and their numbers."""
        n, cells = rows.table.n_rows, rows.cells[name]
        inputs = inputs_of(rows.cells, self.names, n)
        kinds, codes, numbers = _parts(cells)
        takes_part = rows.weights > 0
        for condition, _ in self.model.fixed:
            takes_part = takes_part & ~condition.holds(rows.table.columns)
        if self.stratum is not None:
            takes_part = takes_part & (inputs.parts[inputs.last].codes == self.stratum)
        if self.is_kind:
            assert kinds is not None
            response = kinds
        elif numbers is not None:
            # A number of which the original has one value has no grid: one cell holds them all.
            one_cell = np.zeros(n, np.int64)
            response = one_cell if self.points is None else self.points.grid.cell_of(numbers)
            takes_part = takes_part if kinds is None else takes_part & (kinds == ORDINARY)
        else:
            response = codes
        sample = Sample(predictor_codes(inputs), np.asarray(response, np.int64), rows.weights)
        return Change(sample, takes_part), None if self.points is None else numbers


def _parts(cells: Cells) -> tuple[Any, Any, Any]:
    """Return kinds, codes and numbers of cells, where they have them."""
    if not cells.coding.is_number:
        return None, cells.codes, None
    split = cells.as_numbers()
    return split.kinds, None, split.numbers


class GuardedChanges:
    """The trees of a guarded plan, ready to be changed in one record or in several.

    Parameters
    ----------
    worlds
        The original, the plan and the releases; `can_move` must hold.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.base = worlds.evidence(worlds.original, ())
        self.views = [
            (name, view)
            for name, model in worlds.base.items()
            if model.entry.settings.method == "guarded"
            for view in _views(model, predictors_of(worlds.plan, name))
        ]
        original = self._rows(worlds.original)
        self.held = [_taking_part(*view.of(original, name)) for name, view in self.views]
        releases = [self._released_rows(release) for release in worlds.releases]
        self.released = [_released(name, view, releases) for name, view in self.views]
        self.lookups = LookupChanges(worlds)

    def _rows(self, table: Table) -> _Rows:
        models = self.worlds.base
        cells = {n: Cells(m.coding, codes=table[n].codes) for n, m in models.items()}
        return _Rows(table, cells, self.worlds.plan)

    def _released_rows(self, release: Table) -> _Rows:
        """Return a release as the trees see it; what cannot be made has made it impossible."""
        # Derived columns come last, and nothing is drawn from them.
        apart = ("drop", "derived")
        base = self.worlds.base
        models = {n: m for n, m in base.items() if m.entry.settings.method not in apart}
        cells = {n: without_unknown(recoded(m, release, n)) for n, m in models.items()}
        return _Rows(Table({n: c.column for n, c in cells.items()}), cells, Plan({}))

    def logs(
        self,
        records: Ints,
        come: Table | None,
        threads: int | None = None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return the log-likelihood of each world that one record changes.

        Parameters
        ----------
        records
            The record that goes, for each world.
        come
            The record that comes instead, one row for each world; None if none does.
        """
        each = np.arange(len(records) + 1)
        return self.logs_of_sets(records, each, come, each, threads, done)

    def logs_of_values(
        self,
        target: str,
        records: Ints,
        codes: Ints,
        threads: int | None = None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return the log-likelihood with each of some codes of a column in each record.

        Values of a number that are in one cell move the trees alike: a world is followed for each
        cell, and what a value does to the points within its cell is added. The sum is that of
        `logs`.
        """
        column, table = self.worlds.original[target], self.worlds.original
        classes = self.classes(target)[codes]
        _, first, place = np.unique(classes, return_index=True, return_inverse=True)
        in_cells = len(first) < len(codes)
        worlds = codes[first] if in_cells else codes
        gone = np.repeat(records, len(worlds))
        come = table.take(gone).with_columns(
            {target: column.with_codes(np.tile(worlds, len(records)))}
        )
        each = np.arange(len(gone) + 1)
        apart = target if in_cells else ""
        logs = self.logs_of_sets(gone, each, come, each, threads, done, without_points=apart)
        logs = logs.reshape(len(records), len(worlds))
        if not in_cells:
            return logs
        return logs[:, place.reshape(-1)] + self._point_changes(target, records, codes)

    def classes(self, target: str) -> Ints:
        """Return the class of each code of a column: codes of one class move the trees alike."""
        plan, model = self.worlds.plan, self.worlds.base[target]
        column = self.worlds.original[target]
        codes = np.arange(column.n_levels)
        if model.coding.grid is None or not cells_alike(plan, target):
            return codes
        kinds, _, numbers = _parts(Cells(model.coding, codes=codes))
        cells = model.coding.grid.cell_of(numbers)
        lines = [
            np.where(kinds > 0, -kinds.astype(np.int64), cells) if kinds is not None else cells
        ]
        if plan.choice is not None:
            lines.append(self.worlds.bins.of(target, column.with_codes(codes)).astype(np.int64))
        found = np.unique(np.stack(lines), axis=1, return_inverse=True)[1]
        return np.asarray(found.reshape(-1), np.int64)

    def _point_changes(self, target: str, records: Ints, codes: Ints) -> Floats:
        """Return what each code in each record does to the points within the cells.

        Cells do not depend on each other: the value that goes and the one that comes count apart,
        and together only where both are in one cell.
        """
        column, total = self.worlds.original[target], np.zeros((len(records), len(codes)))
        weights, which = np.unique(
            self._rows(self.worlds.original).weights[records], return_inverse=True
        )
        for (name, view), (_, released) in zip(self.views, self.released, strict=True):
            if name != target or view.points is None:
                continue
            assert released is not None
            own = _Values.of(view, column.codes[records])
            new = _Values.of(view, codes)
            points, weight = view.points, weights[which]
            gone = own.changes(points, released, np.arange(len(records)), -weight)
            each = np.tile(np.arange(len(codes)), len(weights))
            come = new.changes(points, released, each, np.repeat(weights, len(codes)))
            total += gone[:, None] + come.reshape(len(weights), len(codes))[which]
            size = max(1, CHUNK // len(codes))
            for start in range(0, len(records), size):
                part = np.arange(start, min(start + size, len(records)))
                line, code = np.nonzero(own.cells[part][:, None] == new.cells[None, :])
                pair = np.arange(len(line))
                both = _Values(
                    np.concatenate([own.numbers[part][line], new.numbers[code]]),
                    np.concatenate([own.cells[part][line], new.cells[code]]),
                )
                moved = np.concatenate([-weight[part][line], weight[part][line]])
                total[part[line], code] = both.changes(
                    points, released, np.arange(2 * len(line)), moved, np.tile(pair, 2)
                )
        return total

    def logs_of_sets(
        self,
        gone: Ints,
        gone_at: Ints,
        come: Table | None = None,
        come_at: Ints | None = None,
        threads: int | None = None,
        done: Callable[[float], None] | None = None,
        without_points: str = "",
    ) -> Floats:
        """Return the log-likelihood of each world when several records go and come together.

        Parameters
        ----------
        gone, gone_at
            The records that go: those of world i are ``gone[gone_at[i]:gone_at[i + 1]]``, each of
            them once.
        come, come_at
            The records that come instead, on the dictionaries of the original: those of world i are
            the rows from ``come_at[i]`` to ``come_at[i + 1]``. None if none do.
        without_points
            The column whose points within cells are left out.
        """
        n_worlds = len(gone_at) - 1
        if come is None or come_at is None:
            come, come_at = self.worlds.original.take([]), np.zeros(n_worlds + 1, np.int64)
        hit = set(self.worlds.plan.columns)
        if np.array_equal(gone_at, come_at):
            hit = affected_columns(self.worlds.plan, self._changed(gone, come))
        items = [
            (number, start)
            for start in range(0, n_worlds, CHUNK)
            for number, (name, _) in enumerate(self.views)
            if name in hit
        ]
        old, new = (gone, gone_at), (come, come_at)
        # Later columns take longer: they come first, else one thread is left with the last of them.
        items.reverse()
        now, later = _in_parts(done, CHOICE if self.worlds.plan.choice is not None else 0.0)
        found = in_threads(
            lambda item: self._follow(*item, old, new, without_points), items, threads, now,
            [1.0 + moves_work(self.views[number][1].tree) for number, _ in items],
        )  # fmt: skip
        # What is impossible in a tree is so in every world; what is looked up need not be.
        elsewhere = set(self.base.impossible) - set(self.lookups.names)
        total = np.full(n_worlds, -np.inf if elsewhere else self.base.finite)
        # They are added in the order of the columns, on which the last digits hang.
        for (_, start), changes in reversed(list(zip(items, found, strict=True))):
            total[start : start + CHUNK] += changes
        total[self.lookups.impossible(old, new)] = -np.inf
        if self.worlds.plan.choice is not None:
            choice = ChoiceChanges(self.worlds)
            total += choice.logs_of_sets(gone, gone_at, come, come_at, threads, later)
        return total

    def _changed(self, gone: Ints, come: Table) -> list[str]:
        """Return the columns in which a record that comes differs from the one that goes."""
        original = self.worlds.original
        return [n for n in original if np.any(come[n].codes != original[n].codes[gone])]

    def _follow(
        self,
        number: int,
        start: int,
        gone: tuple[Ints, Ints],
        come: tuple[Table, Ints],
        without_points: str = "",
    ) -> Floats:
        """Return what the records of some worlds do to one tree."""
        name, view = self.views[number]
        (sample, _), (released, numbers) = self.held[number], self.released[number]
        down, up = (at[start : start + CHUNK + 1] for at in (gone[1], come[1]))
        before = self.worlds.original.take(gone[0][down[0] : down[-1]])
        after = come[0].take(slice(up[0], up[-1]))
        (old, old_numbers), (new, new_numbers) = (
            view.of(self._rows(table), name) for table in (before, after)
        )
        worlds = [np.repeat(np.arange(len(at) - 1), np.diff(at)) for at in (down, up)]
        moves = Moves.of(old, new, (worlds[0], worlds[1]), len(down) - 1)
        logs = logs_of_moves(view.tree, sample, released, moves)
        if view.points is not None and name != without_points:
            assert numbers is not None and old_numbers is not None and new_numbers is not None  # noqa: PT018
            moved = np.concatenate([old_numbers, new_numbers])[moves.rows]
            logs = logs + view.points.changes(
                numbers, moves.worlds, moved, moves.sample.weights, len(down) - 1
            )
        return logs


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of a number, with the cell of each; -1 and below for those without points."""

    numbers: Floats
    cells: Ints

    __repr__ = without_values

    @classmethod
    def of(cls, view: _View, codes: NDArray[Any]) -> _Values:
        assert view.points is not None
        kinds, _, numbers = _parts(Cells(view.model.coding, codes=codes))
        cells = np.asarray(view.points.grid.cell_of(numbers), np.int64)
        return cls(numbers, cells if kinds is None else np.where(kinds == ORDINARY, cells, -1))

    def changes(
        self,
        points: Points,
        released: Floats,
        which: Ints,
        weights: Floats,
        worlds: Ints | None = None,
    ) -> Floats:
        """Return what some of the values do in worlds of their own, or in these."""
        worlds = np.arange(len(which)) if worlds is None else worlds
        on = (self.cells[which] >= 0) & (weights != 0)
        n = int(worlds.max(initial=-1)) + 1
        return points.changes(released, worlds[on], self.numbers[which][on], weights[on], n)


def _views(model: ColumnModel, names: tuple[str, ...]) -> Iterator[_View]:
    for fitted, is_kind in ((model.kinds, True), (model.values, False)):
        if fitted is None:
            continue
        strata = fitted.models if isinstance(fitted, Stratified) else {None: fitted}
        for stratum, one in strata.items():
            guarded = cast(Guarded, one)
            yield _View(model, names, guarded.tree, guarded.points, is_kind, stratum)


def _released(name: str, view: _View, releases: Sequence[_Rows]) -> tuple[Floats, Floats | None]:
    """Return what was released in each leaf of a tree, and the numbers themselves."""
    total, numbers = np.zeros((len(view.tree.candidate), view.tree.response.n_codes + 1)), []
    for rows in releases:
        sample, own = _taking_part(*view.of(rows, name))
        total += released_codes(view.tree, sample.codes, sample.response)
        if own is not None:
            numbers.append(own)
    return total, np.concatenate(numbers) if numbers else None


def _taking_part(change: Change, numbers: Floats | None) -> tuple[Sample, Floats | None]:
    on, sample = change.takes_part, change.sample
    kept = Sample(
        np.ascontiguousarray(sample.codes[:, on]), sample.response[on], sample.weights[on]
    )
    return kept, None if numbers is None else numbers[on]


# -------------------------------------------------------------------------------------------------
# The log-likelihood of the release in every adjacent data set: those that differ in one record.
#
# Records that are equal in all columns of the plan have equal adjacent data sets: one is done.
# Private releases are judged by the noisy tables they were made from (see
# :mod:`caveat.attack.worlds`). Plans made of plain trees are done by updating the trees (see
# :mod:`caveat.attack.updates`), those of guarded trees by moving counts (see
# :mod:`caveat.attack.adjacent`), all others by fitting the generator again in every world. All
# give the same numbers.

FROM_THESE = "with the original as it is"
WITHOUT = "with and without each of the records"


def _kinds_of_records(
    worlds: Worlds, records: Sequence[int] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one record of each kind, and the kind of each of the given records."""
    names = [*worlds.plan.columns, *([worlds.plan.weights] if worlds.plan.weights else [])]
    names += [SAMPLED] if worlds.plan.choice is not None else []
    chosen = np.asarray(records, dtype=np.int64)
    table = worlds.original.take(chosen)
    (cells,), n = key_cells(
        [[table[name].codes for name in names]], [table[name].n_levels for name in names]
    )
    first = np.empty(n, dtype=np.int64)
    first[cells[::-1]] = chosen[::-1]
    return first, cells


def without_each(
    worlds: Worlds,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
    *,
    refit: bool = False,
    refuse: bool = True,
) -> tuple[float, NDArray[np.float64]]:
    """Return the log-likelihood of the release, and without each of the records.

    Refused is a release that is impossible in all of these worlds, unless ``refuse`` says that
    they are only some of those that count. ``refit`` asks for fits from scratch where an update
    would do; the result is the same.
    """
    if worlds.original.n_rows < 2:
        raise CaveatError(
            "the table has one record",
            do="there is nothing left without it",
            code="data.record.too-few",
        )
    first, kind = _kinds_of_records(worlds, records)
    if worlds.tables is not None:
        return 0.0, worlds.tables.logs(first, None, done)[kind]
    if can_move(worlds.plan) and not refit:
        guarded = GuardedChanges(worlds)
        logs, base = guarded.logs(first, None, threads, done), guarded.base
    elif can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.without(first, threads, done)
        base = updates.base
    else:
        base = worlds.evidence(worlds.original, ())
        others = in_threads(
            lambda record: worlds.evidence(worlds.without(record)), first.tolist(), threads, done
        )
        logs = np.array([item.log_likelihood for item in others])
    if refuse and np.isneginf(logs).all():
        refuse_impossible([base], WITHOUT)
    return base.log_likelihood, logs[kind]


def refuse_without(worlds: Worlds, logs: NDArray[np.float64]) -> None:
    """Refuse a release that is impossible with and without each of the records."""
    if np.isneginf(logs).all():
        refuse_impossible([worlds.evidence(worlds.original, ())], WITHOUT)


def _changed(
    worlds: Worlds,
    records: NDArray[np.int64],
    cells: Mapping[str, Column],
    threads: int | None,
    done: Done | None,
) -> NDArray[np.float64]:
    """Return the log-likelihood with other cells in one record of each world."""
    come = worlds.original.take(records).with_columns(dict(cells))
    if worlds.tables is not None:
        return worlds.tables.logs_of(records, come, done)
    changes = GuardedChanges(worlds)
    refuse_impossible([changes.base], FROM_THESE)
    return changes.logs(records, come, threads, done)


def with_rows(
    worlds: Worlds, record: int, rows: Table, threads: int | None = None, done: Done | None = None
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each of the given rows as the record's cells.

    Refused is a release that is impossible with all of them.
    """
    if can_move(worlds.plan) or worlds.tables is not None:
        return _changed(worlds, np.full(rows.n_rows, record), rows.columns, threads, done)
    names = rows.names
    codes = np.stack([rows[name].codes for name in names], axis=1)
    changed = [dict(zip(names, row, strict=True)) for row in codes.tolist()]
    evidence = in_threads(
        lambda cells: worlds.evidence(worlds.changed(record, cells), names), changed, threads, done
    )
    refuse_impossible(evidence, "whatever the unknown values are")
    return np.array([item.log_likelihood for item in evidence])


def with_each_value(
    worlds: Worlds,
    target: str,
    records: Sequence[int] | NDArray[np.int64],
    threads: int | None = None,
    done: Done | None = None,
    *,
    refit: bool = False,
    codes: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the log-likelihood of the release with each level of a column in each record.

    One line per record, one entry per code of the target. ``codes`` are those that are tried; of
    others only the own code of a record has a value, the rest is NaN.
    """
    first, kind = _kinds_of_records(worlds, records)
    tried = np.arange(worlds.original[target].n_levels) if codes is None else np.unique(codes)
    logs, base = _with_codes(worlds, target, first, tried, threads, done, refit)
    if codes is None:
        return logs[kind]
    found = np.full((len(first), worlds.original[target].n_levels), np.nan)
    found[:, tried] = logs
    own = worlds.original[target].codes[first].astype(np.int64)
    lacking = np.flatnonzero(~np.isin(own, tried))
    found[lacking, own[lacking]] = base
    return found[kind]


def _with_codes(
    worlds: Worlds,
    target: str,
    first: NDArray[np.int64],
    tried: NDArray[np.int64],
    threads: int | None,
    done: Done | None,
    refit: bool,
) -> tuple[NDArray[np.float64], float]:
    """Return the log-likelihood with each of some codes in each record, and with the own one."""
    if can_update(worlds) and not refit:
        updates = Updates(worlds)
        logs = updates.with_values(target, first, threads, done, tried)
        refuse_impossible([updates.base], FROM_THESE)
        return logs, updates.base.log_likelihood
    own = worlds.original[target].codes
    if worlds.tables is not None:
        cells = {target: worlds.original[target].with_codes(np.tile(tried, len(first)))}
        logs = _changed(worlds, np.repeat(first, len(tried)), cells, threads, done)
        return logs.reshape(len(first), len(tried)), 0.0
    if can_move(worlds.plan) and not refit:
        changes = GuardedChanges(worlds)
        refuse_impossible([changes.base], FROM_THESE)
        logs = changes.logs_of_values(target, first, tried, threads, done)
        return logs, changes.base.log_likelihood
    base = worlds.evidence(worlds.original, ())
    refuse_impossible([base], FROM_THESE)

    def one(item: tuple[int, int]) -> Evidence:
        record, code = item
        if code == own[record]:
            return base
        return worlds.evidence(worlds.changed(record, {target: code}), [target])

    items = [(record, code) for record in first.tolist() for code in tried.tolist()]
    evidence = in_threads(one, items, threads, done)
    logs = np.array([item.log_likelihood for item in evidence])
    return logs.reshape(len(first), len(tried)), base.log_likelihood


# -------------------------------------------------------------------------------------------------
# The strong attacker on workers: batches of records, each a task.
#
# The worlds of a record do not depend on which others are attacked with it, so that every number
# is the one that this process would compute alone. The original, the releases and the plan go
# into files that all workers see; the log-likelihoods come back the same way.


BATCHES = 4
"""Batches for each worker: what one that is lost was at is short, and nobody waits long."""
ORIGINAL, RELEASE, PLAN, RECORDS = "original", "release-", "plan.caveat", "records.npy"
CODES = "codes.npy"


def each_value(
    worlds: Worlds,
    target: str,
    records: NDArray[np.int64],
    threads: int | None,
    done: Done | None,
    codes: NDArray[np.int64] | None = None,
) -> Floats:
    """Return what :func:`with_each_value` does, computed where work is to run."""
    workers = workers_now()
    if workers is None or worlds.tables is not None:
        return with_each_value(worlds, target, records, threads, done, codes=codes)
    return np.concatenate(list(_on(workers, worlds, target, records, done, codes)))


def each_without(
    worlds: Worlds, records: NDArray[np.int64], threads: int | None, done: Done | None
) -> tuple[float, Floats]:
    """Return what :func:`without_each` does, computed where work is to run."""
    workers = workers_now()
    if workers is None or worlds.tables is not None or worlds.original.n_rows < 2:
        return without_each(worlds, records, threads, done)
    found = list(_on(workers, worlds, "", records, done))
    logs = np.concatenate([part[1:] for part in found])
    refuse_without(worlds, logs)
    return float(found[0][0]), logs


def _on(
    workers: Workers,
    worlds: Worlds,
    target: str,
    records: NDArray[np.int64],
    done: Done | None,
    codes: NDArray[np.int64] | None = None,
) -> Iterator[Floats]:
    """Give the results of the batches in the order of the records."""
    with shared_folder(workers, forget_worlds) as folder:
        for number, table in enumerate((worlds.original, *worlds.releases)):
            place = folder / (f"{RELEASE}{number - 1:05}" if number else ORIGINAL)
            place.mkdir()
            write_code_files(table, place)
        save_plan(folder / PLAN, worlds.plan, worlds.seed)
        with unwritable(folder):
            np.save(folder / RECORDS, records, allow_pickle=False)
            if codes is not None:
                np.save(folder / CODES, codes, allow_pickle=False)
        size = max(1, -(-len(records) // (BATCHES * workers.number)))
        items = [(str(folder), target, start, size) for start in range(0, len(records), size)]
        for start in workers.map(one_batch, items):
            path = folder / f"{start}.npy"
            yield open_array(path)
            path.unlink()
            if done is not None:
                done(min(size, len(records) - start) / len(records))


def _worlds(folder: str) -> tuple[Worlds, NDArray[np.int64]]:
    place = Path(folder)
    plan, seed = load_plan(place / PLAN)
    releases = [open_code_files(path) for path in sorted(place.glob(f"{RELEASE}*"))]
    worlds = Worlds(open_code_files(place / ORIGINAL), plan, releases, seed)
    return worlds, open_array(place / RECORDS)


_WORLDS = Kept(_worlds)


def one_batch(item: tuple[str, str, int, int]) -> int:
    """Attack a batch of records: the task of a worker.

    With a target the log-likelihood with each of its values, else the one of the release and then
    those without each record.
    """
    folder, target, start, size = item
    worlds, records = _WORLDS.of(folder)
    batch = records[start : start + size]
    logs: Any
    if target:
        tried = Path(folder) / CODES
        codes = open_array(tried) if tried.exists() else None
        logs = with_each_value(worlds, target, batch, 1, codes=codes)
    else:
        base, without = without_each(worlds, batch, 1, refuse=False)
        logs = np.append(base, without)
    made = Path(folder) / f"{token_hex(6)}.npy"
    with unwritable(made):
        np.save(made, logs, allow_pickle=False)
        made.replace(Path(folder) / f"{start}.npy")
    return start


def forget_worlds(folder: str) -> None:
    """Let a worker forget the data that it has attacked."""
    _WORLDS.forget(folder)
