"""Time of ``look`` on survey-like tables, beside polars' ``describe`` (CPU time)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table as Grid

from caveat.findings import look
from caveat.table import Table

SIZES = ((5_000, 35), (100_000, 20), (1_000_000, 20), (2_000, 120), (1_000, 10_000))


def survey(rows: int, columns: int) -> pl.DataFrame:
    """Simulate a mixed table: a third numbers, a third factors, codes, groups and an identity."""
    rng = np.random.default_rng(1)
    height, weight = rng.normal(170, 9, rows).round(), rng.normal(75, 12, rows).round()
    age = rng.integers(16, 98, rows)
    data: dict[str, object] = {
        "id": np.arange(rows),
        "age": age,
        "agegr": np.array(["young", "middle", "old"])[np.searchsorted([34, 64], age)],
        "income": np.where(rng.random(rows) < 0.1, -8, rng.lognormal(7, 0.6, rows).round()),
        "height": height,
        "weight": weight,
        "bmi": weight / (height / 100) ** 2,
        "day": np.datetime64("2000-01-01") + rng.integers(0, 5000, rows),
    }
    for i in range(columns - len(data)):
        levels = int(rng.integers(2, 40))
        data[f"x{i}"] = (
            rng.integers(0, levels, rows),
            rng.choice([f"level {k}" for k in range(levels)], rows),
            rng.lognormal(6, 1, rows).round(2),
        )[i % 3]
    return pl.DataFrame(data)


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    grid = Grid("rows", "columns", "look, s", "encode, s", "describe, s", "look / describe")
    look(survey(1000, 12))  # imports and compiled kernels are not counted
    for rows, columns in SIZES:
        frame = survey(rows, columns)
        described = cpu(frame.describe)
        encoded = cpu(lambda frame=frame: Table.from_frame(frame))
        table = Table.from_frame(frame)
        looked = cpu(lambda table=table: look(table))
        grid.add_row(
            f"{rows:,}",
            str(columns),
            f"{looked:.2f}",
            f"{encoded:.2f}",
            f"{described:.2f}",
            f"{looked / described:.0f}",
        )
    Console().print(grid)


if __name__ == "__main__":
    main()
