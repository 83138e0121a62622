"""``caveat benchmark`` as it is met at the terminal."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tests.benchmark.conftest import SPEC
from typer.testing import CliRunner

from caveat import datasets, write
from caveat.cli import app
from caveat.errors import CaveatError


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


def test_a_command_is_shown_before_it_starts(tmp_path: Path) -> None:
    write(datasets.survey(rows=60).select(["sex", "age", "marital"]), tmp_path / "survey.csv")
    mark, spec = tmp_path / "mark", tmp_path / "bench.toml"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    entry = f'[[generator]]\nname = "x"\nlabel = "safe"\nsettings = {{ command = {command} }}\n'
    plain = SPEC.split("[[generator]]")
    spec.write_text(plain[0] + entry + "[benchmark]" + plain[-1].split("[benchmark]")[1])
    result = CliRunner().invoke(app, ["benchmark", str(spec)])
    assert isinstance(result.exception, CaveatError)
    assert str(result.exception).startswith("bench.toml, line ")
    assert not mark.exists()
    result = CliRunner().invoke(app, ["--quiet", "benchmark", str(spec), "--allow-command"])
    assert shlex.join(command) in result.stderr
    assert mark.exists()
