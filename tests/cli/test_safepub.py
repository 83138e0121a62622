"""``caveat safepub`` as it is met at the terminal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import datasets, read, write
from caveat.cli import app
from caveat.errors import CaveatError
from caveat.privacy.ledger import Ledger

SPEC = """
[columns]
age.kind = "integer"
sex.kind = "category"
satisfied.kind = "category"
income.missing = [-8]
[safepub]
epsilon = 2
delta = 1e-5
beta = 0.4
response = "satisfied"
[safepub.levels.age]
widths = [10, 20]
[safepub.levels.sex]
"""
LEDGER = """
[privacy]
ledger = "ledger.jsonl"
dataset = "survey"
limit = { epsilon = 3, delta = 1e-4 }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(datasets.survey(), tmp_path / "survey.csv")
    (tmp_path / "safepub.toml").write_text(SPEC)
    monkeypatch.setattr(
        "caveat.privacy.noise.choose", lambda scores, epsilon: int(np.argmax(scores))
    )
    return tmp_path


def call(*more: str) -> str:
    arguments = ["safepub", "survey.csv", "--spec", "safepub.toml", "--out", "out.csv", *more]
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_a_release_says_what_is_promised_and_what_is_not(here: Path) -> None:
    said = call()
    promised, _, rest = said.partition("released\n")
    released, _, office = rest.partition("for the office, outside the promise\n")
    assert "epsilon 2 (1.8 for the records, 0.2 for the choice of levels)" in promised
    assert "covered: age, sex, satisfied, and no other column" in promised
    assert "satisfied: as it is" in released
    assert "sampling rate 0.4, classes of 17 or more" in released
    assert "3,000 rows" in office
    assert "not released: person, interviewed, region" in office
    table = read(here / "out.csv")
    assert table.names == ("age", "sex", "satisfied")
    assert 900 < table.n_rows < 1300


def test_an_output_is_not_replaced_and_an_error_leaves_none(here: Path) -> None:
    (here / "out.csv").write_text("old")
    with refused("command.output.exists", where="out.csv"):
        call()
    assert (here / "out.csv").read_text() == "old"
    (here / "out.csv").unlink()
    text = SPEC.replace("[safepub.levels.sex]", '[safepub.levels.sex]\ngroups = [{ f = ["a"] }]')
    (here / "safepub.toml").write_text(text)
    with pytest.raises(CaveatError) as error:
        call()
    assert "safepub.toml, line 14: safepub.levels.sex, row 1" in str(error.value)
    assert "female" not in str(error.value)
    assert not (here / "out.csv").exists()


def test_the_ledger_counts_and_refuses(here: Path) -> None:
    (here / "safepub.toml").write_text(SPEC + LEDGER)
    call()
    assert Ledger(here / "ledger.jsonl").spent("survey", 1e-4) == pytest.approx(2)
    before = (here / "ledger.jsonl").read_bytes()
    (here / "out.csv").unlink()
    with refused("privacy.budget.refused", where="ledger.jsonl"):
        call()
    assert (here / "ledger.jsonl").read_bytes() == before
    assert not (here / "out.csv").exists()


def test_the_ledger_is_no_output(here: Path) -> None:
    (here / "safepub.toml").write_text(SPEC + LEDGER.replace("ledger.jsonl", "./out.csv"))
    with refused("command.output.duplicate", where="out.csv"):
        call("--force")
