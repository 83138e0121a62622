"""The pair of tables that synthpop's reference figures are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat.table import ColumnSchema, Schema, Table, read
from caveat.utility import WeightedPair

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "utility.json"


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text())


@pytest.fixture(scope="session")
def folder(shared: Path) -> Path:
    return shared / "reference" / "synthpop" / "sd2011_utility"


@pytest.fixture(scope="session")
def reference(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "utility.json").read_text())


def read_pair(folder: Path, *coded: str) -> WeightedPair:
    """Read both files with -8 declared as missing in some columns."""
    schema = Schema({name: ColumnSchema(missing={-8: ""}) for name in coded})
    return WeightedPair.of(
        read(folder / "original.csv", schema=schema), read(folder / "synthetic.csv", schema=schema)
    )


@pytest.fixture(scope="session")
def sd2011(folder: Path) -> WeightedPair:
    """The pair as synthpop saw it: -8 is a missing code of income (cont.na)."""
    return read_pair(folder, "income")


@pytest.fixture(scope="session")
def sd2011_coded(folder: Path) -> WeightedPair:
    """The pair with the spike of nociga (semicont) as a code of its own too."""
    return read_pair(folder, "income", "nociga")


@pytest.fixture(scope="session")
def people() -> Table:
    """A small table with every kind of column and two ways to be missing."""
    rng = np.random.default_rng(7)
    n = 400
    age = rng.integers(16, 90, n)
    pay = np.round(rng.lognormal(7, 0.5, n), -2)
    pay[rng.random(n) < 0.1] = np.nan
    pay[rng.random(n) < 0.05] = -8
    height = np.round(rng.normal(170, 9, n), 1)
    height[rng.random(n) < 0.08] = 170.0  # a spike
    table = Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "job": rng.choice(["baker", "smith", "clerk", "nurse"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "pay": pay,
            "old": age > 60,
            "height": height,
        }
    )
    return Schema({"pay": ColumnSchema(missing={-8: "not asked"})}).apply(table)
