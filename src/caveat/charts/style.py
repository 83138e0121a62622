"""What all charts share: colours, a font, their pieces, and how a chart is shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from caveat.errors import CaveatError
from caveat.table.drafts import atomic_output

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


# -------------------------------------------------------------------------------------------------
# The two ways to show a chart: as a part of a page, and alone in a file.


FORMATS = ("html", "svg", "png")
# Pixels per inch of a PNG: twice the size on the screen.
SHARPNESS = 144
SIGNS = {
    "dot": "circle",
    "bar": "square",
    "tick": "M-.2,-1H.2V1H-.2Z",
    "diamond": "diamond",
    "filled-diamond": "diamond",
}


def on_page(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart without what the page says for all charts.

    A chart takes the width that there is, unless it is made of cells, which keep their size.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    spec["$schema"] = _schema()
    if not isinstance(spec["width"], dict):
        spec["width"] = "container"
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


@cache
def _schema() -> str:
    return f"https://vega.github.io/schema/vega-lite/v{alt.SCHEMA_VERSION.lstrip('v')[0]}.json"


@cache
def scripts() -> str:
    """Return the scripts that draw all charts, once for a page."""
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    # What would end the script early, if a later version had it in a text.
    return bundle.replace("</script", "<\\/script")


def titled(chart: Any, title: str, subtitle: str | list[str] = "", key: Key = ()) -> Any:
    """Return a chart that stands alone: with its title, the meaning of its signs and the style."""
    text = alt.TitleParams(
        title, subtitle=subtitle or [], anchor="start", fontSize=15, subtitleColor=GREY, offset=12
    )
    if isinstance(chart, alt.LayerChart) and key:
        own = dict.fromkeys(("color", "fill", "stroke", "shape"), "independent")
        chart = (chart + _key(key)).resolve_scale(**own)
    elif key:
        chart = alt.vconcat(_key(key).properties(height=1), chart, spacing=0)
    return chart.properties(title=text).configure(
        **CONFIG | {"background": "white"},
        title={"fontSize": 12, "anchor": "start"},
        concat={"spacing": 18},
    )


def _key(key: Key) -> Any:
    """Return a chart of which nothing is seen but its legend."""
    signs, colours, words = zip(*key, strict=True)
    inside = ["white" if sign == "diamond" else c for sign, c in zip(signs, colours, strict=True)]
    legend = alt.Legend(title=None, orient="top", symbolOpacity=1, symbolSize=90, labelLimit=0)

    def part(values: Sequence[str]) -> dict[str, Any]:
        scale = alt.Scale(domain=list(words), range=list(values))
        return {"shorthand": "words:N", "scale": scale, "legend": legend}

    return (
        draw([{"words": text} for text in words])
        .mark_point(opacity=0)
        .encode(
            fill=alt.Fill(**part(inside)),
            stroke=alt.Stroke(**part(colours)),
            shape=alt.Shape(**part([SIGNS[sign] for sign in signs])),
        )
    )


def save(chart: Any, path: str | Path, *, force: bool = False, confidential: bool = False) -> None:
    """Write a chart to an HTML, SVG or PNG file that needs nothing from the network.

    Parameters
    ----------
    chart
        The chart.
    path
        The target; its extension decides the format.
    force
        Whether a file that exists may be replaced.
    confidential
        Whether the file is for this user alone.
    """
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise CaveatError(
            "charts cannot be saved like this",
            where=str(path),
            do=f"use {', '.join('.' + k for k in FORMATS)}",
            code="chart.format.unknown",
        )
    options: dict[str, dict[str, Any]] = {"html": {"inline": True}, "png": {"ppi": SHARPNESS}}
    with atomic_output(path, confidential=confidential, force=force) as draft:
        chart.save(str(draft), format=kind, **options.get(kind, {}))
