"""``caveat report``."""

from __future__ import annotations

import pytest
from tests.report.sample import SAMPLE
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError
from caveat.evidence import DECISION, Decision, evidence_sha256, read, write_decision
from caveat.evidence.file import EVIDENCE, is_listed
from caveat.release.folder import arrange, write_manifest
from caveat.table.identifying import Output

run = CliRunner().invoke


@pytest.mark.parametrize(
    ("options", "name", "start"),
    [
        ([], "report.html", "<!doctype html>"),
        (["--external"], "report-external.html", "<!doctype html>"),
        (["--markdown"], "report.md", "# Survey"),
        (["--external", "--markdown"], "report-external.md", "# Survey"),
    ],
)
def test_the_four_reports(tmp_path, options, name, start):
    evidence = tmp_path / "evidence.json"
    evidence.write_bytes(SAMPLE.read_bytes())
    result = run(app, ["report", str(evidence), *options])
    assert result.exit_code == 0, result.output
    text = (tmp_path / name).read_text("utf-8")
    assert text.startswith(start)
    assert ("MARKER" in text) == ("--external" not in options)
    assert name in result.output.replace("\n", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["evidence.json", name])


def test_a_file_that_exists_is_kept(tmp_path):
    target = tmp_path / "r.html"
    target.write_text("mine")
    result = run(app, ["report", str(SAMPLE), "-o", str(target)])
    assert isinstance(result.exception, CaveatError)
    assert target.read_text() == "mine"
    assert run(app, ["report", str(SAMPLE), "-o", str(target), "--force"]).exit_code == 0
    assert target.read_text("utf-8").startswith("<!doctype html>")


def test_what_is_no_evidence_is_refused(tmp_path):
    other = tmp_path / "evidence.json"
    other.write_text('{"a": 1}')
    result = run(app, ["report", str(other)])
    assert isinstance(result.exception, CaveatError)
    assert "no evidence of a release" in str(result.exception)
    assert list(tmp_path.iterdir()) == [other]


def folder_of_a_release(tmp_path, *, trial=False):
    """A folder as a run leaves it: the evidence, two reports, and the list of all."""
    leaves = Output("report-external.html", outside="" if trial else "a test")
    outputs = [Output("evidence.json"), Output("report.html"), leaves]
    for output in outputs:
        (tmp_path / output.name).write_text("of the run")
    (tmp_path / "evidence.json").write_bytes(SAMPLE.read_bytes())
    write_manifest(tmp_path, arrange(tmp_path, outputs))
    return tmp_path


def test_the_folder_of_a_release_is_enough(tmp_path):
    here = folder_of_a_release(tmp_path)
    result = run(app, ["report", str(here)])
    assert result.exit_code == 0, result.output
    assert (here / "inside/report.html").read_text("utf-8").startswith("<!doctype html>")
    assert is_listed(here / "inside/report.html")
    # Written again and again: nothing is lost.
    assert run(app, ["report", str(here)]).exit_code == 0
    assert run(app, ["report", str(here), "--markdown"]).exit_code == 0


@pytest.mark.parametrize(("trial", "part"), [(False, "public"), (True, "inside")])
def test_the_external_report_lies_with_what_may_leave(tmp_path, trial, part):
    here = folder_of_a_release(tmp_path, trial=trial)
    for options, name in (([], "report-external.html"), (["--markdown"], "report-external.md")):
        result = run(app, ["report", str(here), "--external", *options])
        assert result.exit_code == 0, result.output
        assert f"{part}/{name}" in result.output.replace("\n", "")
        assert "Survey" in (here / part / name).read_text("utf-8")
    assert is_listed(here / part / "report-external.html")
    assert (here / "public").exists() == (not trial)
    assert (here / "inside/report.html").read_text() == "of the run"


def test_a_report_that_somebody_has_changed_is_kept(tmp_path):
    here = folder_of_a_release(tmp_path)
    (here / "inside/report.html").write_text("my remarks")
    result = run(app, ["report", str(here)])
    assert isinstance(result.exception, CaveatError)
    assert (here / "inside/report.html").read_text() == "my remarks"
    assert run(app, ["report", str(here), "--force"]).exit_code == 0


def test_a_folder_without_evidence_is_refused(tmp_path):
    result = run(app, ["report", str(tmp_path)])
    assert isinstance(result.exception, CaveatError)
    assert "the folder has no inside/evidence.json" in str(result.exception)


def test_the_decision_beside_the_evidence_is_printed(tmp_path):
    here = folder_of_a_release(tmp_path)
    sha = evidence_sha256(read(here / EVIDENCE))
    write_decision(here / "inside" / DECISION, Decision(sha, "refuse", ["A. Chair"], "2026-11-17"))
    assert run(app, ["report", str(here), "--markdown"]).exit_code == 0
    text = (here / "inside/report.md").read_text("utf-8")
    assert "☒ Refuse" in text
    assert "A. Chair" in text
    (here / "inside" / DECISION).write_text('{"decision": "perhaps"}')
    result = run(app, ["report", str(here), "--markdown", "--force"])
    assert isinstance(result.exception, CaveatError)
    assert "format is missing" in str(result.exception)
