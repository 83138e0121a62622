"""Two folders of releases side by side."""

from __future__ import annotations

import json
from pathlib import Path

from tests.refusals import refused

from caveat.release import diff_releases
from caveat.release.folder import Outcome, files_of


def test_a_folder_or_its_evidence_is_read_and_no_data(outcome: Outcome, tmp_path: Path) -> None:
    assert diff_releases(outcome.folder, outcome.folder / "inside/evidence.json")["same"] is True
    content = json.loads((outcome.folder / "inside/evidence.json").read_text())
    content["scenarios"][0]["measurements"][0]["value"] = 0.987
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/evidence.json").write_text(json.dumps(content))
    found = diff_releases(outcome.folder, tmp_path)
    assert found["spec"] is None  # one of the two has none
    (tmp_path / "inside/release.toml").write_text(
        (outcome.folder / "inside/release.toml")
        .read_text()
        .replace("minbucket = 20", "minbucket = 21")
    )
    found = diff_releases(outcome.folder, tmp_path)
    assert found["names"] == [str(outcome.folder), str(tmp_path)]
    assert found["spec"] == [{"entry": "synthesis.minbucket", "before": 20, "after": 21}]
    (risk,) = found["risk"]["changed"]
    assert risk["after"]["value"] == 0.987


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with refused("data.file.absent"):
        diff_releases(tmp_path, tmp_path)
    assert files_of(Path("x/evidence.json")) == (Path("x/evidence.json"), Path("x/release.toml"))
    assert files_of(Path("x")) == (Path("x/inside/evidence.json"), Path("x/inside/release.toml"))
