"""The user's own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.generators.process import home


def test_the_variable_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAVEAT_HOME", str(tmp_path / "x"))
    assert home() == tmp_path / "x"
    monkeypatch.setenv("CAVEAT_HOME", "relative")
    with refused("generator.folder.malformed", where="CAVEAT_HOME"):
        home()


def test_without_it_the_platform_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAVEAT_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert home() == tmp_path / "caveat"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    assert home() == Path.home() / ".local" / "share" / "caveat"
