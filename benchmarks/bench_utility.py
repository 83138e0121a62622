"""Utility: propensity scores beside R's reference timings, tables and variables beside SDMetrics.

CPU seconds (user and system of the process), kernels compiled before, best of three. R: the CPU
seconds of synthpop's utility.gen in the reference file, measured on another machine. SDMetrics'
quality report (column shapes and pair trends) is timed in the environment whose Python the variable
CAVEAT_SDMETRICS_PYTHON names; ours are all variables, all associations and all two-way tables of
the same files, and then the whole of ``caveat compare``, models included: fitted to all rows, and
to at most 10,000 of each table (``--model-rows 10000``). The release is the
original with each cell replaced, with probability 0.3, by one of another row: what is measured does
not matter for the time.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from caveat.table import ColumnSchema, Schema, Table, read, write
from caveat.utility import (
    WeightedPair,
    all_tables,
    associations,
    compare,
    permutation_null,
    propensity,
    variables,
)

SHARED = Path(__file__).resolve().parents[2] / "shared"
RIVAL = """
import json, sys, time, pandas
from sdmetrics.reports.single_table import QualityReport
real, release = (pandas.read_csv(p) for p in sys.argv[1:3])
metadata = {"columns": {
    n: {"sdtype": "numerical" if real[n].dtype.kind in "if" else "categorical"} for n in real
}}
start = time.process_time()
QualityReport().generate(real, release, metadata, verbose=False)
print(time.process_time() - start)
"""
# Setting of utility.gen and the call that does the same.
SETTINGS: dict[str, Callable[[WeightedPair], object]] = {
    "cart_none": lambda pair: propensity(pair),
    "cart_perm_seed1": lambda pair: (propensity(pair), permutation_null(pair, repetitions=50)),
    "logit_main": lambda pair: propensity(pair, "logit"),
    "logit_pairs_subset": lambda pair: propensity(
        pair, "logit", interactions=1, names=["sex", "age", "edu", "income", "depress", "workab"]
    ),
}


def cpu(work: Callable[[], object], times: int = 3) -> float:
    """The least CPU seconds of a few runs."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def scramble(table: Table, seed: int = 2) -> Table:
    rng = np.random.default_rng(seed)
    columns = {}
    for name in table:
        donor = rng.integers(0, len(table), len(table))
        keep = rng.random(len(table)) > 0.3
        columns[name] = table[name].take(np.where(keep, np.arange(len(table)), donor))
    return table.with_columns(columns)


def rival(original: Path, release: Path) -> float | None:
    python = os.environ.get("CAVEAT_SDMETRICS_PYTHON")
    if python is None:
        return None
    done = subprocess.run(
        [python, "-W", "ignore", "-c", RIVAL, str(original), str(release)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.strip().splitlines()[-1])


def against_r() -> None:
    folder = SHARED / "reference" / "synthpop" / "sd2011_utility"
    timings = json.loads((folder / "utility.json").read_text())["utility_gen"]
    schema = Schema({"income": ColumnSchema(missing={-8: ""})})
    pair = WeightedPair.of(
        read(folder / "original.csv", schema=schema), read(folder / "synthetic.csv", schema=schema)
    )
    propensity(pair)  # compile
    print(f"{'utility.gen, SD2011, 10 variables':<42}{'caveat s':>10}{'R s':>10}{'ratio':>8}")
    for name, work in SETTINGS.items():
        ours, theirs = cpu(lambda work=work: work(pair)), timings[name]["user_s"]  # type: ignore[misc]
        print(f"{name:<42}{ours:>10.3f}{theirs:>10.3f}{theirs / ours:>8.0f}")


def everything(pair: WeightedPair) -> None:
    variables(pair)
    associations(pair)
    all_tables(pair, 2)


def against_sdmetrics() -> None:
    head = ("all variables and pairs", "caveat s", "SDMetrics s", "ratio", "compare s", "ratio",
            "sampled s", "ratio")  # fmt: skip
    print("\n{:<42}{:>10}{:>13}{:>8}{:>11}{:>8}{:>11}{:>8}".format(*head))
    for name in ("sd2011", "adult"):
        path = SHARED / "data" / f"{name}.csv"
        table = read(path)
        release = scramble(table)
        with tempfile.TemporaryDirectory() as folder:
            write(release, Path(folder) / "release.csv")
            theirs = rival(path, Path(folder) / "release.csv")
        ours = cpu(lambda t=table, r=release: everything(WeightedPair.of(t, r)))  # type: ignore[misc]
        whole = cpu(lambda t=table, r=release: compare(t, r))  # type: ignore[misc]
        some = cpu(lambda t=table, r=release: compare(t, r, model_rows=10_000))  # type: ignore[misc]
        shown = "not installed" if theirs is None else f"{theirs:.2f}"
        ratio = "" if theirs is None else f"{theirs / ours:.0f}"
        slower = ["" if theirs is None else f"{spent / theirs:.1f}" for spent in (whole, some)]
        label = f"{name}, {len(table):,} × {len(table.names)}"
        print(
            f"{label:<42}{ours:>10.3f}{shown:>13}{ratio:>8}{whole:>11.2f}{slower[0]:>8}"
            f"{some:>11.2f}{slower[1]:>8}"
        )


def made(rows: int) -> Table:
    rng = np.random.default_rng(1)
    data = {f"c{i}": rng.integers(0, 3 + 2 * i, rows).astype(str) for i in range(10)}
    data |= {f"x{i}": np.round(rng.lognormal(3, 1, rows), 2) for i in range(10)}
    return Table.from_frame(data)


def large(rows: int = 200_000) -> None:
    table = made(rows)
    pair = WeightedPair.of(table, scramble(table))
    print(f"\n{'200,000 × 20':<42}{'caveat s':>10}")
    for name, work in (
        ("all 190 two-way tables", lambda: all_tables(WeightedPair(pair.original, pair.synthetic))),
        ("all variables", lambda: variables(pair)),
        ("all associations", lambda: associations(pair)),
        ("propensity tree", lambda: propensity(pair)),
    ):
        print(f"{name:<42}{cpu(work, 1):>10.2f}")


def very_large(*sizes: int) -> None:
    """The whole of a comparison; rows of the models are sampled, everything else is counted."""
    print(f"\n{'compare, 20 columns':<42}{'caveat s':>10}")
    for rows in sizes:
        table = made(rows)
        release = scramble(table)
        spent = cpu(lambda t=table, r=release: compare(t, r), 1)  # type: ignore[misc]
        print(f"{rows:<42,}{spent:>10.2f}")


def main() -> None:
    if SHARED.is_dir():
        against_r()
        against_sdmetrics()
    else:
        print("../shared (data and reference values) is not here")
    large()
    very_large(100_000, 500_000, 2_000_000)


if __name__ == "__main__":
    main()
