"""``caveat attack``: what anyone can do with the released table alone."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from typing import Any, Literal

from rich.table import Table as Sheet

from caveat.attack.entry import Attack, Finding
from caveat.attack.registry import run_attack
from caveat.cli import console
from caveat.risk import MEASURES
from caveat.table import Table
from caveat.table.align import RIGHT_FILE
from caveat.table.drafts import write_text
from caveat.units import printed

__all__ = ["attack_with_the_release", "show"]

OUTSIDERS = "people who were not in the data"


def attack_with_the_release(
    attack: Attack,
    original: Table,
    releases: Sequence[Table],
    told: dict[str, Any],
    *,
    json: str | None,
    force: bool,
) -> None:
    """Run an attack on every copy of a release, print and write what it finds."""
    found = []
    with console.progress() as bar:
        task = bar.add_task(f"attacking ({attack.name})", total=len(releases))
        for release in releases:
            found.append(run_attack(attack.name, original, release, **told))
            bar.advance(task)
    show(attack.name, found, json=json, force=force)


def show(
    name: str,
    found: Sequence[Sequence[Finding]],
    *,
    json: str | None,
    force: bool,
    control: str = OUTSIDERS,
) -> None:
    """Print what an attack finds in each copy, and write it; ``control`` says what that is."""
    if json is not None:
        text = json_format.dumps(_content(name, found), indent=2)
        if json == "-":
            console.document(text)
            return
        write_text(json, text + "\n", confidential=True, force=force)
    _print(name, found, control)


def _content(name: str, found: Sequence[Sequence[Finding]]) -> dict[str, Any]:
    copies = [
        [{"measure": f.measure, "label": f.label, **f.result.to_dict()} for f in findings]
        for findings in found
    ]
    return {"attack": name, "copies": copies}


def _print(name: str, found: Sequence[Sequence[Finding]], control: str) -> None:
    for note in dict.fromkeys(n for one in found for f in one for n in f.result.notes):
        if note.endswith(RIGHT_FILE):
            console.out.print(f"WARNING: {note}", markup=False, style="bold red")
    header = ("", "value", "95 %", "baseline", "original", "control", "residual", "n")
    for copy, findings in enumerate(found, 1):
        title = f"{name}, copy {copy}" if len(found) > 1 else name
        sheet = Sheet(title=title, title_justify="left", title_style="bold", box=None)
        for i, head in enumerate(header):
            # Where the screen is narrow the names give way, not the numbers.
            justify: Literal["left", "right"] = "right" if i else "left"
            sheet.add_column(head, justify=justify, header_style="dim", no_wrap=i > 0)
        for finding in findings:
            sheet.add_row(*_row(finding))
        console.out.print(sheet)
    first = found[0]
    remarks: dict[str, list[str]] = {}
    for finding in first:
        for note in finding.result.notes:
            remarks.setdefault(note, []).append(finding.label or finding.measure)
    for remark, places in remarks.items():
        of_all = len(places) == len(first) > 1
        console.out.print(f"  ! {'' if of_all else ', '.join(places) + ': '}{remark}", markup=False)
    console.out.print(
        "baseline: without the release; original: the original itself released; control: "
        f"{control}; residual: (value − control)/(100 − control).",
        markup=False,
    )
    blind: dict[str, list[str]] = {}
    for measure in dict.fromkeys(finding.measure for finding in first):
        blind.setdefault(MEASURES[measure].blind_spot, []).append(measure)
    for text, alike in blind.items():
        console.out.print(f"{', '.join(alike)} cannot see: {text}", markup=False)


def _row(finding: Finding) -> tuple[str, ...]:
    result = finding.result
    unit = MEASURES[finding.measure].unit
    digits = 1 if unit == "share" else 4
    interval = result.interval and "–".join(f"{printed(end, unit):.1f}" for end in result.interval)
    beyond = result.beyond_control if unit == "share" else None
    return (
        finding.label or finding.measure,
        "undefined" if result.value is None else f"{printed(result.value, unit):.{digits}f}",
        interval or "",
        *(
            "" if value is None else f"{printed(value, unit):.{digits}f}"
            for value in (result.baseline, result.reference, result.control)
        ),
        "" if beyond is None else f"{printed(beyond, unit):.1f}",
        f"{result.n:,}",
    )
