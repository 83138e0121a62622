"""Whom a release proves to be in the data by a level or an end of a range."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from caveat.errors import CaveatWarning
from caveat.evidence.external import external
from caveat.release import Release
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.seen import sole_ends
from caveat.table import Table, read

SPEC = """
[release]
title = "A survey"
unit = "person"
seed = 3

[data]
path = "data.csv"

[synthesis]
{synthesis}

[[scenario]]
name = "strong"
attacker = "strong"
records = "all"
"""
N = 300


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], N).astype(object)
    town[:5] = "Threshold"
    town[5:13] = [f"Secret{i}" for i in range(8)]
    age = rng.integers(18, 80, N)
    return pd.DataFrame({"sex": rng.choice(["f", "m"], N), "age": age, "town": town})


def run(folder: Path, synthesis: str) -> dict[str, Any]:
    survey().to_csv(folder / "data.csv", index=False)
    (folder / "release.toml").write_text(SPEC.format(synthesis=synthesis))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        return Release.from_toml(folder / "release.toml").run(threads=1, date="2026-01-01")


def members(content: dict[str, Any]) -> dict[str, Any]:
    found = [m for s in content["scenarios"] for m in s["measurements"]]
    (one,) = [m for m in found if m["measure"] == "membershipShare"]
    return one


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(tmp_path_factory.mktemp("pooled"), 'method = "cart"\nminbucket = 20')


@pytest.fixture(scope="module", params=['keep = ["town"]', "rare_below = 1"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run(tmp_path_factory.mktemp("kept"), request.param)


def test_pooled_levels_are_counted_and_leave_nowhere(pooled: Any) -> None:
    rare = pooled.evidence["release"]["rare_levels"]
    assert rare == {
        "below": 5,
        "columns": [{"column": "town", "how": "pooled", "levels": 8, "records": 8}],
        "people_kept": 0,
        "people_at_threshold": 5,
    }
    for path in pooled.folder.rglob("*"):
        if path.is_file():
            assert b"Secret" not in path.read_bytes(), path.name


def test_who_makes_a_level_common_enough_is_proven(pooled: Any) -> None:
    found = members(pooled.evidence)
    assert found["value"] >= 5 / N
    assert "proven" in [note["code"] for note in found["notes"]]


def test_a_level_that_leaves_though_rare_is_certain_membership(kept: Any) -> None:
    rare = kept.evidence["release"]["rare_levels"]
    released = pd.read_csv(next(kept.folder.rglob("synthetic*.csv")))
    seen = {town for town in released["town"] if town.startswith("Secret")}
    assert (rare["columns"][0]["how"], rare["people_kept"]) == ("kept", len(seen))
    found = members(kept.evidence)
    assert found["value"] >= len(seen) / N > 0
    assert "proven" in [note["code"] for note in found["notes"]]
    report = (kept.folder / "inside/report.md").read_text("utf-8")
    lines = [line for line in report.splitlines() if line.startswith("- **")]
    said = next(line for line in lines if line.startswith("- **Rare levels**"))
    assert "8 levels of town released all the same" in said
    verdict = ("- **Trial", "- **The board can", "- **Next step")
    assert all(line.startswith(verdict) for line in lines[: lines.index(said)])
    assert "8 rare levels" not in (kept.folder / "inside/report-external.md").read_text("utf-8")


def test_no_count_of_rare_levels_leaves(pooled: Any) -> None:
    outside = external(pooled.evidence)
    assert outside["release"]["rare_levels"] == {
        "below": 5,
        "columns": [{"column": "town", "how": "pooled"}],
    }


@pytest.mark.parametrize("values", [[*range(100, 199), 230], [-7.5, *np.arange(0, 9.9, 0.1)]])
def test_no_release_proves_the_person_with_an_extreme_in_silence(values: list[float]) -> None:
    """Without the person the range would be another: those releases are found, and counted."""
    table = Table.from_frame({"sex": ["f", "m"] * (len(values) // 2), "x": values})
    plan = make_plan(table, {"method": "guarded", "judged": {}})
    grid = plan.columns["x"].grid
    assert grid is not None
    assert grid.low < min(values) or grid.low == 0
    assert grid.high > max(values)
    extreme = int(np.argmax(np.abs(np.array(values) - np.median(values))))
    assert extreme in [end.record for end in sole_ends(plan.columns, table)]


def test_an_end_that_the_next_person_holds_too_proves_nobody() -> None:
    heights = [150, *[160, 165, 170, 175] * 25, 185, 186]
    table = Table.from_frame({"x": heights, "sex": ["f"] * len(heights)})
    plan = make_plan(table, {"method": "guarded"})
    assert plan.columns["x"].grid.high == 190
    assert [end.record for end in sole_ends(plan.columns, table)] == [0]


@pytest.mark.parametrize("name", ["height", "age", "income"])
def test_extremes_of_a_survey_are_seldom_proven(shared: Path, name: str) -> None:
    """Three in four releases held a value beyond the second largest; now it proves nothing."""
    table = read(shared / "data" / "sd2011.csv").select(["sex", name])
    plan = make_plan(table, {"method": "guarded"})
    ends = [
        end for end in sole_ends(plan.columns, table) if end.high < plan.columns[name].grid.high
    ]
    proven = 0
    for seed in range(20):
        copy = Synthesizer(seed=seed, threads=1, method="guarded").fit(table).tables()[0]
        used = copy[name].numbers[copy[name].counts[: len(copy[name].levels)] > 0]
        proven += any(used.max() > end.high for end in ends)
    assert proven <= 5, proven
