"""``caveat report``: the report of a release, from its evidence."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.evidence import read
from caveat.table.atomic import check_output, write_text

__all__ = ["report"]


def report(
    evidence: Annotated[Path, typer.Argument(help="The evidence.json of a release.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write it [report.html beside the evidence]."),
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
    """Write the report that a review board reads."""
    target = out or evidence.parent / _name(external, markdown)
    check_output(target, force=force, inputs=[evidence])
    content = read(evidence)
    # The charts' library takes long to load, and the evidence may be refused before.
    from caveat.report import markdown as as_markdown
    from caveat.report import render

    write = as_markdown if markdown else render
    text = write(
        content, version="external" if external else "internal", date=date.today().isoformat()
    )
    write_text(target, text, force=force)
    console.out.print(str(target), markup=False, soft_wrap=True)
    if not external:
        console.remark(
            "confidential: it shows what the data show; --external writes what may leave"
        )


def _name(external: bool, markdown: bool) -> str:
    return f"report{'-external' if external else ''}.{'md' if markdown else 'html'}"
