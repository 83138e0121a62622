"""As evidence: the strong attacker, after a record or a household, exact or by simulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.attack import Attributes, Membership, attributes, membership
from caveat.attack.adjacent import is_guarded
from caveat.attack.figures import gain_of, members_of, share_of, worst_of
from caveat.attack.groups import group_membership, group_posterior
from caveat.attack.paired import simulated_membership
from caveat.attack.posterior import drawn_columns
from caveat.attack.strong import (
    ATTACK,
    BEFORE,
    StrongAttacker,
    attack_release,
    findings_of,
    is_judged,
)
from caveat.attack.targets import LEAST, STANDARD, Bound, allot, group_work, work_of
from caveat.attack.worlds import affected_columns
from caveat.cluster import running_on
from caveat.errors import CaveatError
from caveat.notes import Z95, Note
from caveat.protect.record import Step
from caveat.release.collect import (
    MEMBERS,
    TOO_MUCH,
    AtRisk,
    Attack,
    Collected,
    Done,
    Signs,
    entry,
    not_exact,
    refusal,
    without_value,
)
from caveat.release.content import proven_records
from caveat.release.material import Material
from caveat.risk.measure import Measurement
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model, Plan
from caveat.synthesis.linked import GroupModel, LinkedModel
from caveat.table import Column, Table
from caveat.table.grouping import first_rows
from caveat.table.linked import Linked

BY_VALUE = 20_000
"""Values of all members up to which a number is attacked by value; beyond it in cells."""
ABOUT_TARGETS = ("strongShare", "strongWorst", "strongGain")
ALL_GROUPS = Note("all-groups", "of all groups", public=True)
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
    run = _GroupRun(
        whole, scenario, seed, threads, done, home or (lambda target: ("", target)), bound
    )
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
class _GroupRun:
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
            return ALL_GROUPS
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


# -------------------------------------------------------------------------------------------------
# The strong attacker, who knows the generator and all other records.
#
# Where the release is a draw with an exact likelihood, every figure is exact for the records that
# are attacked: a random sample for the shares, and the most vulnerable records for the worst
# case. Where there is no such likelihood, the worst case is simulated, and marked as simulated,
# if that takes a reasonable time; everything else has no value, with the reason.


VULNERABLE = 20
"""The most vulnerable records that are attacked beside the sample, to find the worst case."""
SIMULATED = 5
"""Records that are attacked by simulation."""
SIMULATIONS = 100
"""Simulated releases for each of them."""

# A number is attacked by its values where the work allows it, and otherwise in cells.
MOST_VALUES = 20_000_000
"""Records times values times trees up to which guarded trees are attacked by value."""
LEAST_BY_VALUE = 100
"""Records for whose values there must be time where trees are plain."""

ALL_RECORDS = Note("all-records", "of all records", public=True)
ELSEWHERE = Note(
    "synthesised-elsewhere",
    "the tables were synthesised elsewhere: how is not known, and this attacker knows it",
    public=True,
)

ONLY_RUN = Note(
    "can-only-be-run",
    "the generator is not ours: it can be run, but the probability of what it makes is not known",
    public=True,
)


PROVEN = Note(
    "proven",
    "people count as certain members if a level or an end of a range leaves that would not be "
    "there without them",
    public=True,
)


def collect_strong(
    material: Material,
    spec: ReleaseSpec,
    scenario: ScenarioSpec,
    number: int,
    signs: Signs,
    threads: int | None,
    done: Done,
    bound: Bound = STANDARD,
) -> Collected:
    """Attack the targets and the membership of records, with all released tables together.

    No more work is done than ``bound`` allows: it is counted, not timed, so that the same run
    attacks the same records on every machine.
    """
    asked = [name for name in ABOUT_TARGETS if name in scenario.measures]
    targets = (scenario.targets or ()) if asked else ()
    members = "membershipShare" in scenario.measures
    circumstances = {**scenario.told, "membership": members}
    plan = material.plan
    seed = child_seed(material.seed, Stream.RECORDS, number)
    if isinstance(material.model, GroupModel):
        return collect_groups(Whole.of(material), scenario, seed, threads, done, bound=bound)
    if plan is None:
        why = ELSEWHERE if material.generator is None else ONLY_RUN
        nothing = [m for t in targets for m in without_value(asked, why, scenario.limits,
                                                              target=t)]  # fmt: skip
        if members:
            nothing += without_value(["membershipShare"], why, scenario.limits)
        return Collected(circumstances, nothing)
    run = _Run(material, spec, scenario, plan, signs, seed, threads, done, bound)
    measurements, at_risk = run.targets(targets, asked)
    if members:
        measurements += run.members(share=1 if not targets else MEMBERS)
    return Collected(circumstances, measurements, remarks=run.remarks, at_risk=at_risk)


@dataclass
class _Run:
    """One scenario while it is carried out."""

    material: Material
    spec: ReleaseSpec
    scenario: ScenarioSpec
    plan: Plan
    signs: Signs
    seed: int
    threads: int | None
    done: Done
    bound: Bound

    def __post_init__(self) -> None:
        self.remarks: list[str] = []
        fitted = self.material.fitted
        self.order = np.random.default_rng(self.seed).permutation(fitted.n_rows)
        assert isinstance(self.material.model, Model)
        self.model = self.material.model
        steps = [step for step in self.material.copies[0].steps if step.name != "label"]
        self.notes = (BEFORE,) if steps else ()
        drawn = [n for n in drawn_columns(self.plan) if n in self.material.releases[0]]
        self.reason = not_exact(drawn, steps)

    def targets(
        self, targets: Sequence[str], asked: Sequence[str]
    ) -> tuple[list[dict[str, Any]], list[AtRisk]]:
        """Attack every target."""
        measurements: list[dict[str, Any]] = []
        at_risk: list[AtRisk] = []
        attacks = self._allotted(targets)
        members = MEMBERS if "membershipShare" in self.scenario.measures else 0.0
        total = sum(attack.size for attack in attacks) or 1.0
        for attack in attacks:
            share = (1 - members) * attack.size / total
            if self.reason:
                measurements += self._simulated(attack.target, asked, self.reason)
                self.done(share)
                continue
            found, risky = self._exact(attack, asked, share)
            measurements += found
            at_risk += risky
        at_risk.sort(key=lambda one: (-one.rise, -self.signs.score(one.record)))
        return measurements, at_risk

    def _allotted(self, targets: Sequence[str]) -> list[Attack]:
        """Return how each target is attacked: how many records, in cells or by value."""
        fitted, everyone = self.material.fitted, self.material.fitted.n_rows
        if self.scenario.records == "all" or self.reason:
            return [Attack(name, everyone) for name in targets]
        few = min(self.scenario.records + VULNERABLE, everyone)
        wanted = everyone if is_guarded(self.plan) else few
        most = self.bound.targets / max(len(targets), 1)
        in_cells = [self._is_in_cells(name, min(wanted, LEAST_BY_VALUE), most) for name in targets]
        works = [
            work_of(self.model, fitted, name, in_cells=cells)
            for name, cells in zip(targets, in_cells, strict=True)
        ]
        fitting = [work.within(most) for work in works]
        numbers = allot(fitting, wanted, self.bound.targets)
        return [
            Attack(name, n, n < wanted, cells, fits.candidates < work.candidates,
                    fits.candidates, fits.of(n))
            for name, n, cells, fits, work in zip(
                targets, numbers, in_cells, fitting, works, strict=True
            )
        ]  # fmt: skip

    def _is_in_cells(self, target: str, least: int, most: float) -> bool:
        """Return whether a number has so many values that its cells are attacked instead."""
        fitted, column = self.material.fitted, self.material.fitted[target]
        if not column.kind.is_number:
            return False
        if is_guarded(self.plan):
            trees = len(affected_columns(self.plan, [target]))
            return fitted.n_rows * column.n_levels * trees > MOST_VALUES
        return work_of(self.model, fitted, target).of(least) > most

    def _chosen(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return a random sample and the most vulnerable records, n together."""
        everyone = len(self.order)
        if n >= everyone:
            return np.arange(everyone), np.zeros(0, np.int64)
        # Fewer than asked for are shared out as those that were asked for.
        asked = self.scenario.records
        whole = VULNERABLE + (asked if isinstance(asked, int) else everyone)
        part = min(max(1, round(n * VULNERABLE / whole)), n - 1)
        return np.sort(self.order[: n - part]), self.signs.first(part)

    def _exact(
        self, attack: Attack, asked: Sequence[str], share: float
    ) -> tuple[list[dict[str, Any]], list[AtRisk]]:
        target = attack.target
        if not attack.records:
            self.remarks.append(f"{target}: {TOO_MUCH}")
            return without_value(asked, TOO_MUCH, self.scenario.limits, target=target), []
        sample, exposed = self._chosen(attack.records)
        both = np.unique(np.concatenate([sample, exposed]))
        limits = self.scenario.limits
        try:
            found = attributes(
                self.material.fitted, self.material.drawn, target, generator=self.plan,
                records=both.tolist(), prior=self.scenario.prior, cells=attack.in_cells,
                candidates=attack.candidates if attack.some else None, threads=self.threads,
                done=lambda ready: self.done(share * ready),
            )  # fmt: skip
        except CaveatError as error:
            return without_value(asked, refusal(error), limits, target=target), []
        self.remarks += attack.remarks(len(both), self.material.fitted[target].n_levels,
                                       found.target.n_levels)  # fmt: skip
        random = _only(found, sample)
        left = attack.notes(found.target.n_levels)
        of_sample = (_drawn(len(sample)), *left, *self.notes)
        of_all = (
            Note("with-most-vulnerable", "of these and the {n:,} most vulnerable records",
                 public=True, n=len(exposed)) if len(exposed) else ALL_RECORDS,
            *left,
            *self.notes,
        )  # fmt: skip
        everyone = len(sample) == len(self.order)
        results = {
            "strongShare": _noted(share_of(random), of_all if everyone else of_sample),
            "strongWorst": _noted(worst_of(found), of_all),
            "strongGain": _noted(gain_of(random), of_all if everyone else of_sample),
        }
        at_risk = [
            AtRisk(self.scenario.name, int(record), target, "strongWorst", float(p), float(before))
            for record, p, before in zip(
                found.records, found.probability, found.prior_probability, strict=True
            )
            if p > before
        ]  # fmt: skip
        return [entry(name, results[name], limits, target=target) for name in asked], at_risk

    def _simulated(self, target: str, asked: Sequence[str], reason: Note) -> list[dict[str, Any]]:
        """Simulate the worst case over a few records, too few for shares."""
        limits = self.scenario.limits
        out = without_value([n for n in asked if n != "strongWorst"], reason, limits, target=target)
        if "strongWorst" not in asked:
            return out
        try:
            result = self._worst_by_simulation(target)
        except CaveatError as error:
            why = Note("not-simulated", f"{reason}; {refusal(error)}")
            return out + without_value(["strongWorst"], why, limits, target=target)
        return [entry("strongWorst", result, limits, target=target), *out]

    def _worst_by_simulation(self, target: str) -> Measurement:
        material, protect = self.material, self.spec.protect
        if material.drawn[0].n_rows != material.fitted.n_rows and len(protect):
            raise CaveatError(
                "a release with another number of rows is not simulated",
                code="attack.release.unsupported",
            )
        copy = material.copies[0]
        records = self.signs.first(SIMULATED).tolist()
        attacker = StrongAttacker(
            (target,),
            self.scenario.prior,
            SIMULATIONS,
            child_seed(self.seed, Stream.SIMULATED_WORST),
        )
        with running_on(None):  # many small fits: handing them out would take longer
            found = attack_release(material.fitted, copy, records, copy.setting.again, attacker)
        value, error = found.values["posterior"], found.errors.get("posterior", 0.0)
        says = "of the {n} most vulnerable records"
        notes = [Note("most-vulnerable", says, public=True, n=len(records)), *found.how]
        if len(material.releases) > 1:
            notes.append(Note("first-table", "the first table alone", public=True))
        return Measurement(
            value,
            interval=(max(value - Z95 * error, 0.0), min(value + Z95 * error, 1.0)),
            n=len(records),
            notes=tuple(notes),
            details={"Monte Carlo error": error, "largest gain": found.values["gain"]},
        )

    def members(self, share: float) -> list[dict[str, Any]]:
        """Attack the membership of all records, or of a sample."""
        limits, names = self.scenario.limits, ["membershipShare"]
        if self.reason:
            return without_value(names, self.reason, limits)
        everyone = len(self.order)
        n = everyone
        if self.scenario.records != "all":
            work = work_of(self.model, self.material.fitted)
            n = allot([work], everyone, self.bound.for_members(work))[0]
        if not n:
            self.remarks.append(f"membership: {TOO_MUCH}")
            return without_value(names, TOO_MUCH, limits)
        if n < everyone:
            self.remarks.append(
                f"membership: {n:,} of {everyone:,} records are attacked, drawn at random; "
                'records = "all" attacks everyone'
            )
        records = np.sort(self.order[:n])
        try:
            found = membership(
                self.material.fitted, self.material.drawn, generator=self.plan,
                records=records.tolist(), threads=self.threads,
                done=lambda ready: self.done(share * ready),
            )  # fmt: skip
        except CaveatError as error:
            return without_value(names, refusal(error), limits)
        whom = _drawn(n) if n < everyone else ALL_RECORDS
        found, said = self._with_proven(found)
        return [entry(names[0], _noted(members_of(found), (whom, *said, *self.notes)), limits)]

    def _with_proven(self, found: Membership) -> tuple[Membership, tuple[Note, ...]]:
        """Count records as certain members if a rare level or an end of a range proves them."""
        proven = np.concatenate(list(proven_records(self.material).values()))
        certain = np.isin(found.records, proven)
        if not certain.any():
            return found, ()
        ratio = np.where(certain, np.inf, found.log_ratio)
        return replace(found, log_ratio=ratio), (PROVEN,)


def _only(found: Attributes, records: NDArray[np.int64]) -> Attributes:
    chosen = np.isin(found.records, records)
    return replace(
        found,
        records=found.records[chosen],
        prior=found.prior[chosen],
        log_likelihood=found.log_likelihood[chosen],
    )


def _drawn(n: int) -> Note:
    return Note("random-sample", "of {n:,} records drawn at random", public=True, n=n)


def _noted(result: Measurement, notes: tuple[Note, ...]) -> Measurement:
    return replace(result, notes=(*notes, *result.notes))


# -------------------------------------------------------------------------------------------------
# The strong attacker by simulation, as evidence.


def collect_simulated(
    material: Material, scenario: ScenarioSpec, number: int, threads: int | None, done: Done
) -> Collected:
    """Run the way the release was made, protections and all, with and without some records."""
    asked, limits = scenario.measures, scenario.limits
    if material.generator is None or material.not_simulated is not None:
        why = material.not_simulated or ELSEWHERE
        return Collected(scenario.told, without_value(asked, why, limits))
    # Other people's generators are given what is released and nothing else.
    ours = material.model is not None
    known = material.fitted if ours else material.fitted.select(material.columns())
    try:
        found = simulated_membership(
            known, material.generator, synthetic=list(material.releases),
            records=scenario.most, simulations=scenario.simulations,
            seed=child_seed(material.seed, Stream.SIMULATED, number), threads=threads, done=done,
        )  # fmt: skip
    except CaveatError as error:
        return Collected(scenario.told, without_value(asked, refusal(error), limits))
    measurements = [
        entry(one.measure, one.result, limits if is_judged(one) else (), label=one.label,
              label_is_public=bool(re.fullmatch(ATTACK.labels, one.label)))
        for one in findings_of(found) if one.measure in asked
    ]  # fmt: skip
    return Collected(scenario.told, measurements)
