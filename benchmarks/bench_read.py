"""Reading 1,000,000 × 20 mixed cells from CSV and Parquet, and 5,000,000 rows of Parquet.

Each reader runs in a process of its own; its memory is the peak above what it held after a first
small file. Caveat's table is coded (types decided by the whole file, text and numbers as codes);
pandas and polars hold the values. polars infers types from the first 100 rows, or from all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

ROWS, LARGE = 1_000_000, 5_000_000
READERS = {
    "caveat": "from caveat.table import read; from caveat.table import _text, _columnar",
    "pandas": "import pandas, pyarrow.parquet",
    "polars": "import polars",
    "polars, all rows": "import polars",
}
CALLS = {
    ("caveat", ".csv"): "read(path)",
    ("caveat", ".parquet"): "read(path)",
    ("pandas", ".csv"): "pandas.read_csv(path)",
    ("pandas", ".parquet"): "pandas.read_parquet(path)",
    ("polars", ".csv"): "polars.read_csv(path)",
    ("polars", ".parquet"): "polars.read_parquet(path)",
    ("polars, all rows", ".csv"): "polars.read_csv(path, infer_schema_length=None)",
}
# Compiled kernels are loaded before the clock starts; they are compiled once per machine.
SCRIPT = """
import json, sys, time
{imports}

def peak():
    # The resource module counts the parent's memory too; the kernel's own figure does not.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

path = sys.argv[1]
{warm}
before, cpu, wall = peak(), time.process_time(), time.perf_counter()
table = {call}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps([wall, cpu, peak() - before, getattr(table, "nbytes", 0)]))
"""


def mixed(n: int, seed: int = 1) -> pl.DataFrame:
    """Return a survey-like frame of 20 columns."""
    rng = np.random.default_rng(seed)
    towns = np.array([f"town {i:03d}" for i in range(300)])
    text = {f"text{i}": towns[rng.integers(0, 300, n)] for i in range(4)}
    few = {
        f"few{i}": np.array(["yes", "no", "don't know"])[rng.integers(0, 3, n)] for i in range(3)
    }
    whole = {f"whole{i}": rng.integers(0, 100 ** (i + 1), n) for i in range(4)}
    codes = {
        f"coded{i}": np.where(rng.random(n) < 0.1, -8, rng.integers(0, 90, n)) for i in range(3)
    }
    decimals = {f"decimal{i}": np.round(rng.lognormal(7, 1, n), 2) for i in range(3)}
    frame = pl.DataFrame({**text, **few, **whole, **codes, **decimals})
    days = pl.Series(rng.integers(0, 20000, n)).cast(pl.Int32).cast(pl.Date)
    holes = rng.random(n) < 0.2
    return frame.with_columns(
        day=days,
        maybe=pl.Series(rng.integers(0, 50, n)).set(pl.Series(holes), None),
        exact=pl.Series(rng.normal(size=n)),
    )


def large(n: int, seed: int = 2) -> pl.DataFrame:
    """Return a long frame of numbers and text."""
    rng = np.random.default_rng(seed)
    towns = np.array([f"town {i:03d}" for i in range(300)])
    return pl.DataFrame(
        {
            **{f"code{i}": rng.integers(0, 200, n) for i in range(4)},
            **{f"town{i}": towns[rng.integers(0, 300, n)] for i in range(3)},
            **{f"amount{i}": np.round(rng.lognormal(7, 1, n)) for i in range(3)},
            "exact": rng.normal(size=n),
        }
    )


def measure(reader: str, path: Path, warm: Path) -> list[float]:
    script = SCRIPT.format(
        imports=READERS[reader],
        call=CALLS[reader, path.suffix],
        warm=f"{CALLS[reader, path.suffix].replace('path', repr(str(warm)))}",
    )
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", script, str(path)],
                check=True, capture_output=True, text=True,
            ).stdout
        )
        for _ in range(3)
    ]  # fmt: skip
    return [sorted(values)[1] for values in zip(*runs, strict=True)]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for suffix in (".csv", ".parquet"):
            save(mixed(ROWS), folder / f"mixed{suffix}")
            save(mixed(100), folder / f"warm{suffix}")
            print(f"\n{ROWS:,} x 20 {suffix[1:]}: median of 3 runs")
            heads = ["wall s", "CPU s", "peak MB", "CPU ratio", "memory ratio"]
            print(f"{'reader':16}", *(f"{head:>12}" for head in heads))
            ours = None
            for reader in [name for name in READERS if (name, suffix) in CALLS]:
                found = measure(reader, folder / f"mixed{suffix}", folder / f"warm{suffix}")
                ours = ours or found
                wall, cpu, peak, _ = found
                print(
                    f"{reader:16} {wall:12.2f} {cpu:12.2f} {peak:12.0f} "
                    f"{ours[1] / cpu:12.2f} {ours[2] / peak:12.2f}"
                )
            print("ratios: Caveat / reader; below 1 Caveat needs less")
        save(large(LARGE), folder / "large.parquet")
        _, cpu, peak, codes = measure("caveat", folder / "large.parquet", folder / "warm.parquet")
        bound = (codes + 8 * LARGE) / 2**20
        print(f"\n{LARGE:,} rows of Parquet, 11 columns: CPU {cpu:.2f} s, peak {peak:.0f} MB")
        print(f"codes {codes / 2**20:.0f} MB, one column of numbers {8 * LARGE / 2**20:.0f} MB")
        print(f"peak / (codes + one column of numbers) = {peak / bound:.2f} (bound 2.5)")


def save(frame: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=500_000)


if __name__ == "__main__":
    main()
