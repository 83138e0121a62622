"""Nothing large is loaded for a version, a help text or a refusal."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages import DOCS

from caveat.attack.registry import ATTACKS
from caveat.cli.attack import known_attacks
from caveat.cli.commands import COMMANDS, loaded

LARGE = (
    *("altair", "jsonschema", "numba", "pandas", "polars", "pyarrow", "sklearn", "statsmodels"),
    *("scipy.interpolate", "scipy.optimize", "scipy.sparse", "scipy.stats"),
)
PROGRAM = f"""
import json, sys
from caveat.cli import main
try:
    main()
except SystemExit as error:
    print(json.dumps([error.code, [name for name in {LARGE!r} if name in sys.modules]]))
"""
REFUSED = {
    "no such command": ["nonsense"],
    "no argument": ["audit"],
    "no option": ["synth", "data.csv"],
    "no terminal": ["init"],
    "audit": ["audit", "no.csv", "no.csv", "--keys", "a"],
    "benchmark": ["benchmark", "no.toml"],
    "check": ["check", "no.csv"],
    "compare": ["compare", "no.csv", "no.csv"],
    "diff": ["diff", "no", "no"],
    "explain": ["explain", "no.toml", "--record", "1"],
    "look": ["look", "no.csv"],
    "look, not TOML": ["look", "data.csv", "--schema", "wrong.toml"],
    "model": ["model", "show", "no.caveat"],
    "places": ["places", "no.csv", "--x", "a", "--y", "b", "--move", "1", "2", "--out", "out.csv"],
    "replication": ["replication", "no.csv", "no.csv", "--by", "a"],
    "report": ["report", "no.json"],
    "run": ["run", "no.toml"],
    "run, not TOML": ["run", "wrong.toml"],
    "safepub": ["safepub", "data.csv", "--spec", "no.toml", "--out", "out.csv"],
    "synth": ["synth", "no.csv", "--out", "out.csv"],
    "tables": ["tables", "wrong.toml"],
    "tune": ["tune", "no.toml"],
}


def loads(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Return how a command ended, and the large libraries that it had loaded."""
    (folder / "data.csv").write_text("a,b\n1,2\n")
    (folder / "wrong.toml").write_text("[data\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    code, large = json.loads(done.stdout.splitlines()[-1])
    return code, large


def test_the_version_and_the_list_of_commands_load_nothing_large(tmp_path: Path) -> None:
    assert loads(tmp_path, "--version") == (0, [])
    assert loads(tmp_path, "--help") == (0, [])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_large(command: str, tmp_path: Path) -> None:
    assert loads(tmp_path, command, "--help") == (0, [])


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_loads_nothing_large(case: str, tmp_path: Path) -> None:
    assert loads(tmp_path, *REFUSED[case]) == (2, [])


WRONG = "[data]\npath = 'data.csv'\n[synthesis]\nmetod = 'cart'\n"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "odd.toml"),
        ("benchmark", "odd.toml"),
        ("tune", "odd.toml"),
        ("synth", "odd.toml", "--out", "out.csv"),
        ("compare", "data.csv", "data.csv", "--schema", "odd.toml"),
        ("attack", "outliers", "data.csv", "data.csv", "--spec", "odd.toml", "--keys", "a"),
    ],
    ids=lambda command: command[0],
)
def test_a_wrong_entry_is_refused_before_anything_large_is_loaded(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "odd.toml").write_text(WRONG)
    loaded_too = {"numba", "pyarrow"} if command[0] == "attack" else set()  # the attack itself
    code, large = loads(tmp_path, *command)
    assert (code, set(large) - loaded_too) == (2, set())


@pytest.mark.parametrize("attack", ATTACKS)
def test_help_of_an_attack_loads_nothing_large(attack: str, tmp_path: Path) -> None:
    assert loads(tmp_path, "attack", attack, "--help") == (0, [])


def test_no_attack_loads_nothing_large(tmp_path: Path) -> None:
    assert loads(tmp_path, "attack", "nonsense") == (2, [])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_says_what_the_command_says(command: str) -> None:
    said = loaded(command).help.split("\n\n")[0].split("\f")[0]
    assert " ".join(said.split()) == COMMANDS[command]


def test_what_is_known_without_loading_is_what_the_rooms_say() -> None:
    for path, text in runpy.run_path(str(DOCS / "make_release_spec.py"))["known"]().items():
        assert path.read_text("utf-8") == text, "run python docs/make_release_spec.py"


def test_a_program_that_adds_an_attack_is_given_it(monkeypatch: pytest.MonkeyPatch) -> None:
    more = replace(ATTACKS["outliers"], name="luck", does="guesses")
    monkeypatch.setitem(ATTACKS, "luck", more)
    assert known_attacks()["luck"].does == "guesses"
