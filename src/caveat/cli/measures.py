"""``caveat measures``: the table of measures, or one of them in full."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table as Grid

from caveat.cli import console
from caveat.risk import MEASURES, Measure, Property

__all__ = ["measures"]


def measures(
    name: Annotated[
        str | None, typer.Argument(help="A measure; without it all are listed.")
    ] = None,
) -> None:
    """Say what each measure is, for which attacker, and what it cannot see."""
    if name is None:
        _list()
    else:
        _show(MEASURES[name])


def _list() -> None:
    grid = Grid(box=None, header_style="dim")
    for title in ("family", "measure", "what it says", "what it cannot see"):
        grid.add_column(title, no_wrap=title in ("family", "measure"))
    family = ""
    for measure in MEASURES.values():
        unit = f" {measure.unit}" if measure.unit else ""
        shown = "" if measure.family == family else measure.family
        grid.add_row(shown, measure.name + unit, measure.says, measure.blind)
        family = measure.family
    console.out.print(grid, markup=False)


def _show(measure: Measure) -> None:
    fails = "; ".join(p for p in Property if p in measure.fails)
    lines = {
        "says": measure.says,
        "attacker": measure.attacker,
        "formula": measure.formula,
        "unit": measure.unit,
        "direction": measure.direction,
        "baseline": measure.baseline or "none",
        "needs": ", ".join(sorted(measure.needs)),
        "in an audit": "by default" if measure.default else f"with --measure {measure.name}",
        "source": measure.source,
        "cannot see": measure.blind_spot,
        "properties it fails": fails or "none on the published counter-examples",
    }
    grid = Grid(
        title=measure.name, title_justify="left", title_style="bold", box=None, show_header=False
    )
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for title, text in lines.items():
        grid.add_row(title, text)
    console.out.print(grid, markup=False)
