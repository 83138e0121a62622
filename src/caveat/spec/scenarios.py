"""The attackers of a specification, what it asks about utility, and its map of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from caveat.attack.figures import Attack
from caveat.attack.paired import RECORDS, SIMULATIONS
from caveat.attack.registry import attacks_of
from caveat.errors import hint
from caveat.expressions import Expression
from caveat.generators import Setting, settings_of
from caveat.risk import MEASURES as RISKS
from caveat.risk import Scenario
from caveat.risk.scenario import DEFAULT_PRIOR, NamedPrior
from caveat.spec._kinds import Entry, Many, frozen
from caveat.spec.document import Document
from caveat.spec.entries import (
    ATTACKERS,
    CIRCUMSTANCES,
    PROTECT,
    SCENARIO,
    SYNTHESIS,
    default_measures,
    measures_of,
    own_options,
)
from caveat.spec.limits import STRONG_MEASURES, STRONGEST, Limit, check_comparable, read_limits
from caveat.utility import MEASURES as UTILITIES
from caveat.utility.analyses import read_model
from caveat.utility.structure import EditRule

OF_GROUPS = ("limit", "denominator", "population")
"""Circumstances that are about no single column, and so can be those of a group."""


@dataclass(frozen=True)
class ScenarioSpec:
    """One ``[[scenario]]``: an attacker, what she knows and wants, and what must hold.

    Parameters
    ----------
    name
        What the report calls her.
    attacker
        "release": has the released table only; "strong": knows the generator and all other records
        too; "simulated": the same, found by running the generator; "ordinary": has the released
        table and ordinary means.
    keys
        Columns she knows; may be empty for a strong attacker, who knows all but the target, and
        are so for a simulated one.
    targets
        Columns she wants to learn; None for every released column that is no key, and for a strong
        attacker who asks about membership only.
    limits
        What must hold.
    measures
        What is measured: what the specification names, or the standard set of the attacker; the
        measures of the limits are always among them.
    circumstances
        Further arguments of :class:`caveat.risk.Scenario`.
    records, prior, membership
        Of the strong attacker.
    most, simulations
        Of the simulated attacker.
    attacks, options
        Of the ordinary attacker: what she tries, and what was said of it.
    unit
        Whom she is after, if it is not what a row of the data is.
    table
        Of several tables the one whose rows it is about; "" for the first that has the columns.
    """

    name: str
    attacker: Literal["release", "strong", "simulated", "ordinary"] = "release"
    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    limits: tuple[Limit, ...] = ()
    measures: tuple[str, ...] = ()
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    records: int | Literal["all"] = 200
    prior: NamedPrior = DEFAULT_PRIOR
    membership: bool = True
    most: int = RECORDS
    simulations: int = SIMULATIONS
    attacks: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    unit: str = ""
    table: str = ""

    def scenario(self, target: str | None = None) -> Scenario:
        """Return the attacker after one target, for measures of risk."""
        return Scenario(self.keys, target, **self.circumstances, unit=self.unit)

    @property
    def told(self) -> dict[str, Any]:
        """What only this sort of attacker is told, by the table of entries; None is left out."""
        own = [name for name, key in SCENARIO.keys.items() if key.only == (self.attacker,)]
        usual = {name: option.default for name, (option, _) in own_options().items()}
        known = {**vars(self), **usual, **self.options}
        given = {name: known[name] for name in own if name not in CIRCUMSTANCES}
        return {name: value for name, value in given.items() if value is not None}

    def arguments(
        self, attack: Attack, target: str | None, control: Any, seed: int
    ) -> dict[str, Any]:
        """Return what an ordinary attack is told."""
        tolerance: Any = dict(self.circumstances.get("tolerance", {}))
        if "tolerance" in attack.takes and attack.takes["tolerance"].kind == "number":
            tolerance = tolerance.get(target)
        every = {**self.options, "keys": self.keys, "target": target, "tolerance": tolerance,
                 "control": control, "seed": seed}  # fmt: skip
        return {name: every[name] for name in attack.takes if name in every}


def read_scenarios(document: Document, *, has_control: bool) -> tuple[ScenarioSpec, ...]:
    """Read the scenarios of a document that has been held against the table of entries."""
    found: list[ScenarioSpec] = []
    for i, given in enumerate(document.content["scenario"]):
        entry: Entry = ("scenario", i)
        scenario = _Reading(document, entry, given, has_control).scenario()
        if scenario.name in [other.name for other in found]:
            document.fail(
                (*entry, "name"),
                f"scenario.name: two scenarios are called {scenario.name!r}",
                "give each a name of its own",
                code="spec.entry.duplicate",
            )
        found.append(scenario)
    return tuple(found)


def limits_at(document: Document, entry: Entry, given: Mapping[str, Any]) -> tuple[Limit, ...]:
    """Read limits, and say of a wrong one on which line it stands."""
    found: list[Limit] = []
    for measure, value in given.items():
        with document.at(*entry, measure):
            found += read_limits({measure: value})
    return tuple(found)


@dataclass(frozen=True)
class _Reading:
    """One scenario while it is read."""

    document: Document
    entry: Entry
    given: Mapping[str, Any]
    has_control: bool

    @property
    def attacker(self) -> Any:
        return self.given.get("attacker", "release")

    def scenario(self) -> ScenarioSpec:
        self._refuse_foreign_keys()
        attacks = self._attacks() if self.attacker == "ordinary" else ()
        self._check_columns()
        self._check_unit()
        possible = self._possible(attacks)
        self._check_measures(possible)
        limits = limits_at(self.document, (*self.entry, "limits"), self.given.get("limits", {}))
        for limit in limits:
            with self.document.at(*self.entry, "limits", limit.measure):
                check_comparable([limit], has_control=self.has_control)
        chosen = self.given.get("measures", self._usual(possible))
        decided = {
            "limits": limits,
            "measures": tuple(dict.fromkeys([*chosen, *(limit.measure for limit in limits)])),
            "attacks": attacks,
        }
        given, own = frozen(self.given), own_options()
        rest = {k: v for k, v in given.items() if k not in CIRCUMSTANCES and k not in own}
        options = {k: v for k, v in given.items() if k in own}
        return ScenarioSpec(
            **{**rest, **decided}, circumstances=self.circumstances, options=options
        )

    @property
    def circumstances(self) -> dict[str, Any]:
        return {k: self.given[k] for k in CIRCUMSTANCES if k in self.given}

    def _fail(self, key: str, what: str, do: str | None = None, *, code: str) -> None:
        self.document.fail((*self.entry, key), f"scenario.{key}: {what}", do, code=code)

    def _refuse_foreign_keys(self) -> None:
        for name in self.given:
            only = SCENARIO.keys[name].only
            if only and self.attacker not in only:
                self._fail(
                    name,
                    f"an attacker {self.attacker!r} has no such key",
                    f"remove it, or choose attacker = {' or '.join(map(repr, only))}",
                    code="spec.entry.conflict",
                )

    def _attacks(self) -> tuple[str, ...]:
        """Return the attacks, the usual ones unless they are named."""
        ordinary = attacks_of("ordinary")
        lacking = {
            name: [option for option in attack.needs.values() if option.name not in self._there]
            for name, attack in ordinary.items()
        }
        usual = [name for name, attack in ordinary.items() if attack.usual and not lacking[name]]
        named = tuple(dict.fromkeys(self.given.get("attacks", usual)))
        for option in [option for name in named for option in lacking[name]]:
            more = " = [...]" if option.kind == "columns" else ""
            control = option.name == "control"
            add = "control = 0.2 to [release]" if control else option.name + more
            self._fail("attacks", option.lacking, f"add {add}", code="spec.entry.absent")
        return named

    @property
    def _there(self) -> set[str]:
        """What an ordinary attack finds: a target is asked for one by one, all if none is named."""
        return {*self.given, "keys", "target", *(["control"] if self.has_control else [])}

    def _check_unit(self) -> None:
        """Refuse a group without [groups], and entries about single columns of it."""
        tables = self.document.content.get("tables", {})
        named = self.given.get("table")
        if named is not None and named not in tables:
            what = f"there is no table {named!r}" if tables else "[tables] names no file"
            self._fail(
                "table",
                what,
                hint(named, tuple(tables)) if tables else "remove it",
                code="data.table.unknown",
            )
        if "unit" not in self.given:
            return
        if "groups" not in self.document.content and not tables:
            self._fail(
                "unit", "no group is named", 'add [groups] with key = "…"', code="spec.entry.absent"
            )
        foreign = [k for k in self.circumstances if k not in OF_GROUPS]
        if foreign:
            self._fail(
                foreign[0],
                "a group as a whole has no such column",
                "remove it",
                code="spec.entry.conflict",
            )

    def _check_columns(self) -> None:
        if self.attacker == "simulated":
            for name in ("keys", "targets"):
                if name in self.given:
                    self._fail(name, "this attacker knows all and asks about membership",
                               "remove it, or choose another attacker",
                               code="spec.entry.conflict")  # fmt: skip
            return
        if self.attacker != "strong" and "keys" not in self.given:
            self._fail(
                "keys",
                "no key is named",
                "say which columns an attacker may know",
                code="spec.entry.absent",
            )
        keys = self.given.get("keys", ())
        if keys:
            with self.document.at(*self.entry, "keys"):
                Scenario(tuple(keys))
            for key, value in self.circumstances.items():
                with self.document.at(*self.entry, key):
                    Scenario(tuple(keys), **{key: value})
            with self.document.at(*self.entry):
                Scenario(tuple(keys), **self.circumstances)
        for i, target in enumerate(self.given.get("targets", ())):
            if keys:
                with self.document.at(*self.entry, "targets", i):
                    Scenario(tuple(keys), target)
        aims = "targets" in self.given or self.given.get("membership", True)
        if self.attacker == "strong" and not aims:
            self._fail(
                "targets", "there is nothing to attack", "name targets", code="spec.entry.absent"
            )

    def _possible(self, attacks: tuple[str, ...]) -> tuple[str, ...]:
        """Return the measures that this very attacker can have."""
        if self.attacker == "ordinary":
            tried = [attacks_of("ordinary")[name] for name in attacks]
            lacking = {o.name for attack in tried for o in attack.options if o.default is None}
            lacking -= self._there
            found = [measure for attack in tried for measure in attack.measures]
            return tuple(measure.name for measure in found if not measure.needs & lacking)
        if self.attacker == "strong":
            has_target, asks = "targets" in self.given, self.given.get("membership", True)
            return tuple(
                name
                for name in measures_of("strong")
                if (has_target if "target" in RISKS[name].needs else asks)
            )
        if self.attacker == "simulated":
            return measures_of("simulated")
        given = {"keys", "target", "columns", *(["tolerance"] if "tolerance" in self.given else [])}
        return tuple(name for name in measures_of("release") if RISKS[name].needs <= given)

    def _usual(self, possible: tuple[str, ...]) -> tuple[str, ...]:
        if self.attacker != "release":
            return possible
        return default_measures({"keys", "target", *self.given})

    def _check_measures(self, possible: tuple[str, ...]) -> None:
        places = [("measures", i, name) for i, name in enumerate(self.given.get("measures", ()))]
        for key, place, name in [
            *places,
            *(("limits", n, n) for n in self.given.get("limits", ())),
        ]:
            if name in possible:
                continue
            here = " here" if name in measures_of(self.attacker) else ""
            what = f"the attacker {self.attacker!r} has no measure {name}{here}"
            self.document.fail(
                (*self.entry, key, place),
                f"scenario.{key}: {what}",
                self._advice(name, possible),
                code="spec.entry.conflict",
            )

    def _advice(self, name: str, possible: tuple[str, ...]) -> str:
        """Say how to get a measure that this attacker has not."""
        others = [other for other in ATTACKERS if name in measures_of(other)]
        if others and self.attacker not in others:
            return f"it belongs to attacker = {others[0]!r}"
        attacks = [
            attack.name for attack in attacks_of("ordinary").values()
            if name in [measure.name for measure in attack.measures]
        ]  # fmt: skip
        if attacks and attacks[0] not in self.given.get("attacks", ()):
            return f"add {attacks[0]!r} to attacks"
        adding = {
            "tolerance": "tolerance = { age = 2 }",
            "target": "targets",
            "generator": "membership = true",
            "control": "control = 0.2 to [release]",
            **{name: name for name, (option, _) in own_options().items() if option.default is None},
        }
        lacking = sorted(set(adding) & RISKS[name].needs)
        if lacking:
            return f"add {adding[lacking[-1]]}"
        return hint(name, possible, "caveat measures")


# -------------------------------------------------------------------------------------------------
# What a specification asks about utility, and the map of risk and utility.


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
        for need in sorted(UTILITIES[name].needs):
            example, is_lacking = lacking[need]
            if is_lacking:
                place = given["measures"].index(name) if key == "measures" else name
                what = f"utility.{key}: {name} needs {example.partition(' ')[0]}"
                document.fail(
                    ("utility", key, place), what, f"add {example}", code="spec.entry.absent"
                )
    usual = [
        name
        for name, measure in UTILITIES.items()
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
    if (risk in STRONGEST or risk in STRONG_MEASURES) != strong:
        kind = "strong" if strong else "release"
        other = (
            ", ".join((*STRONGEST, *STRONG_MEASURES))
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
