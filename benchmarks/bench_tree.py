"""The tree engine against scikit-learn, YDF and rpart: time, loss, memory, start, threads, floor.

All trees of the first table stop by the same rules (5 rows in a leaf, depth 30, no pruning), one
thread, CPU time, the best of as many runs, in turns. Loss is what a split reduces, per row: Gini of
the leaf or squared error, measured on the training rows. 5,000,000 rows only with --large; rpart's
times come from the reference runs beside the project.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _tree_data import COLUMNS, Survey, make_survey
from rich.console import Console
from rich.table import Table as Grid

from caveat.datasets import buyer_beware
from caveat.tree import Control, Job, Predictors, Tree, grow, grow_many

SAME_RULES = Control(minbucket=5, minsplit=10, cp=-1.0, max_depth=30)
RESPONSES = {"2 classes": 8, "7 classes": 6, "30 classes": 13, "numbers": 7}
ONE_HOT_UP_TO = 50_000
ROUNDS = 5
OUT = Console(width=140)


def cpu(work: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Return the least CPU time of some runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


class Contender(NamedTuple):
    """What is timed, and the loss of the model it returns."""

    fit: Callable[[], Any]
    loss: Callable[[Any], float]


def in_turns(contenders: list[Contender], repeat: int) -> list[tuple[float, Any]]:
    """Return each one's least CPU time and a model.

    The runs come in rounds, a few of each contender: when the machine is busy, all suffer.
    """
    rounds = min(repeat, ROUNDS)
    runs = [
        [cpu(contender.fit, repeat // rounds) for contender in contenders] for _ in range(rounds)
    ]
    return [min(found, key=lambda run: run[0]) for found in zip(*runs, strict=True)]


def ours(survey: Survey, table: Predictors, name: str) -> Contender:
    response = RESPONSES[name]
    codes, n_levels = survey.codes[response], survey.n_levels[response]
    values = np.arange(float(n_levels)) if name == "numbers" else None
    predictors = table.select(survey.without(response))

    def loss(tree: Tree) -> float:
        if values is None:
            return float(1.0 - tree.shares(predictors, codes).mean())
        return float(tree.deviance()[tree.leaf_nodes].sum() / len(codes))

    return Contender(
        lambda: grow(predictors, codes, n_levels, values=values, control=SAME_RULES), loss
    )


def sklearn_tree(survey: Survey, name: str, one_hot: bool) -> Contender:
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    response = RESPONSES[name]
    others = survey.without(response)
    y = survey.codes[response]
    blocks = []
    for i in others:
        column = survey.codes[i].reshape(-1, 1).astype(np.float32)
        if one_hot and not survey.ordered[i] and survey.n_levels[i] > 2:
            column = OneHotEncoder(sparse_output=False, dtype=np.float32).fit_transform(column)
        blocks.append(column)
    x = np.hstack(blocks)
    kind = DecisionTreeRegressor if name == "numbers" else DecisionTreeClassifier
    model = kind(min_samples_leaf=5, min_samples_split=10, max_depth=30, random_state=0)
    target = y.astype(float) if name == "numbers" else y

    def loss(model: Any) -> float:
        if name == "numbers":
            return float(((model.predict(x) - target) ** 2).mean())
        place = np.searchsorted(model.classes_, y)
        return float(1.0 - model.predict_proba(x)[np.arange(len(y)), place].mean())

    return Contender(lambda: model.fit(x, target), loss)


def ydf_tree(survey: Survey, name: str) -> Contender:
    import logging

    import ydf

    logging.getLogger("absl").setLevel(logging.ERROR)
    ydf.verbose(0)
    response = RESPONSES[name]
    numbers = name == "numbers"
    data: dict[str, np.ndarray] = {}
    columns = []
    for i in [*survey.without(response), response]:
        numeric = survey.ordered[i] if i != response else numbers
        meaning = ydf.Semantic.NUMERICAL if numeric else ydf.Semantic.CATEGORICAL
        columns.append(ydf.Feature(f"c{i}", meaning))
        data[f"c{i}"] = survey.codes[i].astype(np.float32 if numeric else str)
    dataset = ydf.create_vertical_dataset(
        data, columns=columns, min_vocab_frequency=1, max_vocab_count=-1
    )
    learner = ydf.CartLearner(
        label=f"c{response}",
        task=ydf.Task.REGRESSION if numbers else ydf.Task.CLASSIFICATION,
        min_examples=5,
        max_depth=31,
        validation_ratio=0.0,
        num_threads=1,
    )

    def loss(model: Any) -> float:
        predicted = model.predict(dataset)
        y = survey.codes[response]
        if numbers:
            return float(((predicted - y) ** 2).mean())
        if predicted.ndim == 1:
            predicted = np.stack([1 - predicted, predicted], axis=1)
        place = {label: i for i, label in enumerate(model.label_classes())}
        order = np.array([place[str(code)] for code in range(survey.n_levels[response])])
        return float(1.0 - predicted[np.arange(len(y)), order[y]].mean())

    return Contender(lambda: learner.train(dataset), loss)


def race(makers: list[Callable[[], Contender]], repeat: int) -> list[Any]:
    """Return time, loss and model of each; what runs once is made one after the other."""
    found = []
    for together in [makers] if repeat > 1 else [[maker] for maker in makers]:
        contenders = [maker() for maker in together]
        for contender, (seconds, model) in zip(
            contenders, in_turns(contenders, repeat), strict=True
        ):
            found.append((seconds, contender.loss(model), model))
    return found


def cells(found: list[Any]) -> list[str]:
    """Our time, leaves and loss, then the time and loss of each other."""
    base, loss, tree = found[0]
    texts = [f"{base * 1e3:.1f}", f"{tree.n_leaves:,}", f"{loss:.4g}"]
    for other in found[1:]:
        texts += (
            [f"{other[0] * 1e3:,.0f} ({other[0] / base:.1f})", f"{other[1]:.4g}"]
            if other
            else ["-", "-"]
        )
    return texts


def compare(sizes: list[int]) -> None:
    grid = Grid(
        "rows", "response", "caveat ms", "leaves", "loss", "sklearn codes", "loss",
        "sklearn one-hot", "loss", "YDF", "loss",
        title="One tree, 19 mixed predictors: CPU ms (times ours)",
    )  # fmt: skip
    for n_rows in sizes:
        survey = make_survey(n_rows)
        table = Predictors(survey.codes, survey.n_levels, survey.ordered)
        repeat = 20 if n_rows <= 5_000 else 10 if n_rows <= 50_000 else 1
        for name in RESPONSES:
            makers: list[Callable[..., Contender]] = [partial(ours, table=table)]
            makers += [partial(sklearn_tree, one_hot=False), partial(sklearn_tree, one_hot=True)]
            makers += [ydf_tree]
            if n_rows > ONE_HOT_UP_TO:
                del makers[2]
            found = race([partial(maker, survey, name=name) for maker in makers], repeat)
            if n_rows > ONE_HOT_UP_TO:
                found.insert(2, None)
            grid.add_row(f"{n_rows:,}", name, *cells(found))
    OUT.print(grid)


def floor(n_rows: int) -> None:
    """Compare with the time to read, once for each level, every byte the counting needs."""
    survey = make_survey(n_rows)
    table = Predictors(survey.codes, survey.n_levels, survey.ordered)
    source = np.ones(25_000_000)
    seconds, _ = cpu(lambda: source.sum(), 5)
    bandwidth = source.nbytes / seconds
    for name in ("2 classes", "numbers"):
        seconds, tree = cpu(ours(survey, table, name).fit, 3)
        searched = int((tree.stop - tree.start)[tree.feature >= 0].sum())
        per_row = len(COLUMNS) - 1, 2 + 4 + 8  # code, row number and response, for each predictor
        touched = searched * per_row[0] * per_row[1]
        OUT.print(
            f"{n_rows:,} rows, {name}: {searched / n_rows:.1f} levels x {per_row[0]} predictors x"
            f" {per_row[1]} bytes a row = {touched / 1e9:.2f} GB; at {bandwidth / 1e9:.1f} GB/s"
            f" {touched / bandwidth * 1e3:.0f} ms, measured {seconds * 1e3:.0f} ms"
            f" = {seconds / (touched / bandwidth):.1f} x the floor"
        )


def refit() -> None:
    """The Buyer Beware table, a column from the other three; and noise, a column from four."""
    table = buyer_beware()
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 2, 1000).astype(np.uint8) for _ in range(5)]
    values = np.array([0.0, 1.0])
    for name, columns, numbers in (
        ("Buyer Beware table, numbers", [table[f"var{i}"].codes for i in range(1, 5)], values),
        ("Buyer Beware table, classes", [table[f"var{i}"].codes for i in range(1, 5)], None),
        ("noise and one predictor more, numbers", noise, values),
    ):
        *others, response = columns
        predictors = Predictors(others, [2] * len(others), [True] * len(others))

        def many(predictors: Any = predictors, y: Any = response, numbers: Any = numbers) -> None:
            for _ in range(20):
                grow(predictors, y, 2, values=numbers)

        many()
        seconds = cpu(many, 300)[0] / 20
        OUT.print(f"Refit of 1,000 rows, binary columns, {name}: {seconds * 1e6:.0f} us a tree")


def threads(n_rows: int) -> None:
    survey = make_survey(n_rows)
    table = Predictors(survey.codes, survey.n_levels, survey.ordered)
    jobs = [
        Job(
            predictors=table.select(survey.without(i)),
            response_codes=survey.codes[i],
            n_levels=survey.n_levels[i],
            values=np.arange(float(survey.n_levels[i])) if survey.ordered[i] else None,
        )
        for i in range(len(COLUMNS))
    ]
    wall = {}
    for workers in (1, 2, 1, 2):
        start = time.perf_counter()
        grow_many(jobs, threads=workers)
        wall[workers] = min(wall.get(workers, np.inf), time.perf_counter() - start)
    OUT.print(
        f"20 trees of {n_rows:,} rows: {wall[1]:.2f} s with one thread, {wall[2]:.2f} s with two"
        f" ({wall[1] / wall[2]:.2f} x; wall time, so other work on the machine counts)"
    )


CHILD = """
import sys, time
start = time.process_time()
import numpy as np
sys.path.insert(0, {folder!r})
from _tree_data import make_survey
from caveat.tree import Predictors, grow
{body}
"""
START = """
from caveat.tree import Job, grow_many
survey = make_survey(200)
table = Predictors(survey.codes[:4], survey.n_levels[:4], survey.ordered[:4])
jobs = [
    Job(predictors=table, response_codes=survey.codes[6], n_levels=7),
    Job(predictors=table, response_codes=survey.codes[15], n_levels=22, values=np.arange(22.0)),
]
start = time.perf_counter()
for tree in grow_many(jobs):
    tree.draw(table, np.zeros(200))
print(time.perf_counter() - start)
"""
MEMORY = """
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))

def tree_of(n_rows, response={response}, numbers={numbers}):
    global before
    survey = make_survey(n_rows)
    table = Predictors(survey.codes, survey.n_levels, survey.ordered)
    n_levels = survey.n_levels[response]
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts again from what is held now
    before = peak()
    grow(table.select(survey.without(response)), survey.codes[response], n_levels,
         values=np.arange(float(n_levels)) if numbers else None)
    return table.table.codes.nbytes / 2**20

tree_of(200)
size = tree_of({n_rows})
print(peak() - before, size)
"""


def child(body: str, **environment: str) -> list[float]:
    code = CHILD.format(folder=str(Path(__file__).parent), body=body)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return [float(number) for number in done.stdout.split()]


def starts() -> None:
    """Show what the first class tree, number tree and draws cost until machine code is on disk."""
    for label, alone in (("one process", "1"), ("two processes", "")):
        with tempfile.TemporaryDirectory() as folder:
            for start in ("cold", "warm"):
                before = os.times()
                (wall,) = child(START, NUMBA_CACHE_DIR=folder, CAVEAT_COMPILE_ALONE=alone)
                after = os.times()
                used = after.children_user + after.children_system
                used -= before.children_user + before.children_system
                OUT.print(
                    f"{start} start, {label}: {wall:.1f} s to wait, {used:.1f} s of CPU time"
                    " with all imports"
                )


def memory(n_rows: int) -> None:
    for name in ("2 classes", "7 classes", "numbers"):
        response, numbers = RESPONSES[name], name == "numbers"
        beyond, table = child(MEMORY.format(response=response, numbers=numbers, n_rows=n_rows))
        OUT.print(f"{n_rows:,} rows, {name}: {beyond:.0f} MB beyond the table of {table:.0f} MB")


def rpart() -> None:
    root = Path(__file__).resolve().parents[1]
    folder = root.parent / "shared/reference/synthpop/trees"
    if not folder.is_dir():
        OUT.print("rpart: the reference runs are not here")
        return
    sys.path.insert(0, str(root))
    from tests.tree.reference import arguments, control_of, load_prepared

    prepared = load_prepared(folder)
    total = {"ours": 0.0, "bare": 0.0, "as synthpop": 0.0}
    for entry in json.loads((folder / "index.json").read_text())["cases"]:
        case = json.loads((folder / entry["file"]).read_text())
        given, control = arguments(case, prepared), control_of(case["fits"][0])
        total["ours"] += cpu(lambda g=given, c=control: grow(**g, control=c), 5)[0]
        total["bare"] += entry["user_s_bare"]
        total["as synthpop"] += entry["user_s_as_synthpop"]
    OUT.print(
        f"19 trees on 5,000 rows of SD2011: {total['ours'] * 1e3:.0f} ms; rpart"
        f" {total['bare']:.3f} s ({total['bare'] / total['ours']:.1f} x), as synthpop calls it"
        f" {total['as synthpop']:.3f} s ({total['as synthpop'] / total['ours']:.1f} x)"
    )
    timings = json.loads((folder.parent / "timings.json").read_text())["blow_up"]
    subsets([entry for entry in timings if entry["design"] == "factor only"])


def subsets(entries: list[dict[str, Any]]) -> None:
    """Show what one nominal predictor costs by its number of levels, 10 classes, 5,000 rows."""
    rng = np.random.default_rng(1)
    grid = Grid("levels", "caveat ms", "rpart ms", title="One factor, 10 classes, 5,000 rows")
    for entry in entries:
        n_levels = entry["predictor_levels"]
        if n_levels % 4:
            continue
        column = rng.integers(0, n_levels, 5_000).astype(np.uint8)
        shares = rng.dirichlet(np.ones(10), n_levels).cumsum(axis=1)
        codes = (rng.random(5_000)[:, None] > shares[column]).sum(axis=1).astype(np.uint8)
        table = Predictors([column], [n_levels], [False])
        seconds, _ = cpu(lambda t=table, y=codes: grow(t, np.minimum(y, 9), 10), 5)
        grid.add_row(f"{n_levels}", f"{seconds * 1e3:.2f}", f"{entry['xval0_user_s'] * 1e3:,.0f}")
    OUT.print(grid)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 5,000,000 rows")
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    chosen = parser.parse_args()
    sizes = [*chosen.rows, 5_000_000] if chosen.large else chosen.rows
    compare(sizes)
    for n_rows in sizes[1:]:
        floor(n_rows)
        memory(n_rows)
    refit()
    threads(50_000)
    rpart()
    starts()


if __name__ == "__main__":
    main()
