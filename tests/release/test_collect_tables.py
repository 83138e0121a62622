"""What analysts can still do with several tables, and how these hang together."""

from __future__ import annotations

from caveat.release.run import Outcome


def test_every_table_is_measured_and_how_they_hang_together(tables_outcome: Outcome) -> None:
    utility = tables_outcome.evidence["utility"]
    found = {(m["measure"], m["table"]): m["value"] for m in utility["measurements"]}
    assert set(found) == {
        ("S_pMSE two-way", "patients"),
        ("S_pMSE two-way", "visits"),
        ("rule violations", "patients"),
        ("rule violations", "visits"),
        ("CI overlap", "visits"),
        ("group sizes", "visits"),
        ("S_pMSE two-way joined", "visits"),
    }
    assert 0 < found["group sizes", "visits"] < 0.3
    assert found["rule violations", "patients"] == 0
    assert {v["name"]: v["table"] for v in utility["variables"]} == {
        "number of visits": "patients", "sex": "patients", "born": "patients",
        "region": "patients", "smoker": "patients", "date": "visits", "diagnosis": "visits",
        "pressure": "visits",
    }  # fmt: skip
    pairs = {frozenset(p["names"]) for p in utility["pairs"]}
    assert len(pairs) == len(utility["pairs"])
    assert {"smoker", "diagnosis"} in pairs
    (structure,) = utility["structures"]
    assert (structure["table"], structure["original"]) == ("visits", 120)
    assert structure["sizes"][0]["members"] == 0
    assert [(r["name"], r["table"]) for r in utility["rules"]] == [
        ("born", "patients"), ("seen", "visits"),
    ]  # fmt: skip
