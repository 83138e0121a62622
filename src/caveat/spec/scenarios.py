"""The attackers of a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from caveat.attack.entry import Attack
from caveat.attack.paired import RECORDS, SIMULATIONS
from caveat.attack.priors import DEFAULT_PRIOR, NamedPrior
from caveat.attack.registry import attacks_of
from caveat.errors import hint
from caveat.risk import MEASURES, Scenario
from caveat.spec._kinds import frozen
from caveat.spec.attackers import ATTACKERS, default_measures, measures_of, own_options
from caveat.spec.document import Document
from caveat.spec.entries import CIRCUMSTANCES, SCENARIO
from caveat.spec.limits import Limit, check_comparable, read_limits
from caveat.spec.lines import Entry

__all__ = ["ScenarioSpec", "limits_at", "read_scenarios"]


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
                if (has_target if "target" in MEASURES[name].needs else asks)
            )
        if self.attacker == "simulated":
            return measures_of("simulated")
        given = {"keys", "target", "columns", *(["tolerance"] if "tolerance" in self.given else [])}
        return tuple(name for name in measures_of("release") if MEASURES[name].needs <= given)

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
        lacking = sorted(set(adding) & MEASURES[name].needs)
        if lacking:
            return f"add {adding[lacking[-1]]}"
        return hint(name, possible, "caveat measures")
