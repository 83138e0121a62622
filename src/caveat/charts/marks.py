"""Bars of scores, marks on lines, and pairs of variables as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from caveat.charts.style import (
    COLOURS,
    GREY,
    INK,
    SIDES,
    WIDTH,
    Key,
    Rows,
    dashed,
    draw,
    side_colour,
)
from caveat.notes import printed

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


# -------------------------------------------------------------------------------------------------
# Marks on lines, one line for each measure or term.
#
# Names stand above the lines they name: nothing is squeezed on a narrow screen.


ROW = 48
ATTACKERS_KEY: Key = (
    ("dot", COLOURS[0], "value, with its 95 % interval"),
    ("tick", GREY, "baseline: without the release"),
    ("diamond", INK, "control: people not in the data"),
    ("bar", COLOURS[1], "your limit"),
)
CERTAINTY_KEY: Key = (
    ("diamond", GREY, "before the release"),
    ("dot", COLOURS[0], "after it"),
    ("bar", COLOURS[1], "limit"),
)
PROMISED_KEY: Key = (("bar", COLOURS[1], "promise"), ("dot", COLOURS[0], "measurement"))
FOREST_KEY: Key = (("dot", COLOURS[0], SIDES[0]), ("filled-diamond", COLOURS[1], SIDES[1]))


def _lines(title: str, n: int) -> tuple[Any, Any]:
    """Return the axis below n lines of marks, and where each line stands."""
    axis = alt.Axis(title=title, tickCount=5, grid=True, gridColor="#eceef0")
    return axis, alt.Y(
        "place:Q", scale=alt.Scale(domain=[-0.62, n - 0.38], reverse=True), axis=None
    )


def _above(lines: Any, name: str, figure: str, room: int, **look: Any) -> list[Any]:
    """Write name and figure above each line; the name is cut where the figure begins."""
    text: dict[str, Any] = {"baseline": "bottom", "dy": -12, "fontSize": 12, "color": INK}
    limit = alt.ExprRef(f"max(width - {room}, 60)")
    return [
        lines.mark_text(align="left", limit=limit, **text).encode(text=f"{name}:N", x=alt.value(0)),
        lines.mark_text(align="right", **text | look).encode(
            text=f"{figure}:N", x=alt.value("width")
        ),
    ]


def attackers(rows: Rows) -> Any:
    """Draw measures in per cent with interval, baseline, control and limit.

    Parameters
    ----------
    rows
        For each line its ``label``, and ``value``, ``low``, ``high``, ``baseline``, ``control``,
        ``limit``, None where there is none; and as texts ``value_text``, ``interval_text``,
        ``baseline_text``, ``control_text``, ``limit_text``.
    """
    axis, y = _lines("per cent of the records, or of certainty", len(rows))
    base = draw([{"place": i, **row} for i, row in enumerate(rows)]).encode(y=y)

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 100]), axis=axis)

    def where(field: str) -> Any:
        return base.transform_filter(f"isValid(datum.{field})")

    compared = ("value", "interval", "baseline", "control", "limit")
    tips = [
        alt.Tooltip("label:N", title="measure"),
        *(alt.Tooltip(f"{field}_text:N", title=field) for field in compared),
    ]
    layers = [
        base.mark_rule(color="#e3e6e9", strokeWidth=1).encode(
            x=alt.value(0), x2=alt.value("width")
        ),
        where("limit")
        .mark_tick(color=COLOURS[1], thickness=4, size=20, orient="vertical")
        .encode(x=at("limit")),
        where("baseline")
        .mark_tick(color=GREY, thickness=2, size=14, orient="vertical")
        .encode(x=at("baseline")),
        where("low")
        .mark_rule(color=COLOURS[0], strokeWidth=3, opacity=0.45)
        .encode(x=at("low"), x2="high:Q"),
        where("control")
        .mark_point(shape="diamond", filled=True, fill="white", stroke=INK, size=70, opacity=1)
        .encode(x=at("control")),
        where("value")
        .mark_circle(color=COLOURS[0], size=85, opacity=1)
        .encode(x=at("value"), tooltip=tips),
        *_above(base, "label", "value_text", 70, fontWeight="bold"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows))


def certainty(rows: Rows) -> Any:
    """Draw how sure an attacker is before and after a release, in per cent.

    Parameters
    ----------
    rows
        For each line its ``label``, ``before`` and ``after``, the ``limit`` or None, and as
        ``text`` what was and what is.
    """
    axis, y = _lines("per cent of those examined, or of certainty", len(rows))
    base = draw([{"place": i, **row} for i, row in enumerate(rows)]).encode(y=y)
    tips = [alt.Tooltip("label:N", title="what"), alt.Tooltip("text:N", title="before → after")]

    def at(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, 100]), axis=axis)

    layers = [
        base.mark_rule(color="#e3e6e9", strokeWidth=1).encode(
            x=alt.value(0), x2=alt.value("width")
        ),
        base.transform_filter("isValid(datum.limit)")
        .mark_tick(color=COLOURS[1], thickness=4, size=20, orient="vertical")
        .encode(x=at("limit")),
        base.mark_rule(color=COLOURS[0], strokeWidth=4, opacity=0.35).encode(
            x=at("before"), x2="after:Q"
        ),
        base.mark_point(
            shape="diamond", filled=True, fill="white", stroke=GREY, size=70, opacity=1
        ).encode(x=at("before"), tooltip=tips),
        base.mark_circle(color=COLOURS[0], size=85, opacity=1).encode(x=at("after"), tooltip=tips),
        *_above(base, "label", "text", 120, fontWeight="bold"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows))


def promised(rows: Rows) -> Any:
    """Draw what is promised and what was measured on one axis; the promise as a line through all.

    Parameters
    ----------
    rows
        ``label``, ``kind`` ("promise" or "measurement"), ``value`` and its ``text``.
    """
    axis, y = _lines("log ratio", len(rows))
    reach = 1.15 * max(row["value"] for row in rows)
    base = draw([{"place": i, **row} for i, row in enumerate(rows)]).encode(y=y)
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, reach], nice=False), axis=axis)
    tips = [alt.Tooltip("label:N", title="number"), "kind:N", alt.Tooltip("text:N", title="value")]
    is_promise = "datum.kind == 'promise'"
    layers = [
        base.mark_rule(color="#e3e6e9", strokeWidth=1).encode(
            x=alt.value(0), x2=alt.value("width")
        ),
        dashed(*(row["value"] for row in rows if row["kind"] == "promise")),
        base.transform_filter(is_promise)
        .mark_tick(color=COLOURS[1], thickness=5, size=22, orient="vertical")
        .encode(x=x, tooltip=tips),
        base.transform_filter(f"!({is_promise})")
        .mark_circle(color=COLOURS[0], size=85, opacity=1)
        .encode(x=x, tooltip=tips),
        *_above(base, "label", "text", 70, fontWeight="bold"),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(rows))


def coefficients(terms: Rows) -> Any:
    """Draw coefficients with their intervals, as differences in the original's standard errors.

    Parameters
    ----------
    terms
        ``term``, ``values`` (both coefficients as text), ``gap`` and, for each side, ``low`` and
        ``high``, all in standard errors.
    """
    rows: Rows = [
        {
            "place": i + shift,
            "side": side,
            "x": middle,
            "low": term[f"{side}_low"],
            "high": term[f"{side}_high"],
            "term": term["term"],
            "values": term["values"],
        }
        for i, term in enumerate(terms)
        for side, middle, shift in ((SIDES[0], 0.0, 0.0), (SIDES[1], term["gap"], 0.16))
    ]
    reach = max([3.0, *(abs(row[end]) for row in rows for end in ("low", "high"))]) * 1.05
    axis, y = _lines(
        "difference from the original's coefficient, in its standard errors", len(terms)
    )
    scale = {"scale": alt.Scale(domain=[-reach, reach], nice=False), "axis": axis}
    base = draw(rows).encode(y=y, color=side_colour())
    names = draw([{"place": i, **term} for i, term in enumerate(terms)]).encode(y=y)
    shapes = alt.Scale(domain=list(SIDES), range=["circle", "diamond"])
    layers = [
        dashed(0.0),
        base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", **scale), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("x:Q", **scale),
            shape=alt.Shape("side:N", scale=shapes, legend=None),
            tooltip=["term:N", alt.Tooltip("side:N", title="table"), "values:N"],
        ),
        *_above(names, "term", "values", 130, fontSize=11, color=GREY),
    ]
    return alt.layer(*layers).properties(width=WIDTH, height=ROW * len(terms))


# -------------------------------------------------------------------------------------------------
# Pairs of variables as heat maps: how badly two-way tables fare, and how associations changed.


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
