"""Limits that a release must meet, and what is measured while settings are compared."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from caveat.attack.figures import ENTRIES
from caveat.attack.posterior import Prior
from caveat.errors import CaveatError
from caveat.notes import Unit, printed
from caveat.risk import MEASURES as RISKS
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.table import Table
from caveat.utility import MEASURES as UTILITIES
from caveat.utility.analyses import check_model

STRONGEST = {
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
        The largest and the smallest value allowed, in the unit of the measure: shares are 0 to 1.
    above
        By how much the value may exceed the control (the same measure on people who are not in the
        data), or the baseline where there is no control; in the unit of the measure.
    """

    measure: str
    most: float = math.inf
    least: float = -math.inf
    above: float = math.inf

    def __post_init__(self) -> None:
        kind_of(self.measure)
        where = f"limits, {self.measure}"
        if self.above < math.inf:
            _check_above(self.measure, self.above, where)
        if not self.least <= self.most:
            raise CaveatError(
                "the limits contradict each other: the smallest value is above the largest",
                where=where,
                do="mend one of them",
                code="measure.limit.conflict",
            )
        lowest, highest = _range(self.measure)
        if self.most < lowest or self.least > highest:
            raise CaveatError(
                f"no release can meet it: the measure lies between "
                f"{self._shown(lowest)} and {self._shown(highest)}",
                where=where,
                do="mend it",
                code="measure.limit.range",
            )

    def excess(self, value: float | None, rise: float | None = None) -> float:
        """Return by how much a value breaks the limit, relative to it; 0 if it does not.

        What cannot be measured does not meet a limit.

        Parameters
        ----------
        value
            The value.
        rise
            By how much it exceeds the control or the baseline; see
            :attr:`caveat.risk.measure.Rise.shown`.
        """
        if value is None or (rise is None and self.above < math.inf):
            return math.inf
        found = 0.0
        if value > self.most:
            found = self._relative(value - self.most, self.most)
        if value < self.least:
            found = self._relative(self.least - value, self.least)
        if rise is not None and rise > self.above:
            found = max(found, self._relative(rise - self.above, self.above))
        return found

    def to_dict(self) -> dict[str, float | None]:
        """Return the ends, ready for JSON; None where there is none."""
        above = {} if self.above == math.inf else {"above": self.above}
        return {
            "most": self.most if math.isfinite(self.most) else None,
            "least": self.least if math.isfinite(self.least) else None,
            **above,
        }

    def __str__(self) -> str:
        least = f"{self._shown(self.least)} ≤ " if self.least > -math.inf else ""
        most = f" ≤ {self._shown(self.most)}" if self.most < math.inf else ""
        ends = [f"{least}{self.measure}{most}"] if least or most else []
        if self.above < math.inf:
            points = " points" if unit_of(self.measure) == "share" else ""
            ends.append(f"{self.measure} above control ≤ {self._shown(self.above)}{points}")
        return ", ".join(ends)

    def _relative(self, excess: float, end: float) -> float:
        """Return an excess as a part of the limit; one next to 0 counts as a thousandth."""
        unit = unit_of(self.measure)
        return printed(excess, unit) / max(abs(printed(end, unit)), 1e-3)

    def _shown(self, end: float) -> str:
        """Return an end as it is written in a specification."""
        return f"{printed(end, unit_of(self.measure)):g}"


def _check_above(measure: str, above: float, where: str) -> None:
    """Refuse a limit on the rise of a measure that has neither a control nor a baseline."""
    if kind_of(measure) == "utility" or measure in STRONGEST:
        raise CaveatError(
            "it has neither a control nor a baseline that it could lie above",
            where=where,
            do="write most or least instead"
            if measure not in STRONGEST
            else "limit strongWorst or strongShare instead",
            code="measure.limit.unsupported",
        )
    if RISKS[measure].direction != "higher is riskier":
        raise CaveatError(
            "it is not riskier the higher it is",
            where=where,
            do="write least",
            code="measure.limit.unsupported",
        )
    if above < 0:
        raise CaveatError(
            "a limit above the control is 0 or more",
            where=where,
            do="repair it",
            code="measure.limit.range",
        )


def check_comparable(limits: Iterable[Limit], *, has_control: bool) -> None:
    """Refuse limits on a rise where there is nothing that a measure could lie above.

    Parameters
    ----------
    limits
        The limits.
    has_control
        Whether people are held out.
    """
    for limit in limits:
        if limit.above < math.inf and not has_control and not RISKS[limit.measure].baseline:
            raise CaveatError(
                "it has no baseline, and nobody is held out as a control",
                where=f"limits, {limit.measure}",
                do="add control = 0.2 to [release], or write most instead",
                code="measure.control.absent",
            )


def _range(measure: str) -> tuple[float, float]:
    if measure == "posterior" or (kind_of(measure) != "utility" and unit_of(measure) == "share"):
        return 0.0, 1.0
    return -math.inf, math.inf


def kind_of(measure: str) -> str:
    """Return "attack", "risk" or "utility", or say which measures there are."""
    if measure in STRONGEST or measure in STRONG_MEASURES:
        return "attack"
    if measure in UTILITIES:
        return "utility"
    if measure in RISKS:
        return "risk"
    near = {name.lower(): name for name in (*STRONGEST, *RISKS, *UTILITIES)}.get(measure.lower())
    raise CaveatError(
        f"there is no measure {measure!r}",
        where="tune",
        do=f"perhaps {near}"
        if near
        else f"use {', '.join(STRONGEST)} or a name from caveat measures",
        code="measure.name.unknown",
    )


def unit_of(measure: str) -> Unit:
    """Return the unit of a measure; posterior and gain are printed as they are."""
    if measure in STRONGEST:
        return "score"
    return (UTILITIES if measure in UTILITIES else RISKS)[measure].unit


def read_limits(given: Mapping[str, Any]) -> tuple[Limit, ...]:
    """Read limits: a number is the most allowed; a table has ``most``, ``least`` and ``above``.

    Here alone limits are in per cent, as people write them, where the measure is a share.

    Examples
    --------
    >>> [str(limit) for limit in read_limits({"DiSCO": 5, "posterior": {"most": 0.2}})]
    ['DiSCO ≤ 5', 'posterior ≤ 0.2']
    >>> read_limits({"DiSCO": 5})[0].most
    0.05
    >>> str(read_limits({"DiSCO": {"above": 2}})[0])
    'DiSCO above control ≤ 2 points'
    """
    limits = []
    for measure, value in given.items():
        entry = value if isinstance(value, Mapping) else {"most": value}
        # A whole number may be larger than any other; infinity is no limit.
        numbers = [
            v for v in entry.values()
            if isinstance(v, int | float) and abs(v) <= sys.float_info.max
        ]  # fmt: skip
        if set(entry) - {"most", "least", "above"} or len(numbers) != len(entry) or not entry:
            raise CaveatError(
                "a limit is a number, or most, least and above",
                where=f"limits, {measure}",
                do=f"write {measure} = 5 or {measure} = {{ above = 2 }}",
                code="measure.limit.type",
            )
        kind_of(measure)
        limits.append(Limit(measure, **{key: _read(v, measure) for key, v in entry.items()}))
    return tuple(limits)


def _read(value: float, measure: str) -> float:
    """Return an end of a limit in the unit of the measure, per cent by shifting the point."""
    if unit_of(measure) != "share":
        return float(value)
    return float(Decimal(repr(float(value))).scaleb(-2))


# -------------------------------------------------------------------------------------------------
# What is measured of a release while settings are compared.


@dataclass(frozen=True)
class Question:
    """What is measured of a release.

    Parameters
    ----------
    measures
        Names of measures of risk and utility, "posterior" and "gain".
    keys, targets
        The scenario of the measures of risk; the value of a measure is the worst over the targets.
    circumstances
        Further arguments of the scenario.
    models
        Formulas, for utility measures that need a model; the worst counts.
    records
        The records that the strong attacker is after: positions, a number of the most vulnerable
        ones, or "all" (of equal records one). Where every column is a guarded tree, she is after
        all of them unless positions are named; measures of shares are of all in any case.
    unknown, prior
        What she does not know about each, and what she believes before; as for
        :func:`caveat.attack.posterior`.
    simulations
        Draws of the parameters, or releases in each world, where nothing is exact.
    """

    measures: tuple[str, ...]
    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    records: tuple[int, ...] | int | Literal["all"] = 5
    unknown: tuple[str, ...] | None = None
    prior: Prior = DEFAULT_PRIOR
    simulations: int = 50

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the measures of one kind."""
        return [name for name in self.measures if kind_of(name) == kind]

    @property
    def sought(self) -> tuple[str, ...]:
        """The columns that the measures of the strong attacker over all records are about."""
        return self.targets or self.unknown or ()

    def check(self, original: Table) -> None:
        """Refuse what cannot be measured, before any work is done."""
        if self.of_kind("risk") and not self.keys:
            raise CaveatError(
                "no key is named", where="tune", do="add keys = [...]", code="tune.key.absent"
            )
        for name in [*self.keys, *(self.targets or ()), *(self.unknown or ())]:
            original[name]
        about = [name for name in STRONG_MEASURES if name in self.measures and _has_target(name)]
        if about and not self.sought:
            raise CaveatError(
                f"{about[0]} needs a target",
                where="tune",
                do="add targets = [...]",
                code="tune.target.absent",
            )
        for name in self.of_kind("utility"):
            if "model" in UTILITIES[name].needs and not self.models:
                raise CaveatError(
                    f"{name} needs a model",
                    where="tune",
                    do="add models = [...]",
                    code="tune.model.absent",
                )
        for model in self.models:
            check_model(model, original.names)


def _has_target(name: str) -> bool:
    return "target" in RISKS[name].needs
