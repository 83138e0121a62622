"""CPU time of the ordinary attackers on Adult, beside anonymeter and scikit-learn.

Adult is read from ../shared. A rival is measured in the same run when its own environment is named:
``python benchmarks/bench_ordinary.py --rival anonymeter=PYTHON``. The search of scikit-learn
(NearestNeighbors) gets the same vectors as ours, and must find the same distances.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from caveat.attack.ordinary import (
    closer_than_neighbour,
    closest_record,
    epsilon_identifiability,
    inference,
    linkability,
    membership_scores,
    singling_out,
)
from caveat.attack.ordinary.common import nearest_rows, prepare, whitened
from caveat.attack.ordinary.distances import weighted
from caveat.nearest import Vectors, euclid_nearest
from caveat.studies.attribute_baseline import CASES, accuracy, load_data
from caveat.synthesis import Synthesizer
from caveat.table import Table, read, write

SHARED = Path(__file__).resolve().parents[2] / "shared"
FIRST = ["age", "sex", "race", "education", "native_country"]
SECOND = ["occupation", "hours_per_week", "workclass", "marital_status", "capital_gain"]
ATTACKS = 2000
# Each names what is timed; ori, syn and con are data frames.
RIVALS = {
    "singling out, 4 columns": (
        "from anonymeter.evaluators import SinglingOutEvaluator as E;"
        "E(ori=ori,syn=syn,control=con,n_attacks=n,n_cols=4,seed=0).evaluate(mode='multivariate')"
    ),
    "singling out, one column": (
        "from anonymeter.evaluators import SinglingOutEvaluator as E;"
        "E(ori=ori,syn=syn,control=con,n_attacks=n,seed=0).evaluate(mode='univariate')"
    ),
    "linkability, 10 neighbours": (
        "from anonymeter.evaluators import LinkabilityEvaluator as E;"
        f"E(ori=ori,syn=syn,control=con,n_attacks=n,aux_cols=({FIRST},{SECOND}),n_neighbors=10)"
        ".evaluate(n_jobs=1)"
    ),
    "inference of income": (
        "from anonymeter.evaluators import InferenceEvaluator as E;"
        f"E(ori=ori,syn=syn,control=con,n_attacks=n,aux_cols={FIRST + SECOND},secret='income')"
        ".evaluate(n_jobs=1)"
    ),
}


def timed(run: Callable[[], object]) -> float:
    """CPU seconds of a second run: the first one compiles."""
    run()
    start = time.process_time()
    run()
    return time.process_time() - start


def rival(python: str, code: str, files: list[Path]) -> float:
    """CPU seconds of a rival, imports and reading left out."""
    script = (
        "import sys,time,warnings;warnings.simplefilter('ignore');import pandas as pd;"
        "import anonymeter.evaluators;ori,syn,con=(pd.read_csv(p) for p in sys.argv[1:4]);"
        f"n=int(sys.argv[4]);t=time.process_time();{code};print('CPU',time.process_time()-t)"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [python, "-c", script, *map(str, files), str(ATTACKS)],
        capture_output=True, text=True, env=env, timeout=3600,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("CPU")]
    if not lines:
        raise RuntimeError(done.stderr[-300:])
    return float(lines[-1].split()[1])


def beside_scikit_learn(original: Table, synthetic: Table) -> Grid:
    """Nearest original of every synthetic record: ours and scikit-learn's on the same vectors."""
    tables = prepare(original, synthetic)
    spaces: dict[str, list[Vectors]] = {
        "Mahalanobis": whitened(tables.original, tables[:2]),
        "ε-identifiability": weighted(tables.original, tables[:2], scale="sd"),
    }
    grid = Grid(
        "nearest of 32,561 among 32,561", "columns", "Caveat, CPU s", "scikit-learn, CPU s",
        "ratio", "largest difference",
    )  # fmt: skip
    for name, (ours, theirs) in spaces.items():
        found = euclid_nearest(theirs, ours).distance[:, 0]
        mine = timed(lambda a=theirs, b=ours: euclid_nearest(a, b))
        with threadpool_limits(1):
            start = time.process_time()
            search = NearestNeighbors(n_neighbors=1).fit(ours.values)
            brute = search.kneighbors(theirs.values)[0][:, 0]
            rival_time = time.process_time() - start
        grid.add_row(
            name, str(ours.values.shape[1]), f"{mine:.2f}", f"{rival_time:.1f}",
            f"{rival_time / mine:,.0f} x", f"{np.abs(found - brute).max():.0e}",
        )  # fmt: skip
    return grid


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rival", action="append", default=[], help="anonymeter=PYTHON")
    pythons = dict(entry.split("=", 1) for entry in parser.parse_args().rival)
    out = Console(width=110)
    data = load_data()
    start = time.process_time()
    for case in CASES:
        accuracy(case, data[case.data], data[case.data])
    out.print(
        f"all key subsets of paper 003 x 7 classifiers: {time.process_time() - start:.1f} CPU s"
    )
    if not SHARED.is_dir():
        out.print("../shared is not here: Adult is left out")
        return
    original, control = (read(SHARED / f"data/{name}.csv") for name in ("adult", "adult_test"))
    synthetic = Synthesizer(seed=1, method="cart").fit(original).tables()[0].compact()
    more = {"control": control, "attacks": ATTACKS}
    runs = {
        "singling out, 4 columns": lambda: singling_out(original, synthetic, **more),
        "singling out, one column": lambda: singling_out(
            original, synthetic, columns="one", **more
        ),
        "linkability, 10 neighbours": lambda: linkability(
            original, synthetic, first=FIRST, second=SECOND, neighbours=10, **more
        ),
        "inference of income": lambda: inference(
            original, synthetic, keys=FIRST + SECOND, target="income", **more
        ),
        "membership by density": lambda: membership_scores(original, synthetic, **more),
        "membership by distance": lambda: membership_scores(
            original, synthetic, score="distance", **more
        ),
        "DCR of all 32,561 records, with control": lambda: closest_record(
            original, synthetic, control=control
        ),
        "ε-identifiability": lambda: epsilon_identifiability(original, synthetic),
        "too close (Mahalanobis)": lambda: closer_than_neighbour(original, synthetic),
        "too close, with control": lambda: closer_than_neighbour(
            original, synthetic, control=control
        ),
    }
    tables = prepare(original, original)
    names, rows = tables.original.names, np.arange(len(original))
    runs["nearest of 32,561 among 32,561"] = lambda: nearest_rows(
        tables.original, tables.original, names, 1, scale=tables.original, own=rows
    )
    grid = Grid("Adult, 2,000 attacks", "Caveat, CPU s", "anonymeter, CPU s", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder) / "release.csv"
        write(synthetic, release)
        files = [SHARED / "data/adult.csv", release, SHARED / "data/adult_test.csv"]
        for name, run in runs.items():
            ours, theirs = timed(run), None
            if "anonymeter" in pythons and name in RIVALS:
                theirs = rival(pythons["anonymeter"], RIVALS[name], files)
            grid.add_row(
                name, f"{ours:.2f}",
                "" if theirs is None else f"{theirs:.1f}",
                "" if theirs is None else f"{theirs / ours:,.0f} x",
            )  # fmt: skip
    out.print(grid)
    out.print(beside_scikit_learn(original, synthetic))


if __name__ == "__main__":
    main()
