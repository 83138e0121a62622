"""``caveat report``: the report of a release, from its evidence."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.evidence import decision_beside, read
from caveat.evidence.manifest import EVIDENCE, INSIDE, PUBLIC, is_listed, list_again
from caveat.table.drafts import check_output, write_text

__all__ = ["report"]


def report(
    release: Annotated[
        Path, typer.Argument(help="The folder of a release, or a file with evidence.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write it [in the release]."),
    ] = None,
    external: Annotated[
        bool,
        typer.Option("--external", help="Leave out all that is confidential, to be published."),
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write Markdown, with tables for charts.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write the report that a review board reads.

    A decision.json beside the evidence fills the box for the decision. In the folder of a release
    the report of the run is written again, in inside/ or with --external in public/, unless
    somebody has changed it.
    """
    evidence = _evidence(release)
    target = out or _target(release, external, markdown)
    # What the run, or this command, has left there can be made again.
    again = out is None and release.is_dir() and is_listed(target)
    check_output(target, force=force or again, inputs=[evidence])
    content = read(evidence)
    decision = decision_beside(evidence)
    # The charts' library takes long to load, and the evidence may be refused before.
    from caveat.report import markdown as as_markdown
    from caveat.report import render

    write = as_markdown if markdown else render
    text = write(
        content,
        version="external" if external else "internal",
        date=date.today().isoformat(),
        decision=decision,
    )
    write_text(target, text, confidential=not external, force=force or again)
    if again:
        list_again(target)
    console.out.print(str(target), markup=False, soft_wrap=True)
    if not external:
        console.remark(
            "confidential: it shows what the data show; --external writes what may leave"
        )


def _evidence(release: Path) -> Path:
    """Return the evidence file of a folder, or the file that was named."""
    if not release.is_dir():
        return release
    if not (release / EVIDENCE).is_file():
        raise CaveatError(
            f"the folder has no {EVIDENCE}",
            where=str(release),
            do="name the folder that caveat run has written",
            code="evidence.file.absent",
        )
    return path_below(release, EVIDENCE, plain=False)


def _target(release: Path, external: bool, markdown: bool) -> Path:
    """Return where the report goes: into its part of the release, or beside the evidence."""
    name = f"report{'-external' if external else ''}.{'md' if markdown else 'html'}"
    if not release.is_dir():
        return path_below(release.parent, name)
    part = PUBLIC if external and (release / PUBLIC).is_dir() else INSIDE  # a trial has one part
    return path_below(release, f"{part}/{name}", plain=False)
