"""The attackers with ordinary means, as evidence."""

from __future__ import annotations

from typing import Any

from caveat.attack.ordinary import run_kind
from caveat.errors import CaveatError
from caveat.release.collect import Done, entry, said, without_value
from caveat.release.collected import Collected
from caveat.release.making import Material
from caveat.seeds import child_seed
from caveat.spec.attackers import MEASURES_OF_ATTACK
from caveat.spec.scenarios import NEEDS_TARGETS, ScenarioSpec

__all__ = ["collect_ordinary"]

ORDINARY = 1_000_014  # first word of the seeds
TAKES_TARGET = (*NEEDS_TARGETS, "outliers")


def collect_ordinary(
    material: Material, scenario: ScenarioSpec, number: int, done: Done
) -> Collected:
    """Run every attack on every table."""
    jobs = [
        (copy, kind, target)
        for copy in range(1, len(material.releases) + 1)
        for kind in scenario.attacks
        for target in _targets(material, scenario, kind)
    ]
    measurements: list[dict[str, Any]] = []
    for copy, kind, target in jobs:
        measurements += _attack(material, scenario, number, copy, kind, target)
        done(1 / len(jobs))
    return Collected(
        {
            "attacks": list(scenario.attacks),
            "n_attacks": scenario.n_attacks,
            "second": list(scenario.second),
            "neighbours": scenario.neighbours,
            "columns": scenario.columns,
            "tolerance": dict(scenario.circumstances.get("tolerance", {})),
        },
        measurements,
    )


def _targets(material: Material, scenario: ScenarioSpec, kind: str) -> tuple[str | None, ...]:
    if kind in NEEDS_TARGETS:
        return scenario.targets or material.columns(scenario.keys)
    return scenario.targets or (None,) if kind in TAKES_TARGET else (None,)


def _attack(
    material: Material,
    scenario: ScenarioSpec,
    number: int,
    copy: int,
    kind: str,
    target: str | None,
) -> list[dict[str, Any]]:
    asked = [name for name in MEASURES_OF_ATTACK[kind] if name in scenario.measures]
    seed = child_seed(material.seed, ORDINARY, number, copy)
    pair = material.pairs[copy - 1]
    options = scenario.options(target, pair.control, seed)
    about: dict[str, Any] = {"target": target, "copy": copy}
    try:
        found = run_kind(kind, pair.original, pair.synthetic, options)
    except CaveatError as error:
        return without_value(asked, said(error), scenario.limits, **about)
    made = [
        entry(one.measure, one.result, scenario.limits, label=one.label, **about)
        for one in found
        if one.measure in asked
    ]
    absent = [name for name in asked if name not in {one["measure"] for one in made}]
    reason = "it needs people who were not in the data: nobody was held out"
    return made + without_value(absent, reason, scenario.limits, **about)
