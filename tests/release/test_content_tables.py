"""What the evidence says about a release of several tables."""

from __future__ import annotations

from pathlib import Path

from caveat.release.folder import Outcome
from caveat.table import read


def test_who_is_protected_is_a_row_of_the_topmost_table(
    tables_folder: Path, tables_outcome: Outcome
) -> None:
    release = tables_outcome.evidence["release"]
    assert (release["original_rows"], release["control_rows"], release["fitted_rows"]) == (
        150, 30, 120,
    )  # fmt: skip
    assert release["groups"] == {
        "key": "patient", "fitted": 120, "control": 30, "released": [120, 120],
    }  # fmt: skip
    people, visits = release["tables"]
    assert (people["belongs_to"], visits["belongs_to"]) == (None, "patients")
    assert visits["fitted"] + visits["control"] == visits["original"]
    assert visits["original"] == len(read(tables_folder / "visits.csv"))
    assert release["columns"][:2] == ["patient", "visit"]
    assert release["identifying"] == []
    (remark,) = [r for r in tables_outcome.evidence["remarks"] if "held out" in r]
    assert remark.startswith("30 of 150 rows of patients, with all that belongs to them, were")
    assert [t["name"] for t in tables_outcome.evidence["inputs"]["tables"]] == [
        "patients.csv", "visits.csv",
    ]  # fmt: skip
