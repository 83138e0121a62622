"""``caveat init`` asks until it understands, and writes a specification that holds."""

from __future__ import annotations

import importlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from caveat.cli import app
from caveat.datasets import households, survey
from caveat.release import ReleaseSpec
from caveat.table import Table, write
from caveat.table.grouping import Groups

Ask = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(survey(rows=300), tmp_path / "survey.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setattr(importlib.import_module("caveat.cli.look"), "_is_terminal", lambda: True)

    def run(answers: list[str], *arguments: str) -> Result:
        return CliRunner().invoke(app, ["init", *arguments], input="\n".join(answers) + "\n")

    return run


# file, title, unit, purpose, recipients, access, copies, control, keys, targets, limit, strong,
# its limit (and another one if columns are named), two analyses
DEFAULTS = [""] * 14


def test_the_defaults_make_a_specification(ask: Ask, folder: Path) -> None:
    result = ask(DEFAULTS)
    assert result.exit_code == 0, result.output
    spec = ReleaseSpec.from_toml(folder / "release.toml")
    assert spec.data.name == "survey.csv"
    assert spec.release.title == "Synthetic data"
    assert (spec.release.access, spec.release.control) == ("secure", None)
    assert [s.attacker for s in spec.scenarios] == ["release", "strong"]
    assert spec.scenarios[0].keys == ("sex", "age", "region")
    assert spec.scenarios[0].targets is None
    assert [str(limit) for limit in spec.scenarios[1].limits] == ["membershipShare ≤ 20"]
    assert spec.synthesis["method"] == "guarded"
    assert spec.utility.models == ()


def test_answers_are_checked_and_asked_for_again(ask: Ask, folder: Path) -> None:
    (folder / "specs").mkdir()
    answers = [
        "nothing.csv", "survey.csv", 'A "title"', "", "person", "teaching", "students",
        "pubic", "public", "0", "two", "2", "1.5", "nan", "0.2", "sex, aeg", ",", "sex, age",
        "age", "income, marital", "120", "5 %", "income", "inf", "10", "-", "incme ~ age",
        "income ~ age + sex", "",
    ]  # fmt: skip
    answers.remove("")  # the unit
    result = ask(answers, "--out", "specs/mine.toml")
    assert result.exit_code == 0, result.output
    for said in (
        "nothing.csv: there is no such file",
        "'pubic' is none of them; perhaps public (allowed: public, registered, secure)",
        "a whole number, 1 or more, is expected",
        "a whole number is expected",
        "a share from 0 to below 1 is expected",
        "a share such as 0.2 is expected",
        "there is no column 'aeg' to choose; perhaps age",
        "name at least one column",
        "there is no column 'age' to choose",
        "a number from 0 to 100 is expected",
        "a number of per cent is expected",
        "there is no column 'incme'",
    ):
        assert said in result.output, said
    spec = ReleaseSpec.from_toml(folder / "specs" / "mine.toml")
    assert spec.data.name == "../survey.csv"
    assert spec.release.title == 'A "title"'
    assert (spec.release.unit, spec.release.purpose) == ("person", "teaching")
    assert (spec.release.copies, spec.release.control) == (2, 0.2)
    scenario, strong = spec.scenarios
    assert (strong.attacker, strong.targets) == ("strong", ("income",))
    assert scenario.keys == ("sex", "age")
    assert scenario.targets == ("income", "marital")
    assert [str(limit) for limit in scenario.limits] == ["DiSCO above control ≤ 5 points"]
    assert [str(limit) for limit in strong.limits] == ["membershipShare ≤ 10"]
    assert spec.utility.models == ("income ~ age + sex",)
    spec.check(spec.read_data())


def test_a_file_that_is_large_enough_gets_a_control(ask: Ask, folder: Path) -> None:
    write(survey(rows=600), folder / "survey.csv", force=True)
    assert ask(DEFAULTS).exit_code == 0
    assert ReleaseSpec.from_toml(folder / "release.toml").release.control == 0.2
    assert ask(["", *["", "", "", "", "", ""], "0", *DEFAULTS], "--force").exit_code == 0
    assert ReleaseSpec.from_toml(folder / "release.toml").release.control is None


def test_groups_are_asked_about_where_there_are_any(ask: Ask, folder: Path) -> None:
    write(households(number=120), folder / "households.csv")
    for answer, expected in (("", Groups), ("no", type(None))):
        result = ask([answer, *DEFAULTS[1:]], "households.csv", "--force")
        assert result.exit_code == 0, result.output
        assert "Rows belong together by household: 120 groups" in result.output
        spec = ReleaseSpec.from_toml(folder / "release.toml")
        assert isinstance(spec.groups, expected)
        assert ("household" in spec.synthesis.get("drop", ())) == (answer == "no")
    spec.check(spec.read_data())


def test_odd_names_can_be_typed(ask: Ask, folder: Path) -> None:
    table = survey(rows=300).select(["sex", "age", "region", "income"])
    odd = {"sex": "sex, or gender", "age": "age, in years"}
    renamed = Table({odd.get(name, name): table[name] for name in table}, table.backend)
    write(renamed, folder / "survey.csv", force=True)
    result = ask(DEFAULTS)
    assert result.exit_code == 0, result.output
    assert 'Keys ["sex, or gender", "age, in years", region]' in result.output
    spec = ReleaseSpec.from_toml(folder / "release.toml")
    assert spec.scenarios[0].keys == ("sex, or gender", "age, in years", "region")


def test_nothing_is_overwritten_unasked(ask: Ask, folder: Path) -> None:
    target = folder / "release.toml"
    target.write_text("mine")
    result = ask(["n"], "survey.csv")
    assert result.exit_code != 0
    assert "exists already" in str(result.exception or result.output)
    assert target.read_text() == "mine"
    result = ask(["y", *DEFAULTS[1:]], "survey.csv")
    assert result.exit_code == 0, result.output
    assert ReleaseSpec.from_toml(target).data.name == "survey.csv"


def test_an_interruption_leaves_nothing(ask: Ask, folder: Path) -> None:
    result = ask(["", "", ""])  # the answers end
    assert result.exit_code == 1
    assert sorted(path.name for path in folder.iterdir()) == ["survey.csv"]


def run(folder: Path, *arguments: str, **more: object) -> subprocess.Popen[bytes]:
    code = "from caveat.cli import main; main()"
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    return subprocess.Popen(
        [sys.executable, "-c", code, "init", *arguments], cwd=folder, env=environment, **more
    )  # type: ignore[call-overload,no-any-return]


def test_without_a_terminal_it_says_so_in_one_sentence(folder: Path) -> None:
    pipe = subprocess.PIPE
    process = run(folder, "survey.csv", stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
    out, errors = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, b"")
    assert errors.decode().count("\n") == 1
    assert errors.decode().endswith("[command.terminal.absent]\n")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_in_a_terminal(folder: Path) -> None:
    ours, theirs = os.openpty()
    process = run(folder, "survey.csv", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, asked, end = b"", 0, time.monotonic() + 300
    try:
        while process.poll() is None and time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    seen += os.read(ours, 4096)
                except OSError:  # the other side is closed
                    break
            # Every question ends like this; the empty answer takes what is shown.
            if seen.endswith(b": ") and seen.count(b"\n") >= asked:
                os.write(ours, b"\n")
                asked = seen.count(b"\n") + 1
        assert process.wait(timeout=300) == 0, seen.decode()
    finally:
        process.kill()
        os.close(ours)
    text = seen.decode()
    assert "Keys [sex, age, region]: " in text
    assert "written: release.toml" in text
    assert ReleaseSpec.from_toml(folder / "release.toml").scenarios[0].attacker == "release"


def test_the_schema_for_editors(folder: Path) -> None:
    result = CliRunner().invoke(app, ["init", "--schema"])
    assert result.exit_code == 0, result.output
    schema = json.loads((folder / "release.schema.json").read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    again = CliRunner().invoke(app, ["init", "--schema"])
    assert "exists already" in str(again.exception)
