"""Every command takes its own part from a whole specification and leaves the others alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.spec.broken import GOOD

from caveat.cli import main
from caveat.datasets import survey
from caveat.table import read, write

PROTECT = """
[[protect]]
name = "remove_replicated_uniques"
keys = ["sex", "age"]
"""
TUNE = """
[tune]
keys = ["sex", "age"]
targets = ["marital"]
limits = { repU = 100 }
objective = "S_pMSE one-way"
settings = { minbucket = [20] }
seeds = 1
fresh = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(survey(rows=200), tmp_path / "survey.csv")
    (tmp_path / "release.toml").write_text(GOOD + TUNE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def caveat(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["caveat", "-q", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_one_file_for_all_commands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = "release.toml"
    synth = ("synth", "survey.csv", "-o", "s.csv", "--spec")
    # An unprotected table must not look finished: synth refuses what only a run carries out.
    assert caveat(monkeypatch, *synth, spec) == 2
    (folder / "bare.toml").write_text(GOOD.replace(PROTECT, ""), encoding="utf-8")
    assert caveat(monkeypatch, *synth, "bare.toml") == 0
    released = read(folder / "s.csv")
    assert "person" not in released
    assert released.n_rows == 200
    assert caveat(monkeypatch, "look", "survey.csv", "--schema", spec, "--json", "look.json") == 0
    columns = json.loads((folder / "look.json").read_text("utf-8"))["columns"]
    assert "-8" in next(c for c in columns if c["name"] == "income")["missing"]
    audit = ("audit", "survey.csv", "s.csv", "--keys", "sex,age", "--target", "marital")
    assert caveat(monkeypatch, *audit, "--schema", spec) == 0
    attack = ("attack", "inference", "survey.csv", "s.csv", "--spec", spec)
    assert caveat(monkeypatch, *attack, "--keys", "sex,age", "--target", "marital") == 0
    attack = ("attack", "strong", "survey.csv", "s.csv", "--spec", spec, "--record", "3")
    assert caveat(monkeypatch, *attack, "--unknown", "marital") == 0
    assert caveat(monkeypatch, "tune", spec) == 0
    assert "chosen: " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["synth", "look", "audit", "attack", "tune", "run"])
def test_a_mistake_is_one_line_in_every_command(
    command: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "release.toml").write_text((GOOD + TUNE).replace("[-8]", "-8"), encoding="utf-8")
    arguments = {
        "synth": ["survey.csv", "--spec", "release.toml", "-o", "s.csv"],
        "look": ["survey.csv", "--schema", "release.toml"],
        "audit": ["survey.csv", "survey.csv", "--keys", "sex", "--schema", "release.toml"],
        "attack": ["strong", "survey.csv", "survey.csv", "--spec", "release.toml", "--membership"],
        "tune": ["release.toml"],
        "run": ["release.toml"],
    }
    assert caveat(monkeypatch, command, *arguments[command]) == 2
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert errors.startswith("caveat: release.toml, line 13: columns.income.missing ")
    assert errors.endswith("[spec.entry.type]\n")
