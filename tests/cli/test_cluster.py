"""--cluster: the same files as without it, and mistakes in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cluster.clusters import loopback
from typer.testing import CliRunner

from caveat.cli import app
from caveat.cluster import scheduler
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError
from caveat.table import Table, write

pytest.importorskip("distributed")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.csv"
    write(Table.from_frame(buyer_beware()), path)
    return path


def test_synth_gives_the_same_bytes_on_processes_and_on_a_cluster(
    original: Path, tmp_path: Path
) -> None:
    folders = {}
    with loopback(tmp_path, 1) as cluster:
        for name, more in {
            "alone": [],
            "processes": ["--cluster", "local:2"],
            "dask": ["--cluster", cluster.address],
        }.items():
            folders[name] = tmp_path / name
            folders[name].mkdir()
            out = ["--out", folders[name] / "s.csv", "--model", folders[name] / "m.caveat"]
            result = run("synth", original, *out, "--seed", 4, "--copies", 2, "--rows", 700, *more)
            assert result.exit_code == 0, result.output
    files = {
        name: {path.name: path.read_bytes() for path in folder.iterdir()}
        for name, folder in folders.items()
    }
    assert len(files["alone"]) == 3
    assert files["alone"] == files["processes"] == files["dask"]


def test_mistakes_are_one_sentence_and_leave_nothing(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "PATIENCE", 0.5)
    out = tmp_path / "s.csv"

    def said(*more: Any) -> str:
        result = run("synth", original, "--out", out, "--seed", 1, *more)
        assert isinstance(result.exception, CaveatError)
        assert not out.exists()
        return str(result.exception)

    assert "there is no scheduler that answers" in said("--cluster", "tcp://127.0.0.1:9")
    assert "does not say how many processes" in said("--cluster", "local:none")
    assert "is no address" in said("--cluster", "here")
    assert "there is no such folder" in said("--cluster", "local:1", "--work", tmp_path / "else")
    assert "--cluster does not go with [groups]" in said("--cluster", "local:1", "--groups", "var1")


def test_the_strong_attacker_finds_the_same_on_processes(original: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "s.csv", tmp_path / "m.caveat"
    assert run("synth", original, "--out", out, "--model", model, "--seed", 4).exit_code == 0
    found = {}
    for name, more in {"alone": [], "processes": ["--cluster", "local:1"]}.items():
        files = ["--json", tmp_path / f"{name}.json", "--records", tmp_path / f"{name}.csv"]
        result = run(
            "attack", "strong", original, out, "--model", model, "--membership", *files, *more
        )
        assert result.exit_code == 0, result.output
        found[name] = [path.read_bytes() for path in files[1::2]]
    assert found["alone"] == found["processes"]


def test_an_audit_finds_the_same_on_processes(original: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "s.csv", tmp_path / "work"
    assert run("synth", original, "--out", out, "--seed", 4).exit_code == 0
    work.mkdir()
    found = {}
    for name, more in {"alone": [], "processes": ["--cluster", "local:1", "--work", work]}.items():
        files = ["--json", tmp_path / f"{name}.json", "--records", tmp_path / f"{name}.csv"]
        result = run("audit", original, out, "--keys", "var1,var2", *files, *more)
        assert result.exit_code == 0, result.output
        found[name] = [path.read_bytes() for path in files[1::2]]
    assert found["alone"] == found["processes"]
    assert list(work.iterdir()) == []


def test_a_search_finds_the_same_on_processes(original: Path, tmp_path: Path) -> None:
    spec = tmp_path / "search.toml"
    spec.write_text(
        """\
[data]
path = "original.csv"
[synthesis]
method = "cart"
[tune]
seed = 1
seeds = 1
fresh = 1
objective = "S_pMSE two-way"
keys = ["var1", "var2"]
targets = ["var4"]
[tune.limits]
repU = 50
[tune.settings]
minbucket = [5, 50]
"""
    )
    found = {}
    shared = ["--cluster", "local:1", "--work", tmp_path]
    for name, more in {"alone": [], "processes": shared}.items():
        files = ["--json", tmp_path / f"{name}.json", "--state", tmp_path / f"{name}.state"]
        result = run("tune", spec, *files, *more)
        assert result.exit_code in (0, 3), result.output
        found[name] = files[1].read_bytes()
    assert found["alone"] == found["processes"]
