"""Write measures.md and trust.md from the table of measures: python docs/make_measures.py."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from caveat.attack.figures import ENTRIES as STRONG
from caveat.attack.registry import ATTACKS, attacks_of
from caveat.notes import SIGNS
from caveat.risk import ENTRIES, Measure, Property
from caveat.utility import BEST
from caveat.utility import MEASURES as UTILITIES

HEAD = """# Measures

This page is written by `docs/make_measures.py` from the same table that the command line prints
(`caveat measures`, `caveat measures NAME`). How to read an audit:
[What a release gives away](risk.md); a comparison: [Utility](utility.md); and
[which measure to trust](trust.md).

## Which question, which measure

{questions}
The first measure of a row is the one to begin with. A measure "on request" is computed when it is
named.

## How to read the entries

In the formulas d and s are counts in the original and in the synthetic table, q is a combination of
keys, t a value of the target, N_d and N_s are the numbers of records. What is in % is a share: the
formula says what is printed and written as a limit, and results in Python and in the evidence are
the same from 0 to 1.

Every entry says which of five properties the measure **fails** on published counter-examples
(Latner, Neunhoeffer and Drechsler 2025: the 16-cell data, and SD2011 with the target set to 0
everywhere). Tests assert these entries. Not failing there is no proof of having the property.

"""


# Family, the question it answers, and the measures to begin with; all others follow them.
RISK_QUESTIONS = {
    "strong attacker": ("What is the most that anyone could learn?", "strongWorst"),
    "ordinary attackers": ("Does an attack that anyone can carry out succeed?", "prediction"),
    "identity": ("Who is unique, and stays so in the release?", "repU"),
    "attribute": ("Whose secret do their keys show in the release?", "DiSCO"),
    "attribution": ("How often is a guess from the release right?", "DCAP"),
    "near values": ("The same, if a number that is nearly right is right?", "nearDiSCO"),
    "matching": ("How often is one right who trusts a unique match?", "matchPrecision"),
    "isolation": ("Does the release help to single a person out?", "isolation"),
    "tables": ("What do tables made from the release give away?", "groupDisclosure"),
    "rows": ("Are there copies of original rows?", "exactMatch"),
    "diagnostics": ("Do synthetic records lie closer than they should?", "DCRshare"),
}
UTILITY_QUESTIONS = {
    "general": ("Can the two tables be told apart?", "S_pMSE"),
    "tables": ("Are counts in cross-tabulations right?", "S_pMSE two-way"),
    "variables": ("Is every variable distributed as it was?", "total variation"),
    "associations": ("Do variables go together as they did?", "correlation difference"),
    "structure": ("Do rows belong together as they did?", "group sizes"),
    "analyses": ("Do analysts come to the same conclusions?", "CI overlap"),
}


def page() -> str:
    """Return the page."""
    parts = [HEAD.replace("{questions}", _questions()), _attacks()]
    parts += _by_family(_risks(), "Risk")
    parts += _by_family(UTILITIES.values(), "Utility")
    return "".join(parts)


def _risks() -> tuple[Measure, ...]:
    """Return the measures of risk, those that only an attack has included."""
    simulated, ordinary = (
        [entry for attack in attacks_of(kind).values() for entry in attack.measures]
        for kind in ("simulated", "ordinary")
    )
    return (*STRONG, *simulated, *ENTRIES, *ordinary)


def _by_family(entries: Iterable[Measure], of: str) -> list[str]:
    """Return the entries below the names of their families."""
    parts, family = [], ""
    for entry in entries:
        if entry.family != family:
            family = entry.family
            parts.append(f"## {of}: {family}\n\n")
        parts.append(_entry(entry))
    return parts


def _questions() -> str:
    """Return one row per question: its measures, the one to begin with first."""
    rows = ["| question | measures |\n| --- | --- |\n"]
    for questions, entries in (
        (RISK_QUESTIONS, _risks()),
        (UTILITY_QUESTIONS, tuple(UTILITIES.values())),
    ):
        if {entry.family for entry in entries} != set(questions):
            raise SystemExit("every family needs its question, and every question its family")
        for family, (question, first) in questions.items():
            names = [entry.name for entry in entries if entry.family == family]
            names.insert(0, names.pop(names.index(first)))
            links = ", ".join(f"[{name}](#{_anchor(name)})" for name in names)
            rows.append(f"| {question} | {links} |\n")
    return "".join(rows)


def _anchor(name: str) -> str:
    """Return the anchor of a heading, as the site makes it."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _attacks() -> str:
    """Return one row per attack: what the attacker does, what is measured, and the command."""
    rows = []
    for attack in ATTACKS.values():
        measures = ", ".join(f"[{m.name}](#{_anchor(m.name)})" for m in attack.measures)
        command = f"caveat attack {attack.name} original.csv synthetic.csv {attack.example}"
        rows.append(f"| `{attack.name}` | {attack.does} | {measures} | `{command}` |\n")
    head = "| attack | the attacker | measures | example |\n| --- | --- | --- | --- |\n"
    return f"## Attacks\n\n{head}{''.join(rows)}\n"


def _entry(entry: Measure) -> str:
    fails = "; ".join(p for p in Property if p in entry.fails)
    sign = SIGNS[entry.unit]
    default = "by default" if entry.default else "on request"
    lines = {
        "attacker": entry.attacker,
        "formula": f"`{entry.formula}`",
        "direction": entry.direction + (f", in {sign}" if sign else ""),
        "baseline": entry.baseline or "none",
        "needs": ", ".join(sorted(entry.needs)) + f"; computed {default}",
        "source": entry.source,
        "cannot see": entry.blind_spot,
        "fails": fails or "none of the five on these examples",
    }
    if entry.attacker == "none":  # a measure of utility: the five properties are about risk
        del lines["attacker"], lines["fails"]
        lines["needs"] = lines["needs"].removeprefix("; ")
        lines["best"] = f"{BEST[entry.name]:g}: the value of identical tables"
    rows = "".join(f"| {name} | {text.replace('|', '&#124;')} |\n" for name, text in lines.items())
    says = f"{entry.says[0].upper()}{entry.says[1:]}."
    return f"### {entry.name}\n\n{says}\n\n| | |\n| --- | --- |\n{rows}\n"


def trust_page() -> str:
    """Return the page on which measure to trust: its words, with the table of properties."""
    words = Path(__file__).with_name("trust.in").read_text("utf-8")
    return words.replace("{properties}", _properties())


def _properties() -> str:
    """Return one row per measure of risk: which of the five properties it fails."""
    rows = [
        "| measure | " + " | ".join(Property) + " | known blind spot |\n",
        "| --- |" + " :-: |" * len(Property) + " --- |\n",
    ]
    for entry in (*STRONG, *ENTRIES):
        if entry.direction != "reference":
            marks = ["**fails**" if p in entry.fails else "·" for p in Property]
            name = f"[{entry.name}](measures.md#{_anchor(entry.name)})"
            rows.append(f"| {name} | {' | '.join(marks)} | {entry.blind} |\n")
    return "".join(rows)


PAGES = {"measures.md": page, "trust.md": trust_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        Path(__file__).with_name(name).write_text(write(), encoding="utf-8")
