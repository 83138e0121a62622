"""A small benchmark: two references, and a generator that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat import datasets, write

SPEC = """
[release]
seed = 1
control = 0.2
[data]
path = "survey.csv"
[[generator]]
name = "copy"
[[generator]]
name = "cart"
label = "no such leaf"
settings = { minbucket = 0 }
[[generator]]
name = "margins"
[benchmark]
seeds = 2
[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["marital"]
measures = ["repU", "DiSCO"]
[utility]
measures = ["S_pMSE two-way"]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    table = datasets.survey(rows=200).select(["sex", "age", "marital"])
    write(table, tmp_path / "survey.csv")
    path = tmp_path / "bench.toml"
    path.write_text(SPEC)
    return path
