"""The table of measures: what each one says, for which attacker, and what it cannot see.

Other rooms add their own entries with :func:`register` when they are imported; this module imports
none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from caveat.errors import CaveatError
from caveat.notes import Unit
from caveat.registry import Registry
from caveat.risk.measurement import Measurement

__all__ = ["MEASURES", "Direction", "Measure", "Property", "register"]

Direction = Literal[
    "higher is riskier", "lower is riskier", "reference", "higher is better", "lower is better"
]


class Property(StrEnum):
    """What a measure of disclosure should do; after Latner, Neunhoeffer and Drechsler."""

    CERTAINTY = "finds certain disclosure"
    NOISE = "does not rise when information is destroyed"
    INFORMATION = "grows with the information given away"
    GAIN = "measures the gain over what was known before"
    REASSURANCE = "never reassures falsely"


@dataclass(frozen=True)
class Measure:
    """One entry of the table.

    Parameters
    ----------
    name
        The name by which it is asked for.
    function
        Takes a :class:`~caveat.risk.pair.ScenarioPair` and returns a Measurement; a measure whose
        ``needs`` name more takes these as keywords.
    family
        The group it is printed with.
    says
        What the number is, in one line.
    attacker
        What the attacker has and does.
    formula
        The definition, in plain text: d, s are counts in the original and the synthetic table, q
        is a combination of keys, t a value of the target. Shares are in per cent, as printed.
    source
        Where the definition is from.
    blind_spot
        What it cannot see.
    blind
        The same in a few words, for the narrow column of a table.
    baseline
        What its baseline is.
    needs
        What must be given: keys, target, tolerance, control, …
    direction
        Which way is riskier; "reference" for figures that describe one table only.
    unit
        "share" for parts of a whole (0 to 1, printed in per cent), "ratio" or "score".
    fails
        The properties that it fails on the published counter-examples.
    default
        Whether an audit computes it without being asked.
    by_size
        Whether it depends on how many records there are, so that only a control of the same size
        can be compared.
    best
        The value for identical tables, of a measure of utility.
    """

    name: str
    function: Callable[..., Measurement]
    family: str
    says: str
    attacker: str
    formula: str
    source: str
    blind_spot: str
    blind: str
    baseline: str = ""
    needs: frozenset[str] = frozenset({"keys", "target"})
    direction: Direction = "higher is riskier"
    unit: Unit = "share"
    fails: frozenset[Property] = frozenset()
    default: bool = True
    by_size: bool = False
    best: float | None = None

    def __call__(self, *arguments: object, **keywords: object) -> Measurement:
        """Compute the measure."""
        return self.function(*arguments, **keywords)


class _Measures(Registry[Measure]):
    """The measures in order; names the choices when asked for an unknown one."""

    def __missing__(self, name: str) -> Measure:
        lower = {known.lower(): known for known in self}
        near = lower.get(str(name).lower())
        raise CaveatError(
            f"there is no measure {name!r}",
            do=f"perhaps {near}" if near else f"choose among {', '.join(self)}",
            code="measure.name.unknown",
        )


MEASURES = _Measures()


def register(*entries: Measure, built_in: bool = False) -> None:
    """Add entries to MEASURES; those of Caveat itself are built in."""
    for entry in entries:
        if MEASURES.get(entry.name, entry) is not entry:
            raise ValueError(f"there are two measures called {entry.name}")
        MEASURES.put(entry.name, entry, built_in=built_in)
