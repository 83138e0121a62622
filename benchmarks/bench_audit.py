"""Audits: 4 keys by all other targets of a survey, 1,000,000 × 12, and GCAP at 32,000 × 32,000.

CPU seconds (user and system of the process), kernels compiled before. The release is the original
with each cell replaced, with probability 0.3, by one of another row: what is measured does not
matter for the time. SDMetrics' CategoricalCAP is timed in the environment whose Python the variable
CAVEAT_SDMETRICS_PYTHON names, on the same columns, one target: it has no way to share work between
targets. R: the reference file of timings has no figure for disclosure(), and none is made up here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl

from caveat.risk import audit
from caveat.table import Table

SHARED = Path(__file__).resolve().parents[2] / "shared"
KEYS = ["sex", "age", "region", "placesize"]
LEVELS = {"sex": 2, "age": 81, "region": 16, "placesize": 6, "edu": 5, "socprof": 10, "marital": 7}
LEVELS |= {"income": 400, "depress": 23, "smoke": 2, "height": 70, "weight": 110}
RIVAL = """
import sys, time, pandas
from sdmetrics.single_table import CategoricalCAP
real, release = (pandas.read_csv(p, dtype=str, keep_default_na=False) for p in sys.argv[1:3])
start = time.process_time()
keys, target = sys.argv[4].split(","), sys.argv[3]
CategoricalCAP.compute(real, release, key_fields=keys, sensitive_fields=[target])
print(time.process_time() - start)
"""


def survey(n: int, seed: int = 1) -> pl.DataFrame:
    """Twelve dependent columns: each follows a hidden trait with noise."""
    rng = np.random.default_rng(seed)
    trait = rng.standard_normal(n)
    columns = {}
    for name, levels in LEVELS.items():
        rank = 0.6 * trait + 0.8 * rng.standard_normal(n)
        columns[name] = np.minimum((1 / (1 + np.exp(-1.5 * rank)) * levels).astype(int), levels - 1)
    return pl.DataFrame(columns)


def scramble(frame: pl.DataFrame, seed: int = 2) -> pl.DataFrame:
    """The stand-in for a release."""
    rng = np.random.default_rng(seed)
    out = {}
    for name in frame.columns:
        donor = rng.integers(0, frame.height, frame.height)
        keep = rng.random(frame.height) > 0.3
        out[name] = frame[name].gather(np.where(keep, np.arange(frame.height), donor))
    return pl.DataFrame(out)


def cpu(call, repeat=3):
    """Least CPU seconds of a few runs."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def rival(original: pl.DataFrame, release: pl.DataFrame, target: str, keys: list[str]) -> str:
    python = os.environ.get("CAVEAT_SDMETRICS_PYTHON")
    if not python:
        return "not installed"
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("a.csv", "b.csv")]
        for frame, path in zip((original, release), paths, strict=True):
            frame.select([*keys, target]).write_csv(path)
        done = subprocess.run(
            [python, "-W", "ignore", "-c", RIVAL, *paths, target, ",".join(keys)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return done.stdout.strip()


def row(what: str, seconds: float, beside: str = "", note: str = "") -> None:
    ratio = f"{float(beside) / seconds:,.0f} ×" if beside.replace(".", "", 1).isdigit() else ""
    theirs = f"{float(beside):.2f}" if ratio else beside
    print(f"{what:<58} {seconds:>9.4f} {theirs:>14} {ratio:>9}  {note}")


def one_target(name: str, original: pl.DataFrame, target: str, keys: list[str]) -> None:
    release = scramble(original)
    ours = [Table.from_frame(f.select([*keys, target])) for f in (original, release)]
    seconds = cpu(lambda: audit(*ours, keys=keys, targets=[target], measures=["0CAP"]))
    row(
        f"CAP, {name}, {len(keys)} keys, one target",
        seconds,
        rival(original, release, target, keys),
    )


def main() -> None:
    print(f"{'':<58} {'caveat, s':>9} {'SDMetrics, s':>14} {'ratio':>9}")
    small = survey(2_000)
    audit(small, scramble(small), keys=KEYS, targets=["depress"], measures=["all"])  # compile

    if (SHARED / "data").is_dir():
        sd2011 = pl.read_csv(SHARED / "data" / "sd2011.csv", infer_schema_length=None)
        tables = [Table.from_frame(f) for f in (sd2011, scramble(sd2011))]
        seconds = cpu(lambda: audit(*tables, keys=KEYS))
        row("SD2011, 4 keys, 31 targets, default measures and checks", seconds, "no R timing")
        one_target("SD2011 5,000 rows", sd2011, "depress", KEYS)
        adult = pl.read_csv(SHARED / "data" / "adult.csv")
        keys = ["age", "sex", "race", "occupation"]
        if "--slow" in sys.argv:
            one_target("Adult 32,561 rows", adult, "income", keys)
    else:
        print("../shared is not here: SD2011 and Adult are left out")
        one_target("made-up survey, 5,000 rows", survey(5_000), "depress", KEYS)

    million = survey(1_000_000)
    tables = [Table.from_frame(f) for f in (million, scramble(million))]
    seconds = cpu(lambda: audit(*tables, keys=KEYS), repeat=2)
    row("1,000,000 × 12, 4 keys, 8 targets, default measures", seconds, note="aim: 3 s")
    raab = ["UiO", "UiS", "UiOiS", "repU", "Dorig", "iS", "DiS", "DiSCO", "DCAP", "TCAP"]
    seconds = cpu(lambda: audit(*tables, keys=KEYS, measures=raab), repeat=2)
    row("  the same without whole rows", seconds)

    wide = survey(32_000)
    keys = [*KEYS, "edu", "socprof", "marital", "height"]
    tables = [Table.from_frame(f) for f in (wide, scramble(wide))]
    seconds = cpu(
        lambda: audit(*tables, keys=keys, targets=["income"], measures=["GCAP"]), repeat=1
    )
    tracemalloc.start()
    audit(*tables, keys=keys, targets=["income"], measures=["GCAP"])
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    note = f"peak {peak:.0f} MB; a matrix of 32,000 × 32,000 bytes is 977 MB"
    row("GCAP, 32,000 × 32,000, 8 keys", seconds, note=note)


if __name__ == "__main__":
    main()
