"""``caveat measures``: the table of measures, or one of them in full."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid
from rich.text import Text

from caveat.cli import console
from caveat.units import SIGNS

if TYPE_CHECKING:
    from caveat.risk import Measure

__all__ = ["measures"]

WIDEST_NAME = 24


def measures(
    name: Annotated[
        str | None, typer.Argument(help="A measure; without it all are listed.")
    ] = None,
) -> None:
    """Say what each measure is, for which attacker, and what it cannot see."""
    # The rooms of the attackers and of utility bring entries of their own, and large libraries.
    import caveat.attack.registry  # noqa: F401  (entries join the table of the risk measures)
    from caveat.risk import MEASURES
    from caveat.utility import MEASURES as UTILITY

    if name is None:
        _list([*MEASURES.values(), *UTILITY.values()])
    else:
        _show(UTILITY[name] if name in UTILITY else MEASURES[name])


def _list(measures: Iterable[Measure]) -> None:
    for family, members in groupby(measures, key=lambda measure: measure.family):
        console.out.print(family, style="bold", markup=False)
        grid = Grid(box=None, show_header=False, padding=(0, 1, 0, 2))
        grid.add_column(no_wrap=True, min_width=WIDEST_NAME)
        grid.add_column()
        for measure in members:
            said = Text.assemble(measure.says, (f" (limits: {measure.blind})", "dim"))
            grid.add_row(f"{measure.name} {SIGNS[measure.unit]}".strip(), said)
        console.out.print(grid)
    console.out.print("caveat measures NAME says more about one of them.")


def _show(measure: Measure) -> None:
    from caveat.risk import Property

    fails = "; ".join(p for p in Property if p in measure.fails)
    lines = {
        "says": measure.says,
        "attacker": measure.attacker,
        "formula": measure.formula,
        "unit": SIGNS[measure.unit],
        "direction": measure.direction,
        "baseline": measure.baseline or "none",
        "needs": ", ".join(sorted(measure.needs)),
        "source": measure.source,
        "cannot see": measure.blind_spot,
        "properties it fails": fails or "none on the published counter-examples",
    }
    if measure.attacker == "none":  # a utility measure: the five properties are about risk
        del lines["attacker"], lines["properties it fails"]
    grid = Grid(
        title=measure.name, title_justify="left", title_style="bold", box=None, show_header=False
    )
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for title, text in lines.items():
        grid.add_row(title, text)
    console.out.print(grid, markup=False)
