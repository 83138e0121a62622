"""results.json, as SACRO-Viewer opens it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.refusals import refused

from caveat.outputs.checking import STATUS, check_files, check_names, results, schema, write_results
from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import Verdict

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    texts = {
        "table.csv": "sex,count\nf,120\nm,4\n",
        "safe.csv": "region,count\nn,80\ns,60\n",
        "cross.csv": "sex,north,south\nf,20,30\nm,40,3\n",
        "money.csv": "branch,count,total,largest_1,largest_2\nfood,30,100,60,35\ntoys,40,90,5,3\n",
        "model.json": json.dumps({"n": 500, "coefficients": [{"term": "age"}]}),
        "picture.png": "x",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in texts]


def test_the_file_follows_its_schema(paths: list[Path]) -> None:
    Draft202012Validator.check_schema(schema())
    described = {"cross.csv": Described(form="cross")}
    content = results(check_files(paths, described=described), NOW)
    Draft202012Validator(schema()).validate(content)
    records = content["results"]
    assert list(records) == [f"output_{i}" for i in range(6)]
    assert [one["status"] for one in records.values()] == [
        "fail", "pass", "fail", "fail", "pass", "review",
    ]  # fmt: skip
    assert [one["type"] for one in records.values()] == [
        "table", "table", "table", "table", "regression", "custom",
    ]  # fmt: skip
    assert records["output_0"]["summary"] == "fail; threshold: 1"
    assert records["output_0"]["outcome"] == {"count": {"1": "threshold (refuse); "}}
    assert records["output_0"]["timestamp"] == "2026-01-02T03:04:05+00:00"
    assert records["output_1"]["summary"] == "pass"


def test_cells_are_counted_from_the_second_column(paths: list[Path]) -> None:
    """The viewer takes the first column for an index: its cell 0 is in the second one."""
    described = {"cross.csv": Described(form="cross")}
    content = results(check_files(paths, described=described), NOW)["results"]
    cells = [content[f"output_{i}"]["files"][0]["sdc"] for i in range(4)]
    assert cells[0]["cells"]["threshold"] == [[1, 0]]
    assert cells[2]["cells"]["threshold"] == [[1, 1]]
    assert cells[3]["cells"]["nk-rule"] == cells[3]["cells"]["p-ratio"] == [[0, 0]]
    assert cells[3]["summary"]["nk-rule"] == 1
    assert cells[1]["summary"] == {
        "suppressed": False, "negative": 0, "missing": 0, "threshold": 0, "p-ratio": 0,
        "nk-rule": 0,
    }  # fmt: skip


def test_the_schema_refuses_what_the_viewer_cannot_show(paths: list[Path]) -> None:
    good = results(check_files(paths[:1]), NOW)
    for path, wrong in ((("status",), "safe"), (("files",), []), (("files",), [{"name": "x"}])):
        bad = json.loads(json.dumps(good))
        bad["results"]["output_0"][path[0]] = wrong
        assert not Draft202012Validator(schema()).is_valid(bad)
    assert not Draft202012Validator(schema()).is_valid({"version": "1", "results": {}})


def test_the_folder_has_the_outputs_and_their_checksums(paths: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    names = write_results(folder, paths, check_files(paths), NOW)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(names) == sorted(path.relative_to(folder).as_posix() for path in files)
    content = json.loads((folder / "results.json").read_text())
    listed = [file["name"] for one in content["results"].values() for file in one["files"]]
    assert listed == [path.name for path in paths]
    for name in ("results.json", *listed):
        expected = sha256((folder / name).read_bytes()).hexdigest()
        assert (folder / "checksums" / f"{name}.txt").read_text() == expected


def test_names_that_collide_are_refused(tmp_path: Path) -> None:
    with refused("outputs.name.duplicate"):
        check_names([tmp_path / "a.csv", tmp_path / "x" / "A.csv"])
    for name in ("results.json", "outputs.json", "config.json", "manifest.json"):
        with refused("outputs.name.conflict"):
            check_names([tmp_path / name])


def test_comments_are_no_commands_to_a_browser(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,count\n<b>y</b>,120\nz,110\n")
    (tmp_path / "b.csv").write_text("x,count\n<b>y</b>,117\nz,110\n")
    content = results(check_files([tmp_path / "a.csv", tmp_path / "b.csv"]), NOW)
    assert "&lt;b&gt;y" in content["results"]["output_1"]["comments"][0]


def test_every_verdict_has_a_status() -> None:
    assert set(STATUS) == set(Verdict)
