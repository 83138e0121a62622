"""Ways to look at the evidence that several parts of the report need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caveat.report.numbers import PROBABILITIES, number

__all__ = [
    "NOT_DRAWN",
    "Evidence",
    "about",
    "and_list",
    "badness",
    "entry_of",
    "guarded_columns",
    "has_plain_trees",
    "is_probability_or_share",
    "is_reference",
    "is_risk",
    "listed",
    "notes_of",
    "other_columns",
    "risks",
    "scenarios",
    "several",
    "shown",
    "sure",
    "unit_of",
]

Evidence = Mapping[str, Any]
# Methods without a model.
NOT_DRAWN = ("constant", "copy", "derived", "drop", "lookup")
# The strongest attacker is read first, the weakest last.
ORDER = {"strong": 0, "simulated": 1, "ordinary": 2, "release": 3}


def entry_of(evidence: Evidence, measure: str) -> Mapping[str, Any]:
    """Return what the evidence says about a measure; nothing if it says nothing."""
    found: Mapping[str, Any] = evidence.get("measures", {}).get(measure, {})
    return found


def unit_of(evidence: Evidence, measure: str) -> str:
    """Return the unit of a measure."""
    return str(entry_of(evidence, measure).get("unit") or "")


def shown(evidence: Evidence, measurement: Mapping[str, Any], what: str = "value") -> str:
    """Return one number of a measurement as text."""
    name = measurement["measure"]
    return number(measurement.get(what), name, unit_of(evidence, name))


def notes_of(entry: Mapping[str, Any]) -> list[str]:
    """Return the notes on a measurement, a model or a protection as text."""
    return [note["text"] for note in entry["notes"]]


def scenarios(evidence: Evidence) -> list[Mapping[str, Any]]:
    """Return the scenarios, the strongest attackers first."""
    return sorted(evidence.get("scenarios", ()), key=lambda s: ORDER.get(s["attacker"], 3))


def risks(evidence: Evidence) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return all measurements of risk, each with its scenario."""
    for scenario in scenarios(evidence):
        for measurement in scenario["measurements"]:
            yield scenario, measurement


def is_reference(evidence: Evidence, measure: str) -> bool:
    """Whether a measure describes one of the tables only and finds no risk."""
    return bool(entry_of(evidence, measure).get("direction") == "reference")


def is_probability_or_share(evidence: Evidence, measurement: Mapping[str, Any]) -> bool:
    """Whether a measurement can stand on an axis from 0 to 100 per cent."""
    name = measurement["measure"]
    return name == "posterior" or (unit_of(evidence, name) == "share" and name != "strongGain")


def is_risk(evidence: Evidence, measure: str) -> bool:
    """Whether the measure is a share, and more of it is more risk."""
    entry = entry_of(evidence, measure)
    return entry.get("direction") == "higher is riskier" and entry.get("unit") == "share"


def badness(evidence: Evidence, measurement: Mapping[str, Any]) -> tuple[float, float]:
    """Return how bad a measurement is among those of the same measure; more is worse."""
    value = measurement.get("value")
    if value is None:
        return (-2.0, 0.0)
    direction = str(entry_of(evidence, measurement["measure"]).get("direction", ""))
    sign = -1.0 if direction in ("lower is riskier", "higher is better") else 1.0
    return (float(measurement.get("excess") or 0.0), sign * float(value))


def sure(measurement: Mapping[str, Any], what: str = "value") -> float | None:
    """Return the probability that a strong attacker gives to the truth, if the measure is one."""
    value = measurement.get(what)
    if value is None or measurement["measure"] not in PROBABILITIES:
        return None
    return float(value)


def about(measurement: Mapping[str, Any]) -> str:
    """Return what a measurement is about: its target or its model, and the table if it says one."""
    parts = (measurement.get("target") or measurement.get("model"), measurement.get("table"))
    return ", ".join(str(part) for part in parts if part)


def several(unit: str) -> str:
    """Return the plural of what a number is about: a group, a person, or a row of some table.

    Examples
    --------
    >>> several("group"), several("row of visits")
    ('groups', 'rows of visits')
    """
    return f"rows of {unit.removeprefix('row of ')}" if unit.startswith("row of ") else f"{unit}s"


def and_list(words: Sequence[str], most: int = 8) -> str:
    """Return words as a list in a sentence; beyond some number only how many more there are.

    Examples
    --------
    >>> and_list(["a"]), and_list(["a", "b", "c"]), and_list(list("abcd"), most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    words = list(words)
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def listed(words: Sequence[str]) -> str:
    """Return names as a plain list, or a dash."""
    return ", ".join(words) if words else "–"


def guarded_columns(evidence: Evidence) -> list[str]:
    """Return the columns that guarded trees drew."""
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    return [column["name"] for column in columns if column["method"] == "guarded"]


def has_plain_trees(evidence: Evidence) -> bool:
    """Whether a column was drawn from trees without a guard."""
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    return any(column["method"] in ("cart", "forest") for column in columns)


def other_columns(evidence: Evidence) -> list[str]:
    """Return the columns that were drawn, and not from tables of counts."""
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    return [c["name"] for c in columns if c["method"] not in (*NOT_DRAWN, "margins")]
