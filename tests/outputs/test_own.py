"""Caveat's own evidence and reports, by the same rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import refused
from tests.report.sample import small

from caveat.evidence import FEWEST, external, text_of
from caveat.evidence.file import EVIDENCE
from caveat.outputs.checking import check_files, few_behind
from caveat.outputs.statbarns import Checked, Rules, Verdict
from caveat.release.folder import arrange, write_manifest
from caveat.report import markdown, render
from caveat.table.identifying import Origin, Output


def few() -> dict[str, Any]:
    """Evidence in which one attack was on three records."""
    content = small()
    content["scenarios"][1]["measurements"][0]["n"] = 3
    return content


def rules_of(found: Checked) -> dict[str, Verdict]:
    return {one.rule: one.verdict for one in found.findings}


def test_numbers_that_rest_on_few_records_are_found() -> None:
    assert few_behind(small(), 10) == []
    assert few_behind(few(), 10) == ["who knows everything else: strongShare of marital"]
    assert few_behind(few(), 3) == []
    assert "release: control rows" in few_behind(small(), 401)
    unmeasured = few()
    unmeasured["scenarios"][1]["measurements"][0]["value"] = None
    assert few_behind(unmeasured, 10) == []


def test_all_the_evidence_stays_inside_and_what_may_leave_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text(text_of(small()))
    (tmp_path / "public.json").write_text(json.dumps(external(small())))
    published = external(small())
    published["scenarios"][1]["measurements"][0]["n"] = 3  # by somebody else's list
    (tmp_path / "few.json").write_text(json.dumps(published))
    names = ("evidence.json", "public.json", "few.json")
    inside, public, little = check_files([tmp_path / name for name in names])
    assert rules_of(inside) == {"confidential": Verdict.REFUSE}
    assert (public.form, public.verdict) == ("evidence", Verdict.SAFE)
    assert rules_of(little) == {"confidential": Verdict.REFUSE, "threshold": Verdict.REFUSE}
    strict = check_files([tmp_path / "public.json"], Rules(threshold=300))[0]
    assert rules_of(strict) == {"threshold": Verdict.REFUSE}


def test_what_caveat_publishes_is_held_to_the_threshold_of_output_checking() -> None:
    assert Rules().threshold == FEWEST
    assert few_behind(external(few()), Rules().threshold) == []


def test_damaged_evidence_is_refused(tmp_path: Path) -> None:
    content = small()
    del content["utility"]
    (tmp_path / "evidence.json").write_text(json.dumps(content))
    with refused("evidence.entry.malformed"):
        check_files([tmp_path / "evidence.json"])
    (tmp_path / "public.json").write_text('{"format": 2, "scenarios": []}')
    with refused("evidence.file.malformed"):
        check_files([tmp_path / "public.json"])


@pytest.mark.parametrize(("write", "ending"), [(render, "html"), (markdown, "md")])
def test_reports(write: Any, ending: str, tmp_path: Path) -> None:
    names = (f"inside/report.{ending}", f"public/report-external.{ending}", EVIDENCE)
    inside, outside, evidence = (tmp_path / name for name in names)
    for part in ("inside", "public"):
        (tmp_path / part).mkdir()
    inside.write_text(write(small(), version="internal", date="2026-01-01"), encoding="utf-8")
    outside.write_text(write(small(), version="external", date="2026-01-01"), encoding="utf-8")
    first, second = check_files([inside, outside])
    assert rules_of(first) == {"confidential": Verdict.REFUSE}
    assert rules_of(second) == {"evidence": Verdict.REVIEW}  # which evidence is not known
    evidence.write_text(text_of(small()))
    outputs = [
        Output(name, outside="a test" if (tmp_path / name) == outside else "") for name in names
    ]
    write_manifest(tmp_path, outputs)
    assert check_files([outside])[0].verdict is Verdict.SAFE
    evidence.write_text(text_of(few()))
    assert rules_of(check_files([outside])[0]) == {"evidence": Verdict.REVIEW}  # another one
    write_manifest(tmp_path, outputs)
    assert check_files([outside])[0].verdict is Verdict.SAFE  # the number was withheld
    assert rules_of(check_files([outside], Rules(threshold=300))[0]) == {
        "threshold": Verdict.REFUSE
    }


def test_the_folder_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evidence.json").write_text(text_of(small()))
    (tmp_path / "release.toml").write_text("[data]\n")
    (tmp_path / "synthetic-1.csv").write_text("n,sex\n1,f\n1,f\n")  # no table of counts
    (tmp_path / "synthetic-2").mkdir()
    (tmp_path / "synthetic-2/visits.csv").write_text("n,sex\n1,f\n1,f\n")
    (tmp_path / "notes.pdf").write_text("x")
    outputs = [Output("evidence.json"), Output("release.toml"),
               Output("synthetic-1.csv", {"n": Origin.COMPUTED, "sex": Origin.DRAWN}),
               Output("synthetic-2/visits.csv", {"n": Origin.COMPUTED, "sex": Origin.DRAWN}),
               Output("notes.pdf", outside="a test")]  # fmt: skip
    write_manifest(tmp_path, arrange(tmp_path, outputs))
    found = {one.name: (one.form, one.verdict) for one in check_files([tmp_path])}
    assert found == {
        "evidence.json": ("evidence", Verdict.REFUSE),
        "notes.pdf": ("custom", Verdict.REVIEW),
        "release.toml": ("file of a run", Verdict.REFUSE),
        "synthetic-1.csv": ("synthetic table", Verdict.REVIEW),
        "visits.csv": ("synthetic table", Verdict.REVIEW),
    }
    monkeypatch.chdir(tmp_path / "public")
    (listed,) = check_files([Path("synthetic-1.csv")])
    assert listed.form == "synthetic table"
    (listed,) = check_files([tmp_path / "manifest.json"])
    assert (listed.form, listed.verdict) == ("manifest", Verdict.REVIEW)
    table = tmp_path / "public/synthetic-1.csv"
    table.write_text("sex,n\nf,30\nm,40\n")  # another file since
    assert check_files([table])[0].form == "table"
    (tmp_path / "manifest.json").write_text("{}")
    assert check_files([tmp_path / "manifest.json"])[0].form == "custom"


def test_other_pages_are_for_people(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")
    assert rules_of(check_files([tmp_path / "notes.md"])[0]) == {"unknown": Verdict.REVIEW}
