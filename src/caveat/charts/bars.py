"""Paired bars of the two tables, and bars of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from caveat.charts.style import COLOURS, SIDES, WIDTH, Rows, dashed, draw, side_colour
from caveat.units import printed

__all__ = [
    "distribution",
    "distributions",
    "histogram",
    "missing_cells",
    "propensity_scores",
    "scores",
]

Group = Mapping[str, Any]
# All panels of a grid are about as wide: labels of categories take the room of a wider plot.
PANEL, HEIGHT = 285, 132
NUMBERS, LABELS = 34, 130
BAR = 9
MISSING, GAP = 34, 8
# From here on an axis says 20k instead of 20000.
LONG_NUMBER = 20_000
# Ordered groups, from so many on, are drawn from left to right as numbers are.
MANY = 7


def distribution(groups: Sequence[Group], ordered: bool) -> Any:
    """Draw the shares of the groups of one variable in both tables.

    Parameters
    ----------
    groups
        ``label`` and share of the rows of the ``original`` and the ``synthetic`` table.
    ordered
        Whether the order of the groups has a meaning.
    """
    percent = {"title": None, "axis": alt.Axis(tickCount=3, labelFontSize=10)}
    if ordered and len(groups) >= MANY:
        return _upright(groups, 70, percent).properties(width=PANEL - NUMBERS, height=HEIGHT)
    axis = alt.Axis(labelLimit=LABELS, ticks=False, domain=False, labelFontSize=10)
    height = max(40, 2 * BAR * 1.4 * len(groups))
    return _pairs(groups, "y", axis, 0.3, percent).properties(width=PANEL - LABELS, height=height)


def _upright(groups: Sequence[Group], limit: int, percent: dict[str, Any]) -> Any:
    axis = alt.Axis(
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=6,
        labelLimit=limit,
        labelPadding=6,
        ticks=False,
        labelFontSize=10,
    )
    return _pairs(groups, "x", axis, 0.2, percent)


def _pairs(
    groups: Sequence[Group], along: str, axis: Any, gap: float, percent: dict[str, Any]
) -> Any:
    """Draw two bars for each group, with the groups along the axis x or y."""
    rows = [
        {"group": group["label"], "side": side, "percent": printed(group[side], "share")}
        for group in groups
        for side in SIDES
    ]
    order = {"sort": [group["label"] for group in groups], "title": None, "axis": axis}
    scale = {"paddingInner": gap, "paddingOuter": 0.1}
    side = {"field": "side", "type": "nominal", "sort": SIDES, "scale": {"paddingInner": 0}}
    places = {
        along: {"field": "group", "type": "nominal", "scale": scale, **order},
        f"{along}Offset": side,
        "y" if along == "x" else "x": {"field": "percent", "type": "quantitative", **percent},
    }
    return (
        draw(rows)
        .mark_bar(opacity=1)
        .encode(**places, color=side_colour(), tooltip=["group:N", *_tips()])
    )


def _tips() -> list[Any]:
    return [
        alt.Tooltip("side:N", title="table"),
        alt.Tooltip("percent:Q", title="% of rows", format=".1f"),
    ]


def histogram(name: str, bins: Sequence[Group], missing: Sequence[Group] = ()) -> Any:
    """Draw one number in both tables, and the ways to be missing beside it on the same scale.

    Parameters
    ----------
    name
        The variable.
    bins
        ``low``, ``high`` and the shares, as in :func:`distribution`.
    missing
        The ways to be missing, as in :func:`distribution`.
    """
    y = {"scale": _scale([*bins, *missing]), "title": None}
    beside = MISSING * len(missing) + GAP if missing else 0
    numbers = _binned(bins, **y).properties(
        width=PANEL - NUMBERS - beside, height=HEIGHT, title=_title(name)
    )
    if not missing:
        return numbers
    title = alt.TitleParams("missing", fontSize=10, fontWeight="normal", anchor="middle")
    ways = _upright(missing, MISSING, {"axis": None, **y}).properties(
        width=MISSING * len(missing), height=HEIGHT, title=title
    )
    return alt.hconcat(numbers, ways, spacing=GAP)


def _title(name: str) -> Any:
    return alt.TitleParams(name, frame="group", limit=PANEL - NUMBERS)


def _scale(groups: Sequence[Group]) -> Any:
    top = printed(max(group[side] for group in groups for side in SIDES), "share")
    return alt.Scale(domain=[0, 1.05 * top], nice=False)


def _binned(bins: Sequence[Group], scale: Any, title: str | None, below: str | None = None) -> Any:
    """Draw two bars in each bin of an axis of numbers."""
    rows: Rows = []
    for one in bins:
        middle, gap = (one["low"] + one["high"]) / 2, 0.06 * (one["high"] - one["low"])
        halves = ((one["low"] + gap, middle), (middle, one["high"] - gap))
        for side, (start, stop) in zip(SIDES, halves, strict=True):
            bar = {"from": start, "to": stop, "percent": printed(one[side], "share"), "zero": 0}
            rows.append({"side": side, "low": one["low"], "high": one["high"], **bar})
    ends = [bins[0]["low"], bins[-1]["high"]]
    form = "~s" if max(map(abs, ends)) >= LONG_NUMBER else ".10~g"
    numbers = alt.Axis(tickCount=5, labelOverlap="greedy", labelFontSize=10, format=form)
    shares = alt.Axis(tickCount=4, labelFontSize=10, minExtent=NUMBERS, maxExtent=NUMBERS)
    bars = draw(rows).mark_bar(opacity=1)
    return bars.encode(
        x=alt.X("from:Q", title=below, scale=alt.Scale(domain=ends, nice=False), axis=numbers),
        x2="to:Q",
        y=alt.Y("percent:Q", title=title, scale=scale, axis=shares),
        y2="zero:Q",
        color=side_colour(),
        tooltip=["low:Q", "high:Q", *_tips()],
    )


def distributions(
    numbers: Sequence[Any], categories: Mapping[str, Any], *, columns: int = 4
) -> Any:
    """Put charts of single variables into a grid: first the numbers, then the categories.

    Parameters
    ----------
    numbers
        What :func:`histogram` returns.
    categories
        What :func:`distribution` returns, by the names of the variables.
    columns
        Charts in a row.
    """
    named = [chart.properties(title=_title(name)) for name, chart in categories.items()]
    grids = [
        alt.concat(*panels, columns=columns, align=align)
        for panels, align in ((numbers, "none"), (named, "each"))
        if panels
    ]
    return alt.concat(*grids, columns=1, align="none")


def propensity_scores(bins: Sequence[Group], share: float) -> Any:
    """Draw propensity scores: equal bars around the dashed line mean that nothing shows.

    Parameters
    ----------
    bins
        As for :func:`histogram`.
    share
        The share of synthetic rows.
    """
    bars = _binned(bins, _scale(bins), "per cent of rows", "probability to be synthetic")
    return (bars + dashed(share)).properties(width=WIDTH, height=240)


def scores(rows: Rows) -> Any:
    """Draw S_pMSE of variables as bars, with lines at what is expected and at what is poor.

    Parameters
    ----------
    rows
        ``name`` and ``value`` of each variable.
    """
    top = max([12.0, *(row["value"] for row in rows)])
    names = alt.Axis(labelLimit=150, ticks=False, domain=False)
    ticks = alt.Axis(tickCount=6)
    bars = draw(rows).mark_bar(color=COLOURS[0], opacity=1, height=BAR)
    bars = bars.encode(
        y=alt.Y("name:N", sort=[row["name"] for row in rows], title=None, axis=names),
        x=alt.X("value:Q", title="S_pMSE", scale=alt.Scale(domain=[0, top]), axis=ticks),
        tooltip=["name:N", alt.Tooltip("value:Q", title="S_pMSE", format=".2f")],
    )
    return (bars + dashed(1.0, 10.0)).properties(width=WIDTH, height=2 * BAR * len(rows))


def missing_cells(ways: Rows, names: Sequence[str]) -> Any:
    """Draw which part of each column is missing, in what way.

    Parameters
    ----------
    ways
        ``column``, ``way`` and ``share`` of the rows.
    names
        All columns, in their order.
    """
    rows = [{**way, "percent": printed(way["share"], "share")} for way in ways]
    axis = alt.Axis(labelLimit=LABELS, ticks=False, domain=False)
    return (
        draw(rows)
        .mark_bar(color=COLOURS[0], stroke="white")
        .encode(
            x=alt.X("percent:Q", title="% of the rows", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y(
                "column:N",
                title=None,
                sort=list(names),
                axis=axis,
                scale=alt.Scale(domain=list(names)),
            ),
            tooltip=["column:N", "way:N", alt.Tooltip("percent:Q", format=".1f")],
        )
        .properties(width=WIDTH, height=18 * len(names))
    )
