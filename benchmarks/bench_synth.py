"""Time and memory of the synthesiser beside R's synthpop and Python rivals.

SD2011 and R's timings are read from ../shared when it is there. A rival is measured in the same run
when its own environment is named: ``python benchmarks/bench_synth.py --rival synthpop-py=PYTHON``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _tree_data import COLUMNS, make_survey
from rich.console import Console
from rich.table import Table as Grid

from caveat.synthesis import Synthesizer
from caveat.table import Column, Kind, Table, read

SHARED = Path(__file__).resolve().parents[2] / "shared"
TWELVE = ["sex", "age", "region", "placesize", "edu", "socprof", "marital", "income", "depress",
          "smoke", "height", "weight"]  # fmt: skip
RIVALS = {
    "synthpop-py": (
        "from synthpop import Synthesiser as S;s=S(random_seed=1).fit(df);s.generate()"
    ),
    "datasynthesizer": (
        "from DataSynthesizer.DataDescriber import DataDescriber as D;"
        "from DataSynthesizer.DataGenerator import DataGenerator as G;"
        "d=D();d.describe_dataset_in_correlated_attribute_mode(path,k=2,epsilon=0);"
        "d.save_dataset_description_to_file(path+'.json');"
        "G().generate_dataset_in_correlated_attribute_mode(len(df),path+'.json')"
    ),
    "sdv": (
        "from sdv.metadata import Metadata as M;from sdv.single_table import "
        "GaussianCopulaSynthesizer as S;m=M.detect_from_dataframes({'table':df});"
        "s=S(m);s.fit({'table':df});s.sample(num_rows=len(df))"
    ),
}


def cases(sd2011: Table | None) -> dict[str, Table]:
    """The tables by the label that R's timings use."""
    found: dict[str, Table] = {}
    if sd2011 is not None:
        syn = json.loads((SHARED / "reference/synthpop/timings.json").read_text())["syn"]
        for entry in syn:
            label = entry["label"]
            if label.startswith("SD2011") and not entry.get("settings"):
                found[label] = sd2011.select(entry["variables"])
        found["SD2011 all 35 variables"] = sd2011
        found["SD2011 v07_3_30"] = with_random_factors(sd2011)
        rng = np.random.default_rng(1)
        big = sd2011.select(TWELVE).take(rng.integers(0, 5000, 100_000))
        found["bootstrap 100000 x 12"] = big
    return found


def with_random_factors(table: Table) -> Table:
    """The paper's hardest case: three random factors of 30 levels before all others."""
    base = table.drop(["bmi", "agegr"])
    rng = np.random.default_rng(30)
    levels = np.array([f"{a}{b}" for a in "abcde" for b in "uvwxyz"], dtype=object)
    extra = {
        f"random{i}": Column(rng.integers(0, 30, base.n_rows), levels, Kind.CATEGORY)
        for i in range(3)
    }
    return Table({**extra, **base.columns})


def simulated(rows: int) -> Table:
    """A made-up survey of 20 mixed columns."""
    survey = make_survey(rows)
    columns = {}
    for (name, n, ordered), codes in zip(COLUMNS, survey.codes, strict=True):
        levels = np.arange(n) if ordered else np.array([f"{i:02d}" for i in range(n)], dtype=object)
        columns[name] = Column(codes, levels, Kind.INTEGER if ordered else Kind.CATEGORY)
    return Table(columns)


def timed(table: Table, threads: int) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    model = Synthesizer(seed=1, method="cart", threads=threads).fit(table)
    fitted = time.perf_counter()
    model.tables(threads=threads)
    end = time.perf_counter()
    return {"cpu": time.process_time() - cpu, "fit": fitted - wall, "sample": end - fitted}


def published(label: str) -> float | None:
    path = SHARED / "reference/synthpop/timings.json"
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    if label == "SD2011 all 35 variables":
        return content["syn_full_35"]["user_s"]  # stopped before the end: a lower bound
    if label == "SD2011 v07_3_30":
        return 3654.59  # notes-b paper 1, Table 1
    return next((e["user_s"] for e in content["syn"] if e["label"] == label), None)


def big_in_a_process(rows: int) -> dict[str, float]:
    """Fit and sample a large table in a fresh process, so that its memory can be told."""
    code = (
        "import sys,json,resource,time;sys.path.insert(0,sys.argv[1]);"
        "from bench_synth import simulated,timed;timed(simulated(2000),2);"
        "t=simulated(int(sys.argv[2]));base=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "r=timed(t,2);r['peak']=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1024;"
        "r['codes']=t.nbytes/2**20;print(json.dumps(r))"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, here, str(rows)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def growth(sizes: list[int]) -> dict[str, list[float]]:
    """CPU seconds of fitting and of sampling as many rows, each size in a process of its own."""
    code = (
        "import sys,json;sys.path.insert(0,sys.argv[1]);"
        "from bench_synth import simulated,fit_and_sample;fit_and_sample(simulated(2000));"
        "print(json.dumps(fit_and_sample(simulated(int(sys.argv[2])))))"
    )
    here = str(Path(__file__).parent)
    found: dict[str, list[float]] = {"fit": [], "sample": []}
    for rows in sizes:
        call = [sys.executable, "-c", code, here, str(rows)]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
        for step, seconds in json.loads(done.stdout.splitlines()[-1]).items():
            found[step].append(seconds)
    return found


def fit_and_sample(table: Table) -> dict[str, float]:
    """CPU seconds of one thread; the machine may be busy with other things."""
    start = time.process_time()
    model = Synthesizer(seed=1, method="cart", threads=1).fit(table)
    fitted = time.process_time()
    model.tables(threads=1)
    return {"fit": fitted - start, "sample": time.process_time() - fitted}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The power of the number of rows by which the seconds grow, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def show_growth(out: Console, sizes: list[int]) -> None:
    found = growth(sizes)
    grid = Grid("rows x 20", *(f"{rows:,}" for rows in sizes), "exponent")
    for step, seconds in found.items():
        grid.add_row(
            f"{step}, CPU s", *(f"{s:.2f}" for s in seconds), f"{exponent(sizes, seconds):.2f}"
        )
    out.print(grid)


def rival(name: str, python: str, path: Path) -> float:
    """CPU seconds of a rival on a CSV file, its imports left out."""
    code = (
        "import sys,time,warnings,os;warnings.simplefilter('ignore');import pandas as pd;"
        f"path=sys.argv[1];df=pd.read_csv(path);t=time.process_time();{RIVALS[name]};"
        "import resource as r;c=r.getrusage(r.RUSAGE_CHILDREN);"
        "print('CPU',time.process_time()-t+c.ru_utime+c.ru_stime)"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-c", code, str(path)], capture_output=True, text=True, env=env, timeout=3600
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("CPU")]
    if not lines:
        raise RuntimeError(f"{name}: {done.stderr[-300:]}")
    return float(lines[-1].split()[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rival", action="append", default=[], help="NAME=PYTHON")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the large table")
    parser.add_argument(
        "--growth", type=int, nargs="+", metavar="ROWS",
        help="only how time grows with these numbers of rows, as in 100000 1000000 5000000",
    )  # fmt: skip
    chosen = parser.parse_args()
    if chosen.growth:
        show_growth(Console(width=110), chosen.growth)
        return
    sd2011 = read(SHARED / "data/sd2011.csv") if SHARED.is_dir() else None
    timed(simulated(2000), 2)  # compile
    out = Console(width=110)
    grid = Grid("table", "CPU s", "wall s (2 threads)", "synthpop, R: CPU s", "ratio of CPU")
    for label, table in cases(sd2011).items():
        one, two = timed(table, 1), timed(table, 2)
        theirs = published(label)
        bound = ">" if "35" in label else ""
        ratio = f"{bound}{theirs / one['cpu']:,.0f} x" if theirs else "-"
        grid.add_row(
            label, f"{one['cpu']:.2f}", f"{two['fit'] + two['sample']:.2f}",
            f"{bound}{theirs:,.1f}" if theirs else "-", ratio,
        )  # fmt: skip
    out.print(grid)
    large = big_in_a_process(chosen.rows)
    out.print(
        f"simulated {chosen.rows:,} x 20: fit {large['fit']:.1f} s, sample {large['sample']:.1f} s,"
        f" CPU {large['cpu']:.1f} s, peak {large['peak']:,.0f} MB (codes {large['codes']:.0f} MB)"
    )
    if chosen.rival:
        compare_rivals(out, chosen.rival)


def compare_rivals(out: Console, rivals: list[str]) -> None:
    grid = Grid("Adult, 32,561 x 15", "CPU s", "times ours")
    path = SHARED / "data/adult.csv"
    ours = timed(read(path), 1)["cpu"]
    grid.add_row("caveat", f"{ours:.2f}", "1")
    for entry in rivals:
        name, _, python = entry.partition("=")
        theirs = rival(name, python, path)
        grid.add_row(name, f"{theirs:.1f}", f"{theirs / ours:,.0f} x")
    out.print(grid)


if __name__ == "__main__":
    main()
