"""Which measures and which keys each attacker of a scenario has."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from caveat.attack.entry import Attacker, Option
from caveat.attack.registry import ATTACKS, attacks_of
from caveat.risk import MEASURES

__all__ = ["ATTACKERS", "default_measures", "measures_of", "own_options"]

ATTACKERS: tuple[Attacker | Literal["release"], ...] = (
    "release",
    "strong",
    "simulated",
    "ordinary",
)

_TWO_TABLES = frozenset({"keys", "target", "tolerance", "columns"})
# What a scenario says about every attacker, or a specification about the release.
_COMMON = frozenset({"keys", "target", "tolerance", "control", "seed"})


def measures_of(attacker: Attacker | Literal["release"]) -> tuple[str, ...]:
    """Return the measures that an attacker can have."""
    if attacker != "release":
        attacks = attacks_of(attacker)
        return tuple(measure.name for attack in attacks.values() for measure in attack.measures)
    others = {measure.name for attack in ATTACKS.values() for measure in attack.measures}
    return tuple(
        name for name, m in MEASURES.items() if m.needs <= _TWO_TABLES and name not in others
    )


def default_measures(given: Collection[str]) -> tuple[str, ...]:
    """Return what an audit measures by itself when these inputs are there."""
    return tuple(
        name
        for name in measures_of("release")
        if MEASURES[name].default and MEASURES[name].needs <= {*given, "columns"}
    )


def own_options() -> dict[str, tuple[Option, list[str]]]:
    """Return what ordinary attacks alone are told, and by which attacks it is taken."""
    found: dict[str, tuple[Option, list[str]]] = {}
    for attack in attacks_of("ordinary").values():
        for name, option in attack.takes.items():
            if name not in _COMMON:
                found.setdefault(name, (option, []))[1].append(attack.name)
    return found
