"""How large? Time and peak memory of ``caveat synth`` from Parquet to Parquet, by rows.

``python benchmarks/bench_size.py --rows 1000000 5000000 --method guarded cart``. Each case is a
process of its own, so that its memory can be told; the files lie in a temporary folder (name its
disk by ``--folder``) and are removed.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _tree_data import COLUMNS
from rich.console import Console
from rich.table import Table as Grid
from scipy.special import ndtri

CHUNK = 500_000  # rows of a row group
WIDE = ("income", "body mass")  # money with cents, and a number with many values
HOLES = ("cigarettes", "income")  # every tenth cell is empty
SPEC = '[synthesis]\nmethod = "{method}"\n'


def write_survey(path: Path, n_rows: int, seed: int = 7) -> None:
    """Write a made-up survey of 20 mixed columns, row group by row group."""
    rng = np.random.default_rng(seed)
    mixes = [rng.normal(size=3).astype(np.float32) for _ in COLUMNS]
    shares = [np.cumsum(rng.dirichlet(np.full(n, 3.0)))[:-1] for _, n, _ in COLUMNS]
    orders = [rng.permutation(n) for _, n, _ in COLUMNS]
    writer = None
    for start in range(0, n_rows, CHUNK):
        chunk = np.random.default_rng([seed, start])
        n = min(CHUNK, n_rows - start)
        traits = chunk.standard_normal((3, n), dtype=np.float32)
        arrays = []
        for (name, n_levels, ordered), mix, share, order in zip(
            COLUMNS, mixes, shares, orders, strict=True
        ):
            score = mix @ traits + chunk.standard_normal(n, dtype=np.float32)
            score /= math.sqrt(1 + float(mix @ mix))
            empty = chunk.random(n) < 0.1 if name in HOLES else None
            if name in WIDE:
                values = np.round(np.exp(7 + 0.6 * score), 0 if name == "body mass" else 2)
                arrays.append(pa.array(values, mask=empty))
                continue
            codes = np.searchsorted(ndtri(share), score)
            if ordered:
                arrays.append(pa.array(codes, pa.int64(), mask=empty))
            else:
                words = pa.array([f"{i:02d}" for i in range(n_levels)])
                arrays.append(pa.DictionaryArray.from_arrays(order[codes], words).cast(pa.string()))
        part = pa.table(arrays, names=[name for name, *_ in COLUMNS])
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
    if writer is not None:
        writer.close()


def run(source: Path, target: Path | str, spec: Path, options: list[str]) -> dict[str, float]:
    """Synthesise in a process of its own."""
    start = time.perf_counter()
    command = [sys.executable, "-c", "from caveat.cli import main; main()"]
    command += ["synth", str(source), "--out", str(target)]
    child = subprocess.Popen(
        [*command, "--spec", str(spec), "--seed", "1", "--force", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(said[-2000:])
    return {
        "cpu": used.ru_utime + used.ru_stime,
        "wall": time.perf_counter() - start,
        "peak": used.ru_maxrss / 1024,
    }


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--method", nargs="+", default=["guarded", "cart"])
    parser.add_argument("--folder", default=None, help="where the temporary folder is made")
    parser.add_argument("--work", action="store_true", help="keep the codes in a working folder")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    grid = Grid("rows", "method", "CPU s", "wall s", "peak MB", "exponent of CPU", "SHA-256")
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        options = ["--threads", str(chosen.threads)]
        options += ["--work", str(folder)] if chosen.work else []
        last: dict[str, tuple[int, float]] = {}
        for rows in chosen.rows:
            source, target = folder / "survey.parquet", folder / "synthetic.parquet"
            write_survey(source, rows)
            for method in chosen.method:
                spec = folder / "spec.toml"
                spec.write_text(SPEC.format(method=method))
                found = run(source, target, spec, options)
                exponent = "-"
                if method in last:
                    less, cpu = last[method]
                    exponent = f"{math.log(found['cpu'] / cpu) / math.log(rows / less):.2f}"
                last[method] = rows, found["cpu"]
                line = (
                    f"{rows:,}", method, f"{found['cpu']:.1f}", f"{found['wall']:.1f}",
                    f"{found['peak']:,.0f}", exponent, digest(target),
                )  # fmt: skip
                grid.add_row(*line)
                print(*line, flush=True)  # hours may follow
    Console(width=110).print(grid)


if __name__ == "__main__":
    main()
