"""Marks on lines, one line for each measure or term.

Names stand above the lines they name: nothing is squeezed on a narrow screen.
"""

from __future__ import annotations

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

__all__ = [
    "ATTACKERS_KEY",
    "CERTAINTY_KEY",
    "FOREST_KEY",
    "PROMISED_KEY",
    "attackers",
    "certainty",
    "coefficients",
    "promised",
]

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
