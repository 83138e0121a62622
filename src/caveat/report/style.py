"""What all charts share: two colours, a font, and the pieces that every chart is made of."""

from __future__ import annotations

from typing import Any

import altair as alt

__all__ = ["COLOURS", "FONT", "GREY", "PALE", "SIDES", "draw", "finish", "key", "side_colour"]

SIDES = ("original", "synthetic")
# A dark blue and a light orange: apart in grey and for every kind of colour blindness.
COLOURS = ("#0b5394", "#f0a030")
GREY = "#5f6368"
PALE = "#b7bcc2"
FONT = "sans-serif"


def draw(rows: list[dict[str, Any]]) -> Any:
    """Return an empty chart of some rows."""
    return alt.Chart(alt.InlineData(values=rows))


def side_colour(legend: bool = False) -> Any:
    """Return the encoding of the two tables by colour."""
    scale = alt.Scale(domain=list(SIDES), range=list(COLOURS))
    shown = alt.Legend(title=None, orient="top") if legend else None
    return alt.Color("side:N", scale=scale, legend=shown)


def key() -> Any:
    """Return the two colours with their names, to be put above a grid of charts."""
    rows = [{"side": side, "x": 90 * i} for i, side in enumerate(SIDES)]
    base = draw(rows).encode(x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 180])))
    squares = base.mark_square(size=130, opacity=1, xOffset=8).encode(color=side_colour())
    words = base.mark_text(align="left", dx=20, fontSize=12).encode(text="side:N")
    return (squares + words).properties(width=220, height=18)


def finish(chart: Any, title: str, subtitle: str = "") -> Any:
    """Return a chart with its title and the common style."""
    text = alt.TitleParams(
        title, subtitle=subtitle or [], anchor="start", fontSize=15, subtitleColor=GREY, offset=12
    )
    return (
        chart.properties(title=text, background="white")
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=10, titleFontSize=11, titleFontWeight="normal", grid=False)
        .configure_title(fontSize=12, anchor="start")
        .configure_concat(spacing=18)
    )
