"""What an audit is made of: tasks of one attacker, one copy and some measures, each by itself.

They are carried out here or by workers, who get the tables as code files; the numbers are the same.
Nothing of the length of a table comes back: which records carry a number is found out here, when
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.cluster import Workers, workers_now
from caveat.cluster.workers import Kept, shared_folder
from caveat.notes import Note
from caveat.risk.checks import OneWay, TwoWay, one_way, two_way
from caveat.risk.measure import MEASURES, Measure
from caveat.risk.measurement import Measurement
from caveat.risk.pair import KeyCells, ScenarioPair
from caveat.risk.scenario import Scenario
from caveat.showing import without_values
from caveat.table import Pair, Table
from caveat.table.code_files import open_code_files, write_code_files

__all__ = ["Found", "Sides", "Task", "carried_out", "forget_sides", "one_task"]


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
