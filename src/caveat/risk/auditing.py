"""Run measures over targets, copies and sets of keys, with a control if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.cluster import Workers, workers_now
from caveat.cluster.workers import Kept, shared_folder
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.measure import MEASURES, Measure, Measurement
from caveat.risk.pair import KeyCells, OneWay, ScenarioPair, TwoWay, one_way, two_way
from caveat.risk.result import Audit, Check, Row
from caveat.risk.scenario import Scenario, group, select_common
from caveat.showing import without_values
from caveat.table import Difference, Pair, Table, align_copies
from caveat.table.align import refuse_strangers
from caveat.table.code_files import open_code_files, write_code_files


class Task(NamedTuple):
    """What is measured together.

    Attributes
    ----------
    copy
        On which copy, counted from 1.
    attacker
        For whom.
    measures
        Names of measures.
    checks
        Whether it is also looked at what lies behind them.
    """

    copy: int
    attacker: Scenario
    measures: tuple[str, ...]
    checks: bool


class Found(NamedTuple):
    """What was measured: the results in the order of the measures, and what lies behind them."""

    results: list[Measurement]
    one_way: OneWay | None = None
    two_way: tuple[TwoWay, ...] = ()
    removed: Mapping[str, Mapping[str, int]] = {}


@dataclass(frozen=True)
class Sides:
    """The tables of one copy, on common levels.

    Parameters
    ----------
    original, synthetic, control
        Each with the columns of the attackers, numbers cut into groups, and with all columns as
        they are.
    """

    original: tuple[Table, Table]
    synthetic: tuple[Table, Table]
    control: tuple[Table, Table] | None
    cells: dict[tuple[str, tuple[str, ...]], KeyCells] = field(default_factory=dict)

    __repr__ = without_values

    @classmethod
    def of(cls, grouped: Sequence[Table], whole: Sequence[Table], has_control: bool) -> list[Sides]:
        """Return the sides of each copy: tables are the original, the copies, and the control."""
        both = list(zip(grouped, whole, strict=True))
        original, *others = both
        control = others.pop() if has_control else None
        return [cls(original, copy, control) for copy in others]

    def measured(self, task: Task) -> Found:
        """Carry a task out."""
        pair = self._pair(task.attacker, "original", self.original)
        control = None
        if self.control is not None:
            control = self._pair(task.attacker, "control", self.control)
        results = [_measured(MEASURES[name], pair, control) for name in task.measures]
        found = Found(results)
        if task.checks:
            behind = pair.counted.removed
            found = Found(results, one_way(pair), tuple(two_way(pair)), behind)
        for used in (pair, control):
            if used is not None:
                used.forget()
        return found

    def _pair(self, attacker: Scenario, who: str, side: tuple[Table, Table]) -> ScenarioPair:
        people, whole = side
        release, whole_release = self.synthetic
        keys = (who, attacker.keys)
        if keys not in self.cells:  # the same for all targets
            self.cells[keys] = KeyCells.of(people, release, attacker.keys)
        rows = Pair(whole, whole_release)
        return ScenarioPair(people, release, attacker, self.cells[keys], rows)


def _measured(measure: Measure, pair: ScenarioPair, control: ScenarioPair | None) -> Measurement:
    result = measure(pair)
    if control is None or measure.direction == "reference" or result.value is None:
        return result
    notes = result.notes
    if measure.by_size and not 0.9 <= control.n / pair.n <= 1.1:
        reason = "it depends on the number of records: give a control of the original's size"
        return replace(result, notes=(*notes, Note("no-control", f"no control: {reason}")))
    outside = measure(control)
    if outside.value is None:
        notes = (*notes, Note("no-control", f"no control: {outside.notes[0]}"))
    return replace(result, control=outside.value, control_n=outside.n, notes=notes)


def carried_out(
    tasks: Sequence[Task], grouped: Sequence[Table], whole: Sequence[Table], has_control: bool
) -> Iterator[Found]:
    """Give what the tasks have found in their order, wherever work is to run."""
    sides = Sides.of(grouped, whole, has_control)
    workers = workers_now()
    if workers is not None and len(tasks) > 1:
        yield from _on(workers, tasks, sides, grouped, whole, has_control)
        return
    for task in tasks:
        yield sides[task.copy - 1].measured(task)


def _on(
    workers: Workers,
    tasks: Sequence[Task],
    sides: Sequence[Sides],
    grouped: Sequence[Table],
    whole: Sequence[Table],
    has_control: bool,
) -> Iterator[Found]:
    with shared_folder(workers, forget_sides) as folder:
        for name, tables in (("grouped", grouped), ("whole", whole)):
            for number, table in enumerate(tables):
                place = folder / f"{name}-{number:05}"
                place.mkdir()
                write_code_files(table, place)
        if has_control:
            (folder / "control").touch()
        items = [(str(folder), task) for task in tasks]
        for task, (found, traced) in zip(tasks, workers.map(one_task, items), strict=True):
            here = sides[task.copy - 1]
            results = [
                replace(result, trace=_Trace(here, task._replace(measures=(name,), checks=False)))
                if has_trace
                else result
                for name, result, has_trace in zip(
                    task.measures, found.results, traced, strict=True
                )
            ]
            yield found._replace(results=results)


@dataclass(frozen=True)
class _Trace:
    """Finds out which records carry a number that a worker has found."""

    sides: Sides
    task: Task

    __repr__ = without_values

    def __call__(self) -> NDArray[np.float64]:
        carried: Any = self.sides.measured(self.task).results[0].per_record
        return carried  # type: ignore[no-any-return]


def _sides(folder: str) -> list[Sides]:
    place = Path(folder)
    grouped, whole = (
        [open_code_files(path) for path in sorted(place.glob(f"{name}-*"))]
        for name in ("grouped", "whole")
    )
    return Sides.of(grouped, whole, (place / "control").exists())


_SIDES = Kept(_sides)


def one_task(item: tuple[str, Task]) -> tuple[Found, list[bool]]:
    """Measure for one attacker: the task of a worker.

    Returns what was found, without what is of the length of a table, and which results have such.
    """
    folder, task = item
    found: Found = _SIDES.of(folder)[task.copy - 1].measured(task)
    traced = [result.trace is not None for result in found.results]
    return found._replace(results=[replace(r, trace=None) for r in found.results]), traced


def forget_sides(folder: str) -> None:
    """Let a worker forget the tables that it has measured."""
    _SIDES.forget(folder)


# -------------------------------------------------------------------------------------------------
# Run measures over targets, copies and sets of keys, with a control if there is one.


def audit(
    original: Any,
    synthetic: Any,
    scenario: Scenario | None = None,
    *,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    control: Any = None,
    measures: Sequence[str] | None = None,
    subsets: int | None = None,
    **circumstances: Any,
) -> Audit:
    """Measure what a release gives away about the people in the original.

    Parameters
    ----------
    original, synthetic
        The confidential table, and the release or a list of copies: each a Table, a pandas, polars
        or pyarrow frame, or a dict of arrays.
    scenario
        Who attacks. Instead, name ``keys`` and ``targets``.
    keys
        Columns that an attacker may know. They are never guessed: results depend wholly on them.
    targets
        Columns that she may want to learn; without it, every common column that is no key.
    control
        Records of people who were not used to make the release, with the same columns.
    measures
        Names from ``MEASURES``; without it those marked as default. ``["all"]`` is every measure
        that these inputs allow.
    subsets
        Repeat everything for each combination of this many keys.
    **circumstances
        Further arguments of :class:`Scenario`: groups, tolerance, exclude_levels, exclude_missing,
        exclude_pairs, limit, denominator, population, unit.

    Raises
    ------
    CaveatError
        Among others, where a table has no value of a key or of a target in common with the
        original: that is another file. With less than half in common the result carries a warning.

    Examples
    --------
    >>> people = {"sex": list("ffmm"), "age": [31, 47, 31, 52], "ill": list("nynn")}
    >>> release = {"sex": list("fmmm"), "age": [47, 31, 31, 31], "ill": list("ynyn")}
    >>> found = audit(people, release, keys=["sex", "age"], targets=["ill"])
    >>> found["DiSCO", "ill"].value, found["repU"].value
    (0.25, 0.25)
    """
    ours = _table(original, "the original")
    copies = [_table(copy, f"synthetic table {i}") for i, copy in enumerate(_list(synthetic), 1)]
    outside = None if control is None else _table(control, "the control")
    attackers = _attackers(scenario, keys, targets, circumstances, ours, copies)
    chosen = _choose(measures, attackers)
    tables = [ours, *copies, *([outside] if outside else [])]
    ours, *others = select_common(tables, _columns(attackers, chosen, tables))
    pairs = align_copies(ours, others[: len(copies)], others[-1] if outside else None)
    return _audited(pairs, attackers, chosen, subsets)


def audit_pairs(
    pairs: Sequence[Pair],
    *,
    keys: Sequence[str],
    targets: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    **circumstances: Any,
) -> Audit:
    """Measure tables that are on common levels already, as :func:`audit` measures others."""
    tables = _tables(pairs)
    copies = tables[1 : len(pairs) + 1]
    attackers = _attackers(None, keys, targets, circumstances, tables[0], copies)
    return _audited(pairs, attackers, _choose(measures, attackers), None)


def _tables(pairs: Sequence[Pair]) -> list[Table]:
    """Return the original, the copies and, perhaps, the control."""
    original, *control = pairs[0].people
    return [original, *(pair.synthetic for pair in pairs), *control]


def _columns(
    attackers: Sequence[Scenario], chosen: Sequence[Measure], tables: Sequence[Table]
) -> list[str]:
    """Return the columns of the attackers and, where whole rows are compared, the common ones."""
    columns = [name for attacker in attackers for name in attacker.columns]
    if any("columns" in measure.needs for measure in chosen):
        columns += [name for name in tables[0] if all(name in table for table in tables)]
    return list(dict.fromkeys(columns))


def _audited(
    pairs: Sequence[Pair],
    attackers: Sequence[Scenario],
    chosen: Sequence[Measure],
    subsets: int | None,
) -> Audit:
    tables = _tables(pairs)
    used = _columns(attackers, chosen, tables)
    whole = select_common(tables, used)
    columns = list(dict.fromkeys(name for attacker in attackers for name in attacker.columns))
    grouped, remarks = group([t.select(columns) for t in whole], attackers[0].groups)
    n_copies = len(pairs)
    control = None if pairs[0].control is None else grouped[-1]
    refuse_strangers(grouped[0], grouped[1 : n_copies + 1], columns, control)
    by_keys = [measure for measure in chosen if "keys" in measure.needs]
    tasks = [
        task
        for copy in range(1, len(pairs) + 1)
        for task in (
            *_tasks(copy, attackers, chosen),
            *(t for fewer in _by_subset(attackers, subsets) for t in _tasks(copy, fewer, by_keys)),
        )
    ]
    rows: list[Row] = []
    checks: list[Check] = []
    results = carried_out(tasks, grouped, whole, pairs[0].control is not None)
    for task, one in zip(tasks, results, strict=True):
        alarms = [d for d in pairs[task.copy - 1].differences if d.is_alarm]
        for name, result in zip(task.measures, one.results, strict=True):
            about_target = "target" in MEASURES[name].needs
            seen = task.attacker if about_target else task.attacker.with_target(None)
            rows.append(Row(seen, task.copy, name, _doubted(result, seen, alarms)))
        if task.checks:
            checks.append(Check(task.attacker, task.copy, one.one_way, one.two_way, one.removed))
    control = pairs[0].control
    found = [d for pair in pairs for d in pair.differences if d.column in used]
    outside = [d for d in pairs[0].control_differences if d.is_alarm and d.column in used]
    return Audit(
        rows=tuple(rows),
        checks=tuple(checks),
        n_original=len(tables[0]),
        n_synthetic=tuple(len(pair.synthetic) for pair in pairs),
        n_control=None if control is None else len(control),
        differences=tuple(dict.fromkeys(found)),
        remarks=(*remarks, *(f"control: {alarm}" for alarm in outside)),
    )


def _tasks(copy: int, attackers: Sequence[Scenario], chosen: Sequence[Measure]) -> list[Task]:
    """Return the tasks of attackers with the same keys and different targets, on one copy."""
    shared = [m.name for m in chosen if "target" not in m.needs]
    about_target = tuple(m.name for m in chosen if "target" in m.needs)
    tasks = [Task(copy, attackers[0], (name,), checks=False) for name in shared]
    if about_target:
        tasks += [Task(copy, a, about_target, checks=True) for a in attackers if a.target]
    return tasks


def _doubted(result: Measurement, attacker: Scenario, alarms: Sequence[Difference]) -> Measurement:
    """Add to a result whom it is about, and what puts its columns in doubt."""
    doubts = [Note("tables-differ", str(a)) for a in alarms if a.column in attacker.columns]
    if attacker.unit:
        result = replace(result, per=attacker.unit)
    return replace(result, notes=(*result.notes, *doubts)) if doubts else result


def _attackers(
    scenario: Scenario | None,
    keys: Sequence[str] | None,
    targets: Sequence[str] | None,
    circumstances: Mapping[str, Any],
    original: Table,
    copies: Sequence[Table],
) -> list[Scenario]:
    """Return one scenario per target, all with the same keys."""
    if scenario is not None:
        if keys is not None or circumstances:
            raise CaveatError(
                "a scenario and its parts are both given",
                do="put everything into the scenario",
                code="attack.option.conflict",
            )
        wanted = [scenario.target] if targets is None else targets
        return [_known(scenario.with_target(target), original) for target in wanted]
    if keys is None:
        raise CaveatError(
            "no key is named",
            do="say which columns an attacker may know: keys=[...]",
            code="attack.key.absent",
        )
    first = Scenario(tuple(_names(keys, "keys")), None, **circumstances)
    if targets is None:
        targets = [
            name
            for name in original
            if name not in first.keys and all(name in copy for copy in copies)
        ]
    attackers = [first.with_target(target) for target in dict.fromkeys(_names(targets, "targets"))]
    return [_known(attacker, original) for attacker in attackers or [first]]


def _known(attacker: Scenario, original: Table) -> Scenario:
    """Refuse a scenario about columns that the data do not have, or a target that says nothing."""
    elsewhere = [*attacker.exclude_missing, *attacker.exclude_levels, *attacker.groups]
    for name in [*attacker.columns, *elsewhere, *attacker.tolerance]:
        if name not in original:
            raise CaveatError(
                "the original has no such column",
                column=name,
                do=f"choose among {', '.join(original.names)}",
                code="data.column.unknown",
            )
    return attacker


def _choose(names: Sequence[str] | None, attackers: Sequence[Scenario]) -> list[Measure]:
    """Return the measures to compute; what lacks an input is refused, or left out of 'all'."""
    given = {"keys", "columns"}
    if attackers[0].target is not None:
        given.add("target")
    if attackers[0].tolerance:
        given.add("tolerance")
    # Other rooms register measures of utility and of attackers who hold more than two tables.
    possible = [m for m in MEASURES.values() if m.needs <= given and "better" not in m.direction]
    if names is None:
        return [m for m in possible if m.default]
    if list(_names(names, "measures")) == ["all"]:
        return possible
    chosen = [MEASURES[name] for name in names]
    for measure in chosen:
        lacking = sorted(measure.needs - given)
        if lacking:
            raise CaveatError(
                f"{measure.name} needs {' and '.join(lacking)}",
                do="give it",
                code="measure.input.absent",
            )
    return chosen


def _by_subset(attackers: Sequence[Scenario], k: int | None) -> Iterable[list[Scenario]]:
    """Return the attackers with k of the keys, grouped by the keys they have."""
    if k is None:
        return []
    subsets = [attacker.key_subsets(k) for attacker in attackers]
    if k == len(attackers[0].keys):
        return []
    return [list(same_keys) for same_keys in zip(*subsets, strict=True)]


def _table(frame: Any, what: str) -> Table:
    table = Table.from_frame(frame)
    if not len(table):
        raise CaveatError(
            f"{what} has no rows",
            do="nothing can be measured: check the file",
            code="data.table.empty",
        )
    return table


def _list(synthetic: Any) -> list[Any]:
    copies = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not copies:
        raise CaveatError(
            "there is no synthetic table", do="give at least one", code="data.release.absent"
        )
    return copies


def _names(names: Sequence[str], what: str) -> Sequence[str]:
    if isinstance(names, str):
        raise CaveatError(
            f"{what} is one text",
            do=f"give a list: {what}=[{names!r}]",
            code="measure.setting.type",
        )
    return names
