"""What a job leaves in its folder; how it is started and ends is a matter of test_jobs."""

from __future__ import annotations

import json
import warnings

import pytest
from tests.app.client import client

from caveat.app import job, jobs
from caveat.datasets import survey
from caveat.errors import CaveatError, CaveatWarning
from caveat.release.job_files import result_text
from caveat.table import write


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
        raise CaveatError("there is no such file", code="test.thing.failed")

    (folder / ".caveat" / "look-result.json").write_text("1")
    monkeypatch.setitem(job.KINDS, "look", look)
    job.main("look", folder)
    assert left(folder)["mistakes"] == ["there is no such file."]
    assert left(folder, "look-result") == 1


def test_every_kind_is_a_function():
    assert {"look", "check", "run"} <= set(job.KINDS)


@pytest.mark.parametrize("seed", ["", "seed = 1\n"])
def test_the_page_of_a_run_says_whether_it_was_a_trial(tmp_path, seed):
    folder = tmp_path / "one"
    (folder / ".caveat").mkdir(parents=True)
    write(survey(rows=80).select(["sex", "age"]), folder / "survey.csv")
    (folder / "release.toml").write_text(
        f'[release]\n{seed}[data]\npath = "survey.csv"\n[[scenario]]\nname = "a"\nkeys = ["sex"]\n'
        'targets = ["age"]\n[utility]\nmeasures = ["S_pMSE one-way"]\n[output]\nreports = []\n'
    )
    found = job.run(folder, {}, lambda *_: None)
    (folder / ".caveat" / "run-result.json").write_text(result_text(found))
    done = {"format": jobs.FORMAT, "state": "done", "since": 1.0, "ended": 2.0}
    (folder / ".caveat" / "run.json").write_text(json.dumps(done))
    text = client(tmp_path).get("/p/one/run").text
    assert "The last run is done" in text
    assert ("must not be released" in text) is bool(seed)
    del found["trial"]  # an earlier version said nothing of it
    (folder / ".caveat" / "run-result.json").write_text(result_text(found))
    assert "The last run is done" in client(tmp_path).get("/p/one/run").text
