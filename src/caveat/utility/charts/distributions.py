"""The distribution of every variable in both tables, side by side, with the ways to be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from caveat.utility.bars import fewer_bars, is_spread, suitable_bins
from caveat.utility.charts.style import SIDES, draw, finish, key, side_colour
from caveat.utility.comparison import Comparison
from caveat.utility.tables import Histogram, histogram

__all__ = ["distributions"]

# Every panel is as wide as the others: labels of categories take the room of a wider plot.
WIDTH, HEIGHT = 285, 150
NUMBERS, LABELS = 34, 143
BAR = 7
MISSING, GAP = 34, 8
# From here on an axis says 20k instead of 20000.
LONG_NUMBER = 20_000


def distributions(
    comparison: Comparison, names: Sequence[str] | None = None, *, columns: int = 4, bins: int = 20
) -> Any:
    """Draw every variable, in per cent of the rows: first the numbers, then the categories.

    Parameters
    ----------
    comparison
        The two tables.
    names
        The variables; all unless given.
    columns
        Charts in a row.
    bins
        About how many bins numbers get.
    """
    chosen = comparison.choose(names)
    numbers = [name for name in chosen if is_spread(comparison, name)]
    grids = [
        [_spread(comparison, name, bins) for name in numbers],
        [_category(histogram(comparison, name)) for name in chosen if name not in numbers],
    ]
    grid = alt.vconcat(
        key(), *(alt.concat(*panels, columns=columns, align="none") for panels in grids if panels)
    )
    return finish(grid, "Distributions", "per cent of rows; missing cells are bars of their own")


def _spread(comparison: Comparison, name: str, bins: int) -> Any:
    bars, is_cut = suitable_bins(comparison, name, bins)
    return _number(bars, f"{name} (ends hold all beyond)" if is_cut else name)


def _rows(labels: Sequence[str], ours: Any, theirs: Any) -> list[dict[str, Any]]:
    return [
        {"bar": label, "side": side, "percent": float(value), "place": i}
        for i, label in enumerate(labels)
        for side, value in zip(SIDES, (ours[i], theirs[i]), strict=True)
    ]


def _bar(side: str, low: float, high: float, percent: float) -> dict[str, Any]:
    return {"side": side, "from": low, "to": high, "percent": float(percent), "zero": 0}


def _number(bars: Histogram, title: str) -> Any:
    """Draw two bars in each bin, and the ways to be missing beside them on the same scale."""
    assert bars.limits is not None
    n = len(bars.limits) - 1
    ours, theirs = bars.percents
    top = float(max(ours.max(), theirs.max())) * 1.05
    y_scale = alt.Scale(domain=[0, top], nice=False)
    rows = []
    for i in range(n):
        low, high = bars.limits[i], bars.limits[i + 1]
        middle, gap = (low + high) / 2, (high - low) * 0.06
        rows += [
            _bar(SIDES[0], low + gap, middle, ours[i]),
            _bar(SIDES[1], middle, high - gap, theirs[i]),
        ]
    beside_it = (MISSING * bars.n_missing + GAP) if bars.n_missing else 0
    width = WIDTH - NUMBERS - beside_it
    ends = [float(bars.limits[0]), float(bars.limits[-1])]
    drawn = (
        draw(rows)
        .mark_bar(opacity=1)
        .encode(
            x=alt.X(
                "from:Q",
                title=None,
                scale=alt.Scale(domain=ends, nice=False),
                axis=alt.Axis(
                    tickCount=5,
                    labelOverlap="greedy",
                    format="~s" if max(map(abs, ends)) >= LONG_NUMBER else ".10~g",
                ),
            ),
            x2="to:Q",
            y=alt.Y(
                "percent:Q",
                title=None,
                scale=y_scale,
                axis=alt.Axis(tickCount=4, minExtent=NUMBERS, maxExtent=NUMBERS),
            ),
            y2="zero:Q",
            color=side_colour(),
            tooltip=["side:N", "from:Q", "to:Q", alt.Tooltip("percent:Q", format=".2f")],
        )
        .properties(width=width, height=HEIGHT, title=title)
    )
    if not bars.n_missing:
        return drawn
    ways = [label.partition(" (")[0] for label in bars.labels[n:]]
    missing = _rows(ways, ours[n:], theirs[n:])
    beside = (
        draw(missing)
        .mark_bar(opacity=1)
        .encode(
            x=alt.X(
                "bar:N",
                title=None,
                sort=ways,
                axis=alt.Axis(labelAngle=0, labelLimit=MISSING, ticks=False),
            ),
            xOffset=alt.XOffset("side:N", sort=list(SIDES)),
            y=alt.Y("percent:Q", title=None, scale=y_scale, axis=None),
            color=side_colour(),
            tooltip=["side:N", "bar:N", alt.Tooltip("percent:Q", format=".2f")],
        )
        .properties(
            width=MISSING * bars.n_missing,
            height=HEIGHT,
            title=alt.TitleParams("missing", fontSize=10, fontWeight="normal", anchor="middle"),
        )
    )
    return alt.hconcat(drawn, beside, spacing=GAP)


def _category(bars: Histogram) -> Any:
    """Draw horizontal pairs of bars; rare categories are put together."""
    labels, ours, theirs = fewer_bars(bars)
    rows = _rows(labels, ours, theirs)
    return (
        draw(rows)
        .mark_bar(opacity=1)
        .encode(
            y=alt.Y(
                "bar:N",
                title=None,
                sort=list(labels),
                axis=alt.Axis(
                    labelLimit=LABELS - 6,
                    minExtent=LABELS,
                    maxExtent=LABELS,
                    ticks=False,
                    domain=False,
                ),
            ),
            yOffset=alt.YOffset("side:N", sort=list(SIDES)),
            x=alt.X("percent:Q", title=None, axis=alt.Axis(tickCount=4)),
            color=side_colour(),
            tooltip=["side:N", "bar:N", alt.Tooltip("percent:Q", format=".2f")],
        )
        .properties(
            width=WIDTH - LABELS,
            height=max(40, min(HEIGHT, 2 * (BAR + 2) * len(labels))),
            title=bars.name,
        )
    )
