"""The picture of the simulated attacker: what share of the exact one's finds she recovers."""

from __future__ import annotations

from pathlib import Path

import altair as alt

from caveat.attack.strong import ERRORS, RECOVERED
from caveat.charts import COLOURS, Key, titled
from caveat.charts.style import WIDTH, draw

KEY: Key = tuple(
    ("dot", colour, f"{trees} trees")
    for trees, colour in zip(RECOVERED, COLOURS, strict=True)
)  # fmt: skip


def main() -> None:
    """Draw the shares with one standard error either side."""
    rows = [
        {
            "trees": trees,
            "simulations": n,
            "share": 100 * share,
            "low": 100 * (share - ERRORS[trees][n]),
            "high": 100 * (share + ERRORS[trees][n]),
        }
        for trees, shares in RECOVERED.items()
        for n, share in shares.items()
    ]
    scale = alt.Scale(domain=list(RECOVERED), range=list(COLOURS))
    ticks = list(RECOVERED["plain"])
    base = draw(rows).encode(
        x=alt.X("simulations:Q", title="simulations (with the record, and as many without it)",
                scale=alt.Scale(type="log", base=2, domain=[13, 150]),
                axis=alt.Axis(values=ticks)),
        color=alt.Color("trees:N", scale=scale, legend=None),
    )  # fmt: skip
    share = alt.Y(
        "share:Q", title="per cent of what the exact attacker finds above guessing",
        scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(grid=True, gridColor="#eceef0"),
    )  # fmt: skip
    chart = alt.layer(
        base.mark_line(strokeWidth=1.5).encode(y=share),
        base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, opacity=1, size=55).encode(y=share),
    ).properties(width=WIDTH, height=260)
    says = "20 records of SD2011 at 10 % false positives, ± one standard error over the records"
    whole = titled(chart, "How much of the truth simulations recover", says, KEY)
    whole.save(Path(__file__).parent / "img" / "recovered.svg")


if __name__ == "__main__":
    main()
