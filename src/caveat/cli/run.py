"""``caveat run``: a release from end to end, from the specification to the folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table as Grid

from caveat.cli import console
from caveat.cli.cluster import ClusterOption, WorkOption
from caveat.cli.reading import check_file
from caveat.errors import FEW, CaveatWarning
from caveat.evidence import FEWEST, withheld
from caveat.evidence.manifest import PUBLIC, listed, name_in, place_in
from caveat.evidence.verdict import Limited, limited_in
from caveat.seeds import TRIAL

if TYPE_CHECKING:
    from caveat.release.outcome import Outcome

__all__ = ["run"]

# The columns of the limits, which fit into a terminal of 80 characters.
COLUMNS = {"limit": 7, "measure": 21, "value": 6, "baseline": 8, "control": 7, "allowed": 25}
NUMBERS = ("value", "baseline", "control")


def run(
    spec: Annotated[Path, typer.Argument(help="The specification (release.toml).")],
    only: Annotated[
        str | None,
        typer.Option(help="audit: synthesise nothing, the tables were made elsewhere."),
    ] = None,
    synthetic: Annotated[
        list[Path] | None,
        typer.Option(help="With --only audit: a table made elsewhere; repeat it."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the release goes [folder in the specification].")
    ] = None,
    date: Annotated[str | None, typer.Option(help="The date on the reports [today].")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier release in this folder.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            help="File of the release's secret key, created if missing "
            r"\[the specification's name with .key]."
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Synthesise a table that is too small to hide anybody.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure less, to end within a minute of one core.")
    ] = False,
) -> None:
    """Make a release: synthesise, protect, attack, measure, and write the evidence down."""
    check_file(spec)
    from caveat.release.run import Release

    release = Release.from_toml(spec)
    with console.progress() as bar:
        task = bar.add_task("starting", total=1.0)

        def show(step: str, share: float) -> None:
            bar.update(task, description=step, completed=share)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CaveatWarning)
            outcome = release.run(
                folder,
                force=force,
                threads=threads,
                cluster=cluster,
                work=work,
                only=only,  # type: ignore[arg-type]
                synthetic=synthetic or None,
                date=date,
                progress=show,
                anyway=anyway,
                quick=quick,
                announce=lambda plan: console.remark(f"plan: {plan}"),
                key=key,
            )
    for warning in caught:
        console.remark(f"note: {warning.message}")
    _print(outcome)
    if outcome.broken:
        raise typer.Exit(3)


def _print(outcome: Outcome) -> None:
    content = outcome.evidence
    for remark in dict.fromkeys(_remarks(content)):
        console.remark(f"note: {remark}")
    from caveat.report.verdict import headline, reasons

    limited = list(limited_in(content))
    if limited:
        for grid in _limits(limited, content["measures"]):
            console.out.print(grid)
    else:
        console.out.print("no limit is set: the evidence says what was measured", markup=False)
    for lead, text in (("verdict", headline(content)), *reasons(content)):
        console.out.print(f"{lead}: {_plain(text)}", markup=False, soft_wrap=True)
    few = "; ".join(_by_attacker(withheld(dict(content)), content))
    if few:
        console.out.print(f"\nnot in the external report, fewer than {FEWEST} records behind it: "
                          f"{few}", markup=False, soft_wrap=True)  # fmt: skip
    # Each table of each copy once, in however many formats, and several in one workbook.
    made = {(file["copy"], file.get("table", "")) for file in content["release"]["files"]}
    tables = "1 synthetic table" if len(made) == 1 else f"{len(made)} synthetic tables"
    console.out.print(f"\n{outcome.folder}: {tables}, evidence and reports", markup=False,
                      soft_wrap=True)  # fmt: skip
    if content.get("trial"):
        console.out.print(f"{TRIAL}\nto make a release, add --key FILE or remove the seed",
                          markup=False, soft_wrap=True)  # fmt: skip
        return
    for what, why in _held(outcome):
        console.out.print(f"CONFIDENTIAL: {what} is not for release: {'; '.join(why)}",
                          markup=False, soft_wrap=True)  # fmt: skip
    console.out.print(
        f"what may leave lies in {outcome.folder / PUBLIC}, and nowhere else",
        markup=False,
        soft_wrap=True,
    )


def _remarks(content: Mapping[str, Any]) -> Iterator[str]:
    """Return the remarks of a run, of each part the first ones: a wide table has hundreds."""
    parts = {scenario["name"]: scenario["remarks"] for scenario in content["scenarios"]}
    synthesis = content["synthesis"] or {"remarks": []}
    for name, remarks in {"": [*synthesis["remarks"], *content["remarks"]], **parts}.items():
        yield from remarks[:FEW]
        if len(remarks) > FEW:
            also = f"{len(remarks) - FEW:,} more remarks are in the evidence"
            yield f"{name}: {also}" if name else also


def _held(outcome: Outcome) -> Iterator[tuple[str, Any]]:
    """Return the synthetic tables that must stay inside, with the reasons."""
    folder = outcome.folder.absolute()
    entries = listed(folder)
    for file in outcome.evidence["release"]["files"]:
        entry = entries.get(name_in(folder, place_in(folder, file["name"])), {})
        if entry.get("confidential"):
            yield file["name"], entry.get("reasons", ())


def _by_attacker(few: list[str], content: Mapping[str, Any]) -> list[str]:
    """Return what was withheld with the name of each attacker once."""
    from caveat.findings.profile import listed

    told: dict[str, list[str]] = {}
    names = sorted((f"{s['name']}: " for s in content["scenarios"]), key=len, reverse=True)
    for entry in few:
        name = next(name for name in names if entry.startswith(name))
        told.setdefault(name, []).append(entry.removeprefix(name))
    return [f"{name}{listed(measures, FEW)}" for name, measures in told.items()]


def _limits(limited: list[Limited], measures: Mapping[str, Any]) -> Iterator[Grid]:
    """Return the limits of each attacker, each with its worst result over targets and copies."""
    from caveat.report.wording import limit_text, number

    for i, (where, limits) in enumerate(groupby(limited, key=lambda limit: limit.where)):
        grid = Grid(box=None, padding=(0, 1, 0, 0), show_header=not i)
        grid.title, grid.title_justify, grid.title_style = escape(where), "left", "bold"
        for name, width in COLUMNS.items():
            justify: Literal["left", "right"] = "right" if name in NUMBERS else "left"
            grid.add_column(name, justify=justify, header_style="dim", width=width)
        for limit in limits:
            m = limit.worst
            unit = measures[m["measure"]]["unit"]
            sides = (m["value"], m.get("baseline", m.get("resample")), m.get("control"))
            values = [_plain(number(value, m["measure"], unit)) for value in sides]
            what = ", ".join(part for part in (m["measure"], _about(m)) if part)
            worst = f"{what} (worst of {limit.results})" if limit.results > 1 else what
            text = _plain(limit_text(m["limit"], "", unit, m.get("rise"))).strip()
            grid.add_row(limit.state, escape(worst), *values, text)
        yield grid


def _plain(text: str) -> str:
    """Return a text of the report for a terminal, where joined spaces are harder to search for."""
    from caveat.report.wording import NBSP

    return text.replace(NBSP, " ")


def _about(m: Mapping[str, Any]) -> str:
    """Return what tells a measurement from others of the same measure."""
    parts = [m.get("target"), m.get("model"), m.get("table")]
    parts.append(m.get("label") if "target" in m else None)
    if (m.get("copy") or 1) > 1:
        parts.append(f"table {m['copy']}")
    return ", ".join(dict.fromkeys(part for part in parts if part))
