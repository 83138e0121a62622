"""Generators side by side: the same split, resumable, and failures that stop nobody."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.benchmark.conftest import SPEC
from tests.refusals import refused

from caveat import evidence
from caveat.benchmark import Benchmark, run
from caveat.benchmark.run import one_trial
from caveat.cluster import threads
from caveat.spec.draft_spec import commands_of
from caveat.table import drafts


def values(content: Any, label: str) -> dict[str, float]:
    generator = next(g for g in content["generators"] if g["label"] == label)
    return {v["measure"]: v["value"] for v in generator["trials"][0]["values"]}


def test_all_get_the_same_records_and_a_failure_is_a_row(spec: Path) -> None:
    found = Benchmark.from_toml(spec).run()
    assert found.folder == spec.parent / "benchmark"
    content = found.content
    assert (content["fitted_rows"], content["control_rows"]) == (160, 40)
    # A copy reads every unique key and every target that its keys determine, by definition.
    copied = evidence.read(found.folder / "copy-1" / "inside/evidence.json")
    unique = {m["measure"]: m["value"] for m in copied["scenarios"][0]["measurements"]}
    assert values(content, "copy")["repU"] == unique["repU"] > 0
    assert values(content, "copy")["S_pMSE two-way"] == 0
    assert values(content, "margins")["repU"] < values(content, "copy")["repU"]
    failed = content["generators"][1]["trials"]
    assert [t["failed"] for t in failed] == [
        "synthesis, column sex: minbucket must be a whole number, 1 or more"
    ] * 2
    assert failed[0]["values"] == []
    assert failed[0]["cost"] is None
    page = (found.folder / "benchmark.html").read_text("utf-8")
    assert "no such leaf" in page
    assert "margins" in page


def test_the_same_seed_gives_the_same_tables(spec: Path, tmp_path: Path) -> None:
    benchmark = Benchmark.from_toml(spec)
    one = benchmark.run(tmp_path / "one", threads=1)
    other = benchmark.run(tmp_path / "other", threads=2)
    for name in ("copy-1", "copy-2", "margins-1"):
        tables = [(at.folder / name / "inside/synthetic-1.csv").read_bytes() for at in (one, other)]
        assert tables[0] == tables[1]
    assert (one.folder / "margins-1" / "inside/synthetic-1.csv").read_bytes() != (
        one.folder / "margins-2" / "inside/synthetic-1.csv"
    ).read_bytes()


def test_workers_carry_out_the_same_trials(spec: Path, tmp_path: Path) -> None:
    benchmark = Benchmark.from_toml(spec)
    heard: list[str] = []
    alone = benchmark.run(tmp_path / "one")
    shared = benchmark.run(
        tmp_path / "two", cluster="local:2", progress=lambda step, share: heard.append(step)
    )
    assert heard == ["copy", "copy", "no such leaf", "no such leaf", "margins", "margins"]
    for one, other in zip(alone.content["generators"], shared.content["generators"], strict=True):
        for mine, theirs in zip(one["trials"], other["trials"], strict=True):
            costs = mine.pop("cost"), theirs.pop("cost")
            assert (costs[0] is None) == (costs[1] is None)
        assert one == other
    for name in ("copy-1", "margins-2"):
        for file in ("inside/synthetic-1.csv", "inside/evidence.json"):
            paths = [at.folder / name / file for at in (alone, shared)]
            assert paths[0].read_bytes() == paths[1].read_bytes()
    with threads(1) as nobody:  # what is there is not done again
        again = benchmark.run(tmp_path / "two", cluster=nobody)
    assert [g["label"] for g in again.content["generators"]] == ["copy", "no such leaf", "margins"]
    assert run._SPLIT.kept == {}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("seed = 1\n", "", "spec.entry.absent"),
        ('label = "no such leaf"', 'label = "copy"', "spec.entry.duplicate"),
        ("[benchmark]", '[[protect]]\nname = "label"\n[benchmark]', "spec.entry.unsupported"),
        ("seeds = 2", "seeds = 0", "spec.entry.range"),
    ],
)
def test_mistakes_are_named_with_their_line(spec: Path, old: str, new: str, says: str) -> None:
    spec.write_text(SPEC.replace(old, new))
    with refused(says) as caught:
        Benchmark.from_toml(spec).run()
    assert "bench.toml, line" in str(caught.value)
    assert not (spec.parent / "benchmark").exists()


def test_a_folder_of_something_else_is_left_alone(spec: Path) -> None:
    mine = spec.parent / "benchmark"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    with refused("benchmark.folder.exists"):
        Benchmark.from_toml(spec).run()
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_what_can_be_named_and_said(spec: Path) -> None:
    """The 40 % sample is no method of ours; what one method has no use for is left out."""
    text = SPEC.replace('name = "copy"', 'name = "sample"').replace(
        "[[generator]]", '[synthesis]\nguard = "strong"\n[[generator]]', 1
    )
    spec.write_text(text.replace("{ minbucket = 0 }", "{ minbucket = 20, seed = 1 }"))
    content = Benchmark.from_toml(spec).run().content
    reasons = {g["label"]: g["trials"][0]["failed"] for g in content["generators"]}
    assert reasons == {
        "sample": None,
        "no such leaf": "generator cart: seed is no setting of a generator",
        "margins": None,
    }
    spec.write_text(text.replace("{ minbucket = 0 }", "{ minbucket = 20 }"))
    content = Benchmark.from_toml(spec).run().content
    assert [g["trials"][0]["failed"] for g in content["generators"]] == [None, None, None]


def test_what_a_killed_run_has_left_is_no_hindrance(spec: Path) -> None:
    (spec.parent / "benchmark" / f"{drafts.PREFIX}left").mkdir(parents=True)
    assert Benchmark.from_toml(spec).run().content["generators"][0]["trials"][0]["failed"] is None


def hostile(spec: Path) -> Path:
    """Add a generator with a harmless label that leaves a mark; return the mark."""
    mark = spec.parent / "mark"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    entry = f'[[generator]]\nname = "cart"\nlabel = "trees"\nsettings = {{ command = {command} }}\n'
    spec.write_text(spec.read_text() + entry)
    return mark


def test_a_specification_alone_starts_no_command(spec: Path) -> None:
    mark = hostile(spec)
    with refused("generator.command.refused", where="bench.toml, line 27") as caught:
        Benchmark.from_toml(spec).run()
    line = 1 + spec.read_text().splitlines().index('label = "trees"') + 1
    assert caught.value.where == f"bench.toml, line {line}"
    assert sys.executable in caught.value.what
    assert not mark.exists()
    assert not (spec.parent / "benchmark").exists()


def test_a_worker_starts_no_other_command_than_was_allowed(spec: Path) -> None:
    mark = hostile(spec)
    target = spec.parent / "benchmark"
    target.mkdir()
    trial = one_trial((str(spec), str(target), 3, 1, ("other -c command",)))
    assert trial.failed is not None
    assert "not allowed" in trial.failed
    assert not mark.exists()
    benchmark = Benchmark.from_toml(spec)
    assert one_trial((str(spec), str(target), 3, 1, commands_of(benchmark.spec.generators))).failed
    assert mark.exists()
