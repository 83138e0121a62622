"""A trial that ended well is not carried out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmark.conftest import SPEC

from caveat.benchmark import Benchmark
from caveat.errors import CaveatError
from caveat.evidence.file import listed
from caveat.release.run import Run


def test_it_goes_on_with_what_is_there(spec: Path) -> None:
    first = Benchmark.from_toml(spec).run()
    kept = (first.folder / "copy-1" / "inside/trial.json").stat().st_mtime_ns
    broken = (first.folder / "no-such-leaf-1" / "inside/trial.json").stat().st_mtime_ns
    before = json.loads((first.folder / "benchmark.json").read_text("utf-8"))
    again = Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "inside/trial.json").stat().st_mtime_ns == kept
    assert (again.folder / "no-such-leaf-1" / "inside/trial.json").stat().st_mtime_ns != broken
    assert json.loads((again.folder / "benchmark.json").read_text("utf-8")) == before
    # One more generator leaves the others alone; another attacker does not.
    spec.write_text(SPEC.replace("[benchmark]", '[[generator]]\nname = "uniform"\n[benchmark]'))
    Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "inside/trial.json").stat().st_mtime_ns == kept
    spec.write_text(SPEC.replace('keys = ["sex", "age"]', 'keys = ["sex"]'))
    Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "inside/trial.json").stat().st_mtime_ns != kept


def test_a_trial_that_fails_leaves_the_reason_and_nothing_else(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Run.write

    def fail(run: Run, *told: Any) -> None:
        (run.draft / "synthetic-1.csv").write_text("half")
        raise CaveatError("no room is left", code="test.thing.failed")

    monkeypatch.setattr(Run, "write", fail)
    trial = Benchmark.from_toml(spec).run().folder / "copy-1"
    files = [path.relative_to(trial).as_posix() for path in trial.rglob("*") if path.is_file()]
    assert sorted(files) == ["inside/trial.json", "manifest.json"]
    assert {name: entry["confidential"] for name, entry in listed(trial).items()} == {
        "inside/trial.json": True
    }
    assert json.loads((trial / "inside/trial.json").read_text())["failed"] == "no room is left"
    assert (trial / "inside").stat().st_mode & 0o077 == 0
    monkeypatch.setattr(Run, "write", whole)
    Benchmark.from_toml(spec).run()
    assert listed(trial)["inside/synthetic-1.csv"]["confidential"] is True


def test_a_draft_is_a_generator_like_others_and_made_again_when_it_changes(spec: Path) -> None:
    draft = spec.with_name("draft.toml")
    text = """
    rows = 100
    [columns.sex]
    shares = { female = 0.5, male = 0.5 }
    [columns.age]
    mean = 45
    sd = 15
    least = 16
    most = 99
    whole = true
    [columns.marital]
    shares = { divorced = 0.1, married = 0.5, single = 0.4 }
    """
    draft.write_text(text)
    one = SPEC[: SPEC.index("[[generator]]")] + '[[generator]]\nname = "outputs:draft.toml"\n'
    spec.write_text(one + SPEC[SPEC.index("[benchmark]") :].replace("seeds = 2", "seeds = 1"))
    found = Benchmark.from_toml(spec).run()
    trial = found.folder / "outputs-draft.toml-1" / "inside/trial.json"
    first = json.loads(trial.read_text("utf-8"))
    assert first["failed"] is None
    assert first["seeded"] is True
    draft.write_text(text.replace("mean = 45", "mean = 50"))
    Benchmark.from_toml(spec).run()
    assert json.loads(trial.read_text("utf-8"))["key"] != first["key"]
