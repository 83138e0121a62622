"""Margins with a guarantee beside smartnoise-synth's MST, cleared and plain margins, and trees.

    python benchmarks/bench_margins.py [--smartnoise PYTHON] [--fits 3] [adult] [sd2011]

PYTHON is an interpreter that has smartnoise-synth; without it its row is left out. It is given the
cells of our declared domain, and numbers are drawn evenly within the cells it returns. Without the
data, the simulated survey. Noise has no seed: figures of private rows differ from run to run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from caveat.attack import membership
from caveat.datasets import survey
from caveat.studies.promise import MISSING, PROMISE_SURVEY, declared_as_in
from caveat.synthesis import Model, Synthesizer
from caveat.synthesis.margins.guaranteed import declared_codings, plan_private
from caveat.synthesis.margins.promise import cells_in
from caveat.table import Schema, Table, read
from caveat.utility import compare
from caveat.utility.regressions import train_on_synthetic

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TARGETS = {"adult": "income", "sd2011": "depress", "survey": "marital"}
DELTA = 1e-9
SOME = 200
"""Records that are attacked where every one of them costs a refit; with noise all are."""
PRIVATE = {
    "margins, ε = 1": {"method": "margins", "epsilon": 1.0, "delta": DELTA},
    "margins, ε = 3": {"method": "margins", "epsilon": 3.0, "delta": DELTA},
}
OTHERS: dict[str, dict[str, Any]] = {
    "cleared margins": {"method": "margins", "clearing": {"threshold": 10, "multiple": 5}},
    "plain margins": {"method": "margins"},
    "guarded": {"method": "guarded"},
    "cart": {"method": "cart"},
}
MST = """
import sys, pandas as pd
from snsynth import Synthesizer
cells = pd.read_csv(sys.argv[1])
made = Synthesizer.create("mst", epsilon=float(sys.argv[3]), delta=float(sys.argv[4]))
made.fit(cells.astype(str), categorical_columns=list(cells.columns), preprocessor_eps=0.0)
made.sample(len(cells)).astype(int).to_csv(sys.argv[2], index=False)
"""


class Data:
    """A table, what is declared of it, and records of the same population where there are some."""

    def __init__(self, name: str) -> None:
        self.name, self.control, self.learnt = name, None, ""
        if name == "survey":
            self.declared: Mapping[str, Mapping[str, Any]] = PROMISE_SURVEY
            self.schema = Schema.from_mapping({"income": {"missing": [MISSING]}})
            self.table = self.schema.apply(survey().select([*PROMISE_SURVEY]))
        else:
            table = read(SHARED / f"{name}.csv")
            self.declared = declared_as_in(table)
            coded = {n: e["missing"] for n, e in self.declared.items() if "missing" in e}
            self.schema = Schema.from_mapping({n: {"missing": m} for n, m in coded.items()})
            self.table = self.schema.apply(table)
        if name == "adult":
            self.control = read(SHARED / "adult_test.csv")

    def fitted(self, options: Mapping[str, Any], seed: int) -> Model:
        """Return a model; margins have the cells that are declared, whoever promises what."""
        given: dict[str, Any] = {}
        if "epsilon" in options:
            given = {"columns": self.declared}
        elif options["method"] == "margins":
            # The same ranges and cells, which are assumed from these files here.
            kept = ("bins", "special")
            given = {"columns": {n: {k: e[k] for k in kept if k in e}
                                 for n, e in self.declared.items() if "range" in e}}  # fmt: skip
        return Synthesizer(seed=seed, **options, **given).fit(self.table)

    @property
    def codings(self) -> Any:
        options = {**PRIVATE["margins, ε = 1"], "columns": self.declared}
        return declared_codings(plan_private(self.table.names, options)[1])

    def from_cells(self, cells: pd.DataFrame, seed: int = 0) -> Table:
        """Return records of these cells, numbers drawn evenly within them."""
        rng, made = np.random.default_rng(seed), {}
        for name, coding in self.codings.items():
            at, grid = cells[name].to_numpy(), coding.grid
            if grid is None:
                values = [*coding.column.levels.tolist(), *(m.code for m in coding.column.missing)]
                made[name] = np.array(values, object)[at]
                continue
            low, high = grid.edges[:-1], grid.edges[1:]
            inside = np.minimum(at, grid.n_cells - 1)
            drawn = grid.values_of(rng.integers(low[inside], high[inside]))
            others = [*coding.special_numbers.tolist(), *(m.code for m in coding.column.missing)]
            kept = np.round(drawn, grid.decimals).astype(object)
            apart = at >= grid.n_cells
            kept[apart] = np.array([*others], object)[at[apart] - grid.n_cells]
            whole = coding.column.levels.dtype.kind == "i"
            made[name] = pd.array(kept, "Int64") if whole else kept.astype(float)
        return self.schema.apply(Table.from_frame(pd.DataFrame(made)[list(self.table.names)]))


def figures(data: Data, release: Table) -> tuple[float, ...]:
    """Return k-marginal, the two-way S_pMSE, and the score of a model trained on the release."""
    names = ("k-marginal", "S_pMSE two-way")
    found = compare(data.table, release, control=data.control, measures=names, resamples=0)
    learnt = train_on_synthetic(found.pairs[0], TARGETS[data.name])
    data.learnt = f"{learnt.score}; trained on the original {learnt.trained_on_original:.3f}"
    return (*(float(found[name].value or np.nan) for name in names), learnt.trained_on_synthetic)


def members(data: Data, model: Model, release: Table) -> float:
    """Return the share of records whose membership an even prior raises to 0.9 and more."""
    some = np.random.default_rng(0).permutation(data.table.n_rows)[:SOME].tolist()
    known: dict[str, Any] = {"generator": model.plan, "records": sorted(some)}
    if model.plan.margins is not None and model.plan.margins.promise is not None:
        known = {"generator": model}
    found = membership(data.table, release, **known)
    return float((found.posterior() >= 0.9).mean())


@dataclass(frozen=True)
class Cost:
    """What a process took from its start to its end: processor time, and memory at its most."""

    seconds: float
    megabytes: float


def took(*command: str) -> Cost:
    """Run a process, and say what it took."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} failed")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def mst(data: Data, python: str, epsilon: float) -> tuple[Table, Cost]:
    """Return a release of smartnoise-synth's MST, and what it took."""
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = Path(place) / "cells.csv", Path(place) / "made.csv"
        pd.DataFrame(cells_in(data.codings, data.table)).to_csv(ours, index=False)
        asked = (str(ours), str(theirs), f"{epsilon}", f"{DELTA}")
        cost = took(python, "-W", "ignore", "-c", MST, *asked)
        return data.from_cells(pd.read_csv(theirs)), cost


def show(name: str, rows: list[tuple[float, ...]], given_away: float | None = None) -> None:
    """Print the mean of several fits and their standard deviation, and who is given away."""
    values = np.array(rows)
    cells = [f"{mean:.3f}" for mean in values.mean(axis=0)]
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        cells = [f"{cell} ± {sd:.3f}" for cell, sd in zip(cells, spread, strict=True)]
    cells.append("" if given_away is None else f"{100 * given_away:.2f} %")
    print(f"  {name:22}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def fits_of(data: Data, name: str, options: Mapping[str, Any], fits: int) -> None:
    """Print the row of one method; its first release is attacked."""
    rows, given_away = [], None
    for seed in range(fits):
        model = data.fitted(options, seed)
        release = model.tables()[0]
        given_away = members(data, model, release) if given_away is None else given_away
        rows.append(figures(data, release))
    show(name, rows, given_away)


def table_of(data: Data, python: str | None, fits: int) -> None:
    print(f"{data.name}: {data.table.n_rows:,} records, {len(data.table.names)} columns")
    heads = ("k-marginal", "S_pMSE two-way", f"TSTR {TARGETS[data.name]}", "member ≥ 0.9")
    print(f"  {'':22}" + "".join(f"{head:>18}" for head in heads))
    for name, options in {**PRIVATE, **OTHERS}.items():
        fits_of(data, name, options, fits)
    if python is None:
        print("  smartnoise-synth: its environment is not there (--smartnoise PYTHON)")
    else:
        beside(data, python)
    print(f"  TSTR: {data.learnt}")


def beside(data: Data, python: str) -> None:
    """Print the row of smartnoise-synth's MST, and what it takes compared with ours."""
    release, theirs = mst(data, python, 1.0)
    show("smartnoise MST, ε = 1", [figures(data, release)])
    ours = took(sys.executable, __file__, "--one", data.name)
    for what, cost in (("ours", ours), ("smartnoise MST", theirs)):
        print(f"  {what:15} {cost.seconds:7.1f} s of processor time, {cost.megabytes:7.0f} MB")
    times, memory = theirs.seconds / ours.seconds, theirs.megabytes / ours.megabytes
    print(f"  smartnoise MST takes {times:.0f} times the time, {memory:.1f} times the memory (each "
          "in a process of its own, start included)")  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    asked = argparse.ArgumentParser()
    asked.add_argument("names", nargs="*")
    asked.add_argument("--smartnoise")
    asked.add_argument("--fits", type=int, default=3)
    asked.add_argument("--one")
    given = asked.parse_args()
    if given.one:
        data = Data(given.one)
        data.fitted(PRIVATE["margins, ε = 1"], 0).tables()
        return
    there = (SHARED / "sd2011.csv").exists()
    for name in given.names or (["adult", "sd2011"] if there else ["survey"]):
        table_of(Data(name), given.smartnoise, given.fits)


if __name__ == "__main__":
    main()
