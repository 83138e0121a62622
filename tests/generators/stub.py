"""Generators of a few lines, run by the interpreter of the tests as other people's would be."""

from __future__ import annotations

import sys
from pathlib import Path

from caveat.generators import Limits, ProcessGenerator

HEAD = """
import json, os, sys, time
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
path = Path(sys.argv[1])
request = json.loads(path.read_text("utf-8"))
data = pq.read_table(path.parent / request["data"])
rng = np.random.default_rng(request["seed"])
def write(table, name):
    pq.write_table(table, path.parent / name)
def shuffled():
    return data.take(rng.integers(0, len(data), request["rows"]))
"""
GOOD = """
for name in request["out"]:
    write(shuffled(), name)
"""


def stub(folder: Path, body: str = GOOD, *, head: str = HEAD, **how: object) -> ProcessGenerator:
    """Return a generator whose script is a few lines."""
    script = folder / "generator.py"
    script.write_text(head + body, encoding="utf-8")
    known = {"limits": Limits(seconds=60), **how}
    return ProcessGenerator("stub", (sys.executable, "-P", str(script)), **known)  # type: ignore[arg-type]
