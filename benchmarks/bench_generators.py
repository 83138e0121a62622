"""Generators side by side on built-in data: utility, risk, processor time and memory.

    python benchmarks/bench_generators.py [NAME ...]

Without names: ours, the references, and whatever `caveat generator add` has installed here. A
generator that is not there is a row with its reason.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from caveat import datasets, write
from caveat.benchmark import Benchmark
from caveat.cli.benchmark import show
from caveat.generators.registry import RECIPES, is_installed

SPEC = """
[release]
seed = 1
control = 0.2
[data]
path = "survey.csv"
[benchmark]
seeds = 1
minutes = 20
[[scenario]]
name = "a neighbour"
keys = ["sex", "age", "region"]
targets = ["marital"]
measures = ["repU", "DiSCO"]
[utility]
measures = ["S_pMSE two-way"]
"""
COLUMNS = ("sex", "age", "region", "education", "height", "weight", "marital")
OURS = ("guarded", "cart", "copy", "margins", "uniform")


def main(names: list[str]) -> None:
    wanted = names or [*OURS, *(name for name in RECIPES if is_installed(RECIPES[name].source))]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(datasets.survey(rows=1000).select(COLUMNS), folder / "survey.csv")
        entries = "".join(f'[[generator]]\nname = "{name}"\n' for name in wanted)
        (folder / "bench.toml").write_text(SPEC + entries, "utf-8")
        show(Benchmark.from_toml(folder / "bench.toml").run())


if __name__ == "__main__":
    main(sys.argv[1:])
