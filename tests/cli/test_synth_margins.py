"""``caveat synth`` writes the tables that are the only source of what it makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.table import read, write

SPEC = """
[data]
path = "survey.csv"
[synthesis]
method = "margins"
{rules}
drop = ["person", "age", "region", "education", "occupation", "income", "friends", "height",
        "weight", "bmi", "interviewed", "satisfied"]
[synthesis.columns]
sex = {{ levels = ["female", "male"] }}
marital = {{ levels = ["divorced", "married", "single", "widowed"] }}
"""


def specification(folder: Path, rules: str, more: str = "") -> Path:
    write(survey(rows=400), folder / "survey.csv")
    text = SPEC.format(rules=rules)
    if "epsilon" not in rules:
        text = text.partition("[synthesis.columns]")[0]
    (folder / "release.toml").write_text(text + more)
    return folder / "release.toml"


def synth(spec: Path, *more: str) -> object:
    out = ["--out", str(spec.parent / "out.csv"), "--seed", "1"]
    return CliRunner().invoke(app, ["synth", str(spec), *out, *more])


def test_noisy_tables_lie_beside_a_private_release(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    result = synth(specification(tmp_path, "epsilon = 1.0"))
    assert result.exit_code == 0, result.output
    assert "3 noisy tables, the only source of the data" in " ".join(result.output.split())
    folder = tmp_path / "out-margins"
    assert read(folder / "manifest.csv")["columns"].values.tolist() == [
        "sex", "marital", "sex × marital",
    ]  # fmt: skip
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    assert len(listed) == 4
    assert not any(file["confidential"] for file in listed)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1
    # What is there already is refused before anything is spent.
    again = synth(tmp_path / "release.toml")
    assert isinstance(again.exception, CaveatError)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1


def test_a_folder_of_something_else_costs_nothing(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    (tmp_path / "out-margins").mkdir()
    (tmp_path / "out-margins" / "notes.txt").write_text("mine")
    result = synth(spec, "--force")
    assert isinstance(result.exception, CaveatError)
    assert "something that no run has written" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_noise_is_not_drawn_again(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    result = synth(spec, "--resume", "--model", str(tmp_path / "m.caveat"))
    assert isinstance(result.exception, CaveatError)
    assert "--resume does not go with a guarantee" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_cleared_tables_lie_beside_their_release(tmp_path: Path) -> None:
    result = synth(specification(tmp_path, "clearing = { threshold = 10 }"))
    assert result.exit_code == 0, result.output
    assert "1 cleared table, the only source of the data" in " ".join(result.output.split())
    manifest = read(tmp_path / "out-margins" / "manifest.csv")
    # Counts are not rounded: every record of a published cell changes it.
    assert manifest["changed by"].values.tolist() == manifest["records"].values.tolist() == [396]


def test_attacks_that_make_releases_do_not_spend(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    told = ["attack", "simulated", str(tmp_path / "survey.csv"), "--spec", str(spec)]
    result = CliRunner().invoke(app, told)
    assert isinstance(result.exception, CaveatError)
    assert "spends budget of the guarantee" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()
