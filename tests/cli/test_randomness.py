"""The options for randomness: a seed alone makes a trial, and the terminal says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import survey
from caveat.seeds import TRIAL
from caveat.table import write


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "survey.csv"
    write(survey(100).select(["sex", "region"]), path)
    return path


@pytest.mark.parametrize(
    ("options", "trial"),
    [([], False), (["--seed", "1"], True), (["--seed", "1", "--key", "a.key"], False),
     (["--key", "b.key"], False)],
)  # fmt: skip
def test_synth_says_whether_its_table_may_be_released(
    data: Path, options: list[str], trial: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["synth", str(data), "--out", "out.csv", *options])
    assert result.exit_code == 0
    assert (TRIAL in result.output.replace("\n", " ")) is trial
    assert Path("out.csv").exists()


def test_the_same_key_gives_the_same_bytes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, key in (("a.csv", "1.key"), ("b.csv", "1.key"), ("c.csv", "2.key")):
        call = ["synth", str(data), "--out", name, "--key", key]
        assert CliRunner().invoke(app, call).exit_code == 0
    a, b, c = (Path(name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_a_seed_as_long_as_a_key_is_refused(data: Path, tmp_path: Path) -> None:
    call = ["synth", str(data), "--out", str(tmp_path / "a.csv"), "--seed", str(2**128)]
    assert CliRunner().invoke(app, call).exit_code == 2
