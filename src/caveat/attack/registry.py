"""The attacks by the name under which they are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from caveat.attack.figures import ATTACK as STRONG
from caveat.attack.figures import Attack, Attacker, Finding
from caveat.attack.ordinary.density import ATTACK as MEMBERSHIP
from caveat.attack.ordinary.distances import ATTACK as DISTANCES
from caveat.attack.ordinary.outliers import ATTACK as OUTLIERS
from caveat.attack.ordinary.predicting import ATTACK as PREDICTION
from caveat.attack.ordinary.three_risks import ATTACK as LINKABILITY
from caveat.attack.ordinary.three_risks import INFERENCE_ATTACK as INFERENCE
from caveat.attack.ordinary.three_risks import SINGLING_OUT_ATTACK as SINGLING_OUT
from caveat.attack.strong import ATTACK as SIMULATED
from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.registry import Registry
from caveat.risk.measure import register as register_measures
from caveat.table import Table, align
from caveat.table.align import refuse_other_table

__all__ = ["ATTACKS", "attacks_of", "register", "run_attack"]


class _Attacks(Registry[Attack]):
    """The attacks in order; names the choices when asked for an unknown one."""

    def __missing__(self, name: str) -> Attack:
        raise CaveatError(
            f"there is no attack {name!r}",
            do=f"choose among {', '.join(self)}",
            code="attack.name.unknown",
        )


ATTACKS = _Attacks()


def register(*entries: Attack, built_in: bool = False) -> None:
    """Add attacks to ATTACKS, and what they measure to MEASURES."""
    for attack in entries:
        ATTACKS.put(attack.name, attack, built_in=built_in)
        register_measures(*attack.measures, built_in=built_in)


def add(*entries: Attack) -> None:
    """Do what :func:`register` does, which is its name now."""
    warnings.warn("add is called register now", DeprecationWarning, stacklevel=2)
    register(*entries)


def attacks_of(attacker: Attacker) -> dict[str, Attack]:
    """Return the attacks that an attacker carries out."""
    return {name: attack for name, attack in ATTACKS.items() if attack.attacker == attacker}


def run_attack(name: str, original: Any, synthetic: Any, **options: Any) -> tuple[Finding, ...]:
    """Run one ordinary attack on one release.

    Parameters
    ----------
    name
        One of ATTACKS that needs no generator.
    original, synthetic
        Frames or tables.
    options
        What the attack takes.
    """
    attack = ATTACKS[name]
    told = attack.told(options)
    notes = tuple(_doubts(original, synthetic, attack, told))
    found = attack.run(original, synthetic, **told)
    return tuple(
        one._replace(result=replace(one.result, notes=(*one.result.notes, *notes))) for one in found
    )


def _doubts(original: Any, synthetic: Any, attack: Attack, told: dict[str, Any]) -> Iterator[Note]:
    """Say in which columns of the attack the two tables hardly belong together."""
    both = align(Table.from_frame(original), Table.from_frame(synthetic))
    named = {column for o in attack.options if o.kind == "columns" for column in told[o.name]}
    named |= {told[o.name] for o in attack.options if o.kind == "column"} - {None}
    refuse_other_table(both.original, [both.synthetic])
    for difference in both.differences:
        if difference.is_alarm and (not named or difference.column in named):
            yield Note("tables-differ", str(difference))


ENTRIES: tuple[Attack, ...] = (
    STRONG,
    SIMULATED,
    PREDICTION,
    SINGLING_OUT,
    INFERENCE,
    OUTLIERS,
    LINKABILITY,
    MEMBERSHIP,
    DISTANCES,
)
register(*ENTRIES, built_in=True)
