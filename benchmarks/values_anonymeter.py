"""The attacks of the EU's three criteria: our rates beside anonymeter's on the same three tables.

``python benchmarks/values_anonymeter.py --python PYTHON``, where PYTHON has anonymeter. Original:
5,000 records of Adult; control: 5,000 of its test part; release: one CART synthesis of the
original. 500 attacks with each of five seeds, the same settings on both sides. Adult is read from
../shared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from caveat.attack.ordinary import inference, linkability, singling_out
from caveat.risk import Measurement
from caveat.synthesis import Synthesizer
from caveat.table import Table, read, write

SHARED = Path(__file__).resolve().parents[2] / "shared"
FIRST = ["age", "sex", "race", "education", "native_country"]
SECOND = ["occupation", "hours_per_week", "workclass", "marital_status", "capital_gain"]
ROWS, ATTACKS, SEEDS = 5000, 500, 5
Attack = Callable[[int], Measurement]
# Runs in the other environment. Its samples of people come from numpy's global generator.
SCRIPT = r"""
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

job = json.load(open(sys.argv[1]))
ori, syn, con = (pd.read_csv(name) for name in job["files"])
first, second, n = job["first"], job["second"], job["attacks"]
base = {"ori": ori, "syn": syn, "control": con, "n_attacks": n}


def guess(secret):
    keys = [name for name in first + second if name != secret]
    # Without regression=True a number must be hit exactly.
    number = secret != "income"
    evaluator = InferenceEvaluator(aux_cols=keys, secret=secret, regression=number, **base)
    return evaluator.evaluate(n_jobs=1)


runs = {
    "singling out, one column": lambda s: SinglingOutEvaluator(seed=s, **base).evaluate(
        "univariate"
    ),
    "singling out, 4 columns": lambda s: SinglingOutEvaluator(seed=s, n_cols=4, **base).evaluate(
        "multivariate"
    ),
    "linkability, 10 neighbours": lambda s: LinkabilityEvaluator(
        aux_cols=(first, second), n_neighbors=10, **base
    ).evaluate(n_jobs=1),
    "inference of income": lambda s: guess("income"),
    "inference of age": lambda s: guess("age"),
    "inference of debt (negative)": lambda s: guess("debt"),
}
out = {}
for name, run in runs.items():
    for seed in range(job["seeds"]):
        np.random.seed(seed)
        try:
            found = run(seed).results()
            rates = (found.attack_rate, found.baseline_rate, found.control_rate)
            # Theirs are centres of Wilson intervals; the plain shares are solved from these.
            plain = [rate.value + (rate.value - 0.5) * 1.959964**2 / n for rate in rates]
        except Exception as error:
            print(name, type(error).__name__, str(error)[:200], file=sys.stderr)
            continue
        out.setdefault(name, []).append([100 * share for share in plain])
print(json.dumps(out))
"""


def with_debt(table: Table, rows: int) -> Table:
    """Return the first rows, with a debt of 100 for each hour of work: a negative number."""
    frame = table.take(np.arange(rows)).to_frame("polars")
    return Table.from_frame(frame.with_columns(debt=-100 * frame["hours_per_week"]))


def guess(original: Table, release: Table, control: Table, target: str) -> Attack:
    keys = [name for name in FIRST + SECOND if name != target]
    return lambda seed: inference(
        original, release, control=control, keys=keys, target=target, attacks=ATTACKS, seed=seed
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="an environment with anonymeter")
    python = parser.parse_args().python
    original, control = (
        with_debt(read(SHARED / f"data/{name}.csv"), ROWS) for name in ("adult", "adult_test")
    )
    release = Synthesizer(seed=1, method="cart").fit(original).tables()[0].compact()
    more: dict[str, Any] = {"control": control, "attacks": ATTACKS}
    ours: dict[str, Attack] = {
        "singling out, one column": lambda seed: singling_out(
            original, release, columns="one", seed=seed, **more
        ),
        "singling out, 4 columns": lambda seed: singling_out(original, release, seed=seed, **more),
        "linkability, 10 neighbours": lambda seed: linkability(
            original, release, first=FIRST, second=SECOND, neighbours=10, seed=seed, **more
        ),
        "inference of income": guess(original, release, control, "income"),
        "inference of age": guess(original, release, control, "age"),
        "inference of debt (negative)": guess(original, release, control, "debt"),
    }
    theirs = run_rival(python, [original, release, control])
    grid = Grid("", "Caveat: attack", "baseline", "control", "anonymeter: attack", "baseline",
                "control")  # fmt: skip
    for name, attack in ours.items():
        found = [attack(seed) for seed in range(SEEDS)]
        mine = 100 * np.array([[m.value, m.baseline, m.control] for m in found], dtype=float)
        other = np.array(theirs.get(name, [[np.nan] * 3] * 2))
        grid.add_row(name, *(cell(values) for values in (*mine.T, *other.T)))
    out = Console(width=120)
    out.print(grid)
    out.print(f"per cent, mean ± sd over {SEEDS} seeds of {ATTACKS} attacks on {ROWS:,} records")


def run_rival(python: str, tables: list[Table]) -> dict[str, list[list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{name}.csv" for name in ("original", "release", "control")]
        for table, file in zip(tables, files, strict=True):
            write(table, file)
        job = {"files": [str(file) for file in files], "first": FIRST, "second": SECOND,
               "attacks": ATTACKS, "seeds": SEEDS}  # fmt: skip
        script, order = Path(folder) / "script.py", Path(folder) / "job.json"
        script.write_text(SCRIPT, encoding="utf-8")
        order.write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run(
            [python, str(script), str(order)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    if done.stderr:
        Console(stderr=True).print(done.stderr[-2000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def cell(values: Any) -> str:
    return "" if np.isnan(values).any() else f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"


if __name__ == "__main__":
    main()
