"""The pipeline of arXiv 2310.06571 on the simulated survey."""

from __future__ import annotations

import pytest

from caveat.studies.settings import run_distance_filter
from caveat.studies.study import Output


def test_the_pipeline_from_end_to_end():
    steps, by_target = run_distance_filter(Output()).grids
    rows = {row[0]: dict(zip(steps.header, row, strict=True)) for row in steps.rows}
    assert list(rows) == ["shuffled", "synthesis", "filter", "noise", "printed"]
    assert 20 < float(rows["filter"]["removed"].rstrip(" %")) < 90
    ecap = {name: float(rows[name]["ECAP"]) for name in ("synthesis", "noise")}
    assert ecap["synthesis"] == 1.0  # a value that one person has in the whole population
    assert ecap["noise"] <= 0.2
    pmse = [float(rows[name]["pMSE"]) for name in ("synthesis", "filter", "noise")]
    assert pmse[0] < pmse[1]  # the filter takes what looks most like the original
    gtcap = {name: float(row["GTCAP"].lstrip("< ")) for name, row in rows.items()}
    assert gtcap["shuffled"] < 0.2 * gtcap["synthesis"]
    assert [row[0] for row in by_target.rows] == ["marital", "weight"]
    means = [sum(float(row[k]) for row in by_target.rows) / 2 for k in range(2, 6)]
    assert means == pytest.approx(list(gtcap.values())[:4], abs=0.001)


def test_sd2011_meets_both_limits_of_the_paper(shared):
    steps, _ = run_distance_filter(Output(), shared / "data").grids
    rows = {row[0]: dict(zip(steps.header, row, strict=True)) for row in steps.rows}
    assert float(rows["noise"]["GTCAP"]) < 0.2
    assert float(rows["noise"]["ECAP"]) <= 0.2
    assert float(rows["shuffled"]["GTCAP"]) < 0.04
