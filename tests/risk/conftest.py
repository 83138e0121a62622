"""What the tests of the risk measures share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.fixture(scope="session")
def golden() -> Any:
    """A function that reads numbers from the literature."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def sixteen(golden: Any) -> Any:
    """The 1000 records in 16 cells: the original and its ten releases."""
    printed = golden("buyer_beware")

    def frame(counts: list[int]) -> pl.DataFrame:
        rows = np.repeat(np.array([[int(c) for c in cell] for cell in printed["cells"]]), counts, 0)
        return pl.DataFrame(rows, schema=["var1", "var2", "var3", "var4"])

    return frame(printed["original"]), [frame(counts) for counts in printed["releases"]]


@pytest.fixture(scope="session")
def sd2011(shared: Path) -> pl.DataFrame:
    return pl.read_csv(shared / "data" / "sd2011.csv")


@pytest.fixture(scope="session")
def synthpop(shared: Path) -> tuple[dict[str, Any], list[pl.DataFrame]]:
    """Figures of R's synthpop, and the five tables they belong to."""
    folder = shared / "reference" / "synthpop" / "sd2011_disclosure"
    reference = json.loads((folder / "disclosure.json").read_text("utf-8"))
    return reference, [pl.read_csv(folder / f"syn{i}.csv") for i in range(1, 6)]
