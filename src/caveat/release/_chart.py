"""The picture of a risk-utility map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from caveat.release.limits import ATTACKS
from caveat.risk import MEASURES as RISKS
from caveat.utility import MEASURES as UTILITIES
from caveat.utility.charts.style import COLOURS, GREY, draw, finish

if TYPE_CHECKING:
    from caveat.release.map import RiskUtilityMap

__all__ = ["map_chart"]


def map_chart(found: RiskUtilityMap, risk: str, utility: str, limit: float | None = None) -> Any:
    """Draw every setting that has both numbers: the dot is the mean, the tick the worst seed."""
    rows: list[dict[str, Any]] = []
    labelled: dict[tuple[str, str], dict[str, Any]] = {}
    for point, best in zip(found.points, found.pareto(risk, utility), strict=True):
        mean, worst, at = point.mean(risk), point.worst(risk), point.mean(utility)
        if mean is None or worst is None or at is None:
            continue
        row: dict[str, Any] = {
            "risk": mean,
            "worst": worst,
            "utility": at,
            "setting": str(point.setting),
        }
        row |= {"sort": "not beaten" if best else "beaten", "label": "", "more": 0}
        rows.append(row)
        if best:
            # Settings that come out the same share one label: others would be printed over it.
            first = labelled.setdefault((f"{worst:.2g}", f"{at:.2g}"), row)
            first["more"] += 1
    for row in labelled.values():
        others = row["more"] - 1
        short = row["setting"] if len(row["setting"]) <= 32 else f"{row['setting'][:31]}…"
        row["label"] = short + (f" and {others} more" if others else "")
    x = alt.X("utility:Q", title=f"{utility}: {_says(utility)}", scale=alt.Scale(zero=False))
    tooltip = [alt.Tooltip(f"{name}:N") for name in ("setting", "sort")] + [
        alt.Tooltip("risk:Q", title=f"{risk}, mean", format=".4g"),
        alt.Tooltip("worst:Q", title=f"{risk}, worst seed", format=".4g"),
        alt.Tooltip("utility:Q", title=f"{utility}, mean", format=".4g"),
    ]
    colour = alt.Color(
        "sort:N",
        scale=alt.Scale(domain=["not beaten", "beaten"], range=[COLOURS[0], "#b7bcc2"]),
        legend=alt.Legend(title=None, orient="top"),
    )
    base = draw(rows).encode(x=x)
    y = alt.Y("risk:Q", title=[risk, _says(risk)])
    layers = [
        base.mark_rule(strokeWidth=1).encode(y=y, y2="worst:Q", color=colour),
        base.mark_tick(thickness=2, width=10).encode(y="worst:Q", color=colour),
        base.mark_line(color=COLOURS[0], strokeWidth=1, opacity=0.5)
        .encode(y="worst:Q")
        .transform_filter("datum.sort == 'not beaten'"),
        base.mark_circle(size=80, opacity=1).encode(y=y, color=colour, tooltip=tooltip),
        base.mark_text(align="left", dx=8, dy=-8, fontSize=10, color=GREY).encode(
            y="worst:Q", text="label:N"
        ),
    ]
    if limit is not None:
        rule = draw([{"limit": limit}]).mark_rule(color=COLOURS[1], strokeDash=[5, 4], size=2)
        layers.insert(0, rule.encode(y="limit:Q"))
    line = "; dashed: the limit" if limit is not None else ""
    return finish(
        alt.layer(*layers).properties(width=560, height=340),
        "Risk and utility",
        f"dots: mean over the releases of a setting; ticks: the worst of them{line}",
    )


def _says(name: str) -> str:
    if name in ATTACKS:
        return ATTACKS[name]
    return (UTILITIES if name in UTILITIES else RISKS)[name].says
