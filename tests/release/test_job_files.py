"""Files of jobs in a project: those of others are as good as none, and links are removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caveat.release.job_files import FORMAT, read_job, read_result, remove_links, result_text

JOB = {"format": FORMAT, "state": "working", "since": 1.5, "share": 0.25, "pid": 77, "at": 2,
       "from": 1, "asked": {"files": ["../x.csv"], "form": {"encoding": "utf-8"}}}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"pid": -1}, {"pid": 0}, {"pid": True}, {"pid": "7"}, {"since": "x"}, {"since": 1e300},
     {"share": 1e-300}, {"share": 2}, {"state": "away"}, {"state": ["done"]}, {"format": 1},
     {"asked": []}, {"asked": {"files": ["../../x.csv"]}}, {"asked": {"files": ["/etc/passwd"]}},
     {"asked": {"files": "x"}}, {"asked": {"form": {"columns": "x"}}}, {"mistakes": "x"},
     {"said": [3]}],
)  # fmt: skip
def test_a_job_of_another_shape_is_none(change: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "look.json").write_text(json.dumps(JOB))
    assert read_job(tmp_path, "look") == JOB
    (tmp_path / "look.json").write_text(json.dumps({**JOB, **change}))
    assert read_job(tmp_path, "look") == {}


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format": 2, "state": "done", "since": NaN}'])
def test_what_is_no_document_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "run-result.json").write_text(text)
    assert read_job(tmp_path, "run") == {}
    assert read_result(tmp_path, "run") is None


@pytest.mark.parametrize(
    "tried",
    [[[[["data", "path"], "x"]]], [[[[], 1]]], [[[["synthesis", {}], 1]]], [[["synthesis", 1, 2]]],
     [3], "x"],
)  # fmt: skip
def test_a_result_names_settings_of_the_synthesis_only(tried: Any, tmp_path: Path) -> None:
    good = [[[["synthesis", "guard"], "light"], [["protect", 0, "method"], "swap"]]]
    (tmp_path / "run-result.json").write_text(result_text({"tried": good, "verdict": "x"}))
    assert read_result(tmp_path, "run")["tried"] == good
    (tmp_path / "run-result.json").write_text(result_text({"tried": tried, "verdict": "x"}))
    assert read_result(tmp_path, "run") is None


def test_links_are_removed_and_their_files_stay(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    for name in ("run.json", "run.new", "run.lock", "run.log", "run-result.json"):
        (tmp_path / name).symlink_to(mine)
    assert read_job(tmp_path, "run") == {}
    remove_links(tmp_path, "run")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert mine.read_text() == "mine"


def test_a_number_that_is_not_finite_is_none_in_a_result() -> None:
    assert json.loads(result_text([float("nan"), 1.5])) == {"format": FORMAT, "left": [None, 1.5]}
