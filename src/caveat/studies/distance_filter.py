"""The pipeline of arXiv 2310.06571 from end to end: synthesis, distance filter, noise.

The paper's own data (799 prisoners, 26 variables) are not public; the steps are run on any mixed
table. After each step: the share filtered, GTCAP, the largest ECAP and pMSE.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.datasets import survey
from caveat.protect import Population, add_noise, code_extremes, distance_filter, ecap
from caveat.protect._numbers import numbers_of
from caveat.risk import audit
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.table import ColumnSchema, Schema, Table, read
from caveat.utility import compare

__all__ = ["PRINTED", "STUDY", "Pipeline", "Row", "pipeline", "run"]

# What the paper reports of its own data: mean GTCAP and ECAP below 0.2, pMSE 0.123 to 0.124.
PRINTED: Mapping[str, str] = {"GTCAP": "< 0.2", "ECAP": "< 0.2", "pMSE": "0.123-0.124"}
LEAF, SPLIT = 33, 100  # smallest leaf and smallest node that is split, in the paper
NO_NOISE = 1e-6  # of the range: what stands for a release without noise


@dataclass(frozen=True)
class Row:
    """The numbers after one step.

    Parameters
    ----------
    step
        What was done last.
    removed
        Share of the synthetic records that the step removed, in per cent; None if it removes none.
    gtcap
        Mean and largest GTCAP over the targets, as shares.
    ecap
        The largest ECAP of any original value of the noisy columns.
    pmse
        pMSE of the propensity tree, and over its expectation.
    """

    step: str
    removed: float | None
    gtcap: tuple[float, float]
    ecap: float
    pmse: tuple[float, float | None]


@dataclass(frozen=True)
class Pipeline:
    """The rows of the study, and what to know about them."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def pipeline(
    original: Table,
    *,
    keys: Sequence[str],
    targets: Sequence[str],
    noisy: Mapping[str, int],
    tolerance: Mapping[str, float],
    top: Mapping[str, float] | None = None,
    limit: float = 0.2,
    seed: int = 0,
) -> Pipeline:
    """Run the four steps and measure after each.

    Parameters
    ----------
    original
        The original table, after direct identifiers were removed (the paper's first step).
    keys, targets, tolerance
        The scenario of GTCAP; targets that are numbers need a tolerance.
    noisy
        The columns that get noise, with the size of the population.
    top
        Top coding before everything: a far outlier would need noise as wide as its distance.
    limit
        The largest ECAP.
    seed
        Root of all randomness.
    """
    original = code_extremes(original, top=top).table if top else original
    model = Synthesizer(seed=seed, minbucket=LEAF).fit(original)

    def refill(n: int, number: int) -> Table:
        return replace(model, seed=seed + number).tables(n)[0]

    release = model.tables()[0]
    people = {
        name: Population(size, values=numbers_of(original[name])) for name, size in noisy.items()
    }
    scenario: dict[str, Any] = {
        "keys": list(keys),
        "targets": list(targets),
        "tolerance": dict(tolerance),
    }
    measured = _Measured(original, scenario, people)
    rows = [measured.row("synthesis", release)]
    filtered = distance_filter(release, original, refill=refill)
    rows.append(
        measured.row("filter", filtered.table,
                     removed=filtered.step.counts["removed, per cent"])
    )  # fmt: skip
    noise = add_noise(filtered.table, original, people, limit=limit, seed=seed)
    reached = max(noise.step.counts[f"{name}: largest ECAP"] for name in people)
    rows.append(measured.row("noise", noise.table, attributed=reached))
    widths = [
        f"{n}: noise with standard deviation "
        f"{noise.step.counts[f'{n}: standard deviation of the noise']:.3g}"
        for n in people
    ]
    notes = (
        f"leaves of {LEAF} or more; nodes split from {3 * LEAF} records on (the paper: {SPLIT})",
        *filtered.step.notes,
        *widths,
        "the filter and the noise look at real records: see the page on protections",
        "printed: the paper's own data, which are not public; its GTCAP may be defined otherwise",
    )
    return Pipeline(tuple(rows), notes)


class _Measured:
    """What is measured after each step."""

    def __init__(
        self, original: Table, scenario: dict[str, Any], people: Mapping[str, Population]
    ) -> None:
        self.original = original
        self.scenario = scenario
        self.bare = max(
            float(ecap(_levels(original, name), known, _tiny(original, name)).max())
            for name, known in people.items()
        )

    def row(
        self, step: str, release: Table, removed: float | None = None,
        attributed: float | None = None,
    ) -> Row:  # fmt: skip
        found = audit(self.original, release, measures=["GTCAP"], **self.scenario)
        values = [r.result.value / 100 for r in found.rows if r.result.value is not None]
        scores = compare(self.original, release, measures=["pMSE", "S_pMSE"], resamples=0)
        return Row(
            step,
            removed,
            (float(np.mean(values)), max(values)),
            self.bare if attributed is None else attributed,
            (scores["pMSE"].value or 0.0, scores["S_pMSE"].value),
        )


def _levels(table: Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = numbers_of(table[name])
    return np.unique(values[~np.isnan(values)])


def _tiny(table: Table, name: str) -> float:
    return NO_NOISE * float(np.ptp(_levels(table, name)))


COLUMNS = ("sex", "age", "placesize", "region", "edu", "socprof", "income", "marital", "ls",
           "depress", "trust", "nofriend", "smoke", "height", "weight", "sport")  # fmt: skip

HINT: tuple[str, ...] = ("give --data FOLDER with sd2011.csv for the survey Social Diagnosis 2011",)


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Run the pipeline on 16 columns of SD2011, or on the simulated survey when it is not there."""
    output.check(())
    file = None if data is None else data / "sd2011.csv"
    tolerance = {"age": 2.0, "weight": 5.0}
    if file is not None and file.exists():
        code = ColumnSchema(missing={-8: "not asked"})
        original = Schema({"income": code, "nofriend": code}).apply(read(file).select(COLUMNS))
        keys = ["sex", "age", "region", "placesize"]
        targets = ["income", "depress", "weight", "marital", "smoke"]
        tolerance |= {"income": 200.0, "depress": 1.0}
        hint: tuple[str, ...] = ()
        top, name = {"income": 5000.0, "weight": 130.0}, "SD2011"
    else:
        original = survey().select(["sex", "age", "region", "marital", "height", "weight"])
        keys, targets = ["sex", "age", "region"], ["marital", "weight"]
        top, name, hint = {"weight": 130.0}, "the simulated survey", HINT
    noisy = [n for n in ("age", "income", "height", "weight") if n in original]
    # The hardest case for the noise: the attacker knows that nobody else is in the population.
    found = pipeline(
        original,
        keys=keys,
        targets=targets,
        noisy=dict.fromkeys(noisy, original.n_rows),
        tolerance=tolerance,
        top=top,
    )
    title = f"{name}, {original.n_rows:,} records that are the whole population"
    return StudyResult((_grid(found, title),), remarks=(*found.notes, *hint))


def _grid(found: Pipeline, title: str) -> Grid:
    rows = [
        (
            row.step,
            "" if row.removed is None else f"{row.removed:.1f} %",
            f"{row.gtcap[0]:.3f}",
            f"{row.gtcap[1]:.3f}",
            f"{row.ecap:.3f}",
            f"{row.pmse[0]:.4f}",
            "" if row.pmse[1] is None else f"{row.pmse[1]:.2f}",
        )
        for row in found.rows
    ]
    printed = (
        "printed",
        "",
        PRINTED["GTCAP"],
        "",
        PRINTED["ECAP"],
        PRINTED["pMSE"],
        "",
    )
    header = ("after", "removed", "GTCAP mean", "worst", "ECAP", "pMSE", "S_pMSE")
    return Grid(title, header, (*rows, printed))


STUDY = Study(
    "distance-filter",
    "synthesis, distance filter and noise, measured after each step (arXiv 2310.06571)",
    run,
)
