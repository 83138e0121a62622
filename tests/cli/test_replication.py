"""``caveat replication`` as it is met at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import write
from caveat.cli import app
from caveat.table import Table


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ages = np.repeat(np.arange(60), 1 + np.arange(60) % 4)
    town = Table.from_frame({"age": ages, "sex": np.where(ages % 2, "f", "m")})
    for name in ("people", "run-1", "run-2", "run-3"):
        write(town, tmp_path / f"{name}.csv")
    return tmp_path


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["replication", "people.csv", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


COPIES = ("run-1.csv", "run-2.csv", "run-3.csv")


def test_copies_of_the_data_are_found_out(here: Path) -> None:
    said = call(*COPIES, "--by", "age", "--by", "sex", "--json", "all.json")
    assert said.startswith(
        "30 cells of age × sex hold fewer than 3 records; over 3 copies they come out true 100.0 %"
    )
    assert "WARNING: that is more than chance" in said
    assert "has the true number of 100.0 % of these cells" in said
    found = json.loads((here / "all.json").read_text())
    assert len(found["cells"]) == found["systematic"] == 30
    rounded = json.loads(call(*COPIES, "--by", "age", "--rounded", "--json", "-"))
    assert rounded["rounded"]
    assert rounded["told by the mean"] < 0.7


def test_one_copy_is_not_enough(here: Path) -> None:
    with refused("outputs.copy.too-few", where="replication"):
        call("run-1.csv", "--by", "age")
