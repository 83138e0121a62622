"""``caveat diff``: words on the terminal, a page or JSON in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.sample import small
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        content = small()
        content["release"]["title"] = name
        if name == "two":
            content["scenarios"][0]["measurements"][0]["value"] = 0.5
        Path(name, "inside").mkdir(parents=True)
        Path(name, "inside/evidence.json").write_text(json.dumps(content))
    return tmp_path


def test_it_exits_with_0_whether_something_differs_or_not(here: Path) -> None:
    for other, words in (("one", "Nothing differs"), ("two", "Measurements that differ")):
        done = CliRunner().invoke(app, ["diff", "one", other])
        assert done.exit_code == 0, done.exception
        assert words in done.stdout


def test_files_are_written_and_mistakes_are_one_sentence(here: Path) -> None:
    done = CliRunner().invoke(app, ["diff", "one", "two", "--out", "d.md", "--json", "d.json"])
    assert done.exit_code == 0, done.exception
    assert Path("d.md").read_text().startswith("**INTERNAL.")
    assert json.loads(Path("d.json").read_text())["titles"] == ["one", "two"]
    for arguments, says in (
        (["one", "three"], "there is no such release"),
        (["one", "two", "--out", "d.md"], "exists already"),
        (["one", "two", "--out", "d.pdf"], "as HTML, Markdown or text"),
    ):
        error = CliRunner().invoke(app, ["diff", *arguments]).exception
        assert isinstance(error, CaveatError)
        assert says in str(error)
