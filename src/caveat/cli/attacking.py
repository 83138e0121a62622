"""``caveat attack``, carried out: by ordinary means, with the generator, by simulation."""

from __future__ import annotations

import json as json_format
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.table import Table as Sheet

from caveat.attack.figures import Attack, Finding, check_aim
from caveat.attack.paired import fits_needed
from caveat.attack.registry import run_attack
from caveat.attack.worlds import plan_of
from caveat.cli import console
from caveat.cli.reading import Reader
from caveat.errors import CaveatError, CaveatWarning
from caveat.generators import Generator, Setting, generator_of
from caveat.notes import printed
from caveat.risk import MEASURES
from caveat.spec.draft_spec import GeneratorSpec, refuse_commands, with_plan
from caveat.synthesis import load
from caveat.table import Table, write
from caveat.table.align import RIGHT_FILE
from caveat.table.drafts import write_text

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


# -------------------------------------------------------------------------------------------------
# ``caveat attack strong``: how sure someone can be who knows everything except this.


BEFORE_ESTIMATE = 5.0  # seconds after which the pace is known
LONG = 120.0  # seconds from which on it is said
BOUND = "--sample 500 attacks so many records, drawn at random"


def attack_with_the_generator(
    attack: Attack,
    reader: Reader,
    original: Path,
    synthetic: list[Path],
    told: dict[str, Any],
    *,
    model: Path | None,
    records: Path | None,
    json: str | None,
    force: bool,
) -> None:
    """Run the attack on all copies together, print and write what it finds."""
    check_aim(told["record"], told["target"], told["membership"])
    if model is None and reader.document is None:
        raise CaveatError(
            "the attacker knows how the release was made",
            do="give --model FILE.caveat, --spec FILE.toml, or both if the model was made with it",
            code="command.option.absent",
        )
    table = reader.original(original)
    releases = [reader.release(path) for path in synthetic]
    generator = load(model) if model else plan_of(reader.synthesis, table)
    with watched(BOUND) as done:
        figures, lines = attack.run(table, releases, generator, **told, done=done)
    for name, value in figures.items():
        console.out.print(f"{name:<50} {_shown(value)}", markup=False)
    if json is not None:
        content = json_format.dumps(_plain(figures), indent=2)
        if json == "-":
            console.document(content)
        else:
            write_text(json, content + "\n", confidential=True, force=force)
    if records is not None:
        write_lines(lines, records, force=force)


def write_lines(lines: dict[str, Any], path: Path, *, force: bool) -> None:
    """Write what was found about single records, and say that it is confidential."""
    with console.notes():
        write(Table.from_frame(lines), path, force=force, confidential=True)
    console.remark(f"CONFIDENTIAL: single records written to {path}; not for release")


@contextmanager
def watched(bound: str = "") -> Iterator[Callable[[float], None]]:
    """Show how far the attack is, say how long it will be and how to bound it; pass warnings on."""
    with console.progress() as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        task = bar.add_task("attacking", total=1.0)
        start, told = time.monotonic(), False

        def advance(share: float) -> None:
            nonlocal told
            bar.advance(task, share)
            so_far, taken = bar.tasks[task].completed, time.monotonic() - start
            if bound and not told and taken > BEFORE_ESTIMATE and so_far > 0:
                told = True
                if taken / so_far > LONG:
                    minutes = taken / so_far / 60
                    console.remark(f"all of it will take about {minutes:,.0f} minutes; {bound}")

        yield advance
    for warning in caught:
        console.remark(f"note: {warning.message}")


def _shown(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return f"{value:.4f}"


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """Return figures for JSON, which has no infinity."""
    out = {}
    for name, value in figures.items():
        number = value.item() if isinstance(value, np.generic) else value
        infinite = isinstance(number, float) and math.isinf(number)
        out[name] = str(number) if infinite else number
    return out


# -------------------------------------------------------------------------------------------------
# ``caveat attack simulated``: any generator, run with and without a record.


def attack_by_simulation(
    attack: Attack,
    reader: Reader,
    original: Path,
    synthetic: list[Path],
    told: dict[str, Any],
    *,
    records: Path | None,
    json: str | None,
    force: bool,
    allow_command: bool = False,
) -> None:
    """Run the attack, print and write what it finds."""
    generator = _generator(told.pop("generator"), reader, allow_command)
    table = reader.original(original)
    releases = [reader.release(path) for path in synthetic]
    n = 1 if told["record"] is not None else min(told["most"], table.n_rows)
    console.remark(
        f"{generator.name}: {fits_needed(told['simulations'], n):,} runs, "
        f"{told['simulations']} on the data and as many without each of {n} "
        f"record{'s' if n > 1 else ''}"
    )
    with watched() as done:
        found, lines = attack.run(table, releases, generator, **told, done=done)
    show(
        attack.name, [found], json=json, force=force,
        control="releases without the record that are taken for releases with it",
    )  # fmt: skip
    if records is not None:
        write_lines(lines, records, force=force)


def _described(name: str, reader: Reader, allow_command: bool) -> tuple[str, dict[str, Any]]:
    """Return name and settings as a ``[[generator]]`` of this label has them, or the name alone."""
    if reader.document is not None:
        reader.document.check(("generator",))
        for entry in map(GeneratorSpec.of, reader.document.content.get("generator", ())):
            if name == entry.label:
                if not allow_command:
                    refuse_commands(reader.document, name)
                elif entry.command is not None:
                    file = reader.document.path.name
                    console.announce(f"{file} starts with the confidential data: {entry.command}")
                return entry.name, dict(entry.settings)
    return name, {}


def _generator(name: str | None, reader: Reader, allow_command: bool) -> Generator:
    """Return the generator that is named, with what a specification says about ours."""
    if name is None and reader.document is None:
        raise CaveatError(
            "the attacker knows how the release was made",
            do="name a generator with --generator, or give --spec FILE.toml",
            code="command.option.absent",
        )
    if name is None:
        assert reader.document is not None
        return Setting(dict(reader.synthesis), tuple(reader.document.content.get("protect", ())))
    folder = Path() if reader.document is None else reader.document.path.parent
    named = with_plan(*_described(name, reader, allow_command), folder)
    generator = generator_of(*named, allow_command=allow_command)
    if isinstance(generator, Setting) and reader.synthesis:
        return Setting({**reader.synthesis, **generator.options}, generator.protect)
    return generator
