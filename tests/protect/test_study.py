"""The pipeline of arXiv 2310.06571 on the simulated survey."""

from __future__ import annotations

from caveat.studies.distance_filter import run
from caveat.studies.study import Output


def test_the_pipeline_from_end_to_end():
    (grid,) = run(Output()).grids
    rows = {row[0]: row for row in grid.rows}
    assert list(rows) == ["synthesis", "filter", "noise", "printed"]
    assert 20 < float(rows["filter"][1].rstrip(" %")) < 90
    ecap = {name: float(rows[name][4]) for name in ("synthesis", "noise")}
    assert ecap["synthesis"] == 1.0  # a value that one person has in the whole population
    assert ecap["noise"] <= 0.2
    pmse = [float(rows[name][5]) for name in ("synthesis", "filter", "noise")]
    assert pmse[0] < pmse[1]  # the filter takes what looks most like the original
