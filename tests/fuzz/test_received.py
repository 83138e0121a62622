"""Received projects end in pages and sentences: no traceback, nothing written elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.fuzz.harness import FACTOR, failures, run_cases
from tests.fuzz.received import FILES, cases, open_all, project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def test_received_projects_are_refused_or_shown(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    folder = tmp_path / "project"
    folder.mkdir()
    project(folder)
    found = run_cases(open_all, cases(folder, int(26 * FACTOR)))
    assert not failures(found), failures(found)
    assert found[0].verdict == "accepted"
    assert len(found) >= len(FILES)
