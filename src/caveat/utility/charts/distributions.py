"""The distribution of every variable in both tables, side by side, with the ways to be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from caveat.table import Kind
from caveat.utility.charts.style import SIDES, draw, finish, key, side_colour
from caveat.utility.comparison import Comparison
from caveat.utility.groups import pretty
from caveat.utility.tables import FEW_VALUES, Histogram, histogram

__all__ = ["distributions"]

# Every panel is as wide as the others: labels of categories take the room of a wider plot.
WIDTH, HEIGHT = 285, 150
NUMBERS, LABELS = 34, 143
BAR = 7
MISSING, GAP = 34, 8
# From here on an axis says 20k instead of 20000.
LONG_NUMBER = 20_000
# More categories than this are drawn together, the rarest ones first.
MOST_BARS = 12
# Whole numbers with a range up to this get a bar for each value.
FEW_WHOLE = 25
# If the middle 99.5 % of the rows take less than this share of the range, the ends are cut.
MIDDLE, MIDDLE_SHARE = 0.995, 1 / 3


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
    numbers = [name for name in chosen if _is_spread(comparison, name)]
    grids = [
        [_spread(comparison, name, bins) for name in numbers],
        [_category(histogram(comparison, name)) for name in chosen if name not in numbers],
    ]
    grid = alt.vconcat(
        key(), *(alt.concat(*panels, columns=columns, align="none") for panels in grids if panels)
    )
    return finish(grid, "Distributions", "per cent of rows; missing cells are bars of their own")


def _is_spread(comparison: Comparison, name: str) -> bool:
    """Whether a variable has so many numbers that it is drawn in bins."""
    ours, theirs = comparison.columns(name)
    counts = (ours.counts + theirs.counts)[: len(ours.levels)]
    return ours.kind.is_number and int(np.count_nonzero(counts)) >= FEW_VALUES


def _spread(comparison: Comparison, name: str, bins: int) -> Any:
    """Draw a number in bins that suit it."""
    ours, theirs = comparison.columns(name)
    counts = (ours.counts + theirs.counts)[: len(ours.levels)]
    values, counts = ours.numbers[counts > 0], counts[counts > 0]
    if ours.kind is Kind.INTEGER and values[-1] - values[0] <= FEW_WHOLE:
        limits = np.arange(values[0] - 0.5, values[-1] + 1)
        return _number(histogram(comparison, name, limits=limits), name)
    ends = np.cumsum(counts) / counts.sum()
    low, high = values[np.searchsorted(ends, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])]
    if low < high < low + MIDDLE_SHARE * (values[-1] - values[0]):
        cut = histogram(comparison, name, limits=pretty(low, high, bins))
        return _number(cut, f"{name} (ends hold all beyond)")
    return _number(histogram(comparison, name, bins), name)


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
    labels, ours, theirs = _fewer(bars)
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


def _fewer(bars: Histogram) -> tuple[list[str], Any, Any]:
    """Return at most MOST_BARS categories and all ways to be missing."""
    ours, theirs = bars.percents
    n = len(bars.labels) - bars.n_missing
    order = np.arange(n)
    rest: list[int] = []
    if n > MOST_BARS:
        common = np.argsort(-(ours[:n] + theirs[:n]), kind="stable")
        order, rest = np.sort(common[: MOST_BARS - 1]), list(common[MOST_BARS - 1 :])
    missing = np.arange(n, len(bars.labels))
    labels = [bars.labels[i] for i in order]
    labels += [f"{len(rest)} others"] if rest else []
    labels += [f"missing: {bars.labels[i]}" for i in missing]

    def bars_of(values: Any) -> Any:
        return [*values[order], *([values[rest].sum()] if rest else []), *values[missing]]

    return labels, bars_of(ours), bars_of(theirs)
