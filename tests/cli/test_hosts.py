"""``--allow-host`` and the question on a terminal, before credentials go to a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from caveat.cli import app, console
from caveat.errors import CaveatError
from caveat.spec.document import Document
from caveat.table import child, files
from caveat.table.source import VARIABLE

SPEC = """
[data]
path = "postgresql://ann@203.0.113.9/survey#persons"
[[scenario]]
name = "a"
keys = ["sex"]
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("adbc_driver_postgresql")
    monkeypatch.setenv(VARIABLE, "")
    path = tmp_path / "release.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note where the driver would connect to, and let it fail."""
    package = pytest.importorskip("adbc_driver_postgresql.dbapi")
    found: list[str] = []

    def connect(address: str) -> None:
        found.append(address)
        raise package.OperationalError("failed: away", status_code=None)

    def here(*task: Any) -> Any:
        return child._do("read", *task)

    monkeypatch.setattr(package, "connect", connect)
    monkeypatch.setattr(files, "read_in_child", here)  # where the driver is replaced
    return found


def test_a_specification_alone_reaches_nobody(spec: Path, asked: list[str]) -> None:
    for command in (["run", str(spec)], ["explain", str(spec), "--record", "1"]):
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, CaveatError)
        assert "--allow-host 203.0.113.9" in str(result.exception)
    assert asked == []


def test_the_option_the_variable_and_the_command_line_name_a_host(
    spec: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    CliRunner().invoke(app, ["run", str(spec), "--allow-host", "203.0.113.9"])
    assert asked == ["postgresql://ann@203.0.113.9/survey?sslmode=require"]
    monkeypatch.setenv(VARIABLE, "db1, 203.0.113.9")
    CliRunner().invoke(app, ["run", str(spec)])
    monkeypatch.setenv(VARIABLE, "")
    CliRunner().invoke(app, ["look", "postgresql://bob@db2/survey#persons"])
    assert asked[1:] == [asked[0], "postgresql://bob@db2/survey?sslmode=require"]


@pytest.mark.parametrize("yes", [True, False])
def test_on_a_terminal_there_is_a_question(
    yes: bool, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        questions.append(text)
        return yes

    monkeypatch.setattr(console.typer, "confirm", confirm)
    console.ask_for_hosts(Document.read(spec))
    assert questions == []  # nobody is there
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(console.sys, stream, type("Terminal", (), {"isatty": lambda _: True})())
    console.ask_for_hosts(Document.read(spec))
    assert len(questions) == 1
    assert "203.0.113.9" in questions[0]
    assert os.environ[VARIABLE] == ("203.0.113.9" if yes else "")
