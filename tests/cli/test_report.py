"""``caveat report``."""

from __future__ import annotations

import pytest
from tests.report.sample import SAMPLE
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError

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
