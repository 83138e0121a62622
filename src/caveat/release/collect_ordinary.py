"""The attackers with ordinary means, as evidence."""

from __future__ import annotations

import re
from typing import Any

from caveat.attack.entry import Attack
from caveat.attack.registry import ATTACKS, run_attack
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.release.collect import Done, entry, plain, refusal, without_value
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.scenarios import ScenarioSpec

__all__ = ["collect_ordinary"]


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
