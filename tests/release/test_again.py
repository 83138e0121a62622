"""A release made again from its evidence, and refusals where that cannot be."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.release import Release
from caveat.release.again import made_again
from caveat.release.folder import Outcome
from caveat.spec.spec import ReleaseSpec
from caveat.table import read


def test_the_same_tables_come_out(outcome: Outcome) -> None:
    spec = ReleaseSpec.from_toml(outcome.folder.parent / "release.toml")
    material = made_again(spec, outcome.folder)
    written = read(outcome.folder / "inside/synthetic-1.csv", schema=spec.schema, partial=True)
    (release,) = material.releases
    assert release.names == written.names
    assert np.array_equal(release["age"].values, written["age"].values)
    assert material.control is not None


def test_without_a_release_the_specification_needs_a_seed(tmp_path: Path, outcome: Outcome) -> None:
    text = (outcome.folder / "inside/release.toml").read_text()
    (tmp_path / "survey.csv").write_bytes((outcome.folder.parent / "survey.csv").read_bytes())
    path = tmp_path / "release.toml"
    path.write_text(text)
    assert made_again(ReleaseSpec.from_toml(path)).seed == 1
    path.write_text(text.replace("seed = 1", ""))
    with refused("release.seed.absent"):
        made_again(ReleaseSpec.from_toml(path))


def test_another_specification_other_data_and_other_tables_are_refused(
    tmp_path: Path, outcome: Outcome
) -> None:
    text = (outcome.folder / "inside/release.toml").read_text()
    data = (outcome.folder.parent / "survey.csv").read_bytes()
    (tmp_path / "survey.csv").write_bytes(data)
    path, folder = tmp_path / "release.toml", tmp_path / "release"
    path.write_text(text)
    (folder / "inside").mkdir(parents=True)
    content = json.loads((outcome.folder / "inside/evidence.json").read_text())

    def refused() -> str:
        (folder / "inside/evidence.json").write_text(json.dumps(content))
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


SMALL = """\
[release]
seed = 3
[data]
path = "{data}"
[synthesis]
method = "sample"
[[scenario]]
name = "a neighbour"
keys = ["sex"]
[output]
reports = []
"""


@pytest.mark.parametrize("part", ["", "#persons", "#select sex, age from persons order by age"])
def test_a_table_of_a_database_is_found_again(tmp_path: Path, part: str) -> None:
    rows = [("f", 30 + i % 20) if i % 2 else ("m", 25 + i % 30) for i in range(60)]
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as base:
        base.execute("create table persons (sex text, age integer)")
        base.executemany("insert into persons values (?, ?)", rows)
        base.commit()
    path = tmp_path / "release.toml"
    path.write_text(SMALL.format(data=f"people.sqlite{part}"))
    folder = Release.from_toml(path).run().folder
    material = made_again(ReleaseSpec.from_toml(path), folder)
    assert material.releases[0].n_rows == 60
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as base:
        base.execute("insert into persons values ('f', 99)")
        base.commit()
    with refused("release.data.mismatch"):
        made_again(ReleaseSpec.from_toml(path), folder)


def test_a_release_in_the_form_of_its_data_is_made_again(tmp_path: Path) -> None:
    lines = "".join(f"{'f' if i % 2 else 'm'};{i % 9},5\n" for i in range(60))
    (tmp_path / "people.csv").write_text(f"sex;hours\n{lines}")
    path = tmp_path / "release.toml"
    path.write_text(SMALL.format(data="people.csv") + "as_read = true\n")
    folder = Release.from_toml(path).run().folder
    assert ",5" in (folder / "inside/synthetic-1.csv").read_text()
    assert made_again(ReleaseSpec.from_toml(path), folder).seed == 3


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[groups]\nkey = "home"\n', "spec.entry.unsupported"),
        ('[synthesis]\nmethod = "margins"\nepsilon = 1\n', "spec.entry.unsupported"),
    ],
)
def test_groups_and_promises_are_refused(tmp_path: Path, more: str, says: str) -> None:
    path = tmp_path / "release.toml"
    path.write_text(f'[data]\npath = "x.csv"\n[[scenario]]\nname = "a"\nkeys = ["a"]\n{more}')
    with refused(says):
        made_again(Release.from_toml(path).spec)


@pytest.mark.parametrize("name", ["../../x.csv", "/tmp/x.csv", "a.duckdb#x", "..", "x\0.csv"])
def test_names_in_received_evidence_are_no_paths(
    name: str, tmp_path: Path, outcome: Outcome
) -> None:
    deep = tmp_path / "one" / "two"
    shutil.copytree(outcome.folder, deep / "release")
    for file in ("survey.csv", "release.toml"):
        shutil.copy(outcome.folder.parent / file, deep)
    place = deep / "release" / "inside/evidence.json"
    content = json.loads(place.read_text())
    content["release"]["files"][0]["name"] = name
    place.write_text(json.dumps(content))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(CaveatError) as error:
        made_again(ReleaseSpec.from_toml(deep / "release.toml"), deep / "release")
    assert error.value.where == str(deep / "release")
    assert set(tmp_path.rglob("*")) == before


def test_a_copy_that_no_release_has_is_refused(tmp_path: Path, outcome: Outcome) -> None:
    shutil.copytree(outcome.folder, tmp_path / "release")
    for file in ("survey.csv", "release.toml"):
        shutil.copy(outcome.folder.parent / file, tmp_path)
    place = tmp_path / "release" / "inside/evidence.json"
    content = json.loads(place.read_text())
    content["release"]["files"][0]["copy"] = 99
    place.write_text(json.dumps(content))
    with refused("evidence.file.mismatch"):
        made_again(ReleaseSpec.from_toml(tmp_path / "release.toml"), tmp_path / "release")
