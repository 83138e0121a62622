"""The map of risk and utility around the release, as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from caveat.generators import Setting
from caveat.release.collect import Done
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.limits import Limit, Question, unit_of
from caveat.spec.scenarios import MapSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis.methods import Settings
from caveat.tuning.tune import RiskUtilityMap, risk_utility_map

__all__ = ["collect_map", "described_map", "settings_tried"]


def collect_map(
    material: Material, spec: ReleaseSpec, wanted: MapSpec, threads: int | None, done: Done
) -> dict[str, Any]:
    """Measure the settings of the map, and that of the release among them."""
    scenario = next(one for one in spec.scenarios if one.name == wanted.scenario)
    settings, chosen = settings_tried(spec, wanted)
    question = Question(
        measures=(wanted.risk, wanted.utility),
        keys=scenario.keys,
        targets=scenario.targets,
        circumstances=scenario.circumstances,
        models=spec.utility.models,
        unknown=scenario.targets if scenario.attacker == "strong" else None,
        prior=scenario.prior,
    )
    found = risk_utility_map(
        material.fitted, settings, question, seeds=wanted.seeds,
        seed=child_seed(material.seed, Stream.MAP), threads=threads, done=done,
    )  # fmt: skip
    return described_map(found, wanted, chosen, scenario.limits)


def described_map(
    found: RiskUtilityMap, wanted: MapSpec, chosen: Setting, limits: Sequence[Limit] = ()
) -> dict[str, Any]:
    """Return a map as the evidence holds it.

    Parameters
    ----------
    found, wanted
        What was measured, and what was asked for.
    chosen
        The setting of the release.
    limits
        The limits of the scenario.
    """
    best = found.pareto(wanted.risk, wanted.utility)
    limit = next((one for one in limits if one.measure == wanted.risk), None)
    return {
        "scenario": wanted.scenario,
        "risk": wanted.risk,
        "utility": wanted.utility,
        "risk_unit": unit_of(wanted.risk),
        "utility_unit": unit_of(wanted.utility),
        "limit": None if limit is None else limit.to_dict()["most"],
        "points": [
            {
                "setting": str(point.setting),
                **({"setting_is_public": True} if point.setting.is_public else {}),
                "seeds": len(point.values),
                "risk_mean": point.mean(wanted.risk),
                "risk_worst": point.worst(wanted.risk),
                "utility_mean": point.mean(wanted.utility),
                "utility_worst": point.worst(wanted.utility),
                "pareto": is_best,
                "chosen": point.setting.key == chosen.key,
                **curve,
            }
            for point, is_best, curve in zip(found.points, best, found.curves(), strict=True)
        ],
    }


def settings_tried(spec: ReleaseSpec, wanted: MapSpec) -> tuple[list[Setting], Setting]:
    """Return the settings of the map and which of them is the release's own.

    Protections are those of the release unless the map varies them. What the release leaves at its
    default is written out, so that the two can be compared.
    """
    usual = {k: v for k, v in asdict(Settings()).items() if k in wanted.settings and v is not None}
    base: Mapping[str, Any] = {**usual, **spec.options}
    steps = tuple(spec.protect)
    settings = wanted.all_settings(base)
    if "protect" not in wanted.settings:
        settings = [replace(setting, protect=steps) for setting in settings]
    shown = settings[0].shown
    chosen = Setting(Setting(base).used, steps, shown)
    if chosen.key not in {setting.key for setting in settings}:
        settings.append(chosen)
    return settings, chosen
