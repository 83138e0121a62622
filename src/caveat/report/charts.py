"""The charts of the report, from plain numbers.

Each function returns a Vega-Lite specification. Charts are as wide as the page leaves room, so
names of measures and terms stand above what they name: nothing is squeezed on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import altair as alt

from caveat.report.style import COLOURS, FONT, GREY, PALE, SIDES, draw, side_colour

__all__ = [
    "CONFIG",
    "attackers",
    "coefficients",
    "distribution",
    "heat_map",
    "risk_utility",
    "scores",
]

INK = "#1f2328"
ROW = 48
PANEL = 132
BAR = 9
CELL = 19
POOR = 30.0
# Given once for all charts of a page.
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
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
Rows = list[dict[str, Any]]


def _name_above(lines: Any, field: str, room: int) -> Any:
    """Write a name above each line, cut where the figure on the right begins."""
    return lines.mark_text(
        align="left",
        baseline="bottom",
        dy=-12,
        fontSize=12,
        color=INK,
        limit=alt.ExprRef(f"max(width - {room}, 60)"),
    ).encode(text=f"{field}:N", x=alt.value(0))


def _lines(title: str, n: int) -> tuple[Any, Any]:
    """Return the axis below n lines of marks, and where each line stands."""
    axis = alt.Axis(title=title, tickCount=5, grid=True, gridColor="#eceef0")
    return axis, alt.Y(
        "place:Q", scale=alt.Scale(domain=[-0.62, n - 0.38], reverse=True), axis=None
    )


@cache
def _schema() -> str:
    return f"https://vega.github.io/schema/vega-lite/v{alt.SCHEMA_VERSION.lstrip('v')[0]}.json"


def _spec(chart: Any) -> dict[str, Any]:
    """Return the specification without what the page says for all charts."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    spec["$schema"] = _schema()
    return spec


def _full_width(chart: Any, height: float) -> dict[str, Any]:
    spec = _spec(chart.properties(width=100, height=height))
    spec["width"] = "container"
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def attackers(rows: Rows) -> dict[str, Any]:
    """Draw measures in per cent with interval, baseline, control and limit.

    Parameters
    ----------
    rows
        For each line its ``place`` from 0, ``label``, ``value``, ``low``, ``high``, ``baseline``,
        ``control``, ``limit``; what there is not is None.
    """
    n = len(rows)
    height = ROW * n
    axis, y = _lines("per cent of the records, or of certainty", n)
    base = draw(rows).encode(y=y)

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 100]), axis=axis)

    there = {f: f"isValid(datum.{f})" for f in ("value", "low", "baseline", "control", "limit")}
    tips = [
        alt.Tooltip("label:N", title="measure"),
        *(
            alt.Tooltip(f"{f}_text:N", title=f)
            for f in ("value", "interval", "baseline", "control", "limit")
        ),
    ]
    layers = [
        base.mark_rule(color="#e3e6e9", strokeWidth=1).encode(
            x=alt.value(0), x2=alt.value("width")
        ),
        base.transform_filter(there["limit"])
        .mark_tick(color=COLOURS[1], thickness=4, size=20, orient="vertical")
        .encode(x=at("limit")),
        base.transform_filter(there["baseline"])
        .mark_tick(color=GREY, thickness=2, size=14, orient="vertical")
        .encode(x=at("baseline")),
        base.transform_filter(there["low"])
        .mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.45)
        .encode(x=at("low"), x2="high:Q"),
        base.transform_filter(there["control"])
        .mark_point(shape="diamond", filled=True, fill="white", stroke=INK, size=70, opacity=1)
        .encode(x=at("control")),
        base.transform_filter(there["value"])
        .mark_circle(color=COLOURS[0], size=85, opacity=1)
        .encode(x=at("value"), tooltip=tips),
        _name_above(base, "label", 70),
        base.mark_text(
            align="right", baseline="bottom", dy=-12, fontSize=12, fontWeight="bold", color=INK
        ).encode(text="value_text:N", x=alt.value("width")),
    ]
    return _full_width(alt.layer(*layers), height)


def distribution(groups: Sequence[Mapping[str, Any]], ordered: bool) -> dict[str, Any]:
    """Draw the shares of the groups of one variable in both tables."""
    rows = [
        {"group": group["label"], "side": side, "percent": group[side], "place": i}
        for i, group in enumerate(groups)
        for side in SIDES
    ]
    labels = [group["label"] for group in groups]
    tips = [
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("side:N", title="table"),
        alt.Tooltip("percent:Q", title="% of rows", format=".1f"),
    ]
    bars = draw(rows).mark_bar(opacity=1)
    offset: dict[str, Any] = {"sort": list(SIDES), "scale": alt.Scale(paddingInner=0)}
    if ordered and len(groups) > 6:
        chart = bars.encode(
            x=alt.X(
                "group:N",
                sort=labels,
                title=None,
                scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1),
                axis=alt.Axis(
                    labelAngle=0,
                    labelOverlap="greedy",
                    labelLimit=70,
                    labelPadding=6,
                    ticks=False,
                    labelFontSize=10,
                ),
            ),
            xOffset=alt.XOffset("side:N", **offset),
            y=alt.Y("percent:Q", title=None, axis=alt.Axis(tickCount=3, labelFontSize=10)),
            color=side_colour(),
            tooltip=tips,
        )
        return _full_width(chart, PANEL)
    chart = bars.encode(
        y=alt.Y(
            "group:N",
            sort=labels,
            title=None,
            scale=alt.Scale(paddingInner=0.3, paddingOuter=0.1),
            axis=alt.Axis(labelLimit=130, ticks=False, domain=False, labelFontSize=10),
        ),
        yOffset=alt.YOffset("side:N", **offset),
        x=alt.X("percent:Q", title=None, axis=alt.Axis(tickCount=3, labelFontSize=10)),
        color=side_colour(),
        tooltip=tips,
    )
    return _full_width(chart, max(40, 2 * BAR * 1.4 * len(groups)))


def scores(rows: Rows) -> dict[str, Any]:
    """Draw S_pMSE of variables as bars, with lines at what is expected and at what is poor."""
    top = max([12.0, *(row["value"] for row in rows)])
    bars = (
        draw(rows)
        .mark_bar(color=COLOURS[0], opacity=1, height=BAR)
        .encode(
            y=alt.Y(
                "name:N",
                sort=[row["name"] for row in rows],
                title=None,
                axis=alt.Axis(labelLimit=150, ticks=False, domain=False),
            ),
            x=alt.X(
                "value:Q",
                title="S_pMSE",
                scale=alt.Scale(domain=[0, top]),
                axis=alt.Axis(tickCount=6),
            ),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("value:Q", title="S_pMSE", format=".2f")],
        )
    )
    lines = (
        draw([{"at": 1.0}, {"at": 10.0}])
        .mark_rule(color=GREY, strokeDash=[3, 3])
        .encode(x=alt.X("at:Q"))
    )
    return _full_width(bars + lines, 2 * BAR * len(rows))


def heat_map(
    names: Sequence[str], pairs: Mapping[tuple[str, str], float], singles: Mapping[str, float]
) -> dict[str, Any]:
    """Draw S_pMSE of all two-way tables below the diagonal, of single variables on it."""
    place = {name: i for i, name in enumerate(names)}
    rows: Rows = [{"a": name, "b": name, "value": value} for name, value in singles.items()]
    for (a, b), value in pairs.items():
        first, second = sorted((a, b), key=place.__getitem__)
        rows.append({"a": first, "b": second, "value": value})
    top = max([POOR, *(row["value"] for row in rows)])
    for row in rows:
        row["shade"] = min(max(row["value"], 1.0), top)
        row["text"] = _short(row["value"])
    plain: dict[str, Any] = {
        "title": None,
        "labelLimit": 120,
        "ticks": False,
        "domain": False,
        "labelFontSize": 10,
    }
    base = draw(rows).encode(
        x=alt.X(
            "a:N",
            sort=list(names),
            axis=alt.Axis(labelAngle=-60, **plain),
            scale=alt.Scale(padding=0),
        ),
        y=alt.Y("b:N", sort=list(names), axis=alt.Axis(**plain), scale=alt.Scale(padding=0)),
    )
    colour = alt.Color(
        "shade:Q",
        scale=alt.Scale(
            type="log", domain=[1, top], range=["#f4f6f8", "#7fb2dd", COLOURS[0], "#082d52"]
        ),
        legend=alt.Legend(title="S_pMSE", orient="right", format="~s", gradientLength=140),
    )
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=colour,
        tooltip=[
            alt.Tooltip("a:N", title="variable"),
            alt.Tooltip("b:N", title="with"),
            alt.Tooltip("value:Q", title="S_pMSE", format=".2f"),
        ],
    )
    numbers = base.mark_text(fontSize=8).encode(
        text="text:N",
        color=alt.condition(f"datum.shade > {top**0.55:.6g}", alt.value("white"), alt.value(INK)),
    )
    size = CELL * len(names)
    return _spec((cells + numbers).properties(width=size, height=size))


def _short(value: float) -> str:
    if value < 9.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.0f}k"


def coefficients(terms: Rows) -> dict[str, Any]:
    """Draw coefficients with their intervals, as differences in the original's standard errors.

    Parameters
    ----------
    terms
        ``term``, ``values`` (both coefficients as text), ``gap`` and, for each side, ``low`` and
        ``high``, all in standard errors.
    """
    n = len(terms)
    rows: Rows = []
    for i, term in enumerate(terms):
        for side, middle, shift in ((SIDES[0], 0.0, 0.0), (SIDES[1], term["gap"], 0.16)):
            rows.append(
                {
                    "place": i + shift,
                    "side": side,
                    "x": middle,
                    "low": term[f"{side}_low"],
                    "high": term[f"{side}_high"],
                    "term": term["term"],
                    "values": term["values"],
                }
            )
    reach = max([3.0, *(abs(row[end]) for row in rows for end in ("low", "high"))]) * 1.05
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    axis, y = _lines("difference from the original's coefficient, in its standard errors", n)
    base = draw(rows).encode(y=y)
    names = draw([{"place": i, **term} for i, term in enumerate(terms)]).encode(y=y)
    tips = [alt.Tooltip("term:N"), alt.Tooltip("side:N", title="table"), alt.Tooltip("values:N")]
    layers = [
        draw([{"x": 0.0}])
        .mark_rule(color=GREY, strokeDash=[3, 3])
        .encode(x=alt.X("x:Q", scale=scale, axis=axis)),
        base.mark_rule(strokeWidth=2.5).encode(
            x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=side_colour()
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("x:Q", scale=scale, axis=axis),
            color=side_colour(),
            shape=alt.Shape(
                "side:N",
                scale=alt.Scale(domain=list(SIDES), range=["circle", "diamond"]),
                legend=None,
            ),
            tooltip=tips,
        ),
        _name_above(names, "term", 130),
        names.mark_text(align="right", baseline="bottom", dy=-12, fontSize=11, color=GREY).encode(
            text="values:N", x=alt.value("width")
        ),
    ]
    return _full_width(alt.layer(*layers), ROW * n)


def risk_utility(
    points: Rows, risk: str, utility: str, limit: float | None, scale: float = 1.0
) -> dict[str, Any]:
    """Draw settings: the dot is the mean over the releases, the tick the worst of them."""
    rows = [
        {
            **point,
            "sort": "this release"
            if point["chosen"]
            else ("not beaten" if point["pareto"] else "beaten"),
            "risk": point["risk_mean"] * scale,
            "worst": point["risk_worst"] * scale,
        }
        for point in points
    ]
    colour = alt.Color(
        "sort:N",
        scale=alt.Scale(
            domain=["this release", "not beaten", "beaten"], range=[COLOURS[1], COLOURS[0], PALE]
        ),
        legend=None,
    )
    x = alt.X("utility_mean:Q", title=utility, scale=alt.Scale(zero=False, nice=True, padding=24))
    y = alt.Y("risk:Q", title=risk, scale=alt.Scale(zero=True))
    base = draw(rows).encode(x=x)
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("sort:N", title="compared"),
        alt.Tooltip("risk:Q", title="risk, mean", format=".3~g"),
        alt.Tooltip("worst:Q", title="risk, worst", format=".3~g"),
        alt.Tooltip("utility_mean:Q", title="utility, mean", format=".3~g"),
    ]
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(y=y, y2="worst:Q", color=colour),
        base.mark_tick(thickness=2, size=12, orient="horizontal").encode(y="worst:Q", color=colour),
        base.mark_circle(size=110, opacity=1).encode(y=y, color=colour, tooltip=tips),
        base.transform_filter("datum.sort != 'beaten'")
        .mark_text(align="left", dx=9, dy=-7, fontSize=11, color=INK, limit=150)
        .encode(y="worst:Q", text="setting:N"),
    ]
    if limit is not None:
        rule = draw([{"limit": limit * scale}]).mark_rule(
            color=COLOURS[1], strokeDash=[5, 4], strokeWidth=2
        )
        layers.insert(0, rule.encode(y="limit:Q"))
    return _full_width(alt.layer(*layers), 320)
