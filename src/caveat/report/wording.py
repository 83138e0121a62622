"""What columns and measures are called: words first, their names beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caveat.report.blocks import Cell, cell
from caveat.report.reading import Evidence, about, entry_of, several

__all__ = [
    "DOES_NOT",
    "called",
    "column_cell",
    "does_not",
    "is_number",
    "measure_name",
    "people",
    "phrase",
    "upper",
]

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
