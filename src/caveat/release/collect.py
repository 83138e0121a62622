"""What all parts of the evidence share: plain values, limits, and the entries of measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import Step
from caveat.risk import MEASURES as RISKS
from caveat.risk.measurement import Measurement, Rise, undefined
from caveat.spec.limits import Limit
from caveat.utility import MEASURES as UTILITIES

__all__ = [
    "MEMBERS",
    "TOO_MUCH",
    "Attack",
    "Done",
    "entries_of",
    "entry",
    "held_to",
    "limits_of",
    "not_exact",
    "plain",
    "refusal",
    "without_value",
]

Done = Callable[[float], None]
"""Called with the share of a step that has become ready."""

MEMBERS = 0.05
"""The part of a strong attack that asks who was in the data, where it asks for values too."""

TOO_MUCH = Note(
    "too-much-work",
    'left out: the attack on 10 records would exceed the bound of a run; records = "all" makes it',
    public=True,
)
NOTHING_TO_COMPARE = Note(
    "nothing-to-compare", "it has neither a control nor a baseline here", public=True
)
NOT_FINITE = Note("not-finite", "a part of it is not a finite number and is left out")


def plain(value: Any) -> Any:
    """Return a value as JSON has it: mappings, lists, texts, finite numbers; else its text."""
    if isinstance(value, Note):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


def held_to(
    limits: Sequence[Limit], measure: str, value: float | None, rise: Rise | None = None
) -> dict[str, Any]:
    """Return the limit of a measure and by how much a value exceeds it."""
    limit = next((limit for limit in limits if limit.measure == measure), None)
    if limit is None:
        return {"limit": None, "excess": None}
    # What could not be measured does not meet a limit, and does not exceed it by anything either.
    excess = limit.excess(value, None if rise is None else rise.shown)
    return {"limit": limit.to_dict(), "excess": excess if math.isfinite(excess) else None}


def limits_of(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Return limits ready for JSON."""
    return [{"measure": limit.measure, **limit.to_dict()} for limit in limits]


def entry(
    measure: str,
    result: Measurement,
    limits: Sequence[Limit],
    *,
    target: str | None = None,
    copy: int | None = None,
    label: str = "",
    label_is_public: bool = False,
) -> dict[str, Any]:
    """Return one measurement of risk as the evidence holds it.

    A label that is not made of data is marked, so that it may be published.
    """
    content = result.to_dict()
    safe = plain(content)
    if any(v is None and content["details"][k] is not None for k, v in safe["details"].items()):
        safe["notes"].append(NOT_FINITE.to_dict())
    held = held_to(limits, measure, result.value, result.rise)
    if result.value is not None and held["limit"] is not None and held["excess"] is None:
        safe["notes"].append(NOTHING_TO_COMPARE.to_dict())
    outside = result.control_interval
    compared: dict[str, Any] = {} if outside is None else {"control_interval": list(outside)}
    compared |= {} if result.rise is None else {"rise": result.rise.to_dict()}
    return {
        "measure": measure,
        "label": label,
        **({"label_is_public": True} if label_is_public else {}),
        "target": target,
        "copy": copy,
        **held,
        **compared,
        **safe,
    }


def without_value(
    measures: Sequence[str], reason: Note, limits: Sequence[Limit], **more: Any
) -> list[dict[str, Any]]:
    """Return measurements that could not be made, each with the reason."""
    return [entry(name, undefined(reason), limits, **more) for name in measures]


def refusal(error: CaveatError) -> Note:
    """Return the reason that an error gives, without the advice for a command."""
    return Note("refused", f"{error.place}: {error.what}" if error.place else error.what)


def entries_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what the tables of measures say about some of them."""
    found = {}
    for name in dict.fromkeys(names):
        measure = UTILITIES[name] if name in UTILITIES else RISKS[name]
        found[name] = {
            "says": measure.says,
            "attacker": measure.attacker,
            "formula": measure.formula,
            "source": measure.source,
            "blind_spot": measure.blind_spot,
            "blind": measure.blind,
            "baseline": measure.baseline,
            "direction": measure.direction,
            "unit": measure.unit,
            "family": measure.family,
            "fails": sorted(str(prop) for prop in measure.fails),
            "kind": "utility" if name in UTILITIES else "risk",
        }
    return found


@dataclass(frozen=True)
class Attack:
    """How one target is attacked.

    Parameters
    ----------
    target
        The column.
    records
        Number of records, or of groups, 0 if there are none.
    fewer
        Whether these are fewer than the scenario names.
    in_cells
        Whether cells are attacked and not values.
    some
        Whether only some of the candidates are tried.
    candidates
        How many are.
    size
        How the work compares with that of other targets.
    """

    target: str
    records: int
    fewer: bool = False
    in_cells: bool = False
    some: bool = False
    candidates: int = 0
    size: float = 1.0

    def remarks(self, records: int, values: int, cells: int) -> list[str]:
        """Return which records and values were left out, in words."""
        found = self.of_values(values, cells)
        if self.fewer:
            found.append(
                f"{self.target}: {records:,} records are attacked and not more, since each has "
                f'{cells if self.in_cells else self.candidates:,} candidates; records = "all" '
                "attacks everyone"
            )
        return found

    def of_values(self, values: int, cells: int) -> list[str]:
        """Return which values were left out, in words."""
        found = []
        if self.in_cells:
            found.append(
                f"{self.target}: attacked in {cells:,} cells, since it has {values:,} values: a "
                "record counts when its cell is known"
            )
        if self.some and not self.in_cells:
            found.append(
                f"{self.target}: of {values:,} values the {self.candidates:,} most frequent are "
                "tried beside the own one of a record"
            )
        return found

    def notes(self, cells: int) -> tuple[Note, ...]:
        """Return what was left out, as notes on a result."""
        if self.in_cells:
            return (Note("in-cells", "the attacker wants one of {n:,} cells of the number",
                         public=True, n=cells),)  # fmt: skip
        if self.some:
            return (Note("some-candidates", "of {n:,} values and the own one",
                         public=True, n=self.candidates),)  # fmt: skip
        return ()


def not_exact(drawn: Sequence[str], steps: Sequence[Step]) -> Note | None:
    """Return why a release has no exact likelihood, if it has none.

    Parameters
    ----------
    drawn
        Columns whose models draw their parameters.
    steps
        What the protections did.
    """
    reading = [step.name for step in steps if step.reads_original and step.name != "label"]
    if reading:
        return Note(
            "protection-reads-original",
            "no exact likelihood: {protection} looks at the original: the release is no plain draw",
            public=True,
            protection=reading[0],
        )
    if drawn:
        return Note(
            "parameters-drawn",
            "no exact likelihood: the parameters of the models are drawn (column {column})",
            column=drawn[0],
        )
    return None
