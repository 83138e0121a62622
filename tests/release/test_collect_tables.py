"""What analysts can still do with several tables, and how these hang together."""

from __future__ import annotations

from pathlib import Path

from tests.release.tables import SMALL

from caveat.release import Release
from caveat.release.folder import Outcome


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


def test_what_does_not_apply_to_children_is_left_out_unless_it_is_asked_for(
    tables_folder: Path,
) -> None:
    path = tables_folder / "standard.toml"
    spare = "\n[output]\nreports = []\n"

    def measured(text: str) -> dict[str, float | None]:
        path.write_text(text + spare)
        made = Release.from_toml(path).run(tables_folder / "standard", force=True)
        found = made.evidence["utility"]["measurements"]
        return {m["measure"]: m["value"] for m in found if m["table"] == "visits"}

    found = measured(SMALL.partition("[utility]")[0])
    assert found["S_pMSE two-way joined"] is not None
    assert "size column" not in found
    named = 'measures = ["group sizes", "size column"]'
    found = measured(SMALL.replace('measures = ["group sizes"]', named))
    assert found["size column"] is None
