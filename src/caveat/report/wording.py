"""The words and numbers of the report: how evidence is read, printed and named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caveat.notes import printed
from caveat.report.blocks import Cell, cell

NBSP = "\u00a0"
UNKNOWN = "–"
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The probability of one thing, and not a share of records: printed from 0 to 1.
PROBABILITIES = ("posterior", "strongWorst")
# A rise of a probability, printed in percentage points.
POINTS = ("strongGain",)


def percent(value: float) -> str:
    """Return a share in per cent; what is not quite none or not quite all is not rounded to it.

    Examples
    --------
    >>> [percent(x).replace(NBSP, " ") for x in (0, 0.0001, 0.1234, 0.9999, 1)]
    ['0 %', '< 0.1 %', '12.3 %', '> 99.9 %', '100 %']
    """
    return f"{_bounded(value, 'share', 1)}{NBSP}%"


def probability(value: float) -> str:
    """Return a probability with three digits; 1 only if it is 1.

    Examples
    --------
    >>> [probability(x).replace(NBSP, " ") for x in (0, 0.12345, 0.99999, 1)]
    ['0', '0.123', '> 0.999', '1']
    """
    return _bounded(value, "score", 3)


def _bounded(value: float, unit: str, digits: int) -> str:
    top = printed(1.0, unit)
    if value in (0, 1):
        return f"{value * top:.0f}"
    shown = round(printed(value, unit), digits)
    step = 10**-digits
    if shown == 0:
        return f"<{NBSP}{step:.{digits}f}" if value > 0 else f">{NBSP}−{step:.{digits}f}"
    if shown == top and value < 1:
        return f">{NBSP}{top - step:.{digits}f}"
    return f"{shown:.{digits}f}".replace("-", "−")


def plain(value: float) -> str:
    """Return a number with three significant digits.

    Examples
    --------
    >>> [plain(x) for x in (0.0, 0.012345, 0.8, 3.14159, 41.26, 1234.5, -2.5)]
    ['0', '0.0123', '0.800', '3.14', '41.3', '1,234', '−2.50']
    """
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 100:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 1:
        text = f"{value:.2f}"
    elif size >= 0.1:
        text = f"{value:.3f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def tiny(value: float) -> str:
    """Return a number that may be far below others, in powers of ten from a thousandth on.

    Examples
    --------
    >>> [tiny(x).replace(NBSP, " ") for x in (0.257, 0.001, 1e-9, 2.5e-7)]
    ['0.257', '10⁻³', '10⁻⁹', '2.5 · 10⁻⁷']
    """
    if value > 0.001 or value <= 0:
        return plain(value)
    digits, power = f"{value:.2e}".split("e")
    raised = "10" + str(int(power)).translate(POWERS)
    digits = f"{float(digits):g}"
    return raised if digits == "1" else f"{digits}{NBSP}·{NBSP}{raised}"


def count(value: int, one: str = "", many: str = "") -> str:
    """Return a number of things, with the word for them.

    Examples
    --------
    >>> count(1, "record"), count(5000, "record"), count(2, "copy", "copies")
    ('1 record', '5,000 records', '2 copies')
    """
    word = one if value == 1 else (many or f"{one}s")
    return f"{value:,} {word}" if one else f"{value:,}"


def number(value: float | None, measure: str, unit: str) -> str:
    """Return a value of a measure in its unit.

    Examples
    --------
    >>> number(0.998, "strongWorst", "share"), number(3.2, "S_pMSE", "ratio"), number(None, "", "")
    ('0.998', '3.20', '–')
    """
    if value is None:
        return UNKNOWN
    if measure in PROBABILITIES:
        return probability(value)
    if measure in POINTS:
        return f"{'+' if value > 0 else ''}{plain(printed(value, unit))}{NBSP}points"
    return percent(value) if unit == "share" else plain(value)


def span(interval: Sequence[float] | None, measure: str, unit: str) -> str:
    """Return an interval in brackets, without the unit.

    Examples
    --------
    >>> span([0.0125, 0.03], "DiSCO", "share")
    '[1.2, 3.0]'
    """
    if interval is None:
        return ""
    if unit == "share" and measure not in PROBABILITIES:
        ends = [f"{printed(end, unit):.1f}" for end in interval]
    else:
        ends = [number(end, measure, unit) for end in interval]
    return f"[{', '.join(ends)}]".replace("-", "−")


def points_text(rise: Mapping[str, Any], unit: str) -> str:
    """Return by how much a value exceeds its control or baseline.

    Examples
    --------
    >>> rise = {"value": 0.0031, "interval": [-0.01, 0.016]}
    >>> points_text(rise, "share").replace(NBSP, " ")
    '+0.3 [−1.0, 1.6]'
    """
    if rise["value"] is None:
        return ""
    digits = 1 if unit == "share" else 3
    ends = [f"{printed(end, unit):.{digits}f}" for end in rise["interval"] or ()]
    text = f"{printed(rise['value'], unit):+.{digits}f}"
    text += f" [{', '.join(ends)}]" if ends else ""
    return text.replace("-", "−")


def _points(unit: str) -> str:
    return "points" if unit == "share" else ""


def limit_text(
    limit: Mapping[str, Any] | None,
    measure: str,
    unit: str,
    rise: Mapping[str, Any] | None = None,
) -> str:
    """Return a limit in words; with its rise, what it is held against.

    Examples
    --------
    >>> limit_text({"most": 0.05, "least": None}, "DiSCO", "share").replace(NBSP, " ")
    'at most 5.0 %'
    >>> limit_text({"above": 0.02}, "DiSCO", "share").replace(NBSP, " ")
    'DiSCO above control ≤ 2 points'
    """
    if limit is None:
        return ""
    parts = [
        f"{words}{NBSP}{number(limit[end], measure, unit)}"
        for end, words in (("least", f"at{NBSP}least"), ("most", f"at{NBSP}most"))
        if limit.get(end) is not None
    ]
    if limit.get("above") is not None:
        over = "control" if rise is None else rise["over"]
        most = f"{printed(limit['above'], unit):g}{NBSP}{_points(unit)}".rstrip()
        parts.append(f"{measure} above {over} ≤{NBSP}{most}")
    return " and ".join(parts)


# -------------------------------------------------------------------------------------------------
# Ways to look at the evidence that several parts of the report need.


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


# -------------------------------------------------------------------------------------------------
# What columns and measures are called: words first, their names beside.


# What a measurement says, in words: of whom, and what an attacker learns. All others are called as
# their entry in the table of measures says.
SAYS = {
    "strongShare": "{people} whose {target} the attacker knows almost surely",
    "strongWorst": "how sure the attacker is of the {target} of the one most at risk",
    "posterior": "how sure the attacker is of the {target} of the one most at risk",
    "strongGain": "how much surer of the {target} the attacker becomes, on average",
    "membershipShare": "{people} whom the attacker knows almost surely to be in the data",
    "UiOiS": "{people} alone with their keys whose keys the release shows",
    "UiSiO": "released rows alone with their keys whose keys the original has",
    "repU": "{people} alone with their keys in the original and in the release",
    "exactMatch": "released rows that equal an original row",
    "fullMatch": "original rows unlike all others that the release contains",
    "iS": "{people} whose keys occur in the release",
    "DiS": "{people} whose keys show one {target} only, right or wrong",
    "DiSCO": "{people} whose keys show one {target} only, and it is theirs",
    "DiSDiO": "{people} whose keys give away their {target} in both tables",
    "DCAP": "the mean chance to guess the {target} from the keys",
    "TCAP": "the same ({target} shown and right) among {people} whose keys the release has",
    "TCAPdisclosive": "how often a reading is right, where keys show one {target} only",
    "S_pMSE": "how well the two tables can be told apart (1 is expected, above 10 is poor)",
    "S_pMSE one-way": "how far single variables are off (1 is expected)",
    "S_pMSE two-way": "how far tables of two variables are off (1 is expected)",
    "S_pMSE three-way": "how far tables of three variables are off (1 is expected)",
    "CI overlap": "how far confidence intervals overlap (1 is the same)",
}
# What is about the value itself: of a number a near miss does not count.
OF_VALUES = ("strongShare", "strongWorst", "posterior", "strongGain")
NUMBERS = ("numeric", "integer", "date", "datetime")
# The same of each of several records.
OF_EACH = dict.fromkeys(("strongWorst", "posterior"), "how sure the attacker is of their {target}")
# The five properties of a measure, as something that it does not do.
DOES_NOT = {
    "finds certain disclosure": "find certain disclosure",
    "does not rise when information is destroyed": "keep from rising when information is destroyed",
    "grows with the information given away": "grow with the information given away",
    "measures the gain over what was known before": "measure the gain over what was known before",
    "never reassures falsely": "rule out false reassurance",
}
Measured = Mapping[str, Any]


def called(evidence: Evidence, name: str) -> str:
    """Return a column by its label, with its name beside; by its name where it has none."""
    label = evidence["release"].get("labels", {}).get(name)
    return f"{label} ({name})" if label and label != name else name


def column_cell(evidence: Evidence, name: str | None, small: str = "") -> Cell:
    """Return a column for a table: its label, with its name in small print."""
    if not name:
        return cell("–", None, small)
    label = evidence["release"].get("labels", {}).get(name)
    if not label or label == name:
        return cell(name, None, small)
    return cell(label, None, f"{name}, {small}" if small else name)


def people(evidence: Evidence, per: str | None = None) -> str:
    """Return who is counted, in the plural; of several tables rows, unless the number says whom."""
    several_tables = "tables" in evidence["release"]
    unit = per or ("row" if several_tables else evidence["release"]["unit"]) or "record"
    return "people" if unit == "person" else several(unit)


def measure_name(m: Measured) -> str:
    """Return the technical name of a measurement, with what tells it from others of its kind."""
    more = m.get("label") and m["label"] not in (m["measure"], about(m))
    name = f"{m['measure']} ({m['label']})" if more else str(m["measure"])
    return f"{name} per {m['per']}" if m.get("per") else name


def phrase(evidence: Evidence, m: Measured, *, each: bool = False) -> str:
    """Return what a measurement says, about its target, in words; of single records of each."""
    says = OF_EACH.get(m["measure"]) if each else None
    says = says or SAYS.get(m["measure"])
    subject = _subject(evidence, m)
    if says is None:
        says = str(entry_of(evidence, m["measure"]).get("says") or m["measure"])
        return f"{says}: {subject}" if subject else says
    if m["measure"] in OF_VALUES and is_number(evidence, m.get("target")):
        subject = f"exact {subject}"
    text = says.format(people=people(evidence, m.get("per")), target=subject or "secret")
    text += f": {m['model']}" if m.get("model") else ""
    table = m.get("table")
    return f"{text}, of {table}" if table else text


def is_number(evidence: Evidence, name: str | None) -> bool:
    """Whether a column is known to hold numbers or dates."""
    variables = (evidence.get("utility") or {}).get("variables", ())
    return any(v["name"] == name and v.get("kind") in NUMBERS for v in variables)


def _subject(evidence: Evidence, m: Measured) -> str:
    if m.get("target"):
        label = evidence["release"].get("labels", {}).get(m["target"])
        return f"“{label}” ({m['target']})" if label else f"“{m['target']}”"
    return str(m.get("model") or "") if m["measure"] not in SAYS else ""


def does_not(fails: Sequence[str]) -> str:
    """Return which of the five properties a measure lacks.

    Examples
    --------
    >>> does_not(["finds certain disclosure", "never reassures falsely"])
    'Does not: find certain disclosure; rule out false reassurance'
    """
    if not fails:
        return "–"
    does = [words for name, words in DOES_NOT.items() if name not in fails]
    if len(does) > 1:
        return f"Does not: {'; '.join(DOES_NOT.get(name, name) for name in fails)}"
    return f"Does not: any of the five{''.join(f' but {words}' for words in does)}"


def upper(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"
