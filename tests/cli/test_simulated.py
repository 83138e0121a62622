"""``caveat attack simulated``."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError
from caveat.table import read, write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(buyer_beware(), tmp_path / "data.csv")
    return tmp_path / "data.csv"


def test_a_copy_is_found_and_the_number_of_runs_is_said_before(data: Path) -> None:
    lines = data.parent / "lines.csv"
    told = ["--generator", "copy", "--record", "1000", "--simulations", "20"]
    result = CliRunner().invoke(
        app, ["attack", "simulated", str(data), str(data), *told, "--records", str(lines)]
    )
    assert result.exit_code == 0, result.output
    assert "copy: 40 runs, 20 on the data and as many without each of 1 record" in result.output
    assert "100.0" in result.output
    assert "CONFIDENTIAL" in result.output
    assert read(lines)["row"].values.tolist() == [1000]


def test_without_a_release_and_as_json(data: Path) -> None:
    told = ["--generator", "uniform", "--most", "1", "--simulations", "20", "--json", "-"]
    result = CliRunner().invoke(app, ["attack", "simulated", str(data), *told])
    found = json.loads(result.stdout)
    assert found["attack"] == "simulated"
    assert found["copies"][0][0]["value"] == 0.0


def test_a_generator_is_named(data: Path) -> None:
    result = CliRunner().invoke(app, ["attack", "simulated", str(data)])
    assert isinstance(result.exception, CaveatError)
    assert "name a generator with --generator" in str(result.exception)


def test_settings_come_from_the_generator_of_this_label(data: Path) -> None:
    spec = data.parent / "bench.toml"
    entry = '[[generator]]\nname = "sample"\nlabel = "a hundredth"\nsettings = { share = 0.01 }\n'
    spec.write_text(f'[data]\npath = "data.csv"\n{entry}')
    told = ["--spec", str(spec), "--most", "1", "--simulations", "20", "--json", "-"]
    command = ["attack", "simulated", str(data), *told, "--generator", "a hundredth"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    # One record in a hundred is released: whoever is not is as good as absent.
    found = json.loads(result.stdout)["copies"][0][0]
    assert found["value"] < 0.5


def test_a_command_of_a_specification_is_shown_and_allowed_first(data: Path) -> None:
    mark, spec = data.parent / "mark", data.parent / "bench.toml"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    entry = f'[[generator]]\nname = "x"\nlabel = "safe"\nsettings = {{ command = {command} }}\n'
    spec.write_text(f'[data]\npath = "data.csv"\n{entry}')
    told = ["attack", "simulated", str(data), "--spec", str(spec), "--generator", "safe"]
    result = CliRunner().invoke(app, told)
    assert isinstance(result.exception, CaveatError)
    assert result.exception.where == "bench.toml, line 6"
    assert not mark.exists()
    result = CliRunner().invoke(app, [*told, "--most", "1", "--allow-command"])
    assert shlex.join(command) in result.stderr
    assert mark.exists()
