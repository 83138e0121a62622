"""``caveat audit``: what a release gives away, measure by measure, with what each cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid

from caveat.cli import console
from caveat.cli.cluster import ClusterOption, WorkOption, code_folders, on_cluster
from caveat.cli.reading import Reader, column_numbers
from caveat.errors import CaveatError
from caveat.table import Table, write
from caveat.table.drafts import check_outputs, write_text
from caveat.table.grouping import Groups

if TYPE_CHECKING:
    from caveat.risk import Audit

__all__ = ["audit"]


def audit(
    context: typer.Context,
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(help="The release, or its copies.")],
    keys: Annotated[
        str, typer.Option(help="Columns an attacker may know, with commas between them.")
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "--target",
            help="Columns she may want to learn, with commas between them [all other columns].",
        ),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Records of people who were not used for the release.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A measure (see: caveat measures); repeat it; 'all' for all."),
    ] = None,
    subsets: Annotated[
        int | None, typer.Option(help="Repeat for each combination of so many keys.")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option(help="Cut a numeric column: age=10. Repeat it.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Match a numeric column up to a distance: age=2. Repeat it."),
    ] = None,
    exclude_level: Annotated[
        list[str] | None,
        typer.Option(help="A target level whose disclosure does not count: work=NO. Repeat it."),
    ] = None,
    exclude_missing: Annotated[
        list[str] | None, typer.Option(help="A column whose missing values do not count.")
    ] = None,
    group_key: Annotated[
        str | None,
        typer.Option(help="The key of groups (households …), fresh in the release: it is no data."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Leave out cells with more records than this.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write all results to this file, or to the screen with '-'.")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="CONFIDENTIAL: write which original records carry each measure."),
    ] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Measure what a release gives away about the people in the original."""
    outputs = [records, None if json in (None, "-") else Path(json or "")]
    check_outputs(outputs, force=force, inputs=[original, *synthetic, control, schema])
    reader = Reader.of(schema)
    if group_key is not None:
        reader = replace(reader, groups=Groups(group_key))
    check_outputs(outputs, force=force, inputs=reader.inputs)
    context.with_resource(on_cluster(cluster, work, records or synthetic[0]))
    kept = context.with_resource(code_folders(work))
    table = reader.data(reader.original(original, kept()))
    releases = [reader.data(reader.release(path, kept())) for path in synthetic]
    outside = None if control is None else reader.data(reader.original(control, kept()))
    # The measures bring a compiler and SciPy: only when there is something to measure.
    from caveat.risk import audit as run_audit

    found = run_audit(
        table,
        releases,
        keys=_split(keys),
        targets=None if target is None else [name for part in target for name in _split(part)],
        control=outside,
        measures=measure,
        subsets=subsets,
        groups=column_numbers(groups, "--groups", int),
        tolerance=column_numbers(tolerance, "--tolerance", float),
        exclude_levels=_levels(exclude_level),
        exclude_missing=tuple(exclude_missing or ()),
        limit=limit,
    )
    _write(found, json, records, force=force)
    if json != "-":
        _print(found)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _levels(given: Sequence[str] | None) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise CaveatError(
                "a level is excluded as column=level",
                where="--exclude-level",
                do="name both",
                code="command.option.malformed",
            )
        out.setdefault(name, []).append(value)
    return out


def _write(found: Audit, json: str | None, records: Path | None, *, force: bool) -> None:
    if json == "-":
        console.document(found.to_json())
    elif json is not None:
        write_text(json, found.to_json(), confidential=True, force=force)
        console.remark(f"results written to {json}")
    if records is not None:
        with console.notes():
            write(Table.from_frame(found.records()), records, force=force, confidential=True)
        console.remark(f"CONFIDENTIAL: single records written to {records}; not for release")


def _blind_spots(blind: list[tuple[str, str]]) -> Grid:
    grid = Grid(box=None, show_edge=False, header_style="dim")
    grid.add_column("cannot see", ratio=1)
    grid.add_column("", ratio=3)
    for names, text in blind:
        grid.add_row(names, text)
    return grid


def _print(found: Audit) -> None:
    from caveat.risk.render import heading, sections, warning_lines

    for difference in found.differences:
        if not difference.is_alarm:
            console.remark(f"note: {difference}")
    for remark in found.remarks:
        console.remark(f"note: {remark}")
    for line in warning_lines(found):
        console.out.print(line, markup=False, style="bold red")
    console.out.print(heading(found), markup=False)
    for section in sections(found):
        console.out.print()
        grid = Grid(title=section.title, title_justify="left", title_style="bold", box=None)
        for i, name in enumerate(section.header):
            grid.add_column(name, justify="right" if i else "left", header_style="dim")
        for row in section.rows:
            grid.add_row(*row)
        console.out.print(grid, markup=False)
        if section.blind:
            console.out.print(_blind_spots(section.blind), markup=False)
        for remark in section.remarks:
            console.out.print(f"  ! {remark}", markup=False)
    console.out.print()
    console.out.print(
        "baseline: what there is without the release; original: if the original itself were "
        "released. `caveat measures NAME` says what a measure is and what it cannot see.",
        markup=False,
    )
