"""The sorts of findings: where each is shown, what it is called, what can be done about it.

The report, the documentation and the common tests are driven by this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["CATALOGUE", "TOPICS", "Entry"]

# The decisions that the custodian has to take, in the order of the report.
TOPICS = (
    "How the file was read",
    "Missing values",
    "Kinds",
    "Columns to leave out or to treat apart",
    "Columns that follow from others",
    "Values that stand out",
    "Long factors and rare levels",
    "Rules between columns",
    "Rows",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One sort of finding: where it is shown, and what can be done about it."""

    topic: str
    title: str
    action: str


_READ, _MISSING, _KINDS, _APART, _DERIVED, _VALUES, _LEVELS, _RULES, _ROWS = TOPICS

# The order is that of the report: what changes the data most comes first within its topic.
CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        "encoding-found": Entry(
            _READ,
            "an encoding that was not named",
            "Look at names with accents; if letters are wrong, name the encoding.",
        ),
        "columns-renamed": Entry(
            _READ, "columns of one name", "Rename them in the file if the new names say too little."
        ),
        "words-as-missing": Entry(
            _READ,
            "words for missing among numbers and dates",
            "Nothing if they are; declare the kind category if they are levels.",
        ),
        "missing-code": Entry(
            _MISSING,
            "codes that seem to stand for missing",
            "Declare it as missing, with a label that says why; otherwise it counts as a value.",
        ),
        "missing-word": Entry(
            _MISSING,
            "levels whose wording says that there is no answer",
            "Declare it as missing unless it is an answer that analysts want as a level.",
        ),
        "all-missing": Entry(
            _MISSING, "nothing but missing values", "Leave it out unless the file must have it."
        ),
        "number-as-text": Entry(
            _KINDS,
            "numbers stored as text",
            "Declare the kind integer or numeric, unless the numbers are only names.",
        ),
        "date-as-text": Entry(
            _KINDS, "dates stored as text or numbers", "Declare the kind date and the format."
        ),
        "local-form": Entry(
            _KINDS,
            "numbers and dates in a local form",
            "Nothing if they are; declare the kind category if they are only names. --as-read "
            "writes them so again.",
        ),
        "few-numbers": Entry(
            _KINDS,
            "few different whole numbers",
            "Declare the kind category, or ordered, where the numbers only name groups.",
        ),
        "id-like": Entry(
            _APART,
            "identifiers",
            "Leave it out: it names single records, and a synthetic one would mean nothing.",
        ),
        "group-id": Entry(
            _APART,
            "identifiers of groups such as households",
            "Synthesise whole groups, or leave it out: single rows lose what members share.",
        ),
        "groups": Entry(
            _APART,
            "groups that can be synthesised whole",
            "Take it as key of [groups] (caveat synth --groups): fresh keys, and members that fit.",
        ),
        "free-text": Entry(
            _APART, "free text", "Leave it out: it cannot be synthesised and may name people."
        ),
        "person-name": Entry(
            _APART, "names of people", "Leave it out: real names would be released."
        ),
        "near-unique-text": Entry(
            _APART,
            "text that nearly every record has for itself",
            "Leave it out, or merge it into few levels: real texts would be released.",
        ),
        "mostly-rare": Entry(
            _APART,
            "levels that few records have, in most of the rows",
            "It is left out; merge it into fewer levels, or declare those that are public.",
        ),
        "coordinate": Entry(
            _APART, "coordinates", "Leave it out, or keep a region: a place names who lives there."
        ),
        "birth-date": Entry(
            _APART,
            "dates of birth",
            "Leave it out, or keep the year or the age: the day names the person.",
        ),
        "survey-weights": Entry(
            _APART,
            "survey weights",
            "Use it as weights: it is no data, and the synthetic table then needs none.",
        ),
        "constant": Entry(
            _APART, "one value only", "Nothing to decide: a synthetic column holds it too."
        ),
        "nearly-constant": Entry(
            _APART,
            "nearly all rows hold one value",
            "Keep it only if the few other rows matter: they are the ones at risk.",
        ),
        "arithmetic": Entry(
            _DERIVED,
            "computed from other columns",
            "Leave it out of the synthesis and compute it again from the synthetic columns.",
        ),
        "groups-of": Entry(
            _DERIVED,
            "groups of another column",
            "Leave it out of the synthesis and group the synthetic column again.",
        ),
        "same-in-group": Entry(
            _DERIVED,
            "the same for all members of a group",
            "Synthesise it once per group, as [groups] does: rows by themselves would disagree.",
        ),
        "one-to-one": Entry(
            _DERIVED,
            "two names for the same thing",
            "Synthesise one of the two and look the other one up.",
        ),
        "determined-by": Entry(
            _DERIVED,
            "fixed by another column",
            "Leave it out of the synthesis and look it up, or keep the pair together.",
        ),
        "outlier": Entry(
            _VALUES,
            "values far from all others",
            "Correct it if it is an error; if it is true, its record can be recognised.",
        ),
        "private-numbers": Entry(
            _VALUES,
            "numbers that exactly one record has",
            "Round or smooth them before or while they are synthesised: each leads to one person.",
        ),
        "top-code": Entry(
            _VALUES,
            "a pile at the end of the range",
            "Find out whether it is a top code (keep it), a missing code (declare it) or a limit.",
        ),
        "semi-continuous": Entry(
            _VALUES,
            "a pile at zero, numbers elsewhere",
            "Make sure that 0 is a value and not a missing code, and that it is drawn apart.",
        ),
        "heaping": Entry(
            _VALUES,
            "rounded answers",
            "Do not smooth: analysts would lose the spikes; compare them after synthesis.",
        ),
        "spike": Entry(
            _VALUES,
            "single values far commoner than their neighbours",
            "Find out why; do not smooth unless the spike is meant to go.",
        ),
        "long-factor": Entry(
            _LEVELS,
            "factors with many levels",
            "Put it late in the visit sequence, merge levels, or declare an order or numbers.",
        ),
        "spellings": Entry(
            _LEVELS,
            "levels that differ in case or blanks only",
            "Read them as one: recode in [columns] says which.",
        ),
        "rare-levels": Entry(
            _LEVELS,
            "levels that few rows have",
            "Merge them, or declare them if they are public: levels of fewer than five are pooled.",
        ),
        "missing-together": Entry(
            _RULES,
            "missing in the same rows",
            "Keep the pattern: one question decides for all of them.",
        ),
        "missing-when": Entry(
            _RULES,
            "missing for a known reason",
            "State it as a rule, so that the synthetic rows skip the same questions.",
        ),
        "order": Entry(
            _RULES, "never larger than another column", "State it as a rule if it must hold."
        ),
        "implication": Entry(
            _RULES, "a level that fixes another column", "State it as a rule if it must hold."
        ),
        "sampled-columns": Entry(
            _RULES,
            "very many columns",
            "Look at parts of the table by themselves to see what binds their columns together.",
        ),
        "duplicate-rows": Entry(
            _ROWS,
            "rows that repeat another row in every column",
            "Remove them if they are copies; in short tables equal people are ordinary.",
        ),
    }
)
