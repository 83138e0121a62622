"""Pairs of variables as heat maps: how badly two-way tables fare, and how associations changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from caveat.charts.style import COLOURS, INK, Rows, draw

__all__ = ["SHOWN", "associations", "two_way"]

CELL = 19
# The scale reaches at least here, so that values of 2 or 3 do not look like a disaster.
POOR = 30.0
# Differences of associations from here on get a sign, so that grey prints tell them apart.
SHOWN = 0.05


def two_way(
    names: Sequence[str],
    pairs: Mapping[tuple[str, str], float],
    singles: Mapping[str, float],
    by: str = "S_pMSE",
) -> Any:
    """Draw a statistic of all two-way tables below the diagonal, of single variables on it.

    Parameters
    ----------
    names
        The variables in their order.
    pairs, singles
        The statistic of pairs and of single variables, as far as it is known.
    by
        Its name; for those that start with S_, 1 is expected and 10 is the usual limit.
    """
    place = {name: i for i, name in enumerate(names)}
    rows: Rows = [{"a": name, "b": name, "value": value} for name, value in singles.items()]
    for pair, value in pairs.items():
        first, second = sorted(pair, key=place.__getitem__)
        rows.append({"a": first, "b": second, "value": value})
    top = max([POOR, *(row["value"] for row in rows)])
    for row in rows:
        row["shade"] = min(max(row["value"], 1.0), top)
        row["text"] = _short(row["value"])
    shades = ["#f4f6f8", "#7fb2dd", COLOURS[0], "#082d52"]
    colour = alt.Color(
        "shade:Q",
        scale=alt.Scale(type="log", domain=[1, top], range=shades),
        legend=alt.Legend(title=by, orient="right", format="~s", gradientLength=140),
    )
    tips = [alt.Tooltip("value:Q", title=by, format=".2f")]
    return _cells(rows, names, colour, f"datum.shade > {top**0.55:.6g}", tips)


def associations(names: Sequence[str], rows: Rows) -> Any:
    """Draw the association in the synthetic table minus that in the original.

    Parameters
    ----------
    names
        The variables in their order.
    rows
        ``a``, ``b`` and the association of the two in the ``original`` and in the ``synthetic``.
    """
    rows = [{**row, "value": row["synthetic"] - row["original"]} for row in rows]
    for row in rows:
        row["text"] = _signed(row["value"])
    top = max([0.1, *(abs(row["value"]) for row in rows)])
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-top, 0, top], range=[COLOURS[0], "#f7f7f7", "#b35806"]),
        legend=alt.Legend(title="difference", orient="right", gradientLength=140),
    )
    tips = [
        alt.Tooltip("original:Q", format=".3f"),
        alt.Tooltip("synthetic:Q", format=".3f"),
        alt.Tooltip("value:Q", title="difference", format="+.3f"),
    ]
    return _cells(rows, names, colour, f"abs(datum.value) > {0.6 * top:.6g}", tips)


def _short(value: float) -> str:
    if value < 9.95:
        return f"{value:.1f}"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.0f}k"


def _signed(value: float) -> str:
    return f"{100 * value:+.0f}".replace("-", "−") if abs(value) >= SHOWN else ""


def _cells(rows: Rows, names: Sequence[str], colour: Any, dark: str, tips: list[Any]) -> Any:
    """Draw cells with their texts, white where the expression `dark` holds."""
    axis: dict[str, Any] = {"labelLimit": 120, "labelFontSize": 10, "ticks": False, "domain": False}

    def along(field: str, **more: Any) -> dict[str, Any]:
        order = {"sort": list(names), "title": None, "scale": alt.Scale(padding=0)}
        return {"shorthand": f"{field}:N", "axis": alt.Axis(**axis, **more), **order}

    base = draw(rows).encode(x=alt.X(**along("a", labelAngle=-60)), y=alt.Y(**along("b")))
    pair = [alt.Tooltip("a:N", title="variable"), alt.Tooltip("b:N", title="with")]
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(
        color=colour, tooltip=[*pair, *tips]
    )
    texts = base.mark_text(fontSize=8).encode(
        text="text:N", color=alt.condition(dark, alt.value("white"), alt.value(INK))
    )
    return (cells + texts).properties(width=alt.Step(CELL), height=alt.Step(CELL))
