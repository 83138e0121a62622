"""A small release that several tests run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.release import tables

from caveat.datasets import patients, survey
from caveat.errors import CaveatWarning
from caveat.release import Release
from caveat.release.folder import Outcome
from caveat.table import write

SPEC = """\
[release]
title = "A survey"
unit = "person"
access = "public"
seed = 1
control = 0.25

[data]
path = "survey.csv"

[synthesis]
method = "cart"
minbucket = 20
drop = ["person", "interviewed", "occupation", "bmi"]

[[scenario]]
name = "a neighbour"
keys = ["sex", "age", "region"]
targets = ["marital"]
limits = { DiSCO = 5, repU = 90 }

[[scenario]]
name = "everything else"
attacker = "strong"
keys = ["sex", "age", "region"]
targets = ["marital"]
records = 60
limits = { strongWorst = 50 }

[[scenario]]
name = "ordinary means"
attacker = "ordinary"
keys = ["sex", "age", "region"]
targets = ["marital"]
attacks = ["singling-out", "inference"]
n_attacks = 200

[utility]
measures = ["S_pMSE two-way", "total variation"]
models = ["height ~ age + sex"]
rules = { "minor" = { if = "age < 18", then = "marital == 'single'" } }
limits = { "S_pMSE two-way" = 50 }

[output]
formats = ["csv", "parquet"]
"""


@pytest.fixture(scope="session")
def survey_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "survey.csv"
    write(survey(rows=400), path)
    return path


@pytest.fixture
def specification(tmp_path, survey_file):
    """Write a specification beside the data; texts in it may be replaced."""

    def make(*changes: tuple[str, str], name: str = "release.toml") -> Path:
        (tmp_path / "survey.csv").write_bytes(survey_file.read_bytes())
        text = SPEC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        text = text.replace("[output]\n", "[output]\nreports = []\n")  # they take seconds
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return make


@pytest.fixture(scope="session")
def tables_folder(tmp_path_factory) -> Path:
    """Patients and their visits, with a specification of their release."""
    folder = tmp_path_factory.mktemp("tables")
    for name, table in patients(number=150).items():
        write(table, folder / f"{name}.csv")
    (folder / "release.toml").write_text(tables.SPEC)
    return folder


@pytest.fixture(scope="session")
def tables_outcome(tables_folder: Path) -> Outcome:
    """Return what its run leaves."""
    release = Release.from_toml(tables_folder / "release.toml")
    return release.run(tables_folder / "release", date="2026-01-01")


@pytest.fixture(scope="session")
def outcome(tmp_path_factory, survey_file: Path) -> Outcome:
    """Return what the run of the survey leaves; its specification and data lie beside it."""
    folder = tmp_path_factory.mktemp("survey")
    (folder / "survey.csv").write_bytes(survey_file.read_bytes())
    text = SPEC.replace("[output]\n", "[output]\nreports = []\n")
    (folder / "release.toml").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        return Release.from_toml(folder / "release.toml").run(date="2026-01-01")
