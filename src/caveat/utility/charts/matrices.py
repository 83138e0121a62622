"""Pairs of variables as heat maps: how badly two-way tables fare, and how associations changed."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from caveat.utility.associations import Associations
from caveat.utility.charts.style import draw, finish
from caveat.utility.tables import Tables

__all__ = ["correlation_difference", "two_way"]

CELL = 19
# The scale reaches at least here, so that values of 2 or 3 do not look like a disaster.
POOR = 30.0
# Differences of associations from here on get a sign, so that grey prints tell them apart.
SHOWN = 0.05


def two_way(pairs: Tables, singles: Tables, by: str = "S_pMSE") -> Any:
    """Draw a statistic of all two-way tables, and of the one-way tables on the diagonal.

    Parameters
    ----------
    pairs, singles
        The two-way and the one-way tables.
    by
        The statistic; for those that start with S_, 1 is expected and 10 is the usual limit.
    """
    names = list(pairs.variables)
    values = pairs.columns[by]
    rows: list[dict[str, Any]] = [
        {"a": a, "b": b, "value": float(value)}
        for (a, b), value in zip(pairs.tables, values, strict=True)
        if np.isfinite(value)
    ]
    rows += [
        {"a": name, "b": name, "value": float(value)}
        for (name,), value in zip(singles.tables, singles.columns[by], strict=True)
        if np.isfinite(value)
    ]
    top = max([POOR, *(row["value"] for row in rows)])
    for row in rows:
        row["shade"] = min(max(row["value"], 1.0), top)
        row["text"] = _short(row["value"])
    colour = alt.Color(
        "shade:Q",
        scale=alt.Scale(type="log", domain=[1, top], scheme="viridis", reverse=True),
        legend=alt.Legend(title=by, orient="right", format="~s", gradientLength=180),
    )
    cells = _cells(rows, names).mark_rect().encode(color=colour)
    numbers = _numbers(rows, names, f"datum.shade > {float(np.sqrt(top)):.6g}")
    return finish(
        _sized(cells + numbers, names),
        f"Two-way tables: {by}",
        "1 is expected of a right synthesis, above 10 is poor; on the diagonal single variables",
    )


def _short(value: float) -> str:
    if value < 9.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.0f}k"


def correlation_difference(found: Associations) -> Any:
    """Draw the association in the synthetic table minus that in the original."""
    names = list(found.names)
    gaps = found.difference
    rows: list[dict[str, Any]] = [
        {
            "a": names[j],
            "b": names[i],
            "value": float(gaps[i, j]),
            "original": float(found.original[i, j]),
            "synthetic": float(found.synthetic[i, j]),
            "text": _signed(float(gaps[i, j])),
        }
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(gaps[i, j])
    ]
    top = max([0.1, *(abs(row["value"]) for row in rows)])
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-top, 0, top], range=["#0b5394", "#f7f7f7", "#b35806"]),
        legend=alt.Legend(title="difference", orient="right", gradientLength=180),
    )
    tips = [alt.Tooltip(f"{k}:Q", format=".3f") for k in ("original", "synthetic", "value")]
    cells = _cells(rows, names).mark_rect().encode(color=colour, tooltip=["a:N", "b:N", *tips])
    signs = _numbers(rows, names, f"abs(datum.value) > {0.6 * top:.6g}")
    return finish(
        _sized(cells + signs, names),
        "Associations: synthetic minus original",
        "Pearson's r, correlation ratio or Cramér's V; numbers are hundredths, from "
        f"{round(100 * SHOWN)} on",
    )


def _signed(value: float) -> str:
    return f"{100 * value:+.0f}".replace("-", "−") if abs(value) >= SHOWN else ""


def _numbers(rows: list[dict[str, Any]], names: list[str], dark: str) -> Any:
    """Return the texts of the cells, white where the expression `dark` holds."""
    colour = alt.condition(dark, alt.value("white"), alt.value("black"))
    return _cells(rows, names).mark_text(fontSize=7).encode(text="text:N", color=colour)


def _cells(rows: list[dict[str, Any]], names: list[str]) -> Any:
    return draw(rows).encode(
        x=alt.X(
            "a:N",
            title=None,
            sort=names,
            axis=alt.Axis(labelAngle=-90, labelLimit=120, ticks=False),
        ),
        y=alt.Y("b:N", title=None, sort=names, axis=alt.Axis(labelLimit=120, ticks=False)),
    )


def _sized(chart: Any, names: list[str]) -> Any:
    return chart.properties(width=CELL * len(names), height=CELL * len(names))
