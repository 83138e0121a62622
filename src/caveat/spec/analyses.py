"""What a specification asks about utility, and the map of risk and utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caveat.errors import hint
from caveat.expressions import Expression
from caveat.generators import Setting, settings_of
from caveat.spec._kinds import Many
from caveat.spec.document import Document
from caveat.spec.entries import PROTECT, SYNTHESIS
from caveat.spec.limits import ATTACKS, STRONG_MEASURES, Limit
from caveat.spec.scenarios import ScenarioSpec, limits_at
from caveat.utility import MEASURES
from caveat.utility.analyses import read_model
from caveat.utility.edits import EditRule

__all__ = ["MapSpec", "UtilitySpec", "check_tried", "read_map", "read_utility"]


@dataclass(frozen=True)
class UtilitySpec:
    """The ``[utility]`` part: what analysts need.

    Parameters
    ----------
    measures
        What is measured: what the specification names, or the standard set; the measures of the
        limits are always among them.
    models
        Formulas of models to fit on both sides.
    targets
        Columns to predict after training on the release.
    rules
        Edit rules by name.
    limits
        What must hold.
    """

    measures: tuple[str, ...]
    models: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    rules: Mapping[str, EditRule] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class MapSpec:
    """The ``[map]`` part: a risk–utility map around the release.

    Parameters
    ----------
    settings
        Settings with the values to try.
    scenario
        Name of the scenario whose risk is drawn.
    risk, utility
        The measures; risk is "posterior", "gain" or one of hers when the attacker is a strong one.
    seeds
        Releases per setting.
    """

    settings: Mapping[str, Sequence[Any]]
    scenario: str
    risk: str = "DiSCO"
    utility: str = "S_pMSE"
    seeds: int = 2

    def all_settings(self, synthesis: Mapping[str, Any]) -> list[Setting]:
        """Return every combination, for :func:`caveat.tuning.risk_utility_map`."""
        return settings_of(synthesis, self.settings)


def read_utility(document: Document, *, copies: int) -> UtilitySpec:
    """Read the section of a document that has been held against the table of entries."""
    given = document.content.get("utility", {})
    rules = {
        name: EditRule(rule["then"], rule.get("if"), rule.get("group"))
        for name, rule in given.get("rules", {}).items()
    }
    for name, rule in given.get("rules", {}).items():
        for key in [key for key in ("if", "then") if key in rule]:
            with document.at("utility", "rules", name, key):
                Expression(rule[key])
    for i, model in enumerate(given.get("models", ())):
        with document.at("utility", "models", i):
            read_model(model)
    lacking = {
        "model": ('models = ["income ~ age + sex"]', not given.get("models")),
        "target": ('targets = ["income"]', not given.get("targets")),
        "rules": ('rules = { child = { if = "age < 16", then = "income == 0" } }', not rules),
        "copies": ("copies = 2 to [release]", copies < 2),
        "groups": (
            'key = "household" to [groups]',
            "groups" not in document.content and "tables" not in document.content,
        ),
    }
    limits = limits_at(document, ("utility", "limits"), given.get("limits", {}))
    wanted = [("limits", limit.measure) for limit in limits]
    wanted += [("measures", name) for name in given.get("measures", ())]
    for key, name in wanted:
        for need in sorted(MEASURES[name].needs):
            example, is_lacking = lacking[need]
            if is_lacking:
                place = given["measures"].index(name) if key == "measures" else name
                what = f"utility.{key}: {name} needs {example.partition(' ')[0]}"
                document.fail(
                    ("utility", key, place), what, f"add {example}", code="spec.entry.absent"
                )
    usual = [
        name
        for name, measure in MEASURES.items()
        if measure.default and not any(lacking[need][1] for need in measure.needs)
    ]
    chosen = given.get("measures", usual)
    return UtilitySpec(
        measures=tuple(dict.fromkeys([*chosen, *(limit.measure for limit in limits)])),
        models=tuple(given.get("models", ())),
        targets=tuple(given.get("targets", ())),
        rules=rules,
        limits=limits,
    )


def read_map(document: Document, scenarios: Sequence[ScenarioSpec]) -> MapSpec | None:
    """Read the section of a document that has been held against the table of entries."""
    if "map" not in document.content:
        return None
    given = dict(document.content["map"])
    # A map is about rows; with groups nobody but who has the release alone can be drawn.
    drawn = ("release",) if "groups" in document.content else ("release", "strong")
    named = {s.name: s for s in scenarios if s.attacker in drawn and not s.unit}
    if not named:
        document.fail(
            ("map",),
            "map: no scenario can be drawn",
            f"add one about rows whose attacker is {' or '.join(drawn)}",
            code="spec.entry.absent",
        )
    name = given.setdefault("scenario", next(iter(named)))
    if name not in named:
        known = name in [s.name for s in scenarios]
        slow = "has an attacker who is too slow for a map, or is about groups"
        what = slow if known else "is not there"
        document.fail(
            ("map", "scenario"), f"map.scenario: the scenario {name!r} {what}",
            hint(name, tuple(named)),
            code="spec.value.unsupported" if known else "spec.value.unknown",
        )  # fmt: skip
    strong = named[name].attacker == "strong"
    risk = given.setdefault("risk", "posterior" if strong else "DiSCO")
    if (risk in ATTACKS or risk in STRONG_MEASURES) != strong:
        kind = "strong" if strong else "release"
        other = (
            ", ".join((*ATTACKS, *STRONG_MEASURES))
            if strong
            else "a measure of an audit, such as DiSCO"
        )
        document.fail(
            ("map", "risk"),
            f"map.risk: there is no {risk} of the attacker {kind!r}",
            f"use {other}",
            code="spec.entry.conflict",
        )
    check_tried(document, "map")
    return MapSpec(**given)


def check_tried(document: Document, section: str) -> None:
    """Refuse settings to try whose values are not allowed."""
    settings = document.content[section]["settings"]
    for name, values in settings.items():
        kind = SYNTHESIS.keys[name].kind if name != "protect" else Many(PROTECT, "protections")
        for i, value in enumerate(values):
            document.refuse(kind.problems(value, (section, "settings", name, i)))
    base = document.content.get("synthesis", {})
    with document.at("synthesis"):
        settings_of(base, {k: v for k, v in settings.items() if k == "method"})
    with document.at(section, "settings"):
        settings_of(base, settings)
