"""Write measures.md and trust.md from the table of measures: python docs/make_measures.py."""

from __future__ import annotations

from pathlib import Path

from caveat.attack.measures import ENTRIES as STRONG
from caveat.attack.registry import ATTACKS, attacks_of
from caveat.risk import ENTRIES, Measure, Property
from caveat.units import SIGNS

HEAD = """# Measures of disclosure

This page is written by `docs/make_measures.py` from the same table that the command line prints
(`caveat measures`, `caveat measures NAME`). How to read an audit:
[What a release gives away](risk.md).

In the formulas d and s are counts in the original and in the synthetic table, q is a combination of
keys, t a value of the target, N_d and N_s are the numbers of records. What is in % is a share: the
formula says what is printed and written as a limit, and results in Python and in the evidence are
the same from 0 to 1.

Every entry says which of five properties the measure **fails** on published counter-examples
(Latner, Neunhoeffer and Drechsler 2025: the 16-cell data, and SD2011 with the target set to 0
everywhere). Tests assert these entries. Not failing there is no proof of having the property.

"""


def page() -> str:
    """Return the page."""
    parts, family = [HEAD, _attacks()], ""
    ordinary = [entry for attack in attacks_of("ordinary").values() for entry in attack.measures]
    for entry in (*STRONG, *ENTRIES, *ordinary):
        if entry.family != family:
            parts.append(f"## {entry.family.capitalize()}\n\n")
            family = entry.family
        parts.append(_entry(entry))
    return "".join(parts)


def _attacks() -> str:
    """Return one row per attack: what the attacker does, what is measured, and the command."""
    rows = []
    for attack in ATTACKS.values():
        measures = ", ".join(f"[{m.name}](#{m.name.lower()})" for m in attack.measures)
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
    rows = "".join(f"| {name} | {text.replace('|', '&#124;')} |\n" for name, text in lines.items())
    return f"### {entry.name}\n\n{entry.says.capitalize()}.\n\n| | |\n| --- | --- |\n{rows}\n"


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
            name = f"[{entry.name}](measures.md#{entry.name.lower()})"
            rows.append(f"| {name} | {' | '.join(marks)} | {entry.blind} |\n")
    return "".join(rows)


PAGES = {"measures.md": page, "trust.md": trust_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        Path(__file__).with_name(name).write_text(write(), encoding="utf-8")
