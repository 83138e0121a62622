"""The strong attacker who is after a household: she knows the generator and all other groups.

Who leaves or changes is a group with all its members; numbers about single members stand beside.
All of them are exact for the groups that are attacked, a random sample where all would take long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.attack.attributes import Attributes
from caveat.attack.groups import group_membership, group_posterior
from caveat.attack.guarded import is_guarded
from caveat.attack.measures import gain_of, members_of, share_of, worst_of
from caveat.attack.posterior import drawn_columns
from caveat.attack.strong import BEFORE
from caveat.attack.work import LEAST, STANDARD, Bound, allot, group_work
from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import Step
from caveat.release.at_risk import AtRisk
from caveat.release.collect import (
    MEMBERS,
    TOO_MUCH,
    Attack,
    Done,
    entry,
    not_exact,
    refusal,
    without_value,
)
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.risk.measurement import Measurement
from caveat.spec.scenarios import ScenarioSpec
from caveat.synthesis.linked import GroupModel, LinkedModel
from caveat.table import Column, Table
from caveat.table.grouping import first_rows
from caveat.table.linked import Linked

__all__ = ["ABOUT_TARGETS", "Whole", "collect_groups"]

BY_VALUE = 20_000
"""Values of all members up to which a number is attacked by value; beyond it in cells."""
ABOUT_TARGETS = ("strongShare", "strongWorst", "strongGain")
ALL = Note("all-groups", "of all groups", public=True)
PERSON = Note("of-members", "beside it: each member alone", public=True)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Whole:
    """What was made whole, with the model that made it.

    Parameters
    ----------
    original
        The fitted records: one table with groups, or linked ones.
    drawn
        The synthetic copies before protections.
    model
        The fitted model.
    n_groups, n_rows
        Groups that were fitted, and rows of all tables.
    steps
        What the protections did.
    """

    original: Table | Linked
    drawn: Sequence[Table | Linked]
    model: GroupModel | LinkedModel
    n_groups: int
    n_rows: int
    steps: tuple[Step, ...] = ()

    __repr__ = without_values

    @classmethod
    def of(cls, material: Material) -> Whole:
        """Return a table with groups."""
        model, fitted = material.model, material.fitted
        assert isinstance(model, GroupModel)
        n_groups = int(np.count_nonzero(fitted[model.groups.key].counts))
        return cls(fitted, material.drawn, model, n_groups, fitted.n_rows, material.copies[0].steps)

    def column(self, target: str, table: str) -> tuple[Column, float]:
        """Return a column, and how many rows with it a group has."""
        if isinstance(self.original, Linked):
            held = self.original.tables[table]
            return held[target], held.n_rows / self.n_groups
        assert isinstance(self.model, GroupModel)
        shared = target in (self.model.groups.constant or ())
        return self.original[target], 1.0 if shared else self.n_rows / self.n_groups


def collect_groups(
    whole: Whole,
    scenario: ScenarioSpec,
    seed: int,
    threads: int | None,
    done: Done,
    home: Callable[[str], tuple[str, str]] | None = None,
    bound: Bound = STANDARD,
) -> Collected:
    """Attack groups and their members, with no more work than ``bound`` allows.

    Where there are several tables, ``home`` says which has a target, and what it is called there.
    """
    asked = [name for name in ABOUT_TARGETS if name in scenario.measures]
    members = "membershipShare" in scenario.measures
    targets = (scenario.targets or ()) if asked else ()
    run = _Run(whole, scenario, seed, threads, done, home or (lambda target: ("", target)), bound)
    measurements, at_risk = [], []
    attacks = run.allotted(targets)
    total = sum(attack.size for attack in attacks) or 1.0
    for attack in attacks:
        share = (1 - MEMBERS if members else 1.0) * attack.size / total
        found, risky = run.target(attack, asked, share)
        measurements += found
        at_risk += risky
    if members:
        measurements += run.membership(MEMBERS if targets else 1.0)
    at_risk.sort(key=lambda one: -one.rise)
    circumstances = {**scenario.told, "membership": members}
    return Collected(circumstances, measurements, remarks=run.remarks, at_risk=at_risk)


@dataclass
class _Run:
    """One scenario while it is carried out."""

    whole: Whole
    scenario: ScenarioSpec
    seed: int
    threads: int | None
    done: Done
    home: Callable[[str], tuple[str, str]]
    bound: Bound

    def __post_init__(self) -> None:
        self.remarks: list[str] = []
        self.order = np.random.default_rng(self.seed).permutation(self.whole.n_groups)
        steps = [step for step in self.whole.steps if step.name != "label"]
        self.notes = (BEFORE,) if steps else ()

    def _refused(self) -> Note | None:
        """Return why there is no exact likelihood, if there is none."""
        plans = self.whole.model.plan.stages.values()
        drawn = [name for plan in plans for name in drawn_columns(plan)]
        return not_exact(drawn, self.whole.steps)

    @property
    def _model(self) -> LinkedModel:
        model = self.whole.model
        return model.model if isinstance(model, GroupModel) else model

    def allotted(self, targets: Sequence[str]) -> list[Attack]:
        """Return how each target is attacked: how many groups, in cells or by value."""
        everyone = len(self.order)
        if self.scenario.records == "all" or self._refused() is not None:
            return [Attack(name, everyone) for name in targets]
        works, in_cells = [], []
        for target in targets:
            table, name = self.home(target)
            column, members = self.whole.column(name, table)
            many = column.n_levels * members * everyone > BY_VALUE
            in_cells.append(column.kind.is_number and many)
            works.append(
                group_work(self._model, everyone, column, name, members=members,
                           in_cells=in_cells[-1])
            )  # fmt: skip
        most = self.bound.targets / max(len(targets), 1)
        fitting = [work.within(most) for work in works]
        numbers = allot(fitting, self._wanted, self.bound.targets)
        return [
            Attack(name, n, n < everyone, cells, fits.candidates < work.candidates,
                   max(1, round(fits.candidates / self._members(name))), fits.of(n))
            for name, n, cells, fits, work in zip(
                targets, numbers, in_cells, fitting, works, strict=True
            )
        ]  # fmt: skip

    def _members(self, target: str) -> float:
        table, name = self.home(target)
        return max(1.0, self.whole.column(name, table)[1])

    @property
    def _wanted(self) -> int:
        """Groups to attack where there is room: all, or what the scenario names."""
        everyone, records = len(self.order), self.scenario.records
        guarded = all(map(is_guarded, self.whole.model.plan.stages.values()))
        return everyone if guarded or records == "all" else min(everyone, max(records, LEAST))

    def _groups(self, n: int, what: str) -> NDArray[np.int64]:
        """Return so many groups, drawn at random."""
        everyone = len(self.order)
        if n < everyone:
            self.remarks.append(
                f"{what}: {n:,} of {everyone:,} groups are attacked, drawn at random; "
                'records = "all" attacks every one'
            )
        return np.sort(self.order[:n])

    def _whom(self, groups: NDArray[np.int64]) -> Note:
        if len(groups) == len(self.order):
            return ALL
        return Note("random-groups", "of {n:,} groups drawn at random", public=True, n=len(groups))

    def _tried(self, attack: Callable[[], Result]) -> Result | Note:
        """Return what an attack finds, or why it cannot be carried out."""
        if (reason := self._refused()) is not None:
            return reason
        try:
            return attack()
        except CaveatError as error:
            return refusal(error)

    def target(
        self, attack: Attack, asked: Sequence[str], share: float
    ) -> tuple[list[dict[str, Any]], list[AtRisk]]:
        """Attack one column: of groups if it is constant in them, of their members if not."""
        whole, limits, target = self.whole, self.scenario.limits, attack.target
        if not attack.records:
            self.remarks.append(f"{target}: {TOO_MUCH}")
            return without_value(asked, TOO_MUCH, limits, target=target), []
        table, name = self.home(target)
        chosen = self._groups(attack.records, target)
        found = self._tried(
            lambda: group_posterior(
                whole.original, whole.drawn, whole.model, name, chosen.tolist(), table=table,
                prior=self.scenario.prior, cells=attack.in_cells,
                candidates=attack.candidates if attack.some else None, threads=self.threads,
                done=lambda ready: self.done(share * ready),
            )
        )  # fmt: skip
        if isinstance(found, Note):
            return without_value(asked, found, limits, target=target), []
        cells = found.target.n_levels
        self.remarks += attack.of_values(whole.column(name, table)[0].n_levels, cells)
        notes = (self._whom(chosen), *attack.notes(cells), *self.notes)
        measured = {"strongShare": share_of, "strongWorst": worst_of, "strongGain": gain_of}
        entries = [
            entry(
                name, _told(measured[name](found), notes, self._unit(found)), limits, target=target
            )
            for name in asked
        ]
        return entries, list(self._at_risk(found, target))

    def _unit(self, found: Attributes) -> str:
        """Return what a result is about, in words: of linked tables the unit is a table."""
        linked = isinstance(self.whole.model, LinkedModel) and found.unit != "group"
        return f"row of {found.unit}" if linked else found.unit

    def _at_risk(self, found: Attributes, target: str) -> list[AtRisk]:
        """Return the rows at risk; a group is named by its first row."""
        rows = found.records
        if isinstance(self.whole.model, GroupModel) and found.unit == "group":
            assert isinstance(self.whole.original, Table)
            rows = first_rows(self.whole.original, self.whole.model.groups.key)[rows]
        return [
            AtRisk(self.scenario.name, int(row), target, "strongWorst", float(p), float(before))
            for row, p, before in zip(
                rows, found.probability, found.prior_probability, strict=True
            )
            if p > before
        ]  # fmt: skip

    def membership(self, share: float) -> list[dict[str, Any]]:
        """Ask of groups whether they were in the data, and of each of their members."""
        if isinstance(self.whole.model, LinkedModel):
            return self._membership("group", 1.0, (), share, self.bound)
        each, bound = self.whole.n_rows / self.whole.n_groups, self.bound
        half = replace(bound, members=bound.members / 2)
        alone = replace(half, preparation=0.0)  # that of groups matters more
        members = self._membership("person", each, (PERSON,), 0.7 * share, alone)
        return [*self._membership("group", 1.0, (), 0.3 * share, half), *members]

    def _membership(
        self, unit: str, members: float, notes: tuple[Note, ...], share: float, bound: Bound
    ) -> list[dict[str, Any]]:
        limits, names = self.scenario.limits, ["membershipShare"]
        n, what = len(self.order), f"membership of each {unit}"
        if self.scenario.records != "all" and self._refused() is None:
            work = group_work(self._model, n, members=members)
            (n,) = allot([work], self._wanted, bound.for_members(work))
        if not n:
            self.remarks.append(f"{what}: {TOO_MUCH}")
            return without_value(names, TOO_MUCH, limits)
        chosen = self._groups(n, what)
        found = self._tried(
            lambda: group_membership(
                self.whole.original, self.whole.drawn, self.whole.model, chosen.tolist(),
                unit=unit, threads=self.threads, done=lambda ready: self.done(share * ready),
            )
        )  # fmt: skip
        if isinstance(found, Note):
            return without_value(names, found, limits)
        whom = (self._whom(chosen), *notes, *self.notes)
        return [entry(names[0], _told(members_of(found), whom, unit), limits)]


def _told(result: Measurement, notes: tuple[Note, ...], unit: str) -> Measurement:
    return replace(result, notes=(*notes, *result.notes), per=unit)
