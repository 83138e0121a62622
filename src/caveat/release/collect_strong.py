"""The strong attacker: she knows the generator and all other records.

Where the release is a draw with an exact likelihood, every figure is exact for the records that are
attacked: a random sample for the shares, and the most vulnerable for the worst. Where there is no
such likelihood, the worst is simulated if that is possible in a reasonable time, and named so;
everything else has no value, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack import Attributes, Membership, attributes, membership
from caveat.attack.guarded import is_guarded
from caveat.attack.measures import gain_of, members_of, share_of, worst_of
from caveat.attack.posterior import drawn_columns
from caveat.attack.strong import BEFORE, StrongAttacker, attack_release
from caveat.attack.updates import can_update
from caveat.attack.worlds import Worlds, affected_columns
from caveat.cluster import running_on
from caveat.errors import CaveatError
from caveat.intervals import Z95
from caveat.notes import Note
from caveat.release.at_risk import AtRisk, Signs
from caveat.release.collect import MEMBERS, Done, entry, not_exact, refusal, without_value
from caveat.release.collect_groups import ABOUT_TARGETS, Whole, collect_groups
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.release.proven import proven_records
from caveat.risk.measurement import Measurement
from caveat.seeds import child_seed
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Plan
from caveat.synthesis.linked import GroupModel
from caveat.table import Table

__all__ = ["MOST_MEMBERS", "MOST_WORK", "PATHS", "SAMPLE", "allot", "collect_strong", "unit_of"]

VULNERABLE = 20
"""Of so many records beside the sample the worst is looked for."""
LEAST = 10
"""Records that are attacked whatever it costs."""
SIMULATED = 5
"""Records that are attacked by simulation."""
SIMULATIONS = 100

# The work that a scenario may take when "all" is not asked for, in records x candidates x trees x
# rows: about two minutes of one core each. It is counted, not timed: the same run attacks the same
# records on every machine. A fit from scratch costs about so many updates.
MOST_WORK = 1_200_000_000
MOST_MEMBERS = 1_000_000_000
FROM_SCRATCH = 16
# On guarded trees a world costs its paths, whatever the number of records: all are attacked.
PATHS = 60

SAMPLE, SIMULATE = 1_000_012, 1_000_013  # first words of the seeds
ALL = Note("all-records", "of all records", public=True)
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
) -> Collected:
    """Attack the targets and the membership of records; all tables together."""
    asked = [name for name in ABOUT_TARGETS if name in scenario.measures]
    targets = (scenario.targets or ()) if asked else ()
    members = "membershipShare" in scenario.measures
    circumstances = {**scenario.told, "membership": members}
    plan = material.plan
    if isinstance(material.model, GroupModel):
        seed = child_seed(material.seed, SAMPLE, number)
        return collect_groups(Whole.of(material), scenario, seed, threads, done)
    if plan is None:
        why = ELSEWHERE if material.generator is None else ONLY_RUN
        nothing = [m for t in targets for m in without_value(asked, why, scenario.limits,
                                                              target=t)]  # fmt: skip
        if members:
            nothing += without_value(["membershipShare"], why, scenario.limits)
        return Collected(circumstances, nothing)
    run = _Run(material, spec, scenario, plan, signs, child_seed(material.seed, SAMPLE, number),
               threads, done)  # fmt: skip
    measurements, at_risk = run.targets(targets, asked)
    if members:
        measurements += run.members(share=1 if not targets else MEMBERS)
    return Collected(circumstances, measurements, remarks=run.remarks, at_risk=at_risk)


def allot(costs: Sequence[float], wanted: int, work: float) -> list[int]:
    """Share work out: how many records of each sort, where one costs so much.

    Sorts that need less than an equal share leave the rest to the others.

    Examples
    --------
    >>> allot([1, 10, 100], wanted=50, work=600)
    [50, 27, 10]
    """
    numbers = [0] * len(costs)
    left, waiting = work, sorted(range(len(costs)), key=lambda i: costs[i])
    for place, i in enumerate(waiting):
        share = left / (len(waiting) - place)
        numbers[i] = max(min(wanted, int(share / costs[i])), min(wanted, LEAST))
        left = max(left - numbers[i] * costs[i], 0.0)
    return numbers


def unit_of(plan: Plan, fitted: Table) -> int:
    """Return what one world costs in one tree."""
    if is_guarded(plan):
        return PATHS
    return fitted.n_rows * (1 if can_update(Worlds(fitted, plan, [], 0)) else FROM_SCRATCH)


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

    def __post_init__(self) -> None:
        self.remarks: list[str] = []
        fitted = self.material.fitted
        self.order = np.random.default_rng(self.seed).permutation(fitted.n_rows)
        self.unit = unit_of(self.plan, fitted)
        steps = [step for step in self.material.copies[0].steps if step.name != "label"]
        self.notes = (BEFORE,) if steps else ()
        drawn = [n for n in drawn_columns(self.plan) if n in self.material.releases[0]]
        self.reason = not_exact(drawn, steps)

    def targets(
        self, targets: Sequence[str], asked: Sequence[str]
    ) -> tuple[list[dict[str, Any]], list[AtRisk]]:
        """StrongAttacker every target."""
        measurements: list[dict[str, Any]] = []
        at_risk: list[AtRisk] = []
        fitted = self.material.fitted
        costs = [
            fitted[name].n_levels * len(affected_columns(self.plan, [name])) * self.unit
            for name in targets
        ]
        everyone = fitted.n_rows
        wanted = everyone
        numbers = [everyone] * len(targets)
        if self.scenario.records != "all":
            few = min(self.scenario.records + VULNERABLE, everyone)
            wanted = everyone if is_guarded(self.plan) else few
            numbers = allot(costs, wanted, MOST_WORK)
        members = MEMBERS if "membershipShare" in self.scenario.measures else 0.0
        share = (1 - members) / max(len(targets), 1)
        for target, n in zip(targets, numbers, strict=True):
            if self.reason:
                measurements += self._simulated(target, asked, self.reason)
                self.done(share)
                continue
            found, risky = self._exact(target, asked, n, n < wanted, share)
            measurements += found
            at_risk += risky
        at_risk.sort(key=lambda one: (-one.rise, -self.signs.score(one.record)))
        return measurements, at_risk

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
        self, target: str, asked: Sequence[str], n: int, fewer: bool, share: float
    ) -> tuple[list[dict[str, Any]], list[AtRisk]]:
        sample, exposed = self._chosen(n)
        both = np.unique(np.concatenate([sample, exposed]))
        limits = self.scenario.limits
        try:
            found = attributes(
                self.material.fitted, self.material.drawn, target, generator=self.plan,
                records=both.tolist(), prior=self.scenario.prior, threads=self.threads,
                done=lambda ready: self.done(share * ready),
            )  # fmt: skip
        except CaveatError as error:
            return without_value(asked, refusal(error), limits, target=target), []
        if fewer:
            self.remarks.append(
                f"{target}: {len(both):,} records are attacked and not more, since each has "
                f'{self.material.fitted[target].n_levels:,} candidates; records = "all" attacks '
                "everyone"
            )
        random = _only(found, sample)
        of_sample = (_drawn(len(sample)), *self.notes)
        of_all = (
            Note("with-most-vulnerable", "of these and the {n:,} most vulnerable records",
                 public=True, n=len(exposed)) if len(exposed) else ALL,
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
        """Simulate the worst over a few records; shares over so few would say nothing."""
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
            raise CaveatError("a release with another number of rows is not simulated")
        copy = material.copies[0]
        records = self.signs.first(SIMULATED).tolist()
        attacker = StrongAttacker(
            (target,), self.scenario.prior, SIMULATIONS, child_seed(self.seed, SIMULATE)
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
        """Ask of all records, or of a sample, whether they were in the data."""
        limits, names = self.scenario.limits, ["membershipShare"]
        if self.reason:
            return without_value(names, self.reason, limits)
        everyone = len(self.order)
        n = everyone
        if self.scenario.records != "all":
            n = allot([len(self.plan.columns) * self.unit], everyone, MOST_MEMBERS)[0]
        records = np.sort(self.order[:n])
        try:
            found = membership(
                self.material.fitted, self.material.drawn, generator=self.plan,
                records=records.tolist(), threads=self.threads,
                done=lambda ready: self.done(share * ready),
            )  # fmt: skip
        except CaveatError as error:
            return without_value(names, refusal(error), limits)
        whom = _drawn(n) if n < everyone else ALL
        found, said = self._with_proven(found)
        return [entry(names[0], _noted(members_of(found), (whom, *said, *self.notes)), limits)]

    def _with_proven(self, found: Membership) -> tuple[Membership, tuple[Note, ...]]:
        """Count people as members for certain whom rare levels or ends of ranges prove."""
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
