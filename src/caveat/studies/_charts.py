"""The pictures of the Buyer Beware study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["frequencies", "remedies", "style", "sweeps", "worlds"]

CELLS = ["".join(map(str, cell)) for cell in product((0, 1), repeat=4)]
GREY, RED, BLUE = "#b8b8b8", "#c1272d", "#2b6ca3"
UNIQUE = "1111"

Counts = NDArray[np.int64]


def style() -> None:
    """Let large tables through and keep the look of all pictures the same."""
    alt.data_transformers.disable_max_rows()


def _long(copies: Sequence[Counts], **more: Any) -> pd.DataFrame:
    """Return counts as one row per copy and cell."""
    frames = [
        pd.DataFrame({"cell": CELLS, "count": counts, "copy": number, **more})
        for number, counts in enumerate(copies, 1)
    ]
    return pd.concat(frames, ignore_index=True)


def _colour() -> Any:
    return alt.condition(alt.datum.cell == UNIQUE, alt.value(RED), alt.value(GREY))


def _bars_and_points(frame: pd.DataFrame, labels: bool = True) -> Any:
    """Return bars of the mean over the copies and one point per copy; 1111 in red."""
    x = alt.X("cell:N", title=None, axis=alt.Axis(labels=labels, ticks=labels, labelAngle=-90))
    top = alt.Scale(domain=[0, 125])
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(x=x, y=alt.Y("mean(count):Q", title="records", scale=top), color=_colour())
    )
    points = (
        alt.Chart(frame)
        .mark_circle(size=7, opacity=0.5)
        .encode(
            x=x,
            y=alt.Y("count:Q", scale=top),
            color=alt.condition(alt.datum.cell == UNIQUE, alt.value(RED), alt.value("#4d4d4d")),
        )
    )
    return bars + points


def frequencies(original: Counts, copies: Sequence[Counts]) -> Any:
    """Draw the original and ten releases side by side (Figures 1b and 2)."""
    left = _bars_and_points(_long([original])).properties(width=300, height=200, title="Original")
    right = _bars_and_points(_long(copies)).properties(
        width=300, height=200, title=f"{len(copies)} releases: mean, and each one"
    )
    return (left | right).properties(
        title="Records by combination of var1 to var4: the unique record 1111 comes back"
    )


def worlds(counts: Counts, released: Sequence[Counts]) -> Any:
    """Draw ten releases from each of the 16 worlds as small multiples (Figure 3)."""
    panels = []
    for world, cell in enumerate(CELLS):
        frame = _long(list(counts[world]))
        seen = int((counts[world][:, 15] > 0).sum())
        title = alt.TitleParams(
            f"last record {cell}",
            subtitle=f"1111 in {seen} of {len(counts[world])} releases",
            fontSize=11,
            subtitleFontSize=9,
            subtitleColor=RED if seen else "#777777",
        )
        panels.append(
            _bars_and_points(frame, labels=world >= 12).properties(
                width=165, height=95, title=title
            )
        )
    grid = alt.concat(*panels, columns=4, spacing=12)
    shown = sum(int(one[15] > 0) for one in released)
    return grid.properties(
        title=alt.TitleParams(
            "The attack: ten releases from each of the 16 worlds the last record may make",
            subtitle=f"1111 is in {shown} of the {len(released)} published releases: only one "
            "world can have made those. Bars: mean; points: single releases",
            anchor="middle",
        )
    )


def remedies(original: Counts, releases: Mapping[str, Sequence[Counts]]) -> Any:
    """Draw the releases of the two remedies beside the original (Figure 4)."""
    panels = [_bars_and_points(_long([original])).properties(width=230, height=180,
                                                             title="Original")]  # fmt: skip
    for name, copies in releases.items():
        panels.append(_bars_and_points(_long(copies)).properties(width=230, height=180, title=name))
    return alt.hconcat(*panels).properties(
        title="Remedies: larger leaves or stronger pruning hide the unique record among others"
    )


def sweeps(rows: Sequence[tuple[str, float, float, float, float]]) -> Any:
    """Draw the posterior of 1111 over minbucket and over cp (Figure A.1)."""
    frame = pd.DataFrame(rows, columns=["setting", "value", "often", "mean", "largest"])
    frame["value"] = frame["value"].map("{:g}".format)
    charts = []
    for name in ("minbucket", "cp"):
        part = frame[frame["setting"] == name]
        order = part["value"].tolist()
        x = alt.X("value:N", sort=order, title=name, axis=alt.Axis(labelAngle=0))
        y = alt.Y("mean:Q", title="posterior of 1111", scale=alt.Scale(domain=[0, 1]))
        ranges = alt.Chart(part).mark_rule(color=GREY).encode(x=x, y=y, y2=alt.Y2("largest:Q"))
        points = alt.Chart(part).mark_point(filled=True, size=60, color=BLUE).encode(x=x, y=y)
        prior = (
            alt.Chart(pd.DataFrame({"prior": [1 / 16]}))
            .mark_rule(strokeDash=[4, 3], color=RED)
            .encode(y="prior:Q")
        )
        charts.append((ranges + points + prior).properties(width=280, height=200))
    return alt.hconcat(*charts).properties(
        title=alt.TitleParams(
            "The strong attacker on ten fresh releases",
            subtitle="points: mean; lines up to the largest; dashed: the prior 1/16",
        )
    )
