"""``caveat study``: a published experiment, rerun and put beside the printed numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Sheet

from caveat.cli import console
from caveat.errors import CaveatError

__all__ = ["study"]


def study(
    name: Annotated[str, typer.Argument(help="The study; 'list' shows all.")] = "list",
    out: Annotated[Path | None, typer.Option(help="Save the pictures in this folder.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with data sets that some tables need.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace pictures that exist.")] = False,
) -> None:
    """Rerun a published experiment and print our numbers beside the printed ones."""
    from caveat.studies import STUDIES
    from caveat.studies.study import Output

    if name == "list":
        for entry in STUDIES.values():
            console.out.print(f"{entry.name}: {entry.says}", markup=False)
        return
    if name not in STUDIES:
        raise CaveatError(f"there is no study {name!r}", do=f"choose among {', '.join(STUDIES)}")
    with console.progress() as bar:
        bar.add_task(f"running {name}", total=None)
        result = STUDIES[name].run(Output(out, force, read=data), data)
    for grid in result.grids:
        sheet = Sheet(title=grid.title, caption=grid.note or None, title_justify="left",
                      caption_justify="left", title_style="bold", caption_style="")  # fmt: skip
        for i, head in enumerate(grid.header):
            sheet.add_column(head, justify="right" if i or len(grid.rows) == 1 else "left")
        for row in grid.rows:
            sheet.add_row(*row)
        console.out.print(sheet)
    for remark in result.remarks:
        console.remark(f"note: {remark}")
    for path in result.pictures:
        console.remark(f"picture: {path}")
