"""Nothing large is loaded for a version, a help text or a refusal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from caveat.attack.registry import ATTACKS
from caveat.cli.attack import NAMES
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


def test_a_wrong_entry_is_refused_without_the_libraries_of_models(tmp_path: Path) -> None:
    """The table of entries knows the measures, and these their loops: the compiler is loaded."""
    (tmp_path / "odd.toml").write_text("[data]\npath = 'data.csv'\n[release]\ntitel = 'x'\n")
    code, large = loads(tmp_path, "run", "odd.toml")
    assert (code, set(large) - {"numba", "pyarrow"}) == (2, set())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_says_what_the_command_says(command: str) -> None:
    said = loaded(command).help.split("\n\n")[0].split("\f")[0]
    assert " ".join(said.split()) == COMMANDS[command]


def test_the_list_of_attacks_is_that_of_the_registry() -> None:
    assert {name: attack.does for name, attack in ATTACKS.items()} == NAMES
    assert list(ATTACKS) == list(NAMES)
