"""What a job leaves in its folder; how it is started and ends is a matter of test_jobs."""

from __future__ import annotations

import json
import warnings

import pytest

from caveat.app import job
from caveat.errors import CaveatError, CaveatWarning


@pytest.fixture
def folder(tmp_path):
    (tmp_path / ".caveat").mkdir()
    said = {"format": 2, "state": "starting", "since": 1, "asked": {"files": ["x"]}, "step": ""}
    (tmp_path / ".caveat" / "look.json").write_text(json.dumps(said))
    return tmp_path


def left(folder, name="look"):
    return json.loads((folder / ".caveat" / f"{name}.json").read_text())


def test_a_result_and_its_warnings(folder, monkeypatch):
    def look(where, asked, tell):
        assert (where, asked) == (folder, {"files": ["x"]})
        assert left(folder)["state"] == "working"
        tell("half", 0.5)
        warnings.warn("know this", CaveatWarning, stacklevel=1)
        return {"rows": 3}

    monkeypatch.setitem(job.KINDS, "look", look)
    job.main("look", folder)
    assert left(folder, "look-result") == {"format": 2, "left": {"rows": 3}}
    said = left(folder)
    assert (said["state"], said["step"], said["share"]) == ("done", "half", 1.0)
    assert said["said"] == ["know this"]


def test_a_mistake_leaves_the_result_before(folder, monkeypatch):
    def look(where, asked, tell):
        raise CaveatError("there is no such file")

    (folder / ".caveat" / "look-result.json").write_text("1")
    monkeypatch.setitem(job.KINDS, "look", look)
    job.main("look", folder)
    assert left(folder)["mistakes"] == ["there is no such file."]
    assert left(folder, "look-result") == 1


def test_every_kind_is_a_function():
    assert {"look", "check", "run"} <= set(job.KINDS)
