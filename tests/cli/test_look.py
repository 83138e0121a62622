"""The command ``caveat look``."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from caveat.cli import main
from caveat.datasets import patients
from caveat.spec.document import Document
from caveat.spec.tables import read_linked, read_tables
from caveat.table import write

RNG = np.random.default_rng(25)


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "survey.csv"
    n = 300
    ages = RNG.integers(16, 90, n)
    pl.DataFrame(
        {
            "sex": RNG.choice(["f", "m"], n),
            "age": ages,
            "agegr": np.where(ages < 45, "young [x]", "old"),
            "income": np.where(RNG.random(n) < 0.1, -8, RNG.integers(500, 9000, n)),
        }
    ).write_csv(path)
    return path


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., Result]:
    """Run the command line as if from a shell."""

    def command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["caveat", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        return Result(code if isinstance(code, int) else 0, *capsys.readouterr())

    return command


def test_the_report_when_piped(run, survey):
    result = run("look", survey)
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= max(80, len(str(survey)) + 30)
    assert "income: -8 stands in" in result.stdout
    assert "agegr from age: groups of age" in result.stdout
    assert "young [x]" in result.stdout
    assert result.stderr == ""


def test_json_to_the_terminal_and_to_a_file(run, survey, tmp_path):
    printed = json.loads(run("look", survey, "--json", "-").stdout)
    target = tmp_path / "look.json"
    result = run("look", survey, "--json", target)
    assert json.loads(target.read_text()) == printed
    assert "Missing values" in result.stdout
    assert printed["columns"][1]["name"] == "age"


def test_starter_and_force(run, survey, tmp_path):
    target = tmp_path / "release.toml"
    assert run("look", survey, "--out", target).returncode == 0
    before = target.read_text()
    assert tomllib.loads(before)["columns"] == {"income": {"missing": [-8]}}
    refused = run("look", survey, "--out", target)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "exists already" in refused.stderr
    assert run("look", survey, "--out", target, "--force").returncode == 0
    assert target.read_text() == before
    assert list(tmp_path.iterdir()) == [target]


def test_the_starter_is_a_schema(run, survey, tmp_path):
    target = tmp_path / "release.toml"
    run("look", survey, "--out", target)
    again = json.loads(run("look", survey, "--schema", target, "--json", "-").stdout)
    assert not [f for f in again["findings"] if f["code"] == "missing-code"]


def test_mistakes_end_with_one_sentence(run, tmp_path, survey):
    for arguments in (
        ("look", tmp_path / "absent.csv"),
        ("look", tmp_path),
        ("look", survey, "--schema", tmp_path / "absent.toml"),
        ("look", survey, "--out", tmp_path / "nowhere" / "release.toml"),
    ):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith("caveat: ")
        assert "Traceback" not in result.stderr


@pytest.fixture(scope="module")
def hospital(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hospital")
    for name, table in patients(number=200).items():
        write(table, folder / f"{name}.csv")
    return folder


def test_several_files_are_looked_at_and_linked(run, hospital, tmp_path):
    files = [hospital / "patients.csv", hospital / "visits.csv"]
    result = run("look", *files)
    assert result.returncode == 0
    assert "patients.csv 200 rows, 5 columns" in " ".join(result.stdout.split())
    together = result.stdout[result.stdout.index("Tables that belong together") :]
    assert "visits: each patient is the key of a row of patients (patient)" in together
    printed = json.loads(run("look", *files, "--json", "-").stdout)
    assert printed["keys"] == {"patients": "patient", "visits": "visit"}
    assert printed["links"] == {"visits": {"patient": "patients"}}
    assert printed["order"] == {"visits": "date"}
    assert printed["tables"]["visits"]["columns"][2]["name"] == "date"


def test_the_starter_of_several_files_is_a_specification(run, hospital, tmp_path):
    target = tmp_path / "release.toml"
    run("look", hospital / "patients.csv", hospital / "visits.csv", "--out", target)
    content = tomllib.loads(target.read_text())
    assert content["tables"]["visits"]["links"] == {"patient": "patients"}
    document = Document.read(target)
    document.check(("tables", "synthesis"))
    found = read_linked(document, read_tables(document), {})
    assert found.sequence == ("patients", "visits")


def test_a_file_is_named_once(run, hospital):
    result = run("look", hospital / "visits.csv", hospital / "visits.csv")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == ("caveat: two files are called the same; name each of them once.\n")
