"""The kinds of findings: topic, title, advice, and whether the starter specification settles them.

The report, the documentation and the common tests are driven by this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

__all__ = ["CATALOGUE", "TOPICS", "Entry", "Status"]

# The topics in the order of the report.
TOPICS = (
    "How the file was read",
    "Missing values",
    "Kinds",
    "Columns to leave out or treat separately",
    "Columns determined by others",
    "Unusual values",
    "Categories",
    "Rules between columns",
    "Rows",
)


class Status(StrEnum):
    """Who decides about a finding: the user, the starter specification, or nobody."""

    OPEN = "to decide"
    SETTLED = "decided in the starter"
    NOTE = "for information"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of finding.

    Parameters
    ----------
    topic, title
        Where it is shown, and its heading.
    action
        What can be done about it, in one sentence.
    status
        Who decides, as a rule; a finding that is only possible is never settled.
    entry
        The entry of the specification that holds the decision, with ``{}`` for the column.
    """

    topic: str
    title: str
    action: str
    status: Status = Status.NOTE
    entry: str = ""


_READ, _MISSING, _KINDS, _APART, _DERIVED, _VALUES, _LEVELS, _RULES, _ROWS = TOPICS
_OPEN, _SETTLED = Status.OPEN, Status.SETTLED

# The order is that of the report: what changes the data most comes first within its topic.
CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        "encoding-found": Entry(
            _READ,
            "an encoding that was not named",
            "Check words with accents; if letters are wrong, name the encoding.",
            _SETTLED,
            "[data] encoding",
        ),
        "columns-renamed": Entry(
            _READ,
            "columns with the same name",
            "Rename them in the file if the new names are unclear.",
            _SETTLED,
            "the data file",
        ),
        "words-as-missing": Entry(
            _READ,
            "words for missing among numbers and dates",
            "Declare the kind category if the words are levels.",
            _SETTLED,
            "[columns.{}] missing",
        ),
        "missing-code": Entry(
            _MISSING,
            "codes that may stand for missing values",
            "Declare the code as missing, with a label that gives the reason; otherwise it counts "
            "as a value.",
            _OPEN,
            "[columns.{}] missing",
        ),
        "missing-word": Entry(
            _MISSING,
            "levels that mean no answer",
            "Declare the level as missing, unless analysts need it as an answer.",
            _OPEN,
            "[columns.{}] missing",
        ),
        "all-missing": Entry(
            _MISSING,
            "columns without any value",
            "Leave the column out, unless the file must contain it.",
            _OPEN,
            "[synthesis] drop",
        ),
        "number-as-text": Entry(
            _KINDS,
            "numbers stored as text",
            "Declare the kind integer or numeric, unless the numbers are codes.",
            _OPEN,
            "[columns.{}] kind",
        ),
        "date-as-text": Entry(
            _KINDS,
            "dates stored as text or numbers",
            "Declare the kind date and its format.",
            _OPEN,
            "[columns.{}] kind, format",
        ),
        "local-form": Entry(
            _KINDS,
            "numbers and dates in a local format",
            "Declare the kind category if they are codes. With --as-read the output has the same "
            "format.",
            _SETTLED,
            "[columns.{}] kind",
        ),
        "few-numbers": Entry(
            _KINDS,
            "few different whole numbers: counts or codes?",
            "Declare the kind category, or ordered, where the numbers are codes.",
            _OPEN,
            "[columns.{}] kind",
        ),
        "sampling-unit": Entry(
            _KINDS,
            "clusters and strata of the sample",
            "Keep the kind category: the numbers are codes, and their size has no meaning.",
            _SETTLED,
            "[columns.{}] kind",
        ),
        "id-like": Entry(
            _APART,
            "identifiers",
            "Replace it by fresh identifiers, or leave it out: it identifies single records.",
            _SETTLED,
            "[synthesis] replace",
        ),
        "group-id": Entry(
            _APART,
            "identifiers of groups such as households",
            "Synthesise whole groups or leave it out: otherwise members have no group in common.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "groups": Entry(
            _APART,
            "groups of records that can be synthesised as a whole",
            "Use it as the key of [groups] (caveat synth --groups): groups get new keys, and their "
            "members fit together.",
            _SETTLED,
            "[groups]",
        ),
        "free-text": Entry(
            _APART,
            "free text",
            "Leave it out: it cannot be synthesised and may name people.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "person-name": Entry(
            _APART,
            "names of people",
            "Leave it out: real names would be released.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "near-unique-text": Entry(
            _APART,
            "text that differs in nearly every record",
            "Leave it out, or recode it into few levels: real texts would be released.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "mostly-rare": Entry(
            _APART,
            "columns in which most records have a rare level",
            "Leave it out, recode it into fewer levels, or declare the levels that are public.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "coordinate": Entry(
            _APART,
            "coordinates",
            "Leave it out, or replace it by a region: a location can identify who lives there.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "birth-date": Entry(
            _APART,
            "dates of birth",
            "Leave it out, or replace it by the year or the age: the exact date can identify a "
            "person.",
            _SETTLED,
            "[synthesis] drop",
        ),
        "survey-weights": Entry(
            _APART,
            "survey weights",
            "Use it as weights: the synthetic data represent the population and need no weights.",
            _SETTLED,
            "[synthesis] weights",
        ),
        "constant": Entry(
            _APART,
            "columns with a single value",
            "Nothing to decide: the synthetic column has the same value.",
        ),
        "nearly-constant": Entry(
            _APART,
            "columns in which nearly all records have the same value",
            "Leave it out unless the rare values matter: few records have them.",
            _OPEN,
            "[synthesis] drop",
        ),
        "arithmetic": Entry(
            _DERIVED,
            "columns computed from others",
            "Compute it from the synthetic columns instead of drawing it.",
            _SETTLED,
            "[synthesis.derived]",
        ),
        "groups-of": Entry(
            _DERIVED,
            "classes of another column",
            "Derive it from the synthetic column instead of drawing it.",
            _SETTLED,
            "[synthesis.derived]",
        ),
        "same-in-group": Entry(
            _DERIVED,
            "columns with one value in each group",
            "Synthesise it once per group, as [groups] does; otherwise members would differ.",
        ),
        "one-to-one": Entry(
            _DERIVED,
            "two columns with the same content",
            "Synthesise one of the two and look up the other.",
            _SETTLED,
            "[synthesis.derived]",
        ),
        "determined-by": Entry(
            _DERIVED,
            "columns determined by another column",
            "Look the column up instead of drawing it, if the relation must hold.",
            _OPEN,
            "[synthesis.derived]",
        ),
        "outlier": Entry(
            _VALUES,
            "values far from all others",
            "Correct an error; recode a true value, which can be recognised.",
            _OPEN,
            "the data file",
        ),
        "private-numbers": Entry(
            _VALUES,
            "columns in which many records have a value of their own",
            "Keep guarded trees, which draw numbers from a range, and declare that range if it is "
            "public.",
            _SETTLED,
            "[synthesis] method",
        ),
        "top-code": Entry(
            _VALUES,
            "a frequent largest value",
            "Keep it if it is a top code; declare it if it means missing.",
            _OPEN,
            "[columns.{}] missing",
        ),
        "semi-continuous": Entry(
            _VALUES,
            "many zeros among other amounts",
            "Check that 0 is an amount and not a code for missing.",
        ),
        "heaping": Entry(
            _VALUES,
            "rounded answers",
            "Nothing to decide: compare the frequent values after the synthesis.",
        ),
        "spike": Entry(
            _VALUES,
            "single values that are far more frequent than their neighbours",
            "Find out why: such a value may be a default, a limit or a code.",
        ),
        "long-factor": Entry(
            _LEVELS,
            "categories with many levels",
            "Draw it late, merge levels, or declare an order.",
            _SETTLED,
            "[synthesis] order",
        ),
        "spellings": Entry(
            _LEVELS,
            "levels that differ only in case or blanks",
            "Merge them with recode.",
            _OPEN,
            "[columns.{}] recode",
        ),
        "rare-levels": Entry(
            _LEVELS,
            "levels with few records",
            "Merge them, or declare them if they are public: levels of fewer than five records are "
            "pooled.",
            _SETTLED,
            "[synthesis.columns.{}] levels",
        ),
        "missing-together": Entry(
            _RULES,
            "columns missing in the same records",
            "Nothing to decide: compare the pattern after the synthesis.",
        ),
        "missing-when": Entry(
            _RULES,
            "values missing for a known reason",
            "State it as a rule, so that synthetic records skip the same questions.",
            _OPEN,
            "[synthesis] rules",
        ),
        "order": Entry(
            _RULES,
            "columns that are never larger than another",
            "State it as a rule if it must hold in every record.",
            _OPEN,
            "[synthesis] rules",
        ),
        "implication": Entry(
            _RULES,
            "levels that determine another column",
            "State it as a rule if it must hold in every record.",
            _OPEN,
            "[synthesis] rules",
        ),
        "sampled-columns": Entry(
            _RULES,
            "relations compared in a sample of the columns",
            "Look at parts of the table separately to find all relations.",
        ),
        "duplicate-rows": Entry(
            _ROWS,
            "identical records",
            "Remove copies; different people can also have identical records.",
            _OPEN,
            "the data file",
        ),
    }
)
