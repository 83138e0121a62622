"""What all charts share: two colours, a font, and the pieces that every chart is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

__all__ = [
    "COLOURS",
    "CONFIG",
    "GREY",
    "INK",
    "PALE",
    "SIDES",
    "SIDES_KEY",
    "WIDTH",
    "Key",
    "Rows",
    "dashed",
    "draw",
    "side_colour",
]

Rows = list[dict[str, Any]]
Key = Sequence[tuple[str, str, str]]
"""What the signs of a chart mean: (sign, colour, words)."""

SIDES = ("original", "synthetic")
# A dark blue and a light orange: apart in grey and for every kind of colour blindness.
COLOURS = ("#0b5394", "#f0a030")
INK = "#1f2328"
GREY = "#5f6368"
PALE = "#b7bcc2"
# The width of a chart that stands alone; on a page it is that of the page.
WIDTH = 560
SIDES_KEY: Key = tuple(("bar", *pair) for pair in zip(COLOURS, SIDES, strict=True))
# The look of all charts; a page gives it once.
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "grid": False,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titleColor": GREY,
        "labelColor": INK,
        "domainColor": PALE,
        "tickColor": PALE,
    },
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
}


def draw(rows: Rows) -> Any:
    """Return an empty chart of some rows."""
    return alt.Chart(alt.InlineData(values=rows))


def side_colour() -> Any:
    """Return the encoding of the two tables by colour."""
    scale = alt.Scale(domain=list(SIDES), range=list(COLOURS))
    return alt.Color("side:N", scale=scale, legend=None)


def dashed(*places: float, along: str = "x") -> Any:
    """Return dashed lines across the axis ``along``, at some places of it."""
    rows = [{"at": place} for place in places]
    return draw(rows).mark_rule(color=GREY, strokeDash=[3, 3]).encode(**{along: "at:Q"})
