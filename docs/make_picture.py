"""The picture of the README: what three measures say about the ten published releases."""

from __future__ import annotations

from pathlib import Path

import altair as alt
import pandas as pd

import caveat
from caveat.attack import posterior
from caveat.datasets import buyer_beware

KEYS = ["var1", "var2", "var3"]
MEASURES = ["repU (%)", "DiSCO (%)", "strong attacker (%)"]


def main() -> None:
    """Compute the figures of Table A.2 and draw them."""
    original, generator = buyer_beware(), caveat.Synthesizer(method="cart")
    rows = []
    for release in range(1, 11):
        synthetic = buyer_beware(release)
        found = caveat.audit(original, synthetic, keys=KEYS, targets=["var4"])
        attack = posterior(original, synthetic, 999, generator=generator, prior="uniform")
        values = (found.mean("repU", None), found.mean("DiSCO", "var4"), 100 * attack.probability)
        rows += [(release, m, v) for m, v in zip(MEASURES, values, strict=True)]
    frame = pd.DataFrame(rows, columns=["release", "measure", "value"])
    base = alt.Chart(frame).encode(
        x=alt.X("release:O", title="published release", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title="what the measure says, %", scale=alt.Scale(domain=[0, 100])),
    )
    bars = base.mark_bar(color="#30507a")
    labels = base.mark_text(dy=-6, fontSize=9).encode(text=alt.Text("value:Q", format=".1~f"))
    chart = (
        alt.layer(bars, labels)
        .properties(width=250, height=150)
        .facet(column=alt.Column("measure:N", sort=MEASURES, title=None))
        .configure_view(stroke=None)
        .configure_header(labelFontSize=13, labelFontWeight="bold")
    )
    folder = Path(__file__).parent / "img"
    chart.save(folder / "buyer-beware.svg")


if __name__ == "__main__":
    main()
