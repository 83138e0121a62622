"""``caveat explain``: a page on the terminal or in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.table import write

SPEC = """
[release]
title = "A survey"
seed = 1
[data]
path = "survey.csv"
[synthesis]
drop = ["interviewed", "occupation", "bmi", "weight", "height"]
[[scenario]]
name = "everything"
attacker = "strong"
targets = ["marital"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(survey(rows=300), "survey.csv")
    Path("release.toml").write_text(SPEC)
    return tmp_path


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["explain", "release.toml", "--record", "17", *arguments])
    assert done.exit_code == 0, done.exception
    return done.stdout


def test_the_terminal_says_it_in_words(here: Path) -> None:
    text = said("--draws", "0")
    assert text.startswith("INTERNAL. About one record")
    assert "A survey: row 17" in text
    assert "HOW SURE SHE IS OF MARITAL" in text
    assert "ITS VALUES" not in text
    assert "ITS VALUES" in said("--draws", "0", "--show-values")


def test_files_are_written_by_their_ending_and_not_twice(here: Path) -> None:
    assert said("--draws", "0", "--out", "p.html", "--json", "p.json").strip() == "p.html"
    assert Path("p.html").read_text().startswith("<!doctype html>")
    content = json.loads(Path("p.json").read_text())
    assert content["row"] == 17
    assert content["membership"]["prior"] == 0.5
    said("--draws", "0", "--out", "p.md", "--target", "education")
    assert "How sure she is of education" in Path("p.md").read_text()
    for more, says in (
        (["--out", "p.html"], "exists already"),
        (["--out", "p.pdf"], "as HTML, Markdown or text"),
        (["--out", "x.html", "--release", "nowhere"], "there is no such file"),
    ):
        arguments = ["explain", "release.toml", "--record", "17", *more]
        error = CliRunner().invoke(app, arguments).exception
        assert isinstance(error, CaveatError)
        assert says in str(error)


def test_targets_and_json_are_given_as_for_an_audit(here: Path) -> None:
    text = said("--draws", "0", "--targets", "education, marital", "--json", "-")
    content = json.loads(text)
    assert [one["target"] for one in content["targets"]] == ["education", "marital"]
    assert not Path("-").exists()
    dropped = {"interviewed", "occupation", "bmi", "weight", "height"}
    assert not dropped & {part["column"] for part in content["membership"]["parts"]}


def test_of_a_folder_it_is_said_what_to_give(here: Path) -> None:
    Path("made").mkdir()
    error = CliRunner().invoke(app, ["explain", "made", "--record", "17"]).exception
    assert isinstance(error, CaveatError)
    assert "this is a folder, and a specification is needed" in str(error)
    assert "and --release made" in str(error)
