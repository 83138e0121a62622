"""What a measure says, for which attacker, and what it returns: a number and its comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Z95, Note, Unit
from caveat.registry import Registry

NO_RECORD = Note("no-record", "there is no record to count", public=True)


@dataclass(frozen=True)
class Rise:
    """By how much a value exceeds the control, or the baseline where there is no control.

    Parameters
    ----------
    value
        The difference, in the unit of the measure.
    over
        What it is the difference to.
    interval
        A 95 % interval of the difference; None where the value has none.
    """

    value: float
    over: Literal["control", "baseline"]
    interval: tuple[float, float] | None = None

    @property
    def shown(self) -> float:
        """The difference, or 0 where it is positive and chance alone may explain it."""
        by_chance = self.interval is not None and self.interval[0] <= 0
        return min(self.value, 0.0) if by_chance else self.value

    def to_dict(self) -> dict[str, Any]:
        """Return the same, ready for JSON."""
        interval = None if self.interval is None else list(self.interval)
        return {"value": self.value, "over": self.over, "interval": interval}


@dataclass(frozen=True)
class Measurement:
    """One measured quantity.

    Parameters
    ----------
    value
        The number, or ``None`` where it cannot be computed; ``notes`` then says why.
    interval
        A 95 % interval: the records at hand taken as a sample of those who might have been in the
        data.
    baseline
        What could be had without the release. The entry of the measure says what this is.
    reference
        The same quantity if the original itself were released.
    control
        The same attack on people who were not in the data.
    n
        Number of records, or of cells, that the value is a share of.
    excluded
        Number of records left out on purpose.
    notes
        Reasons and remarks.
    details
        Further numbers that belong to the value.
    per
        The unit that the number is about, if it is not a row of the data: "household".
    trace
        Called for ``per_record``: nothing of the length of the table is kept unless asked for.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    reference: float | None = None
    control: float | None = None
    control_n: int | None = None
    n: int = 0
    excluded: int = 0
    notes: tuple[Note, ...] = ()
    details: Mapping[str, float | int | None] = field(default_factory=dict)
    per: str = ""
    trace: Callable[[], NDArray[np.float64]] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.value is None and not self.notes:
            raise ValueError("a Measurement without a value must say why in its notes")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError("a Measurement is a finite number or None with a reason")

    @property
    def per_record(self) -> NDArray[np.float64] | None:
        """The share of the measure that each original record carries, 0 to 1, in row order."""
        return None if self.trace is None else self.trace()

    @property
    def beyond_control(self) -> float | None:
        """(r − c) / (1 − c): the part of a rate r that people outside the data (c) do not share."""
        if self.value is None or self.control is None:
            return None
        return beyond_control(self.value, self.control)

    @property
    def beyond_control_interval(self) -> tuple[float, float] | None:
        """Limits of ``beyond_control``: each rate at the unfavourable end of its own interval."""
        outside = self.control_interval
        if self.interval is None or outside is None:
            return None
        low, high = outside
        worst = beyond_control(self.interval[0], high)
        best = beyond_control(self.interval[1], low)
        return None if worst is None or best is None else (worst, best)

    @property
    def control_interval(self) -> tuple[float, float] | None:
        """A 95 % interval of the control; None unless it is a share of records."""
        if self.control is None or not self.control_n or not 0 <= self.control <= 1:
            return None
        return wilson(self.control * self.control_n, self.control_n)

    @property
    def rise(self) -> Rise | None:
        """The value minus the control, or minus the baseline where there is no control."""
        if self.value is None:
            return None
        if self.control is not None:
            outside = self.control_interval
            interval = None if outside is None else self._apart(self.control, outside)
            return Rise(self.value - self.control, "control", interval)
        if self.baseline is None:
            return None
        interval = self._apart(self.baseline, (self.baseline, self.baseline))
        return Rise(self.value - self.baseline, "baseline", interval)

    def _apart(self, other: float, ends: tuple[float, float]) -> tuple[float, float] | None:
        """Return Newcombe's interval of the difference to another share, from both intervals."""
        if self.value is None or self.interval is None:
            return None
        low, high = self.interval
        difference = self.value - other
        return (
            difference - math.hypot(self.value - low, ends[1] - other),
            difference + math.hypot(high - self.value, other - ends[0]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the records, ready for JSON."""
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "baseline": self.baseline,
            "reference": self.reference,
            "control": self.control,
            "beyond_control": self.beyond_control,
            "beyond_control_interval": (
                None if self.beyond_control_interval is None else list(self.beyond_control_interval)
            ),
            "n": self.n,
            "excluded": self.excluded,
            "notes": list(self.notes),
            "details": dict(self.details),
            **({"per": self.per} if self.per else {}),
        }


def undefined(reason: Note, **more: Any) -> Measurement:
    """Return a measurement that could not be made, with the reason."""
    notes = (reason, *more.pop("notes", ()))
    return Measurement(None, notes=notes, **more)


def rate(count: float, n: int, **more: Any) -> Measurement:
    """Return a share with its Wilson interval, or the reason why there is none.

    Examples
    --------
    >>> rate(1, 8).value
    0.125
    >>> rate(0, 0).notes
    ('there is no record to count',)
    """
    if n == 0:
        return undefined(NO_RECORD, **more)
    return Measurement(count / n, interval=wilson(count, n), n=n, **more)


def wilson(count: float, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a proportion.

    For a mean of probabilities (``count`` not whole) it is too wide rather than too narrow: no
    variable between 0 and 1 varies more than a yes/no variable with the same mean.

    Examples
    --------
    >>> [round(x, 4) for x in wilson(0, 10)]
    [0.0, 0.2775]
    """
    p = count / n
    centre = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    low = 0.0 if p == 0 else max(0.0, centre - half)
    high = 1.0 if p == 1 else min(1.0, centre + half)
    return low, high


def beyond_control(attack: float, control: float) -> float | None:
    """Return (attack − control) / (1 − control), or ``None`` if the control is always hit."""
    return None if control >= 1 else (attack - control) / (1 - control)


def scaled(value: float | None, base: float) -> float | None:
    """Return a share rescaled so that ``base`` is 0 and certainty is 1; may be negative."""
    if value is None or base >= 1:
        return None
    return (value - base) / (1 - base)


# -------------------------------------------------------------------------------------------------
# The table of measures: what each one says, for which attacker, and what it cannot see.
#
# Other rooms add their own entries with :func:`register` when they are imported; this module
# imports none of them.


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
