"""``caveat diff``: what changed from one release to the next."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.errors import CaveatError
from caveat.table.drafts import check_outputs, write_text

__all__ = ["diff"]


def diff(
    before: Annotated[
        Path, typer.Argument(help="The folder of a release, or a file with evidence.")
    ],
    after: Annotated[Path, typer.Argument(help="The folder of another one.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page: .html, .md or .txt.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write what differs as JSON.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Say what changed between two releases: specification, risk, utility and files.

    It reads their evidence and never any data, and exits with 0 whether something differs or not.

    Example: caveat diff release-2025 release-2026 --out changes.html
    """
    for path in (before, after):
        if not path.exists():
            raise CaveatError(
                "there is no such release",
                where=str(path),
                do="check the name",
                code="release.folder.absent",
            )
    # The rooms of a release are loaded when there is one.
    from caveat.release.difference import diff_releases, files_of
    from caveat.report.pages import as_text, difference_page, written

    read = [file for path in (before, after) for file in files_of(path)]
    check_outputs([out, json], force=force, inputs=[before, after, *read])
    if out is not None:
        written(out)
    content = diff_releases(before, after)
    page = difference_page(content)
    if json is not None:
        write_text(json, json_format.dumps(content, indent=1, ensure_ascii=False) + "\n",
                   confidential=True, force=force)  # fmt: skip
    if out is None:
        console.out.print(as_text(page), markup=False, soft_wrap=True, end="")
    else:
        write_text(out, written(out)(page), confidential=True, force=force)
        console.out.print(str(out), markup=False, soft_wrap=True)
    console.remark("confidential: it shows what the evidence shows")
