"""The result of a look at a table: a profile of every column, and findings of known kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np

from caveat.showing import Summary, frame_of, in_short, on_page, without_values
from caveat.table.identifying import K
from caveat.table.table import Column, Kind, Table

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


# -------------------------------------------------------------------------------------------------
# The result of a look at a table: a profile of every column, and findings.


# How many of the commonest levels a column profile holds.
TOP_LEVELS = 5
# Around a value in a message that few records hold: private characters, which no file has.
BEGIN, END = "\ue000", "\ue001"
MARKED = re.compile(f"{BEGIN}[^{END}]*{END}")
HIDDEN = "…"
RULES = ("missing-when", "order", "implication")
"""Findings that become rules of a specification."""
_PROFILE_KINDS = ("number-as-text", "date-as-text")


class Strength(StrEnum):
    """How sure a finding is: counted, read off a clear pattern, or worth a question."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True)
class Finding:
    """Something about the data that has to be decided before they are synthesised.

    Parameters
    ----------
    code
        The kind of finding, a key of ``CATALOGUE``.
    columns
        The columns concerned, the one to act upon first.
    message
        What was found, in one sentence. Values that :func:`marked` has marked are in the message,
        and neither in ``discreet`` nor in what is printed.
    action
        What can be done about it, in one sentence.
    strength
        How sure it is.
    rows
        Number of rows it is about.
    share
        The same as a share of all rows.
    suggestion
        The same for machines, as used in the starter specification.
    """

    code: str
    columns: tuple[str, ...]
    message: str
    strength: Strength = Strength.CERTAIN
    rows: int = 0
    share: float = 0.0
    suggestion: Mapping[str, Any] = field(default_factory=dict)
    action: str = ""
    discreet: str = field(default="", init=False)

    __repr__ = without_values

    def __post_init__(self) -> None:
        object.__setattr__(self, "action", self.action or CATALOGUE[self.code].action)
        object.__setattr__(self, "discreet", MARKED.sub(HIDDEN, self.message))
        object.__setattr__(self, "message", _unmarked(self.message))

    @property
    def topic(self) -> str:
        """The topic that the finding belongs to."""
        return CATALOGUE[self.code].topic

    @property
    def status(self) -> Status:
        """Who decides about the finding: the user, the starter specification, or nobody."""
        status, asked = CATALOGUE[self.code].status, self.suggestion
        if self.code == "missing-code" and self.strength is not Strength.POSSIBLE:
            return Status.SETTLED
        if self.code in _PROFILE_KINDS and "kind" in asked:
            return Status.SETTLED
        if self.code in RULES and not asked.get("rules"):
            return Status.NOTE
        return Status.NOTE if self.code == "rare-levels" and not asked else status

    def __str__(self) -> str:
        return f"{', '.join(self.columns)}: {self.discreet}" if self.columns else self.discreet

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "code": self.code,
            "topic": self.topic,
            "status": str(self.status),
            "columns": list(self.columns),
            "message": self.message,
            "action": self.action,
            "strength": str(self.strength),
            "rows": self.rows,
            "share": round(self.share, 6),
            "suggestion": dict(self.suggestion),
        }


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds, as it was read.

    Parameters
    ----------
    name, kind, label
        Name, kind and description of the column.
    rows
        Number of rows.
    distinct
        Number of distinct ordinary values.
    missing
        How often each way to be missing occurs.
    low, high
        Smallest and largest value of a column with an order, else ``None``.
    top
        The commonest levels with their counts.
    labels
        What these levels mean, as far as the file says it.
    """

    name: str
    kind: Kind
    label: str
    rows: int
    distinct: int
    missing: Mapping[str, int]
    low: Any
    high: Any
    top: tuple[tuple[Any, int], ...]
    labels: Mapping[Any, str] = field(default_factory=dict)

    __repr__ = without_values

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return sum(self.missing.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain values."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "label": self.label,
            "rows": self.rows,
            "distinct": self.distinct,
            "missing": dict(self.missing),
            "low": self.low,
            "high": self.high,
            "top": [
                {"value": value, "rows": count}
                | ({"label": self.labels[value]} if value in self.labels else {})
                for value, count in self.top
            ],
        }


@dataclass(frozen=True, repr=False)
class Profile:
    """The preflight report of a table; print it, or read ``columns`` and ``findings``."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    findings: tuple[Finding, ...]

    def _summary(self) -> Summary:
        from caveat.findings import keys

        sizes = (self.rows, "row"), (len(self.columns), "column"), (len(self.findings), "finding")
        first = keys.open_decisions(self)[: keys.MOST_DECISIONS]
        rows = [(d.title, says, d.action, d.entry) for d in first for says in keys.sentences(d)]
        settled = [
            f"Decided in the starter specification, {d.entry}: {d.title}: {', '.join(d.columns)}"
            for d in keys.settled_decisions(self)
        ]
        further = [
            (keys.heading(f), f.discreet, f.action, str(f.status))
            for f in keys.further_findings(self)
        ]
        columns = [(c.name, str(c.kind), c.distinct, c.n_missing) for c in self.columns]
        return Summary(
            f"Profile: {', '.join(plural(*size) for size in sizes)}",
            ("what has to be decided", "what was found", "what to do", "entry"),
            rows,
            settled,
            (
                Summary(plural(len(further), "other finding"),
                        ("columns", "what was found", "what to do", "status"), further),
                Summary(plural(len(columns), "column"),
                        ("column", "kind", "distinct", "missing"), columns),
            ),
        )  # fmt: skip

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each finding as a pandas or polars frame."""
        rows = [{**f.to_dict(), "columns": ", ".join(f.columns)} for f in self.findings]
        names = ("topic", "columns", "message", "action", "code", "strength", "rows", "share",
                 "status")  # fmt: skip
        return frame_of({name: [row[name] for row in rows] for name in names}, backend)

    def plot(self) -> Any:
        """Draw which part of each column is empty or coded as missing, as an Altair chart."""
        from caveat.charts import missing_cells, titled

        ways = [
            {"column": column.name, "way": way or "empty", "share": count / max(self.rows, 1)}
            for column in self.columns
            for way, count in column.missing.items()
        ]
        names = [column.name for column in self.columns]
        return titled(missing_cells(ways, names), "Missing cells", f"of {self.rows:,} rows")

    def __str__(self) -> str:
        from caveat.findings import keys

        lines = [in_short(self), "What has to be decided"]
        for d in keys.open_decisions(self)[: keys.MOST_DECISIONS]:
            lines += [f"  {d.title}: {d.action} {d.entry}"]
            lines += [f"    {says}" for says in keys.sentences(d)]
        settled = keys.settled_decisions(self)
        lines += ["Decided in the starter specification"] if settled else []
        lines += [f"  {d.title}: {', '.join(d.columns)}. {d.entry}" for d in settled]
        further = keys.further_findings(self)
        lines += ["All other findings"] if further else []
        lines += [f"  [{f.code}] {f}" for f in further]
        return "\n".join(lines)

    def about(self, code: str, column: str | None = None) -> tuple[Finding, ...]:
        """Return the findings of one kind, about one column if it is named."""
        return tuple(
            f for f in self.findings if f.code == code and (column is None or column in f.columns)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "format": "caveat look 1",
            "rows": self.rows,
            "columns": [column.to_dict() for column in self.columns],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def profile_column(table: Table, name: str) -> ColumnProfile:
    """Count what a column holds."""
    column = table[name]
    n = len(column.levels)
    counts = column.counts
    used = np.flatnonzero(counts[:n])
    top = used[np.argsort(-counts[used], kind="stable")][:TOP_LEVELS]
    ordered = column.kind.has_order and len(used) > 0
    return ColumnProfile(
        name,
        column.kind,
        column.label,
        len(column),
        len(used),
        {str(m): int(c) for m, c in zip(column.missing, counts[n:], strict=True) if c},
        plain(column, used[0]) if ordered else None,
        plain(column, used[-1]) if ordered else None,
        tuple((plain(column, i), int(counts[i])) for i in top),
        {
            plain(column, i): label
            for i in top
            if (
                label := column.value_labels.get(
                    column.levels[i].item()
                    if isinstance(column.levels[i], np.generic)
                    else column.levels[i]
                )
            )
        },
    )


def plain(column: Column, code: int | np.integer[Any]) -> Any:
    """Return a level as a plain Python value (dates as ISO text)."""
    value = column.levels[code]
    if isinstance(value, np.datetime64):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def shown(value: Any) -> str:
    """Return a value as it is printed: whole floats without a point, long ones cut."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        if number.is_integer() and abs(number) < 1e15:
            return str(int(number))
        return f"{number:.8g}"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def shown_level(column: Column, code: int | np.integer[Any], *, quoted: bool = False) -> str:
    """Return a level as a message shows it, marked if few records hold it.

    Examples
    --------
    >>> column = Table.from_frame({"town": ["A"] * 6 + ["B"] * 2})["town"]
    >>> both = f"{shown_level(column, 0)} and {shown_level(column, 1)}"
    >>> found = Finding("rare-levels", ("town",), f"{both}.")
    >>> print(found)
    town: A and ….
    >>> found.message
    'A and B.'
    """
    text = shown(plain(column, code))
    return marked(repr(text) if quoted else text, int(column.counts[code]))


def marked(text: str, rows: int) -> str:
    """Return the text of a value, marked if fewer records hold it than may share it unseen."""
    return f"{BEGIN}{_unmarked(text)}{END}" if rows < K else _unmarked(text)


def _unmarked(text: str) -> str:
    return text.replace(BEGIN, "").replace(END, "")


def plural(n: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent with one decimal, never rounded to nothing or to all."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.1f} %"


def listed(items: Sequence[str], most: int = 6) -> str:
    """Return the first items in a row, and how many more there are."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"
