"""Limits that a release must meet."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caveat.attack.measures import ENTRIES
from caveat.errors import CaveatError
from caveat.risk import MEASURES as RISKS
from caveat.utility import MEASURES as UTILITIES

__all__ = ["ATTACKS", "STRONG_MEASURES", "Limit", "kind_of", "read_limits"]

ATTACKS = {
    "posterior": "largest probability that the strong attacker gives to the truth about a record",
    "gain": "largest factor by which the release raises that probability",
}
STRONG_MEASURES = tuple(measure.name for measure in ENTRIES)
"""Measures of the strong attacker over all records; they need the generator."""


@dataclass(frozen=True)
class Limit:
    """What one number of a release may be.

    Parameters
    ----------
    measure
        The name of a measure of risk or utility, "posterior" or "gain".
    most, least
        The largest and the smallest value allowed.
    """

    measure: str
    most: float = math.inf
    least: float = -math.inf

    def __post_init__(self) -> None:
        kind_of(self.measure)
        where = f"limits, {self.measure}"
        if not self.least <= self.most:
            raise CaveatError(
                "the limits contradict each other: the smallest value is above the largest",
                where=where,
                do="mend one of them",
            )
        lowest, highest = _range(self.measure)
        if self.most < lowest or self.least > highest:
            raise CaveatError(
                f"no release can meet it: the measure lies between {lowest:g} and {highest:g}",
                where=where,
                do="mend it",
            )

    def excess(self, value: float | None) -> float:
        """Return by how much a value breaks the limit, relative to it; 0 if it does not.

        What cannot be measured does not meet a limit.
        """
        if value is None:
            return math.inf
        if value > self.most:
            return (value - self.most) / max(abs(self.most), 1e-3)
        if value < self.least:
            return (self.least - value) / max(abs(self.least), 1e-3)
        return 0.0

    def __str__(self) -> str:
        least = f"{self.least:g} ≤ " if self.least > -math.inf else ""
        most = f" ≤ {self.most:g}" if self.most < math.inf else ""
        return f"{least}{self.measure}{most}"


def _range(measure: str) -> tuple[float, float]:
    if measure == "posterior":
        return 0.0, 1.0
    if measure in RISKS and RISKS[measure].unit == "%":
        return 0.0, 100.0
    return -math.inf, math.inf


def kind_of(measure: str) -> str:
    """Return "attack", "risk" or "utility", or say which measures there are."""
    if measure in ATTACKS or measure in STRONG_MEASURES:
        return "attack"
    if measure in UTILITIES:
        return "utility"
    if measure in RISKS:
        return "risk"
    near = {name.lower(): name for name in (*ATTACKS, *RISKS, *UTILITIES)}.get(measure.lower())
    raise CaveatError(
        f"there is no measure {measure!r}",
        where="tune",
        do=f"perhaps {near}"
        if near
        else f"use {', '.join(ATTACKS)} or a name from caveat measures",
    )


def read_limits(given: Mapping[str, Any]) -> tuple[Limit, ...]:
    """Read limits: a number is the most allowed, or a table with ``most`` and ``least``.

    Examples
    --------
    >>> [str(limit) for limit in read_limits({"DiSCO": 5, "posterior": {"most": 0.2}})]
    ['DiSCO ≤ 5', 'posterior ≤ 0.2']
    """
    limits = []
    for measure, value in given.items():
        entry = value if isinstance(value, Mapping) else {"most": value}
        # A whole number may be larger than any other; infinity is no limit.
        numbers = [
            v for v in entry.values()
            if isinstance(v, int | float) and abs(v) <= sys.float_info.max
        ]  # fmt: skip
        if set(entry) - {"most", "least"} or len(numbers) != len(entry) or not entry:
            raise CaveatError(
                "a limit is a number, or most and least",
                where=f"limits, {measure}",
                do=f"write {measure} = 5 or {measure} = {{ most = 5 }}",
            )
        limits.append(Limit(measure, **{key: float(v) for key, v in entry.items()}))
    return tuple(limits)
