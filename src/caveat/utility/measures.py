"""The table of utility measures: what each number says, and what it cannot see.

A measure is a function of a :class:`~caveat.utility.pair.WeightedPair`; measures that need a
model, a target or rules take these as keywords. The entries are in :mod:`caveat.utility.entries`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from caveat.errors import CaveatError
from caveat.notes import Note, Unit
from caveat.registry import Registry
from caveat.risk.measure import Direction, Measure
from caveat.risk.measurement import Measurement, undefined
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import WEIGHTED, unweighted

__all__ = [
    "BEST", "MEASURES", "ONE_AT_A_TIME", "find_measure", "measured", "register", "rows_of",
    "utility_measure",
]  # fmt: skip

MEASURES: Registry[Measure] = Registry()
BEST: dict[str, float] = {}
"""The value of each measure for identical tables."""

ONE_AT_A_TIME = "How variables go together: independent columns score perfectly."


def utility_measure(
    name: str,
    function: Callable[..., Measurement],
    *,
    best: float = 0.0,
    direction: Direction = "lower is better",
    unit: Unit = "score",
    needs: frozenset[str] = frozenset(),
    weighted: bool | None = True,
    **entry: Any,
) -> Measure:
    """Return an entry of MEASURES, whose function takes a WeightedPair.

    Parameters
    ----------
    name, function, direction, unit, needs, entry
        The fields of :class:`~caveat.risk.measure.Measure`.
    best
        The value for identical tables.
    weighted
        Whether it takes account of survey weights; None if the measure itself says against what it
        was measured.
    """
    return Measure(
        name=name,
        function=function if weighted is None else partial(_noted, function, weighted),
        attacker="none",
        baseline="a resample of the original, a second copy and a control",
        needs=needs,
        direction=direction,
        unit=unit,
        best=best,
        **entry,
    )


def register(*entries: Measure, built_in: bool = False) -> None:
    """Add entries to MEASURES; those of Caveat itself are built in."""
    for entry in entries:
        if entry.best is None:
            raise ValueError(f"{entry.name} has no value for identical tables")
        if MEASURES.get(entry.name, entry) is not entry:
            raise ValueError(f"there are two measures called {entry.name}")
        MEASURES.put(entry.name, entry, built_in=built_in)
        BEST[entry.name] = entry.best


def _noted(
    function: Callable[..., Measurement], weighted: bool, pair: WeightedPair, **more: Any
) -> Measurement:
    """Say whether a value was measured against the weighted original, if there are weights."""
    found = function(pair, **more)
    if pair.weights is None or found.value is None:
        return found
    note = WEIGHTED if weighted else unweighted("it has no weighted form")
    return replace(found, notes=(*found.notes, note))


def find_measure(name: str) -> Measure:
    """Return a measure by name, or say which there are."""
    try:
        return MEASURES[name]
    except KeyError:
        raise CaveatError(
            f"there is no measure {name!r}",
            do=f"choose among {', '.join(MEASURES)}",
            code="measure.name.unknown",
        ) from None


def rows_of(pair: WeightedPair) -> int:
    """Return the rows of both tables."""
    return pair.n_original + pair.n_synthetic


def measured(pair: WeightedPair, value: float | None, why: Note, **more: Any) -> Measurement:
    """Return a measurement, or the reason why there is none."""
    if value is None or not math.isfinite(value):
        return undefined(why, n=rows_of(pair))
    return Measurement(float(value), n=rows_of(pair), **more)
