"""``caveat benchmark`` as it is met at the terminal."""

from __future__ import annotations

from pathlib import Path

from tests.benchmark.conftest import SPEC
from typer.testing import CliRunner

from caveat import datasets, write
from caveat.cli import app


def test_the_table_the_failures_and_where_the_page_is(tmp_path: Path) -> None:
    write(datasets.survey(rows=200).select(["sex", "age", "marital"]), tmp_path / "survey.csv")
    (tmp_path / "bench.toml").write_text(SPEC.replace("seeds = 2", "seeds = 1"))
    result = CliRunner().invoke(app, ["benchmark", str(tmp_path / "bench.toml")])
    assert result.exit_code == 0
    assert "S_pMSE two-way" in result.stdout
    lines = result.stdout.splitlines()
    assert (
        sum("no such leaf failed: synthesis, column sex: minbucket" in line for line in lines) == 1
    )
    assert any("benchmark.html" in line for line in lines)


def test_a_specification_that_is_not_there_is_one_sentence() -> None:
    result = CliRunner().invoke(app, ["benchmark", "nowhere.toml"])
    assert result.exit_code != 0
