"""Settings in the plane of risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from caveat.charts.style import COLOURS, INK, PALE, WIDTH, Key, Rows, draw
from caveat.units import printed

__all__ = ["MAP_KEY", "risk_utility"]

MAP_KEY: Key = (
    ("dot", COLOURS[1], "this release"),
    ("dot", COLOURS[0], "not beaten: no other setting is better in both"),
    ("dot", PALE, "beaten"),
)
# What a setting is called besides its dot, in letters.
LABEL = 32
# From this share of the width on a label ends at its dot, or it would leave the picture.
INWARDS = 2 / 3


def risk_utility(
    points: Sequence[Any],
    risk: str,
    utility: str,
    limit: float | None = None,
    units: tuple[str, str] = ("score", "score"),
) -> Any:
    """Draw settings: the dot is the mean over the releases, the tick the worst of them.

    Parameters
    ----------
    points
        ``setting``, ``risk_mean``, ``risk_worst``, ``utility_mean``, whether it is not beaten
        (``pareto``) and whether it is that of the release (``chosen``). A line joins the first.
    risk, utility
        What the axes are called.
    limit
        The most risk that is allowed, a dashed line.
    units
        Of risk and utility: shares are drawn in per cent.
    """
    rows = _rows([_as_printed(point, *units) for point in points])
    scale = alt.Scale(
        domain=["this release", "not beaten", "beaten"], range=[COLOURS[1], COLOURS[0], PALE]
    )
    base = draw(rows).encode(
        x=alt.X("utility_mean:Q", title=utility, scale=alt.Scale(zero=False, nice=True, padding=24))
    )
    dots = base.encode(color=alt.Color("sort:N", scale=scale, legend=None))
    y = alt.Y("risk_mean:Q", title=risk, scale=alt.Scale(zero=True))
    tips = [
        alt.Tooltip("setting:N"),
        alt.Tooltip("sort:N", title="compared"),
        alt.Tooltip("risk_mean:Q", title="risk, mean", format=".3~g"),
        alt.Tooltip("risk_worst:Q", title="risk, worst", format=".3~g"),
        alt.Tooltip("utility_mean:Q", title="utility, mean", format=".3~g"),
    ]
    layers = [
        base.transform_filter("datum.pareto")
        .mark_line(color=COLOURS[0], strokeWidth=1, opacity=0.5)
        .encode(y="risk_worst:Q"),
        dots.mark_rule(strokeWidth=1.5).encode(y=y, y2="risk_worst:Q"),
        dots.mark_tick(thickness=2, size=12, orient="horizontal").encode(y="risk_worst:Q"),
        dots.mark_circle(size=110, opacity=1).encode(y=y, tooltip=tips),
    ]
    # A layer without rows would have no extent, and the browser would say so.
    if any(row["label"] and not row["inwards"] for row in rows):
        outwards = _labels(base, "!datum.inwards", align="left", dx=9, dy=-7)
        layers.append(outwards.encode(y="risk_worst:Q"))
    if any(row["label"] and row["inwards"] for row in rows):
        layers.append(_labels(base, "datum.inwards", align="right", dx=6, dy=16).encode(y=y))
    if limit is not None:
        rule = draw([{"limit": printed(limit, units[0])}]).mark_rule(
            color=COLOURS[1], strokeDash=[5, 4], strokeWidth=2
        )
        layers.insert(0, rule.encode(y="limit:Q"))
    return alt.layer(*layers).properties(width=WIDTH, height=320)


def _labels(base: Any, where: str, **place: Any) -> Any:
    return (
        base.transform_filter(f"datum.label && {where}")
        .mark_text(fontSize=11, color=INK, limit=alt.ExprRef("0.45 * width"), **place)
        .encode(text="label:N")
    )


def _as_printed(point: Any, risk: str, utility: str) -> dict[str, Any]:
    at = {field: printed(point[field], risk) for field in ("risk_mean", "risk_worst")}
    return {**point, **at, "utility_mean": printed(point["utility_mean"], utility)}


def _rows(points: Sequence[Any]) -> Rows:
    """Return the points with their labels: settings that come out the same share one."""
    at = [point["utility_mean"] for point in points]
    rows: Rows = [
        {
            **point,
            "sort": "this release"
            if point["chosen"]
            else ("not beaten" if point["pareto"] else "beaten"),
            "label": "",
            "inwards": point["utility_mean"] > min(at) + INWARDS * (max(at) - min(at)),
        }
        # The release last, on top of what comes out the same.
        for point in sorted(points, key=lambda point: (point["chosen"], point["pareto"]))
    ]
    alike: dict[tuple[str, str], Rows] = {}
    # Of those that share a label the release is the one that is named.
    for row in sorted(rows, key=lambda row: not row["chosen"]):
        if row["sort"] != "beaten":
            place = (f"{row['risk_worst']:.2g}", f"{row['utility_mean']:.2g}")
            alike.setdefault(place, []).append(row)
    for first, *others in alike.values():
        name = first["setting"]
        short = name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"
        first["label"] = short + (f" and {len(others)} more" if others else "")
    return rows
