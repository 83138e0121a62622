"""``caveat explain``: one page about one record of a release."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.cli.reading import check_file
from caveat.errors import CaveatError
from caveat.evidence.manifest import EVIDENCE, MANIFEST, SPEC
from caveat.table.drafts import check_outputs, write_text

__all__ = ["explain"]


def explain(
    spec: Annotated[Path, typer.Argument(help="The specification of the release (release.toml).")],
    record: Annotated[int, typer.Option(min=1, help="The row of the data file, counted from 1.")],
    release: Annotated[
        Path | None,
        typer.Option(help="The folder of the release [folder in the specification]."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "--target",
            help="Columns she wants to learn, with commas between them [targets of all scenarios].",
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=0, help="Fresh releases in each other way; 0 tries none.")
    ] = 3,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show the values of the record too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page: .html, .md or .txt.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write the numbers as JSON, to the screen with '-'.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Say in plain words what a release gives away about one record, and what would change it.

    Example: caveat explain release.toml --record 17 --out row-17.html
    """
    if spec.is_dir():
        raise CaveatError(
            "this is a folder, and a specification is needed: it says where the data are",
            where=str(spec),
            do=f"give the release.toml beside the data, and --release {spec}",
            code="spec.file.type",
        )
    check_file(spec)
    from caveat.spec.spec import ReleaseSpec

    told = ReleaseSpec.from_toml(spec)
    folder = told.output.folder if release is None else release
    made = [folder / name for name in (EVIDENCE, MANIFEST, SPEC)]
    json_path = Path(json) if json not in (None, "-") else None
    check_outputs([out, json_path], force=force, inputs=[*told.inputs, *made])
    from caveat.report.pages import as_text, explain_page, written

    if out is not None:
        written(out)
    from caveat.release.explain import explain_row

    with console.notes(), console.progress() as bar:
        task = bar.add_task("attacking", total=1.0)
        content = explain_row(
            told, record, folder=release, targets=_names(target) or None, draws=draws,
            values=show_values, threads=threads, done=lambda share: bar.advance(task, share),
        )  # fmt: skip
    page = explain_page(content)
    document = json_format.dumps(content, indent=1) + "\n"
    if json_path is not None:
        write_text(json_path, document, confidential=True, force=force)
    if json == "-":
        console.document(document)
    elif out is None:
        console.out.print(as_text(page), markup=False, soft_wrap=True, end="")
    if out is not None:
        write_text(out, written(out)(page), confidential=True, force=force)
        if json != "-":
            console.out.print(str(out), markup=False, soft_wrap=True)
    console.remark("CONFIDENTIAL: about a single record; not for release")


def _names(given: list[str] | None) -> list[str]:
    """Return names that were given one by one, or with commas between them."""
    return [name.strip() for part in given or () for name in part.split(",") if name.strip()]
