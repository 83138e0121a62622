"""The coefficients of a model from both sides, as a forest plot."""

from __future__ import annotations

from typing import Any

import altair as alt

from caveat.utility.analyses import Z95, ModelComparison
from caveat.utility.charts.style import COLOURS, SIDES, draw, finish, side_colour

__all__ = ["coefficient_forest"]

ROW = 30


def coefficient_forest(found: ModelComparison) -> Any:
    """Draw each coefficient with its 95 % interval, in standard errors around the original's."""
    terms = found.coefficients
    rows: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    widths = terms.synthetic_se / terms.original_se
    for i, term in enumerate(terms.terms):
        gap = float(terms.standardised[i])
        for side, middle, half in (
            (SIDES[0], 0.0, Z95),
            (SIDES[1], gap, Z95 * float(widths[i])),
        ):
            rows.append(
                {
                    "term": term,
                    "side": side,
                    "x": middle,
                    "low": middle - half,
                    "high": middle + half,
                }
            )
        values = f"{terms.original[i]:.4g} → {terms.synthetic[i]:.4g}"
        labels.append({"term": term, "values": values})
    reach = max(abs(row[end]) for row in rows for end in ("low", "high")) * 1.05
    y = alt.Y(
        "term:N",
        title=None,
        sort=list(terms.terms),
        axis=alt.Axis(labelLimit=240, ticks=False, domain=False),
    )
    base = draw(rows).encode(
        y=y, yOffset=alt.YOffset("side:N", sort=list(SIDES), scale=alt.Scale(paddingOuter=0.6))
    )
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    title = "difference from the original in its standard errors"
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=title, scale=scale), x2="high:Q", color=side_colour(legend=True)
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("x:Q", scale=scale, title=title),
        color=side_colour(legend=True),
        shape=alt.Shape(
            "side:N",
            scale=alt.Scale(domain=list(SIDES), range=["circle", "diamond"]),
            legend=alt.Legend(title=None, orient="top"),
        ),
    )
    zero = (
        draw([{"x": 0.0}])
        .mark_rule(color=COLOURS[0], strokeDash=[3, 3], opacity=0.6)
        .encode(x="x:Q")
    )
    height = ROW * len(terms.terms)
    plot = (zero + intervals + points).properties(width=420, height=height)
    numbers = (
        draw(labels)
        .mark_text(align="left", fontSize=10)
        .encode(
            y=alt.Y(
                "term:N",
                sort=list(terms.terms),
                axis=None,
                scale=alt.Scale(type="band", paddingInner=0.2, paddingOuter=0.2),
            ),
            text="values:N",
            x=alt.value(0),
        )
        .properties(
            width=120,
            height=height,
            title=alt.TitleParams("original → synthetic", fontSize=10, fontWeight="normal"),
        )
    )
    return finish(
        alt.hconcat(plot, numbers, spacing=10),
        found.formula,
        f"{found.family} model; mean overlap of the 95 % intervals {found.mean_overlap:.2f}",
    )
