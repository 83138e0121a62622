"""The strong attacker by simulation, as evidence."""

from __future__ import annotations

import re

from caveat.attack.by_simulation import ATTACK, findings_of, is_judged
from caveat.attack.paired import simulated_membership
from caveat.errors import CaveatError
from caveat.release.collect import Done, entry, refusal, without_value
from caveat.release.collect_strong import ELSEWHERE
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.scenarios import ScenarioSpec

__all__ = ["collect_simulated"]


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
