"""As evidence: the attackers who have the released table only, and what it promises."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from caveat.attack.figures import Attack
from caveat.attack.membership import membership, promised_tests
from caveat.attack.registry import ATTACKS, run_attack
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.privacy import Budget, Ledger, Limit, poisson_delta
from caveat.release.collect import (
    AtRisk,
    Collected,
    Done,
    Signs,
    entry,
    plain,
    refusal,
    without_value,
)
from caveat.release.material import Material
from caveat.risk import MEASURES, Audit, audit_pairs
from caveat.seeds import Stream, child_seed
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model
from caveat.synthesis.fitting import changes_cleared
from caveat.synthesis.margins.promise import Measured, Promise
from caveat.synthesis.plan import Plan
from caveat.table.grouping import SIZE, size_columns
from caveat.table.linked import Members

NO_TARGET = Note(
    "no-target", "every released column is a key: nothing is left to learn", public=True
)

# The measures whose records are named: who is found, and whose target is told.
NAMED = ("repU", "DiSCO")


def collect_audit(material: Material, spec: ScenarioSpec, signs: Signs, done: Done) -> Collected:
    """Measure what the released tables give away to someone who knows the keys.

    A scenario with a unit of its own is about groups: of a group that is found all records are
    named.
    """
    pairs, members, keys, targets = material.pairs, None, spec.keys, spec.targets
    if spec.unit and material.members is not None:
        pairs, members = material.pairs_of_groups, material.members[0].original
        keys, targets = as_groups(material, spec)
    if targets is None:
        original = pairs[0].original
        others = [name for name in original if name not in keys]
        # There is nothing to learn about a column with a single value, or about one that is looked
        # up by what the attacker knows.
        known = {*keys, *_looked_up_by(keys, material.plan)}
        varied = [name for name in others if np.count_nonzero(original[name].counts) > 1]
        targets = tuple([name for name in varied if name not in known] or varied or others)
    about_targets = [m for m in spec.measures if "target" in MEASURES[m].needs and not targets]
    found = audit_pairs(
        pairs,
        keys=keys,
        targets=targets,
        measures=[m for m in spec.measures if m not in about_targets],
        **spec.circumstances,
        unit=spec.unit,
    )
    done(1.0)
    content = found.to_dict()
    return Collected(
        circumstances=plain(spec.scenario().to_dict()),
        measurements=[
            entry(row.measure, row.result, spec.limits, target=row.scenario.target, copy=row.copy)
            for row in found.rows
        ]
        + without_value(about_targets, NO_TARGET, spec.limits),
        checks=plain(content["checks"]),
        remarks=[*content["differences"], *content["remarks"]],
        at_risk=_at_risk(found, spec, signs, members),
    )


def _looked_up_by(keys: Sequence[str], plan: Plan | None) -> set[str]:
    """Return the columns that are looked up by keys alone."""
    columns = {} if plan is None else plan.columns
    return {
        name
        for name, column in columns.items()
        if column.settings.method == "lookup" and set(column.predictors) <= set(keys)
    }


def as_groups(
    material: Material, spec: ScenarioSpec
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return what keys and targets are called in a table with a row for each group.

    What the members of a group share is a column as before. Of others there are the numbers of
    members of each kind; who knows any of these knows how many members there are in all.
    """
    names = material.pairs_of_groups[0].original.names

    def called(wanted: Sequence[str]) -> list[str]:
        found = [[w] if w in names else [n for n in names if n.startswith(f"number of {w} ")]
                 for w in wanted]  # fmt: skip
        return [name for each in found for name in each]

    keys = called(spec.keys)
    if SIZE not in keys and len(keys) > len([key for key in spec.keys if key in names]):
        keys.insert(0, SIZE)
    counted = size_columns(
        material.fitted, material.key, [name for name in names if name in material.fitted]
    )
    wanted = names if spec.targets is None else called(spec.targets)
    targets = tuple(n for n in wanted if n not in keys and not (SIZE in keys and n in counted))
    if not targets:
        raise CaveatError(
            "nothing is left to learn about a group",
            where=f"scenario {spec.name}",
            do="name other targets",
            code="attack.target.absent",
        )
    return tuple(keys), targets


def _at_risk(
    found: Audit, spec: ScenarioSpec, signs: Signs, members: Members | None
) -> list[AtRisk]:
    """Return the records that carry a measure in every table, those with most signs first."""
    out = []
    for name in NAMED:
        rows = [row for row in found.rows if row.measure == name and row.result.trace is not None]
        for target in dict.fromkeys(row.scenario.target for row in rows):
            shares = [r.result.per_record for r in rows if r.scenario.target == target]
            mean = np.mean([share for share in shares if share is not None], axis=0)
            if members is not None:  # whoever belongs to a group that is found
                mean = mean[members.group]
            out += [
                AtRisk(spec.name, int(i), target, name, float(mean[i]), None)
                for i in np.flatnonzero(mean > 0)
            ]
    return sorted(out, key=lambda one: (-one.value, -signs.score(one.record)))


# -------------------------------------------------------------------------------------------------
# The attackers with ordinary means, as evidence.


def collect_ordinary(
    material: Material, scenario: ScenarioSpec, number: int, done: Done
) -> Collected:
    """Run every attack on every table."""
    jobs = [
        (copy, attack, target)
        for copy in range(1, len(material.releases) + 1)
        for attack in map(ATTACKS.__getitem__, scenario.attacks)
        for target in _targets(material, scenario, attack)
    ]
    measurements: list[dict[str, Any]] = []
    for copy, attack, target in jobs:
        measurements += _attack(material, scenario, number, copy, attack, target)
        done(1 / len(jobs))
    return Collected(
        {
            **plain(scenario.told),
            "tolerance": dict(scenario.circumstances.get("tolerance", {})),
        },
        measurements,
    )


def _targets(material: Material, scenario: ScenarioSpec, attack: Attack) -> tuple[str | None, ...]:
    if "target" in attack.needs:
        return scenario.targets or material.columns(scenario.keys)
    return scenario.targets or (None,) if "target" in attack.takes else (None,)


def _attack(
    material: Material,
    scenario: ScenarioSpec,
    number: int,
    copy: int,
    attack: Attack,
    target: str | None,
) -> list[dict[str, Any]]:
    asked = [m.name for m in attack.measures if m.name in scenario.measures]
    seed = child_seed(material.seed, Stream.ORDINARY, number, copy)
    pair = material.pairs[copy - 1]
    told = scenario.arguments(attack, target, pair.control, seed)
    about: dict[str, Any] = {"target": target, "copy": copy}
    try:
        found = run_attack(attack.name, pair.original, pair.synthetic, **told)
    except CaveatError as error:
        return without_value(asked, refusal(error), scenario.limits, **about)
    made = [
        entry(
            one.measure,
            one.result,
            scenario.limits,
            label=one.label,
            label_is_public=bool(one.label and re.fullmatch(attack.labels, one.label)),
            **about,
        )
        for one in found
        if one.measure in asked
    ]
    absent = [name for name in asked if name not in {one["measure"] for one in made}]
    reason = Note("no-control", "it needs people who were not in the data: nobody was held out")
    return made + without_value(absent, reason, scenario.limits, **about)


# -------------------------------------------------------------------------------------------------
# What a release promises, and beside it what was measured: two entries, never one.
#
# A promise holds for all data of the declared domain and may be told to anybody. What was
# measured is computed from the original records, is about these data alone, and stays inside.


PROMISE = "promise and measurement"
"""The step of a run."""
TESTED = 3
"""Records whose membership is tested by simulation: those with the largest exact ratio."""
LEVEL = 0.05
MOST_SIMULATIONS, FEWEST_SIMULATIONS = 100, 20
MOST_CELLS = 1_000_000
"""Noisy cells that are drawn for the tests in all, about half a minute of one core."""
FASTER = 50
"""So many Poisson cells take as long as one of the discrete Gaussian."""

SAYS = "computed from the original records, on these data: no part of the promise, and confidential"


def _promise_of(material: Material) -> Promise | None:
    plan = material.plan
    return None if plan is None or plan.margins is None else plan.margins.promise


def collect_promise(
    spec: ReleaseSpec, material: Material, threads: int | None, step: Callable[[str], Done]
) -> dict[str, Any]:
    """Return the entries of a release that was made from noisy or cleared tables, if it was.

    Parameters
    ----------
    spec, material
        What was asked for, and what was made.
    threads
        Worlds computed at the same time.
    step
        Called with the name of the step, if there is one; returns what hears of its progress.
    """
    promise = _promise_of(material)
    if promise is None or promise.measured is None:
        return _cleared(material)
    return {
        "promise": _described(spec, material, promise, promise.measured),
        "measured": _measured(material, promise, promise.measured, threads, step(PROMISE)),
    }


def _described(
    spec: ReleaseSpec, material: Material, promise: Promise, measured: Measured
) -> dict[str, Any]:
    """Return what is promised, to whom and under which assumptions."""
    poisson = {
        "alpha": promise.alpha,
        "delta_equation_9": poisson_delta(promise.epsilon, promise.alpha),
        "delta_exact": promise.delta,
    } if promise.alpha else None  # fmt: skip
    return {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "rho": None if promise.alpha else measured.rho,
        "mechanism": promise.mechanism,
        "unit": "one record",
        "neighbours": "one record more or less",
        "domain": "declared in the specification; that nothing of it was read off the data is the "
        "word of who signs the release",
        "records": _records(spec),
        "pairs": _pairs(measured),
        "tables": [
            {
                "columns": list(names),
                "cells": int(counts.size),
                "sigma": measured.sigmas.get(names),
            }
            for names, counts in measured.tables.items()
        ],
        "poisson": poisson,
        "held_out": material.control is not None,
        "ledger": _ledger(spec.options.get("budget"), promise),
    }


def _records(spec: ReleaseSpec) -> str:
    if spec.release.rows is not None:
        return "not assumed to be public; the number of released rows is said in the specification"
    return "not assumed to be public; the number of released rows comes from the noisy counts"


def _pairs(measured: Measured) -> str:
    if measured.alpha:
        return "none: one table of all columns"
    if measured.choices:
        return (
            "chosen from the data by the exponential mechanism, one after the other, with "
            f"ε = {measured.choice_epsilon:.4g} each, which ρ includes"
        )
    return "given in the specification"


def _ledger(budget: Budget | None, promise: Promise) -> dict[str, Any] | None:
    """Return what was spent on the data, this release included, and what may be."""
    if budget is None:
        return None
    limit = budget.limit or Limit(promise.epsilon, promise.delta)
    spent = Ledger(budget.ledger).spent(budget.dataset, limit.delta)
    return {
        "dataset": budget.dataset,
        "spent": spent if math.isfinite(spent) else None,
        "limit": {"epsilon": limit.epsilon, "delta": limit.delta},
    }


def _measured(
    material: Material, promise: Promise, measured: Measured, threads: int | None, done: Done
) -> dict[str, Any]:
    """Return what the strong attacker finds who is given the noisy tables."""
    plan = material.plan
    assert plan is not None
    found = membership(
        material.fitted, material.drawn, generator=plan, threads=threads,
        done=lambda share: done(0.1 * share),
    )  # fmt: skip
    losses = np.abs(found.log_ratio)
    worst = found.records[np.argsort(-losses, kind="stable")[:TESTED]].tolist()
    simulations = _simulations(measured, len(worst))
    bounds: list[dict[str, Any]] = []
    if simulations:
        tests = promised_tests(
            material.fitted, worst, plan, simulations, lambda share: done(0.9 * share)
        )
        bounds = [
            {
                "row": int(material.rows[test.record]) + 1,
                "log_ratio": float(losses[test.record]),
                "bound": test.epsilon_at(LEVEL / len(worst), promise.delta),
            }
            for test in tests
        ]
    return {
        "says": SAYS,
        "records": len(losses),
        "largest": float(losses.max()),
        "above": float(np.mean(losses > promise.epsilon)),
        "bound": max((one["bound"] for one in bounds), default=None),
        "bounds": bounds,
        "simulations": simulations,
        "confidence": 1 - LEVEL,
    }


def remarks_on(entries: Mapping[str, Any]) -> list[str]:
    """Return warnings that a loss, or even its lower bound, is above what is promised."""
    promise, measured = entries.get("promise"), entries.get("measured")
    if promise is None or measured is None:
        return []
    found, epsilon = [], promise["epsilon"]
    if measured["largest"] > epsilon:
        found.append(
            f"the largest exact log ratio of a record, {measured['largest']:.3g}, is above ε = "
            f"{epsilon:g}: for any one record the promise allows this with a probability of about "
            f"δ = {promise['delta']:.3g}"
        )
    if (measured["bound"] or 0.0) > epsilon:
        found.append(
            f"the lower bound of ε by simulation, {measured['bound']:.3g}, is above ε = {epsilon:g}"
            ": that is chance, once in twenty runs at most, or the promise is not kept"
        )
    return found


def _simulations(measured: Measured, n_tested: int) -> int:
    """Return how often to measure; 0 if the tables are too large to do it often enough.

    It is counted, not timed: the same run simulates as much on every machine.
    """
    cells = sum(counts.size for counts in measured.tables.values())
    cost = (n_tested + 1) * cells / (FASTER if measured.alpha else 1)
    most = int(MOST_CELLS / cost)
    return min(most, MOST_SIMULATIONS) if most >= FEWEST_SIMULATIONS else 0


def _cleared(material: Material) -> dict[str, Any]:
    """Return what cleared tables a release was made from; nothing if it was not."""
    model, plan = material.model, material.plan
    if not isinstance(model, Model) or not model.cleared:
        return {}
    assert plan is not None
    assert plan.margins is not None
    assert plan.margins.clearing is not None
    return {
        "cleared": {
            "rules": str(plan.margins.clearing),
            "records": material.fitted.n_rows,
            "changed_by": int(np.count_nonzero(changes_cleared(material.fitted, plan))),
            "tables": [
                {
                    "columns": list(table.columns),
                    "cells": len(table.cells),
                    "smallest": min(table.counts),
                    "multiple": table.multiple,
                    "suppressed": table.suppressed,
                    "changed_by": table.changed_by,
                }
                for table in model.cleared
            ],
        }
    }
