"""Wide tables: a few chosen predictors for each column, beside all columns before it.

The table is real and wide: fourteen columns of NIST's national file of the American Community
Survey, and as many waves of them as are wanted. A wave is the one before with a fifth of the cells
of each column taken from other records, as answers change in a panel (--kind waves), or the first
one with a share of its cells taken from others that is another for each column (--kind copies).
Without the file the built-in survey is taken instead. CPU seconds of fits over all threads, and the
mean S_pMSE of the two-way tables of columns that are drawn at random, both in one run; the release
has as many rows as the data. What the choice itself costs is part of the fit.

    python benchmarks/bench_wide.py                        1,000 columns, 10,000 rows, plain trees
    python benchmarks/bench_wide.py --method guarded
    python benchmarks/bench_wide.py --columns 300 --rows 5000 --most 5 10 20 40
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from caveat.datasets import survey
from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer
from caveat.table import Column, Table, read
from caveat.utility import WeightedPair, all_tables

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
NIST = ("PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT",
        "INDP_CAT", "EDU", "PINCP_DECILE", "DPHY")  # fmt: skip
CHANGED = 0.2
SUBSETS, SIZE = 6, 40  # two-way tables: six times those of 40 columns


def first_wave(folder: Path, rows: int) -> Table:
    path = folder / "nist_national2019.csv"
    if not path.exists():
        return survey(rows=rows)
    table = read(path).select(NIST)
    return table.take(np.sort(np.random.default_rng(1).permutation(table.n_rows)[:rows]))


def shuffled(column: Column, share: float, rng: np.random.Generator) -> Column:
    """Return the column with a share of its cells taken from other records."""
    codes = column.codes.copy()
    new = rng.random(len(codes)) < share
    codes[new] = column.codes[rng.integers(0, len(codes), int(new.sum()))]
    return column.with_codes(codes)


def wide_table(folder: Path, rows: int, columns: int, kind: str) -> Table:
    wave = first = first_wave(folder, rows)
    rng, found = np.random.default_rng(2), {}
    for number in range(-(-columns // len(first.names))):
        if number and kind == "waves":
            wave = Table({n: shuffled(c, CHANGED, rng) for n, c in wave.columns.items()})
        elif number:
            wave = Table({n: shuffled(c, rng.random(), rng) for n, c in first.columns.items()})
        found |= {f"{name}_{number}": column for name, column in wave.columns.items()}
    return Table(dict(list(found.items())[:columns]))


def two_way(original: Table, releases: list[Table]) -> float:
    means = []
    for release in releases:
        pair = WeightedPair.of(original, release)
        for subset in range(SUBSETS):
            rng = np.random.default_rng([3, subset])
            names = rng.choice(original.names, min(SIZE, len(original.names)), replace=False)
            means.append(all_tables(pair, names=sorted(names, key=original.names.index)).mean())
    return float(np.mean(means))


def measured(
    table: Table, method: str, predictors: str | int, copies: int
) -> tuple[float, float, float]:
    """Return the CPU time of fitting and of sampling, and the two-way S_pMSE."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        model = Synthesizer(seed=1, method=method, predictors=predictors).fit(table)
    fitted = time.process_time()
    releases = model.tables(copies=copies)
    sampled = time.process_time()
    return fitted - start, sampled - fitted, two_way(table, releases)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--data", type=Path, default=SHARED, help="folder of the NIST file")
    arguments.add_argument("--rows", type=int, default=10_000)
    arguments.add_argument("--columns", type=int, default=1_000)
    arguments.add_argument("--kind", choices=("waves", "copies"), default="waves")
    arguments.add_argument("--method", choices=("cart", "guarded"), default="cart")
    arguments.add_argument("--most", type=int, nargs="*", default=[], help="numbers of predictors")
    arguments.add_argument("--copies", type=int, default=1)
    given = arguments.parse_args()
    table = wide_table(given.data, given.rows, given.columns, given.kind)
    print(f"{table.n_rows:,} rows, {len(table.names):,} columns ({given.kind}), {given.method}")
    measured(table.select(table.names[:62]), given.method, "auto", 1)  # compile
    settings = [*(given.most or ["auto"]), "all"]
    found = {}
    print("predictors   fit CPU s   sample CPU s   two-way S_pMSE   fit faster   S_pMSE ratio")
    for setting in reversed(settings):
        found[setting] = measured(table, given.method, setting, given.copies)
        fit, sample, spmse = found[setting]
        faster, worse = found["all"][0] / fit, spmse / found["all"][2]
        print(
            f"{setting!s:>10}   {fit:9.1f}   {sample:12.1f}   {spmse:14.3f}   {faster:10.1f}   "
            f"{worse:12.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
