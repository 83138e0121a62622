"""Which measures and which keys each attacker of a scenario has."""

from __future__ import annotations

from collections.abc import Collection

from caveat import attack
from caveat.attack import ordinary
from caveat.risk import MEASURES

__all__ = ["ATTACKERS", "MEASURES_OF_ATTACK", "default_measures", "measures_of"]

ATTACKERS = ("release", "strong", "ordinary")

MEASURES_OF_ATTACK: dict[str, tuple[str, ...]] = {
    "classifier": ("prediction",),
    "singling-out": ("singlingOut",),
    "linkability": ("linkability",),
    "inference": ("inference",),
    "outliers": ("outlierLinks",),
    "membership": ("membershipScore", "membershipF1"),
    "distances": ("DCR", "DCRshare", "NNDR", "IMS", "epsilonIdentifiability", "tooClose"),
}
"""What :func:`caveat.attack.ordinary.run_kind` measures."""

# Importing the rooms has put their entries into MEASURES.
_STRONG = tuple(entry.name for entry in attack.measures.ENTRIES)
_ORDINARY = tuple(entry.name for entry in ordinary.ENTRIES)
_TWO_TABLES = frozenset({"keys", "target", "tolerance", "columns"})


def measures_of(attacker: str) -> tuple[str, ...]:
    """Return the measures that an attacker can have."""
    if attacker == "strong":
        return _STRONG
    if attacker == "ordinary":
        return tuple(name for names in MEASURES_OF_ATTACK.values() for name in names)
    others = {*_STRONG, *_ORDINARY}
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
