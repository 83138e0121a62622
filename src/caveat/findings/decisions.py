"""Summarise a look: what the user has to decide, by importance, and what the starter settles."""

from __future__ import annotations

from dataclasses import dataclass

from caveat.findings.catalogue import CATALOGUE, Status
from caveat.findings.keys import candidates, proposal
from caveat.findings.profile import HIDDEN, RULES, Finding, Profile, listed, shown
from caveat.table.rare import K

__all__ = [
    "MOST_DECISIONS",
    "OpenDecision",
    "SettledDecision",
    "further_findings",
    "heading",
    "open_decisions",
    "sentences",
    "settled_decisions",
]

MOST_DECISIONS = 7
"""Decisions that are shown first; the others are of less importance."""

# Findings that the user has to decide about, what changes the results most in front.
_RANKED = (
    "number-as-text", "date-as-text", "missing-code", "few-numbers", "outlier", "missing-word",
    RULES, "spellings", "top-code", "duplicate-rows", "determined-by", "all-missing",
    "nearly-constant",
)  # fmt: skip
# Entries that take a column out of the output.
_NOT_RELEASED = ("[synthesis] drop", "[synthesis] replace", "[synthesis] weights", "[groups]")
_RULES = "rules that hold in the data"
_STATE = "State those as rules that must hold in every record."
# What the starter specification does, for the findings that it settles.
_SETTLED = {
    "encoding-found": "encoding found from the bytes",
    "columns-renamed": "columns with the same name renamed",
    "words-as-missing": "words read as missing values",
    "groups": "groups synthesised as a whole",
    "survey-weights": "used as survey weights, not released",
    "id-like": "replaced by fresh identifiers",
    "group-id": "left out: identifiers of groups",
    "person-name": "left out: names of people",
    "birth-date": "left out: dates of birth",
    "coordinate": "left out: coordinates",
    "free-text": "left out: free text",
    "near-unique-text": "left out: text that differs in nearly every record",
    "mostly-rare": "left out: most records have a rare level",
    "missing-code": "codes counted as missing",
    "number-as-text": "text read as numbers",
    "date-as-text": "text or numbers read as dates",
    "local-form": "read in a local format",
    "sampling-unit": "clusters and strata, treated as categories",
    "arithmetic": "computed from other columns",
    "groups-of": "looked up from another column",
    "one-to-one": "looked up from another column",
    "private-numbers": "drawn from a range: many records have a value of their own",
    "rare-levels": f"levels of fewer than {K} records pooled",
    "long-factor": "drawn last: many levels",
}
# Findings whose sentence names the columns, and those about a set of columns.
_SENTENCES = (*RULES, "duplicate-rows", "arithmetic", "private-numbers")
_SETS = ("missing-together", "few-numbers", "same-in-group")
_PAIRS = {"one-to-one": "and", "determined-by": "from", "groups-of": "from"}


@dataclass(frozen=True)
class OpenDecision:
    """Something that the user has to decide.

    Parameters
    ----------
    title
        What it is about.
    action
        What to do, in one sentence.
    entry
        The entry of the specification that holds the decision.
    findings
        What was found about it.
    summary
        What is proposed, where no finding is behind it.
    """

    title: str
    action: str
    entry: str
    findings: tuple[Finding, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class SettledDecision:
    """Something that the starter specification decides.

    Parameters
    ----------
    title
        What is done.
    columns
        The columns concerned, with their codes for missing.
    entry
        The entry of the specification that holds the decision.
    """

    title: str
    columns: tuple[str, ...]
    entry: str


def open_decisions(profile: Profile) -> list[OpenDecision]:
    """Return what the user has to decide, the most important first.

    Examples
    --------
    >>> from caveat.findings import look
    >>> answers = {"sex": ["f", "m"] * 50, "trust": ["yes", "no", "unknown", "yes"] * 25}
    >>> for decision in open_decisions(look(answers))[:2]:
    ...     print(decision.title, "->", decision.entry)
    key variables that an attacker may know -> [[scenario]] keys
    levels that mean no answer -> [columns.trust] missing
    """
    found = [_keys(profile)] if _released(profile) else []
    for ranked in _RANKED:
        codes = ranked if isinstance(ranked, tuple) else (ranked,)
        of_codes = tuple(f for f in profile.findings if f.code in codes and f.status is Status.OPEN)
        if of_codes:
            found.append(_decision(of_codes))
    return found


def _keys(profile: Profile) -> OpenDecision:
    names = _released(profile)
    keys, others = proposal(profile, names)
    summary = f"Proposed: {', '.join(keys)}."
    if others:
        summary += f" Often known too: {listed(others)}."
    elif not candidates(profile, names):
        summary += " No column name says what other people know."
    return OpenDecision(
        "key variables that an attacker may know",
        "Name what other people can know: the risk measures depend on it.",
        "[[scenario]] keys",
        summary=summary,
    )


def _released(profile: Profile) -> list[str]:
    """Return the columns that vary and are neither left out nor computed."""
    settled = (f for f in profile.findings if f.status is Status.SETTLED)
    apart = {
        f.columns[0]
        for f in settled
        if f.code == "arithmetic" or CATALOGUE[f.code].entry in _NOT_RELEASED
    }
    return [c.name for c in profile.columns if c.distinct > 1 and c.name not in apart]


def _decision(findings: tuple[Finding, ...]) -> OpenDecision:
    codes = {f.code for f in findings}
    kind = CATALOGUE[findings[0].code]
    title = kind.title if len(codes) == 1 else _RULES
    actions = {f.action for f in findings}
    several = _STATE if findings[0].code in RULES else kind.action
    action = actions.pop() if len(actions) == 1 else several
    names = {name for f in findings for name in (f.columns if f.code in _SETS else f.columns[:1])}
    entry = kind.entry.format(names.pop() if len(names) == 1 else "NAME")
    return OpenDecision(title, action, entry, findings)


def settled_decisions(profile: Profile) -> list[SettledDecision]:
    """Return what the starter specification decides."""
    grouped = {name for f in profile.about("groups") for name in f.columns}
    settled: dict[tuple[str, str], list[str]] = {}
    for code in _SETTLED:
        for f in (f for f in profile.about(code) if f.status is Status.SETTLED):
            names = f.columns if code == "private-numbers" else f.columns[:1]
            if code == "group-id":
                names = tuple(name for name in names if name not in grouped)
            elif code == "missing-code":
                codes = ", ".join(map(shown, f.suggestion["missing"]))
                names = tuple(f"{name} ({codes if f.rows >= K else HIDDEN})" for name in names)
            order = f.suggestion["groups"].get("order", "") if code == "groups" else ""
            title = f"{_SETTLED[code]}, in the order of {order}" if order else _SETTLED[code]
            if not f.columns:  # how the file was read: the finding itself names what it is about
                title, names = f.message.rstrip("."), ("file",)
            entry = CATALOGUE[code].entry.format("NAME")
            settled.setdefault((title, entry), []).extend(names)
    return [
        SettledDecision(title, tuple(dict.fromkeys(names)), entry)
        for (title, entry), names in settled.items()
        if names
    ]


def further_findings(profile: Profile) -> list[Finding]:
    """Return the findings that none of the first decisions is about."""
    shown = {id(f) for d in open_decisions(profile)[:MOST_DECISIONS] for f in d.findings}
    return [f for f in profile.findings if id(f) not in shown]


def sentences(decision: OpenDecision) -> list[str]:
    """Return what was found about a decision, without values that few records have."""
    if decision.summary:
        return [decision.summary]
    names = [heading(f) for f in decision.findings]
    said = zip(names, decision.findings, strict=True)
    return [f"{name}: {f.discreet}" if name else f.discreet for name, f in said]


def heading(finding: Finding) -> str:
    """Return the columns that a finding is about; nothing where its sentence names them."""
    if finding.code in _SENTENCES or not finding.columns:
        return ""
    if finding.code in _SETS:
        # The last column of a set that shares its values is the identifier of the group.
        last = len(finding.columns) - (finding.code == "same-in-group")
        return listed(finding.columns[:last], 12)
    if finding.code in _PAIRS:
        return f"{finding.columns[0]} {_PAIRS[finding.code]} {finding.columns[1]}"
    return finding.columns[0]
