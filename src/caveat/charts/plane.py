"""Settings in the plane of risk and utility."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from caveat.charts.style import COLOURS, GREY, INK, PALE, WIDTH, Key, Rows, draw
from caveat.notes import printed

__all__ = ["MAP_KEY", "map_key", "risk_utility"]

MAP_KEY: Key = (
    ("dot", COLOURS[1], "this release"),
    ("dot", COLOURS[0], "not beaten: no other setting is better in both"),
    ("dot", PALE, "beaten"),
)
# Curves of methods: sign, colour and words; other methods are grey and called by their name.
CURVES = {
    "cart": ("dot", COLOURS[0], "plain trees"),
    "guarded": ("filled-diamond", COLOURS[1], "guarded trees"),
}
# How a setting that is beaten is drawn on a curve.
FAINT = 0.4
# What a setting is called besides its dot, in letters.
LABEL = 32
# From this share of the width on a label ends at its dot, or it would leave the picture.
INWARDS = 2 / 3
# So near to each other, in shares of width and height, two labels would lie on one another.
NEAR = (0.2, 0.05)
# Below this share of the height there is no room for a label under a dot.
LOW = 0.08
TICKS = alt.Axis(tickCount=8, labelOverlap="greedy")  # long numbers would lie on one another


def risk_utility(
    points: Sequence[Any],
    risk: str,
    utility: str,
    limit: float | None = None,
    units: tuple[str, str] = ("score", "score"),
    *,
    wide: bool = False,
) -> Any:
    """Draw settings: the dot is the mean over the releases, the tick the worst of them.

    Parameters
    ----------
    points
        ``setting``, ``risk_mean``, ``risk_worst``, ``utility_mean``, whether it is not beaten
        (``pareto``) and whether it is that of the release (``chosen``). A line joins the first.
        With ``method`` and ``line`` every method has its colour instead, and a line joins the
        points of each ``line`` in the order in which they come: that of the dial.
    risk, utility
        What the axes are called.
    limit
        The most risk that is allowed, a dashed line.
    units
        Of risk and utility: shares are drawn in per cent.
    wide
        Whether the axes are drawn together towards their ends: utility as its logarithm, but for
        small values, and risk as its root. Neither may be below 0.
    """
    rows = _rows([_as_printed(point, *units) for point in points], math.asinh if wide else float)
    curves = _curves(points)
    even: dict[str, Any] = {"zero": False, "padding": 24}
    uneven: dict[str, Any] = {"type": "symlog", "constant": 1, "domainMin": 0}
    scale = alt.Scale(nice=True, **(uneven if wide else even))
    base = draw(rows).encode(x=alt.X("utility_mean:Q", title=utility, scale=scale, axis=TICKS))
    root: dict[str, Any] = {"type": "sqrt"} if wide else {}
    y = alt.Y("risk_mean:Q", title=risk, scale=alt.Scale(zero=True, **root))
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("sort:N", title="compared"),
        alt.Tooltip("risk_mean:Q", title="risk, mean", format=".3~g"),
        alt.Tooltip("risk_worst:Q", title="risk, worst", format=".3~g"),
        alt.Tooltip("utility_mean:Q", title="utility, mean", format=".3~g"),
    ]
    layers = _on_curves(base, curves, y, tips) if curves else _in_the_plane(base, y, tips)
    # A layer without rows would have no extent, and the browser would say so.
    if any(row["label"] and not (row["inwards"] or row.get("low")) for row in rows):
        where = "!datum.inwards && !datum.low" if curves else "!datum.inwards"
        outwards = _labels(base, where, align="left", dx=9, dy=-7)
        layers.append(outwards.encode(y="risk_worst:Q"))
    if any(row["label"] and row["inwards"] for row in rows):
        layers.append(_labels(base, "datum.inwards", align="right", dx=6, dy=16).encode(y=y))
    if any(row["label"] and row.get("low") for row in rows):
        above = _labels(base, "datum.low", align="right", dx=6, dy=-14)
        layers.append(above.encode(y="risk_worst:Q"))
    if limit is not None:
        rule = draw([{"limit": printed(limit, units[0])}]).mark_rule(
            color=GREY if curves else COLOURS[1], strokeDash=[5, 4], strokeWidth=2
        )
        layers.insert(0, rule.encode(y="limit:Q"))
    return alt.layer(*layers).properties(width=WIDTH, height=180)


def map_key(points: Sequence[Any]) -> Key:
    """Return what the signs of :func:`risk_utility` mean for these points."""
    curves = _curves(points)
    chosen = any(point["chosen"] for point in points)
    if not curves:
        return MAP_KEY if chosen else MAP_KEY[1:]
    own = (("dot", INK, "black edge: this release"),) if chosen else ()
    faint = ("dot", PALE, "pale: beaten, another setting is better in both")
    return (*curves.values(), faint, *own)


def _curves(points: Sequence[Any]) -> dict[str, tuple[str, str, str]]:
    """Return sign, colour and words of each method; none if nothing is said about methods."""
    methods = dict.fromkeys(point["method"] for point in points if "method" in point)
    return {name: CURVES.get(name, ("dot", GREY, name)) for name in methods}


def _in_the_plane(base: Any, y: Any, tips: list[Any]) -> list[Any]:
    """Return the settings by whether they are beaten, and a line along those that are not."""
    scale = alt.Scale(
        domain=["this release", "not beaten", "beaten"], range=[COLOURS[1], COLOURS[0], PALE]
    )
    dots = base.encode(color=alt.Color("sort:N", scale=scale, legend=None))
    return [
        base.transform_filter("datum.pareto")
        .mark_line(color=COLOURS[0], strokeWidth=1, opacity=0.5)
        .encode(y="risk_worst:Q"),
        *_spread(dots, y),
        dots.mark_circle(size=110, opacity=1).encode(y=y, tooltip=tips),
    ]


def _on_curves(
    base: Any, curves: dict[str, tuple[str, str, str]], y: Any, tips: list[Any]
) -> list[Any]:
    """Return the settings by method, joined in the order of the dial."""
    signs, colours, _ = zip(*curves.values(), strict=True)
    shapes = ["diamond" if sign == "filled-diamond" else "circle" for sign in signs]
    scale = alt.Scale(domain=list(curves), range=list(colours))
    dots = base.encode(color=alt.Color("method:N", scale=scale, legend=None))
    return [
        dots.mark_line(strokeWidth=1.5, opacity=0.6).encode(
            y=y, detail="line:N", order=alt.Order("place:Q")
        ),
        *_spread(dots, y),
        base.mark_point(size=130, opacity=1, strokeWidth=2).encode(
            y=y,
            fill=alt.Fill("method:N", scale=scale, legend=None),
            stroke=alt.condition("datum.chosen", alt.value(INK), alt.value("transparent")),
            shape=alt.Shape(
                "method:N", scale=alt.Scale(domain=list(curves), range=shapes), legend=None
            ),
            fillOpacity=alt.condition("datum.pareto", alt.value(1), alt.value(FAINT)),
            tooltip=tips,
        ),
    ]


def _spread(dots: Any, y: Any) -> list[Any]:
    """Return the lines from the means to the worst releases, with a tick there."""
    return [
        dots.mark_rule(strokeWidth=1.5).encode(y=y, y2="risk_worst:Q"),
        dots.mark_tick(thickness=2, size=12, orient="horizontal").encode(y="risk_worst:Q"),
    ]


def _labels(base: Any, where: str, **place: Any) -> Any:
    return (
        base.transform_filter(f"datum.label && {where}")
        .mark_text(fontSize=11, color=INK, limit=alt.ExprRef("0.45 * width"), **place)
        .encode(text="label:N")
    )


def _as_printed(point: Any, risk: str, utility: str) -> dict[str, Any]:
    at = {field: printed(point[field], risk) for field in ("risk_mean", "risk_worst")}
    return {**point, **at, "utility_mean": printed(point["utility_mean"], utility)}


def _rows(points: Sequence[Any], across: Callable[[float], float]) -> Rows:
    """Return the points with their labels: settings that come out the same share one.

    ``across`` turns utility into the place on its axis.
    """
    points = [{**point, "across": across(point["utility_mean"])} for point in points]
    at = [point["across"] for point in points]
    points = [{**point, "place": place} for place, point in enumerate(points)]
    rows: Rows = [
        {
            **point,
            "sort": "this release"
            if point["chosen"]
            else ("not beaten" if point["pareto"] else "beaten"),
            "label": "",
            "inwards": point["across"] > min(at) + INWARDS * (max(at) - min(at)),
        }
        # The release last, on top of what comes out the same.
        for point in sorted(points, key=lambda point: (point["chosen"], point["pareto"]))
    ]
    alike: dict[tuple[str, str], Rows] = {}
    # Of those that share a label the release is the one that is named.
    for row in sorted(rows, key=lambda row: not row["chosen"]):
        if row["sort"] != "beaten" or "method" in row:
            place = (f"{row['risk_worst']:.2g}", f"{row['utility_mean']:.2g}")
            alike.setdefault(place, []).append(row)
    for first, *others in alike.values():
        # The colour says the method.
        name = first["setting"].removeprefix(f"{first.get('method')}, ")
        short = name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"
        first["label"] = short + (f" and {len(others)} more" if others else "")
    _part(rows)
    return rows


def _part(rows: Rows) -> None:
    """Let labels end at their dots where they would lie on the one to their left."""
    named = [row for row in rows if row["label"]]
    named.sort(key=lambda row: row["across"])
    at = [row["across"] for row in named]
    wide = max(at, default=0.0) - min(at, default=0.0)
    high = max((row["risk_worst"] for row in named), default=0.0)
    for left, right in pairwise(named):
        aside = right["across"] - left["across"] < NEAR[0] * wide
        level = abs(right["risk_worst"] - left["risk_worst"]) < NEAR[1] * high
        right["inwards"] = right["inwards"] or (aside and level and not left["inwards"])
    for row in (row for row in named if "method" in row):
        # Below its dot the name would lie on the axis.
        row["low"] = row["inwards"] and row["risk_mean"] < LOW * high
        row["inwards"] = row["inwards"] and not row["low"]
