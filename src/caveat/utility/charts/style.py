"""How a chart is saved; its colours and pieces are those of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.report.style import COLOURS, GREY, SIDES, draw, finish, key, side_colour
from caveat.table.atomic import atomic_output

__all__ = ["COLOURS", "FORMATS", "GREY", "SIDES", "draw", "finish", "key", "save", "side_colour"]

FORMATS = ("html", "svg", "png")
# Pixels per inch of a PNG: twice the size on the screen.
SHARPNESS = 144


def save(chart: Any, path: str | Path, *, force: bool = False) -> None:
    """Write a chart to an HTML, SVG or PNG file that needs nothing from the network."""
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise CaveatError(
            "charts cannot be saved like this",
            where=str(path),
            do=f"use {', '.join('.' + k for k in FORMATS)}",
        )
    options: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"ppi": SHARPNESS}}
    with atomic_output(path, force=force) as draft:
        chart.save(str(draft), format=kind, **options.get(kind, {}))
