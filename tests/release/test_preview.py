"""The first rows of the original and of its release."""

from __future__ import annotations

from tests.refusals import refused

from caveat.release import Release
from caveat.release.opening import preview
from caveat.table import read

SHORT = """\
[release]
title = "A survey"
seed = 1
control = 0.25

[data]
path = "survey.csv"

[synthesis]
method = "cart"
drop = ["person", "interviewed", "occupation", "bmi"]

[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["marital"]

[utility]
measures = ["KS"]

[output]
formats = ["csv"]
reports = []
"""


def test_rows_of_both_sides_stand_beside_each_other(specification):
    path = specification()
    path.write_text(SHORT)
    with refused("release.folder.absent"):
        preview(path, path.parent / "release")
    folder = path.parent / "release"
    Release.from_toml(path).run(folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    (found,) = preview(path, folder, rows=4)
    assert "person" not in found["columns"]
    assert len(found["original"]) == len(found["release"]) == 4
    ours = read(path.parent / "survey.csv")
    place = found["columns"].index("age")
    assert [row[place] for row in found["original"]] == [str(v) for v in ours["age"].values[:4]]
    assert found["original"] != found["release"]
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
