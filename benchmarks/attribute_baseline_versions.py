"""The classifiers of Hittmeir, Mayer and Ekelhart in the scikit-learn of their time.

``caveat study attribute-baseline`` uses the scikit-learn that is installed. This script runs the
"Original" rows of Tables 6 to 11 in another environment, and tries what the paper leaves open: the
kernel of the SVM and who decides when the six voters are even.

``python benchmarks/attribute_baseline_versions.py --python PYTHON``, where PYTHON has numpy and
scikit-learn 0.20.3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from caveat.studies.attribute_baseline import CASES, load_data

SEEDS = 20
TIES = ("first", "last", "lowest", "highest", "shared")
# Runs in the other environment, which may be an old Python.
SCRIPT = r"""
import itertools, json, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

job = json.load(open(sys.argv[1]))


def nearest(x, y):
    groups = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.zeros((groups.max() + 1, len(classes)))
    np.add.at(counts, (groups, codes), 1)
    return classes[counts[groups].argmax(axis=1)]


def vote(named, y, tie):
    classes = np.unique(y)
    rows = np.arange(len(y))
    votes = np.stack([(named == c).sum(axis=1) for c in classes], axis=1)
    best = votes == votes.max(axis=1)[:, None]
    if tie == "lowest":
        return np.mean(classes[best.argmax(axis=1)] == y)
    if tie == "highest":
        return np.mean(classes[::-1][best[:, ::-1].argmax(axis=1)] == y)
    if tie == "shared":
        return np.mean(best[rows, np.searchsorted(classes, y)] / best.sum(axis=1))
    order = named if tie == "first" else named[:, ::-1]
    ahead = np.take_along_axis(best, np.searchsorted(classes, order), 1).argmax(axis=1)
    return np.mean(order[rows, ahead] == y)


out = []
for case in job["cases"]:
    data, found = job["data"][case["data"]], {}
    y = np.array(data[case["target"]]).astype(int)
    for keys in itertools.combinations(case["keys"], case["size"]):
        raw = np.array([data[key] for key in keys]).T.astype(float)
        x = StandardScaler().fit_transform(raw)
        models = {
            "NB": GaussianNB(),
            "SVM": SVC(gamma="auto"),
            "KNN": KNeighborsClassifier(),
            "LR": LogisticRegression(solver="lbfgs", multi_class="multinomial"),
            "SVM, linear": SVC(kernel="linear"),
        }
        named = {name: model.fit(x, y).predict(x) for name, model in models.items()}
        named["FR-NN"] = nearest(raw, y)
        for name in named:
            found.setdefault(name, []).append([np.mean(named[name] == y)] * job["seeds"])
        scores = {}
        for seed in range(job["seeds"]):
            forest = RandomForestClassifier(10, random_state=seed).fit(x, y).predict(x)
            scores.setdefault("RF", []).append(np.mean(forest == y))
            for kernel in ("SVM", "SVM, linear"):
                six = ["NB", kernel, "KNN", "RF", "LR", "FR-NN"]
                ballots = np.stack([forest if n == "RF" else named[n] for n in six], axis=1)
                for tie in job["ties"]:
                    name = "ENS, tie: %s%s" % (tie, kernel[3:])
                    scores.setdefault(name, []).append(vote(ballots, y, tie))
        for name in scores:
            found.setdefault(name, []).append(scores[name])
    means = {n: 100 * np.mean(v, axis=0) for n, v in found.items()}
    sds = {n: 100 * np.std(v, axis=0) for n, v in found.items()}
    out.append({n: [means[n].mean(), sds[n].mean(), means[n].std(ddof=1)] for n in found})
print(json.dumps({"version": sklearn.__version__, "cases": out}))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="an environment with scikit-learn 0.20.3")
    tables = load_data()
    job = {
        "seeds": SEEDS,
        "ties": TIES,
        "cases": [
            {"data": c.data, "keys": c.keys, "size": c.size, "target": c.target} for c in CASES
        ],
        "data": {
            name: {
                key: np.asarray(table[key].numbers)[table[key].codes].tolist()
                for key in table
                if table[key].kind.is_number
            }
            for name, table in tables.items()
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder) / "script.py", Path(folder) / "job.json"
        script.write_text(SCRIPT, encoding="utf-8")
        file.write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run(
            [parser.parse_args().python, "-W", "ignore", str(script), str(file)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    show(json.loads(done.stdout.splitlines()[-1]))


def show(result: dict) -> None:
    grid = Grid(f"scikit-learn {result['version']}", *(f"Table {case.table}" for case in CASES))
    order = ("NB", "SVM", "KNN", "RF", "LR", "FR-NN", "ENS")
    for i, name in enumerate(order):
        grid.add_row(f"{name}, printed", *(f"{c.original[i][0]}±{c.original[i][1]}" for c in CASES))
        for row in (n for n in result["cases"][0] if n.split(",")[0] == name):
            cells = (case[row] for case in result["cases"])
            grid.add_row(row, *(f"{m:.1f}±{s:.1f}" + (f" ({e:.2f})" if e > 1e-9 else "")
                                for m, s, e in cells))  # fmt: skip
        grid.add_section()
    out = Console(width=130)
    out.print(grid)
    out.print(f"mean ± sd over the sets of keys; in brackets the sd of the mean over {SEEDS} seeds")


if __name__ == "__main__":
    main()
