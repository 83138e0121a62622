"""A run measures utility against the weighted original; an audit of the wrong file is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat import Release
from caveat.table import Table, read, write
from caveat.utility import compare

SPEC = """\
[release]
title = "A survey"
seed = 1
control = 0.25

[data]
path = "people.csv"

[synthesis]
weights = "wgt"

[[scenario]]
name = "a neighbour"
keys = ["sex", "town"]
targets = ["ill"]

[utility]
measures = ["S_pMSE two-way", "KS"]

[output]
reports = ["internal"]
"""
WEIGHTED = "against the weighted original"


def people(seed: int, towns: str = "UVW") -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, 400)
    return Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], 400),
            "town": rng.choice(list(towns), 400),
            "age": age,
            "ill": rng.choice(["no", "yes"], 400),
            "wgt": np.round(50 + age * rng.uniform(1, 3, 400), 1),
        }
    )


@pytest.fixture
def release(tmp_path: Path) -> Release:
    write(people(1), tmp_path / "people.csv")
    (tmp_path / "release.toml").write_text(SPEC, encoding="utf-8")
    return Release.from_toml(tmp_path / "release.toml")


def test_a_run_with_weights_says_so(release: Release) -> None:
    outcome = release.run(threads=1)
    utility = outcome.evidence["utility"]
    assert all(
        WEIGHTED in [note["text"] for note in entry["notes"]] for entry in utility["measurements"]
    )
    assert any("weighted original: its 300 records" in remark for remark in utility["remarks"])
    assert "wgt" not in [variable["name"] for variable in utility["variables"]]
    assert WEIGHTED in (outcome.folder / "inside/report.md").read_text("utf-8")
    made = read(outcome.folder / "inside/synthetic-1.csv")
    assert "wgt" not in made
    blind = compare(release.spec.read_data(), made, measures=["KS"], resamples=0)
    value = next(e["value"] for e in utility["measurements"] if e["measure"] == "KS")
    assert value < (blind["KS"].value or 0)


def test_an_audit_carries_the_doubt_into_evidence_and_report(
    release: Release, tmp_path: Path
) -> None:
    write(people(2, "UXYZ").drop(["wgt"]), tmp_path / "half.csv")
    outcome = release.run(tmp_path / "half", only="audit", synthetic=[tmp_path / "half.csv"])
    (scenario,) = outcome.evidence["scenarios"]
    doubt = "town: less than half of the synthetic cells have a value that occurs in the original"
    assert all(
        doubt in " ".join(note["text"] for note in entry["notes"])
        for entry in scenario["measurements"]
    )
    assert any(remark.startswith(doubt) for remark in scenario["remarks"])
    assert doubt in (outcome.folder / "inside/report.md").read_text("utf-8")


def test_an_audit_of_the_wrong_file_is_refused(release: Release, tmp_path: Path) -> None:
    write(people(3, "XYZ"), tmp_path / "wrong.csv")
    with refused("data.value.mismatch", column="town"):
        release.run(tmp_path / "wrong", only="audit", synthetic=[tmp_path / "wrong.csv"])
    assert not (tmp_path / "wrong").exists()
