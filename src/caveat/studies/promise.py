"""The promise beside the loss: claimed ε, what the strong attacker finds, and what can be proven.

For every ε three numbers. The claimed one holds for every table of the declared domain. The
largest exact log ratio is that of the record which one release gives away most. The lower bound is
what an outsider could prove about the mechanism by running it again and again with and without a
record (Clopper and Pearson, 95 %): but for chance, it cannot lie above the first.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack import membership, membership_test
from caveat.attack.membership import MembershipTest
from caveat.charts import COLOURS, Key
from caveat.charts.style import GREY
from caveat.datasets import survey
from caveat.errors import CaveatWarning
from caveat.studies._charts import promises
from caveat.studies.guarded import SD2011
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.synthesis.grid import assumed_grid
from caveat.table import Column, Table, read
from caveat.table.table import decimals_of

__all__ = ["EPSILONS", "STUDY", "SURVEY", "Loss", "declared_as_in", "losses", "picture", "run"]

Declared = Mapping[str, Mapping[str, Any]]

MISSING = -8
BINS = 16
FEW = 10
"""Whole numbers with at most so many values are classes."""

SURVEY: Declared = {
    "sex": {"levels": ["female", "male"]},
    "age": {"range": [16, 99, 1], "bins": BINS},
    "region": {"levels": ["north", "east", "south", "west", "centre", "islands"]},
    "education": {"levels": ["primary", "vocational", "secondary", "higher"]},
    "marital": {"levels": ["single", "married", "divorced", "widowed"]},
    "income": {
        "range": [0, 20_000, 10],
        "scale": "geometric",
        "missing": [MISSING, ""],
        "bins": BINS,
    },
    "height": {"range": [100, 230, 1], "bins": BINS},
    "weight": {"range": [30, 200, 1], "bins": BINS, "missing": [""]},
}
"""What a code book of the simulated survey would say."""

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-9
RELEASES, RECORDS, SIMULATIONS = 5, 10, 60
LEAST = 0.01
"""Where the picture ends below; a bound of 0 lies on this line."""
CURVES: Key = (
    ("dot", GREY, "claimed ε"),
    ("dot", COLOURS[1], "largest exact log ratio"),
    ("dot", COLOURS[0], "lower bound that can be proven"),
)


@dataclass(frozen=True)
class Loss:
    """What is promised and what was found.

    Parameters
    ----------
    epsilon
        The claimed one.
    largest
        For each release the largest |log p(tables with the record) - log p(tables without it)|.
    proven
        The lower bound of ε.
    """

    epsilon: float
    largest: tuple[float, ...]
    proven: float


def declared_as_in(table: Table) -> dict[str, dict[str, Any]]:
    """Return what a code book would declare of a public file, read off the file for want of one.

    No private release may do this: what its columns can be has to be known without the data.
    """
    return {name: _declared(table[name]) for name in table}


def _declared(column: Column) -> dict[str, Any]:
    numbers = column.numbers if column.kind.is_number else np.zeros(0)
    empty = [""] if column.is_missing.any() else []
    if len(numbers) <= (FEW if column.levels.dtype.kind in "iu" else 1):
        return {"levels": column.levels.tolist(), "missing": empty}
    coded = numbers[0] == MISSING
    ordinary = numbers[1:] if coded else numbers
    grid = assumed_grid(column, ordinary, decimals_of(column), "", (), exact=True)
    found = {"range": [grid.low, grid.high, grid.step], "scale": grid.scale, "bins": BINS}
    found["missing"] = [*([MISSING] if coded else []), *empty]
    if column.counts[0] >= column.counts.sum() / 4 and len(numbers) >= 2 * FEW and not coded:
        found["special"] = [float(numbers[0])]
    return found


def losses(
    original: Table,
    declared: Declared,
    epsilons: Sequence[float] = EPSILONS,
    *,
    releases: int = RELEASES,
    records: int = RECORDS,
    simulations: int = SIMULATIONS,
) -> list[Loss]:
    """Return what each ε claims and what is found.

    Parameters
    ----------
    original, declared
        The data, and what is declared of each column.
    epsilons
        What is claimed; δ is always 1e-9.
    releases
        How many releases are made, of each of which all records are attacked.
    records, simulations
        How many records are drawn for the lower bound, and how often each of them is in the data,
        and as often not.
    """
    drawn = np.random.default_rng(0).permutation(original.n_rows)[:records]
    found = []
    for epsilon in epsilons:
        largest = []
        for seed in range(releases):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CaveatWarning)  # the study says it in the end
                model = Synthesizer(
                    seed=seed, method="margins", epsilon=epsilon, delta=DELTA, columns=declared
                ).fit(original)
            all_of_them = membership(original, model.tables()[0], generator=model)
            largest.append(float(np.abs(all_of_them.log_ratio).max()))
        tests = [
            membership_test(original, int(i), generator=model, simulations=simulations)
            for i in drawn
        ]
        found.append(Loss(epsilon, tuple(largest), _together(tests).epsilon))
    return found


def _together(tests: Sequence[MembershipTest]) -> MembershipTest:
    """Return one test of all records: what holds for each of them holds for their mean.

    They take turns, so that both halves of the simulations have all of them.
    """
    inside, outside = (
        np.stack([getattr(test, side) for test in tests], axis=1).ravel()
        for side in ("inside", "outside")
    )
    return MembershipTest(tests[0].record, inside, outside)


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Set promises beside losses on the survey, and on SD2011 where it is."""
    output.check(("promise",))
    found = {"The simulated survey": losses(survey().select([*SURVEY]), SURVEY)}
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        original = read(file).select(SD2011)
        found["SD2011, 12 columns"] = losses(original, declared_as_in(original))
    output.save(picture(found), "promise")
    grids = tuple(_grid(title, lines) for title, lines in found.items())
    remarks = (
        f"δ = {DELTA:g}; noise has no seed: every run gives other numbers",
        f"largest: over all records and both signs, {RELEASES} releases; lower bound: {RECORDS} "
        f"records, each {SIMULATIONS} times in the data and {SIMULATIONS} times not",
        *(
            ["what SD2011 can be is read off the public file, for want of a code book: no private "
             "release may do this"]
            if len(found) > 1
            else ["give --data FOLDER with sd2011.csv for SD2011"]
        ),
    )  # fmt: skip
    return StudyResult(grids, tuple(output.saved), remarks)


def _grid(title: str, found: Sequence[Loss]) -> Grid:
    rows = tuple(
        (
            f"{one.epsilon:g}",
            f"{np.mean(one.largest):.3f}",
            f"{max(one.largest):.3f}",
            f"{one.proven:.3f}",
        )
        for one in found
    )
    header = ("claimed ε", "largest log ratio", "of all releases", "proven")
    return Grid(title, header, rows)


def picture(found: Mapping[str, Sequence[Loss]]) -> Any:
    """Draw the three numbers over ε, on logarithmic axes, a panel for each table."""
    words = [entry[2] for entry in CURVES]
    panels = {
        title: [
            {"epsilon": one.epsilon, "curve": word, "loss": max(value, LEAST)}
            for one in lines
            for word, value in zip(
                words, (one.epsilon, float(np.mean(one.largest)), one.proven), strict=True
            )
        ]
        for title, lines in found.items()
    }
    return promises(panels, CURVES, [LEAST, 0.03, *EPSILONS])


STUDY = Study(
    "promise",
    "the promise beside the loss: claimed ε, the strong attacker's, and what can be proven",
    run,
    paper="our own",
    takes="about 15 minutes",
    needs="caveat[dp]; sd2011.csv for SD2011",
)
