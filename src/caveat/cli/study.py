"""``caveat study``: a published experiment, rerun and put beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import JustifyMethod
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table as Sheet
from rich.text import Text

from caveat.cli import console
from caveat.errors import CaveatError

if TYPE_CHECKING:
    from caveat.studies.study import Grid

__all__ = ["study"]


def study(
    name: Annotated[str | None, typer.Argument(help="The study.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the pictures in this folder.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with data sets that some tables need.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace pictures that exist.")] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Show all: paper, what is rerun, time, data.")
    ] = False,
) -> None:
    """Rerun a published experiment and print our numbers beside the printed ones."""
    from caveat.studies import STUDIES
    from caveat.studies.study import Output

    if list_ or name is None:
        for entry in STUDIES.values():
            needs = f"; needs {entry.needs}" if entry.needs else ""
            console.out.print(entry.name, style="bold", markup=False)
            told = Text(f"{entry.says}\n{entry.paper}; takes {entry.takes}{needs}")
            console.out.print(Padding(told, (0, 0, 0, 2)))
        return
    if name not in STUDIES:
        raise CaveatError(
            f"there is no study {name!r}",
            do=f"choose among {', '.join(STUDIES)}",
            code="study.name.unknown",
        )
    with console.progress() as bar:
        bar.add_task(f"running {name}", total=None)
        result = STUDIES[name].run(Output(out, force, read=data), data)
    for grid in result.grids:
        _show(grid)
    for remark in result.remarks:
        console.remark(f"note: {remark}")
    for path in result.pictures:
        console.remark(f"picture: {path}")


def _show(grid: Grid) -> None:
    """Print a table whole: where it is too wide, as several with the same first column."""
    named = (0,) if len(grid.rows) > 1 else ()  # a single row has no name
    parts: list[tuple[int, ...]] = [(0,)]
    for group in grid.groups:
        longer = (*parts[-1], *group)
        is_bare = parts[-1] == named
        if is_bare or _width(_sheet(grid, longer)) <= console.out.width:
            parts[-1] = longer
        else:
            parts.append((*named, *group))
    console.out.print(grid.title, style="bold", markup=False)
    for part in parts:
        sheet = _sheet(grid, part)
        sheet.width = _width(sheet)  # a terminal may break a line, we never cut a number
        console.out.print(sheet, crop=False)
    console.out.print(f"{grid.note}\n" if grid.note else "", markup=False)


def _sheet(grid: Grid, columns: Sequence[int]) -> Sheet:
    """Return some columns of a table."""
    sheet = Sheet()
    for i in columns:
        justify: JustifyMethod = "right" if i or len(grid.rows) == 1 else "left"
        sheet.add_column(grid.header[i], justify=justify, no_wrap=True)
    for row in grid.rows:
        sheet.add_row(*(row[i] for i in columns))
    return sheet


def _width(sheet: Sheet) -> int:
    endless = console.out.options.update(width=1_000_000)
    return Measurement.get(console.out, endless, sheet).maximum
