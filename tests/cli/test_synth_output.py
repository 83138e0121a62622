"""Parts in and parts out: the same bytes whoever draws them, and nothing half written."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cluster import tasks
from tests.cluster.clusters import loopback
from typer.testing import CliRunner

from caveat.cli import app
from caveat.cli.synth_output import CopyFiles
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError
from caveat.table import Table, read, write

ROWS = 66_000  # a block, and a little


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole.parquet"
    write(Table.from_frame(buyer_beware()), path)
    pq.write_table(pq.read_table(path).replace_schema_metadata(), path)
    return path


def cut(whole: Path, folder: Path, size: int) -> Path:
    folder.mkdir()
    raw = pq.read_table(whole)
    for number, start in enumerate(range(0, raw.num_rows, size)):
        pq.write_table(raw.slice(start, size), folder / f"{number}.parquet")
    return folder


def test_parts_in_and_parts_out_are_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    few, many = cut(whole, tmp_path / "few", 600), cut(whole, tmp_path / "many", 71)
    assert len(list(many.iterdir())) > 10
    with loopback(tmp_path, 1) as cluster:
        ways = {
            "alone": [whole],
            "work": [few, "--work", tmp_path],
            "processes": [many, "--work", tmp_path, "--cluster", "local:2"],
            "dask": [few, "--cluster", cluster.address],
        }
        found = {}
        for name, way in ways.items():
            out = tmp_path / f"out-{name}"
            result = run("synth", *way, "--out", f"{out}/", "--seed", 4, "--rows", ROWS)
            assert result.exit_code == 0, result.output
            found[name] = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(found["alone"]) == ["part-00000.parquet", "part-00001.parquet"]
    assert found["alone"] == found["work"] == found["processes"] == found["dask"]
    file = tmp_path / "one.parquet"
    assert run("synth", whole, "--out", file, "--seed", 4, "--rows", ROWS).exit_code == 0
    one, parts = read(file), read(tmp_path / "out-alone")
    assert one.names == parts.names
    assert all((one[name].values == parts[name].values).all() for name in one)


def test_a_folder_is_replaced_only_if_it_holds_nothing_but_parts(
    whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def said(*more: Any, source: Path = whole, name: str = f"{out}/") -> str:
        result = run("synth", source, "--out", name, "--seed", 1, *more)
        if result.exit_code == 0:
            return ""
        assert isinstance(result.exception, CaveatError)
        return str(result.exception)

    assert said("--copies", 2) == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out-1", "out-2", "whole.parquet"]
    assert said() == ""
    assert "the folder exists already" in said()
    assert said("--force") == ""
    (out / "thesis.txt").touch()
    assert "something that no run has written: thesis.txt" in said("--force")
    (out / "thesis.txt").unlink()
    assert "the folder holds a file that this run reads" in said("--force", source=out)
    among = str(out / "more.parquet")
    assert "among the parts of a table that this command reads" in said(source=out, name=among)
    assert "--out FOLDER/ does not go with [groups]" in said("--force", "--groups", "var1")
    assert "the output is a folder; name a file" in said("--force", name=str(out))


def test_names() -> None:
    assert CopyFiles("a/b.csv", 2, False).targets == [Path("a/b-1.csv"), Path("a/b-2.csv")]
    assert not CopyFiles("a/b", 1, False).in_parts
    folder = CopyFiles("a/b/", 2, False)
    assert folder.in_parts
    assert folder.files == []
    assert folder.targets == [Path("a/b-1"), Path("a/b-2")]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize(("phase", "out"), [("fit", "s.csv"), ("draw", "s/")])
def test_a_disk_that_is_full_where_a_worker_writes(
    phase: str, out: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = {"fit": tasks.fit_on_a_full_disk, "draw": tasks.draw_on_a_full_disk}[phase]
    monkeypatch.setattr(f"caveat.synthesis.synthesizer.{phase}_one", task)
    work, there = tmp_path / "work", tmp_path / "there"
    for folder in (work, there):
        folder.mkdir()
    spec = tmp_path / "spec.toml"
    spec.write_text('[synthesis]\nmethod = "cart"\n')
    where = ["--out", f"{there}/{out}", "--work", work, "--cluster", "local:1", "--spec", spec]
    result = run("synth", whole, *where, "--seed", 1, "--rows", 20_000)
    assert isinstance(result.exception, CaveatError)
    assert re.search(
        r"cannot be written \(.*File too large\); check the folder's permissions and the free",
        str(result.exception),
    )
    assert list(work.iterdir()) == list(there.iterdir()) == []
