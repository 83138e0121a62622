"""A release made again from its evidence, and refusals where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.release import Release
from caveat.release.again import made_again
from caveat.release.outcome import Outcome
from caveat.spec.spec import ReleaseSpec
from caveat.table import read


def test_the_same_tables_come_out(outcome: Outcome) -> None:
    spec = ReleaseSpec.from_toml(outcome.folder.parent / "release.toml")
    material = made_again(spec, outcome.folder)
    written = read(outcome.folder / "synthetic-1.csv", schema=spec.schema, partial=True)
    (release,) = material.releases
    assert release.names == written.names
    assert np.array_equal(release["age"].values, written["age"].values)
    assert material.control is not None


def test_without_a_release_the_specification_needs_a_seed(tmp_path: Path, outcome: Outcome) -> None:
    text = (outcome.folder / "release.toml").read_text()
    (tmp_path / "survey.csv").write_bytes((outcome.folder.parent / "survey.csv").read_bytes())
    path = tmp_path / "release.toml"
    path.write_text(text)
    assert made_again(ReleaseSpec.from_toml(path)).seed == 1
    path.write_text(text.replace("seed = 1", ""))
    with pytest.raises(CaveatError, match="no seed in the specification; run the release first"):
        made_again(ReleaseSpec.from_toml(path))


def test_another_specification_other_data_and_other_tables_are_refused(
    tmp_path: Path, outcome: Outcome
) -> None:
    text = (outcome.folder / "release.toml").read_text()
    data = (outcome.folder.parent / "survey.csv").read_bytes()
    (tmp_path / "survey.csv").write_bytes(data)
    path, folder = tmp_path / "release.toml", tmp_path / "release"
    path.write_text(text)
    folder.mkdir()
    content = json.loads((outcome.folder / "evidence.json").read_text())

    def refused() -> str:
        (folder / "evidence.json").write_text(json.dumps(content))
        with pytest.raises(CaveatError) as caught:
            made_again(ReleaseSpec.from_toml(path), folder)
        return str(caught.value)

    content["release"]["files"][0]["sha256"] = "0" * 64
    assert "the tables come out otherwise" in refused()
    (tmp_path / "survey.csv").write_bytes(data + b"\n")
    assert "made from other data" in refused()
    path.write_text(text + "\n")
    assert "made by another specification" in refused()
    content["release"]["synthesised_by"] = "elsewhere"
    assert "synthesised elsewhere" in refused()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[groups]\nkey = "home"\n', "rows belong together"),
        ('[synthesis]\nmethod = "margins"\nepsilon = 1\n', "noise of a guarantee cannot"),
    ],
)
def test_groups_and_promises_are_refused(tmp_path: Path, more: str, says: str) -> None:
    path = tmp_path / "release.toml"
    path.write_text(f'[data]\npath = "x.csv"\n[[scenario]]\nname = "a"\nkeys = ["a"]\n{more}')
    with pytest.raises(CaveatError, match=says):
        made_again(Release.from_toml(path).spec)
