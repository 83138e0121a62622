"""A trial that ended well is not carried out again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.benchmark.conftest import SPEC

from caveat.benchmark import Benchmark


def test_it_goes_on_with_what_is_there(spec: Path) -> None:
    first = Benchmark.from_toml(spec).run()
    kept = (first.folder / "copy-1" / "trial.json").stat().st_mtime_ns
    broken = (first.folder / "no-such-leaf-1" / "trial.json").stat().st_mtime_ns
    before = json.loads((first.folder / "benchmark.json").read_text("utf-8"))
    again = Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "trial.json").stat().st_mtime_ns == kept
    assert (again.folder / "no-such-leaf-1" / "trial.json").stat().st_mtime_ns != broken
    assert json.loads((again.folder / "benchmark.json").read_text("utf-8")) == before
    # One more generator leaves the others alone; another attacker does not.
    spec.write_text(SPEC.replace("[benchmark]", '[[generator]]\nname = "uniform"\n[benchmark]'))
    Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "trial.json").stat().st_mtime_ns == kept
    spec.write_text(SPEC.replace('keys = ["sex", "age"]', 'keys = ["sex"]'))
    Benchmark.from_toml(spec).run()
    assert (again.folder / "copy-1" / "trial.json").stat().st_mtime_ns != kept
