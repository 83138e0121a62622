"""R's synthpop, with a stub in the place of Rscript."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.generators.conformance import check_generator, people

from caveat.generators import GeneratorError, generator_of

# What synthpop.R promises: it reads data.csv, and writes made-1.csv, … with these arguments.
STUB = """#!{python}
import csv, random, sys
from pathlib import Path
script, seed, rows, copies, kinds, *settings = sys.argv[2:]
assert Path(script).read_text().startswith("# Reads data.csv")
with open("data.csv", newline="") as file:
    head, *records = csv.reader(file)
assert len(kinds.split(",")) == len(head)
assert settings == ["cart.minbucket=10"], settings
random.seed(int(seed))
for copy in range(int(copies)):
    with open(f"made-{{copy + 1}}.csv", "w", newline="") as file:
        csv.writer(file).writerows([head, *random.choices(records, k=int(rows))])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAVEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def rscript(folder: Path, text: str) -> None:
    path = folder / "Rscript"
    path.write_text(text.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_synthpop_runs_through_rscript(folder: Path) -> None:
    rscript(folder, STUB)
    check_generator(generator_of("synthpop", {"cart.minbucket": 10}), people(100))


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_synthpop_without_the_package(folder: Path) -> None:
    rscript(folder, "#!{python}\nimport sys\nsys.exit('there is no package called synthpop')\n")
    with pytest.raises(GeneratorError, match="it ended with code 1; what it printed is in"):
        generator_of("synthpop").fit(people(100), 1).sample()
