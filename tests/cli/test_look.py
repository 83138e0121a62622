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
from caveat.release import ReleaseSpec
from caveat.spec.data_entries import read_linked, read_tables
from caveat.spec.document import Document
from caveat.table import Column, Kind, Table, write

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
    assert "income (-8)" in result.stdout
    assert "[synthesis.derived]" in result.stdout
    assert "young [x]" in result.stdout
    assert result.stderr == ""
    whole = run("look", survey, "--all").stdout
    assert "income: -8 occurs in" in whole
    assert "agegr from age: classes of age" in whole


def test_the_first_screen_is_enough_to_decide(run, shared):
    """Every file of the project that was synthesised by hand fits on one screen."""
    for path in sorted((shared / "data").glob("*.csv")):
        result = run("look", path)
        lines = result.stdout.splitlines()
        assert "What has to be decided" in lines[2:20]
        assert len(lines) <= 48  # at 80 characters a line
        assert "[[scenario]] keys" in result.stdout
        assert (
            "--all" in lines[-1]
            or len(json.loads(run("look", path, "--json", "-").stdout)["columns"]) < 13
        )


def test_all_shows_every_column_and_every_finding(run, survey):
    found = json.loads(run("look", survey, "--json", "-").stdout)
    whole = " ".join(run("look", survey, "--all").stdout.split())
    assert all(" ".join(f["message"].split()) in whole for f in found["findings"])
    assert {f["status"] for f in found["findings"]} >= {"decided in the starter"}


def test_json_to_the_terminal_and_to_a_file(run, survey, tmp_path):
    printed = json.loads(run("look", survey, "--json", "-").stdout)
    target = tmp_path / "look.json"
    result = run("look", survey, "--json", target)
    assert json.loads(target.read_text()) == printed
    assert "What has to be decided" in result.stdout
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
    together = result.stdout[result.stdout.index("Linked tables") :]
    assert "visits: patient refers to patient of patients" in together
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
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("[data.file.duplicate]\n")


CODES = """\
column,value,label,missing,low,high,step
sex,f,woman,,,,
sex,m,man,,,,
age,,,,0,120,1
income,,,,0,800,1
income,-8,not asked,yes,,,
planet,mars,,,,,
"""


@pytest.fixture
def codes(tmp_path) -> Path:
    path = tmp_path / "codes.csv"
    path.write_text(CODES)
    return path


def test_a_guarantee_needs_declarations_and_one_line_says_so(run, survey):
    last = " ".join(run("look", survey, "--all").stdout.split("\n\n")[-1].split())
    assert last == (
        "A guarantee (epsilon) needs declared domains for sex, age, income, agegr; "
        "--codebook FILE writes them."
    )
    printed = json.loads(run("look", survey, "--json", "-").stdout)
    assert printed["domains"] == {"needed": ["sex", "age", "income", "agegr"]}


def test_a_code_book_becomes_a_declaration(run, survey, codes, tmp_path):
    target = tmp_path / "release.toml"
    result = run("look", survey, "--codebook", codes, "--out", target)
    assert result.returncode == 0
    end = " ".join(result.stdout[result.stdout.index("Declared domains") :].split())
    assert end == (
        "Declared domains, for a guarantee "
        "· declared by the code book: sex, age, income "
        "· needs a declared domain before a guarantee can be given: agegr "
        "· has values that the code book lacks; a guarantee treats them as empty or as the limit: "
        "income "
        "· in the code book, not in the data (ignored): planet"
    )
    content = tomllib.loads(target.read_text())
    assert content["columns"] == {
        "sex": {"kind": "category"},
        "income": {"missing": {"-8": "not asked"}},
    }
    assert content["synthesis"]["columns"] == {
        "sex": {"levels": ["f", "m"]},
        "age": {"range": [0, 120, 1]},
        "income": {"range": [0, 800, 1]},
    }
    assert "planet" not in target.read_text()


def test_the_declaration_is_a_specification(run, survey, codes, tmp_path):
    codes.write_text(CODES.replace("0,800,1", "0,9000,1"))
    target = tmp_path / "release.toml"
    run("look", survey, "--codebook", codes, "--out", target)
    spec = ReleaseSpec.from_toml(target)
    plan = spec.check(spec.read_data())
    assert "range 0 to 120 by 1, even cells)" in str(plan)
    again = json.loads(run("look", survey, "--schema", target, "--json", "-").stdout)
    assert again["domains"] == {"needed": ["agegr"]}


def test_a_schema_comes_before_the_code_book(run, survey, codes, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text("[columns.income]\nmissing = [-9]\n")
    found = run("look", survey, "--schema", schema, "--codebook", codes, "--json", "-")
    about = {f["code"] for f in json.loads(found.stdout)["findings"] if "income" in f["columns"]}
    assert "missing-code" in about
    schema.write_text("[columns.absent]\nmissing = [-9]\n")
    refused = run("look", survey, "--schema", schema, "--codebook", codes)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "column absent: the schema names a column that the data do not have" in refused.stderr


def test_wrong_code_books(run, survey, codes, hospital, tmp_path):
    refused = run("look", survey, "--codebook", survey)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "this is no code book" in refused.stderr
    refused = run("look", survey, "--codebook", codes, "--out", codes, "--force")
    assert refused.returncode == 2
    assert codes.read_text() == CODES
    refused = run("look", hospital / "patients.csv", hospital / "visits.csv", "--codebook", codes)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "a code book goes with one file" in refused.stderr


def test_the_labels_of_the_file_itself_serve(run, tmp_path):
    data = tmp_path / "people.sav"
    sex = Column(
        np.array([0, 1, 1, 0]), np.array([1, 2]), Kind.CATEGORY,
        value_labels={1: "woman", 2: "man", 3: "other"},
    )  # fmt: skip
    write(Table({"sex": sex}), data)
    assert "--codebook people.sav writes them." in " ".join(
        run("look", data, "--all").stdout.split()
    )
    target = tmp_path / "release.toml"
    run("look", data, "--codebook", data, "--out", target)
    content = tomllib.loads(target.read_text())
    assert content["synthesis"]["columns"] == {"sex": {"levels": [1, 2, 3]}}
    assert "columns" not in content
