"""``caveat check`` as it is met at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError
from caveat.outputs.checking import schema
from caveat.privacy.ledger import Ledger
from caveat.release.folder import write_manifest
from caveat.table.identifying import Output

LEDGER = ("--ledger", "ledger.jsonl", "--dataset", "survey")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("all.csv").write_text("sex,count\nf,120\nm,110\n")
    Path("adults.csv").write_text("sex,count\nf,117\nm,90\n")
    Path("low.csv").write_text("sex,count\nf,120\nm,4\n")
    Path("picture.png").write_text("x")
    return tmp_path


def check(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["check", *arguments])
    if isinstance(done.exception, CaveatError):
        raise done.exception
    assert done.exit_code == code, done.output
    return done.stdout


def test_each_output_has_a_verdict_a_reason_and_a_remedy(here: Path) -> None:
    assert check("all.csv") == "all.csv: safe\n  table (frequencies)\n"
    lines = check("all.csv", "low.csv", "picture.png", code=3).splitlines()
    assert lines[0] == "all.csv: safe"
    assert lines[2:5] == [
        "low.csv: refuse",
        "  table (frequencies)",
        "  refuse: row 2: fewer than 10 persons",
    ]
    assert lines[5].startswith("    remedy: suppress the cell")
    assert "  custom (not checked)" in lines
    Path("rules.toml").write_text("[rules]\nthreshold = 4\n")
    check("low.csv", "--rules", "rules.toml")


def test_what_was_published_is_in_the_ledger_and_compared(here: Path) -> None:
    check("all.csv", *LEDGER)
    assert not Path("ledger.jsonl").exists()  # checked is not published
    check("all.csv", *LEDGER, "--publish")
    (entry,) = Ledger("ledger.jsonl").entries("survey")
    assert (entry["kind"], entry["what"], entry["columns"]) == ("table", "all.csv", ["sex"])
    said = check("adults.csv", *LEDGER, "--publish", code=3)
    assert "it differs from all.csv by fewer than 10 persons: sex f" in said
    check("all.csv", *LEDGER, "--publish")  # the same file again is no second one
    assert len(Ledger("ledger.jsonl").entries()) == 1
    check("adults.csv", "--ledger", "ledger.jsonl", "--dataset", "another survey")


def test_tables_cost_nothing(here: Path) -> None:
    check("all.csv", *LEDGER, "--publish")
    assert Ledger("ledger.jsonl").spent("survey", 1e-6) == 0


def test_a_damaged_entry_is_not_passed_over(here: Path) -> None:
    Path("ledger.jsonl").write_text('{"kind": "table", "dataset": "survey", "what": "x"}\n')
    with refused("privacy.ledger.damaged", where="ledger"):
        check("all.csv", *LEDGER)


def test_results_for_the_viewer(here: Path) -> None:
    check("all.csv", "low.csv", "--results", "out", code=3)
    content = json.loads(Path("out/results.json").read_text())
    Draft202012Validator(schema()).validate(content)
    assert [one["status"] for one in content["results"].values()] == ["pass", "fail"]
    assert Path("out/low.csv").read_text() == Path("low.csv").read_text()
    with refused("release.folder.exists", where="out"):
        check("all.csv", "--results", "out")
    check("all.csv", "--results", "out", "--force")
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "all.csv", "checksums", "manifest.json", "results.json",
    ]  # fmt: skip


def test_the_folder_of_another_command_is_not_replaced(here: Path) -> None:
    Path("run").mkdir()
    Path("run/evidence.json").write_text("{}")
    write_manifest(Path("run"), [Output("evidence.json")])
    with refused("outputs.folder.refused", where="run"):
        check("all.csv", "--results", "run", "--force")
    assert sorted(path.name for path in Path("run").iterdir()) == ["evidence.json", "manifest.json"]


def test_a_folder_of_outputs(here: Path) -> None:
    lines = check(".", code=3).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "adults.csv: safe", "all.csv: refuse", "low.csv: refuse", "picture.png: needs review",
    ]  # fmt: skip
    Path("made").mkdir()
    Path("made/a.csv").write_text("sex,count\nf,120\nm,110\n")
    Path("made/manifest.json").write_text('{"format": 1, "files": []}')
    check("made", "--results", "out")
    assert Path("out/a.csv").exists()


def test_mistakes(here: Path) -> None:
    for wrong in (["--ledger", "l.jsonl"], ["--dataset", "x"], ["--publish"]):
        with refused("command.option.absent", where="--ledger, --dataset"):
            check("all.csv", *wrong)
    Path("empty.csv").write_text("")
    with refused("outputs.file.empty", where="empty.csv"):
        check("empty.csv", "--results", "out")
    assert not Path("out").exists()
    Path("results.json").write_text("{}")
    with refused("outputs.name.conflict", where="results.json"):
        check("results.json", "--results", "out")
