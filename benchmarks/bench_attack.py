"""The strong attacker on all records: updated trees against fitting every world again.

The nine columns of Raab (2024) in their order, 5,000 records (with ``--wide`` all 35, with
``--adult`` the 32,561 records of Adult, membership only); without the data, the simulated survey.
Fits from scratch are timed on a sample of the worlds and scaled up. CPU seconds of this process
over all threads; the wall clock depends on who else uses the machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from caveat.attack.adjacent import with_each_value, without_each
from caveat.attack.worlds import Worlds
from caveat.datasets import survey
from caveat.synthesis import Synthesizer
from caveat.table import Table, read

NINE = ["sex", "age", "region", "placesize", "depress", "income", "ls", "marital", "workab"]
SAMPLE = 20
SHARED = Path(__file__).resolve().parents[2] / "shared"


def data(wide: bool, adult: bool) -> tuple[Table, str]:
    if adult:
        return read(SHARED / "data" / "adult.csv").drop(["fnlwgt", "education_num"]), ""
    file = SHARED / "data" / "sd2011.csv"
    if not file.exists():
        return survey(rows=2000).drop(["person", "interviewed", "bmi"]), "marital"
    return (read(file) if wide else read(file).select(NINE)), "depress"


def measured(work: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    adult = "--adult" in sys.argv
    wide = "--wide" in sys.argv or adult
    table, target = data(wide, adult)
    model = Synthesizer(seed=1, method="cart").fit(table)
    worlds = Worlds(table, model.plan, model.tables())
    everyone = np.arange(table.n_rows)
    few = np.random.default_rng(0).permutation(table.n_rows)
    without_each(worlds, few[:1])  # compile
    if not wide:
        with_each_value(worlds, target, few[:1])
    print(f"{table.n_rows:,} records, {len(table.names)} columns")
    print(f"{'attack':<34} {'updated CPU':>12} {'wall':>8} {'refits CPU':>12} {'ratio':>7}")
    fast = measured(lambda: without_each(worlds, everyone))
    slow = measured(lambda: without_each(worlds, few[:SAMPLE], refit=True))[0]
    slow *= table.n_rows / SAMPLE
    line("membership of all", fast, slow)
    if wide:
        return
    fast = measured(lambda: with_each_value(worlds, target, everyone))
    slow = measured(lambda: with_each_value(worlds, target, few[:3], refit=True))[0]
    slow *= table.n_rows / 3
    line(f"{target} of all, {table[target].n_levels} candidates", fast, slow)


def line(name: str, fast: tuple[float, float], slow: float) -> None:
    print(
        f"{name:<34} {fast[0]:>10.1f} s {fast[1]:>6.1f} s {slow:>10.0f} s {slow / fast[0]:>6.1f}x"
    )


if __name__ == "__main__":
    main()
