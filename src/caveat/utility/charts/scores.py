"""The propensity scores of both tables."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from caveat.utility.charts.style import SIDES, draw, finish, side_colour
from caveat.utility.propensity import Propensity

__all__ = ["propensity_scores"]

BINS = 20


def propensity_scores(found: Propensity) -> Any:
    """Draw the scores: two equal sets of bars around the dashed line mean that nothing shows."""
    limits = np.linspace(0, 1, BINS + 1)
    rows = []
    for i, (side, mask) in enumerate(
        zip(SIDES, (~found.is_synthetic, found.is_synthetic), strict=True)
    ):
        weights = None if found.weights is None else found.weights[mask]
        counts, _ = np.histogram(found.scores[mask], limits, weights=weights)
        for low, high, count in zip(limits, limits[1:], counts, strict=False):
            middle, gap = (low + high) / 2, 0.003
            start, stop = (low + gap, middle) if i == 0 else (middle, high - gap)
            rows.append(
                {
                    "side": side,
                    "from": start,
                    "to": stop,
                    "percent": 100 * count / mask.sum(),
                    "zero": 0,
                }
            )
    bars = (
        draw(rows)
        .mark_bar(opacity=1)
        .encode(
            x=alt.X("from:Q", title="probability to be synthetic", scale=alt.Scale(domain=[0, 1])),
            x2="to:Q",
            y=alt.Y("percent:Q", title="per cent of rows"),
            y2="zero:Q",
            color=side_colour(legend=True),
        )
    )
    line = draw([{"c": found.share}]).mark_rule(strokeDash=[4, 3], color="black").encode(x="c:Q")
    name = {"cart": "classification tree", "logit": "logistic regression"}.get(
        found.model, "boosted trees"
    )
    return finish(
        (bars + line).properties(width=520, height=240),
        "Propensity scores",
        f"{name}; pMSE {found.pMSE:.5f}; dashed: share of synthetic rows",
    )
