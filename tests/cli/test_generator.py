"""The commands about generators."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError
from caveat.generators.registry import RECIPES

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAVEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")


def test_all_are_listed() -> None:
    done = run(app, ["generator", "list"])
    assert done.exit_code == 0
    for name in (*RECIPES, "copy", "sample", "margins", "uniform", "guarded"):
        assert name in done.output
    assert "BUSL-1.1 (*)" in done.output


def test_one_is_tried() -> None:
    done = run(app, ["generator", "test", "margins"])
    assert done.exit_code == 0
    assert "margins: keeps the contract; the same seed gives the same table" in done.output


def test_mistakes_are_one_sentence() -> None:
    for words, says in (
        (["test", "arfpy"], "generator arfpy: it is not installed; run: caveat generator add"),
        (["test", "nobody"], "there is no generator 'nobody'"),
        (["add", "sdv-tvae"], "BUSL-1.1"),
        (["remove", "arfpy"], "there is no environment of arfpy"),
    ):
        done = run(app, ["generator", *words])
        assert isinstance(done.exception, CaveatError)
        assert says in str(done.exception)
