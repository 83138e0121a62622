"""One attack, one record: whatever is said about an attack comes from its entry."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pages import examples
from typer.testing import CliRunner

from caveat.attack.registry import ATTACKS, add
from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.table import write

# The file of a new attack, as its page shows it; below it the line by which the registry knows it.
(DUMMY,) = examples("develop/attack.md")
MAIN = """
from caveat.attack.registry import register
from dummy import ATTACK

register(ATTACK)
from caveat.cli import main

main()
"""
SPEC = """
[release]
seed = 1
[data]
path = "survey.csv"
[[scenario]]
name = "a gambler"
attacker = "ordinary"
keys = ["age"]
targets = ["sex"]
attacks = ["luck"]
luck = 9
limits = { lucky = 5 }
[utility]
measures = ["S_pMSE one-way"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dummy")
    (path / "dummy.py").write_text(DUMMY, encoding="utf-8")
    (path / "main.py").write_text(MAIN, encoding="utf-8")
    (path / "release.toml").write_text(SPEC, encoding="utf-8")
    write(survey(rows=120).select(["sex", "age"]), path / "survey.csv")
    return path


def caveat(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run the command line in a process of its own, whose registry has one attack more."""
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "main.py", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "100"},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_new_attack_has_a_command_with_help(folder: Path) -> None:
    text = caveat(folder, "attack", "luck", "--help")
    assert "Guesses and is lucky." in text
    assert "caveat attack luck original.csv synthetic.csv" in text
    assert re.search(r"--luck .*How many of a hundred guesses are right. +\[default: 7", text)
    told = ("--keys", "age", "--target", "sex", "--luck", "20", "--json", "-")
    found = json.loads(caveat(folder, "attack", "luck", "survey.csv", "survey.csv", *told))
    assert found["attack"] == "luck"
    assert found["copies"][0][0]["value"] == 0.2


def test_a_new_attack_goes_from_a_specification_to_the_reports(folder: Path) -> None:
    caveat(folder, "run", "release.toml", code=3)  # the limit is broken
    evidence = json.loads((folder / "release" / "inside/evidence.json").read_text("utf-8"))
    (scenario,) = evidence["scenarios"]
    assert scenario["circumstances"]["luck"] == 9
    (found,) = scenario["measurements"]
    assert (found["measure"], found["value"], found["target"]) == ("lucky", 0.09, "sex")
    assert found["excess"] == pytest.approx(0.8)
    assert evidence["measures"]["lucky"]["blind_spot"] == "Everything."
    for name in ("report.md", "report-external.md"):
        text = (folder / "release" / "inside" / name).read_text("utf-8")
        assert "lucky (luck 9)" in text
        assert "guesses that are right" in text


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=lambda attack: attack.name)
def test_every_attack_is_explained(attack) -> None:
    assert len(attack.does) <= 60, "the list of attacks cuts it off"
    shown = CliRunner().invoke(app, ["attack", "--help"], terminal_width=80).output
    assert attack.does in shown
    text = CliRunner().invoke(app, ["attack", attack.name, "--help"], terminal_width=100).output
    assert attack.example in text
    for option in attack.options:
        assert f"--{option.name.replace('_', '-')}" in text
        assert option.help.split()[0] in text
    assert text.count("  --") <= 18  # one of them is the example


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=lambda attack: attack.name)
def test_every_example_is_understood(attack) -> None:
    """It fails at the first file, which is not there; the options are right."""
    files = ["nowhere/original.csv", "nowhere/synthetic.csv"]
    arguments = ["attack", attack.name, *files, *attack.example.split()]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, CaveatError), result.output
    assert "there is no such file" in str(result.exception)


def test_a_wrong_attack_is_answered_in_a_sentence() -> None:
    for wrong in (["original.csv", "syn.csv"], ["classifier", "original.csv", "syn.csv"]):
        result = CliRunner().invoke(app, ["attack", *wrong])
        assert str(result.exception) == (
            f"there is no attack '{wrong[0]}'; choose among strong, simulated, prediction, "
            "singling-out, inference, outliers, linkability, membership, distances."
        )


def test_the_earlier_name_of_register_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="register"):
        add()
