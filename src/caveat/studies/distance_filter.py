"""The pipeline of arXiv 2310.06571 from end to end: synthesis, distance filter, noise.

The paper's own data (799 prisoners, 26 variables) are not public; the steps are run on any mixed
table. After each step: the share filtered, GTCAP with what an attacker gets right without the
release, the largest ECAP and pMSE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.datasets import survey
from caveat.protect import Population, add_noise, code_extremes, distance_filter, ecap
from caveat.protect.record import Step
from caveat.protect.values import numbers_of
from caveat.risk import audit
from caveat.seeds import rng_of
from caveat.studies.study import Grid, Number, Output, Study, StudyResult
from caveat.synthesis import Model, Synthesizer
from caveat.table import ColumnSchema, Schema, Table, read
from caveat.utility import compare

__all__ = ["PRINTED", "STUDY", "Pipeline", "Row", "pipeline", "run"]

# What the paper reports of its own data: mean GTCAP and ECAP below 0.2, pMSE 0.123 to 0.124.
OTHER_DATA = "the paper's 799 prisoners are not public; its formulas are not printed"
PRINTED: Mapping[str, str] = {"GTCAP": "< 0.2", "ECAP": "< 0.2", "pMSE": "0.123-0.124"}
LEAF, SPLIT = 33, 100  # smallest leaf and smallest node that is split, in the paper
SHUFFLE = 2  # first word of the seeds of the control
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
    targets
        For each target: GTCAP as a share, and the probability with which an attacker guesses the
        target of a unique without the release and with it.
    ecap
        The largest ECAP of any original value of the noisy columns; None where it has no meaning.
    pmse
        pMSE of the propensity tree, and over its expectation.
    """

    step: str
    removed: float | None
    targets: Mapping[str, tuple[float, float, float]]
    ecap: float | None
    pmse: tuple[float, float | None]

    @property
    def gtcap(self) -> tuple[float, float]:
        """Mean and largest GTCAP over the targets."""
        values = [value for value, _, _ in self.targets.values()]
        return float(np.mean(values)), max(values)

    @property
    def right(self) -> tuple[float, float]:
        """The mean probability of a right guess without the release and with it."""
        without, with_it = np.mean([each[1:] for each in self.targets.values()], axis=0)
        return float(without), float(with_it)


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
    synthesizer = Synthesizer(seed=seed, method="cart", minbucket=LEAF, minsplit=SPLIT)
    model: Model = synthesizer.fit(original)

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
    rows = [measured.row("shuffled", _shuffled(release, targets, seed), control=True)]
    rows.append(measured.row("synthesis", release))
    filtered = distance_filter(original, release, refill=refill)
    rows.append(
        measured.row("filter", filtered.table,
                     removed=filtered.step.counts["removed, per cent"])
    )  # fmt: skip
    noise = add_noise(original, filtered.table, people, limit=limit, seed=seed)
    reached = max(noise.step.counts[f"{name}: largest ECAP"] for name in people)
    rows.append(measured.row("noise", noise.table, attributed=reached))
    return Pipeline(tuple(rows), _notes(filtered.step, noise.step, people))


def _notes(filtered: Step, noise: Step, noisy: Iterable[str]) -> tuple[str, ...]:
    """Say how the steps were made and what the columns of the table are."""
    widths = [
        f"{n}: noise with standard deviation "
        f"{noise.counts[f'{n}: standard deviation of the noise']:.3g}"
        for n in noisy
    ]
    return (
        f"leaves of {LEAF} records or more, nodes split from {SPLIT} records on",
        "shuffled: the release with each target in another order, which tells nothing about them",
        *filtered.notes,
        *widths,
        "the filter and the noise look at real records: see the page on protections",
        "without, with: how often the target of a unique is guessed, without the release and with",
        "printed: the paper's own data, which are not public; our reading of its GTCAP and ECAP",
    )


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
        attributed: float | None = None, control: bool = False,
    ) -> Row:  # fmt: skip
        found = audit(self.original, release, measures=["GTCAP"], **self.scenario)
        targets: dict[str, tuple[float, float, float]] = {}
        for name in self.scenario["targets"]:
            result = found["GTCAP", name]
            without, with_it = (result.details[part] or 0.0 for part in ("marginal", "synthetic"))
            if result.value is not None:
                targets[name] = (result.value, without, with_it)
        scores = compare(self.original, release, measures=["pMSE", "S_pMSE"], resamples=0)
        bare = None if control else self.bare
        return Row(
            step,
            removed,
            targets,
            bare if attributed is None else attributed,
            (scores["pMSE"].value or 0.0, scores["S_pMSE"].value),
        )


def _shuffled(release: Table, targets: Sequence[str], seed: int) -> Table:
    """Return a release in which the targets say nothing about the keys."""
    out = {}
    for position, name in enumerate(targets):
        order = rng_of(seed, SHUFFLE, position).permutation(release.n_rows)
        out[name] = release[name].with_codes(release[name].codes[order])
    return release.with_columns(out)


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
    grids = (_grid(found, title), _by_target(found))
    return StudyResult(grids, remarks=(*found.notes, *hint), numbers=_numbers(found))


def _numbers(found: Pipeline) -> tuple[Number, ...]:
    """Put what the paper says of its own data beside the last step."""
    last = found.rows[-1]
    return (
        Number("mean GTCAP after all steps, at most", "abstract", 0.2, last.gtcap[0], OTHER_DATA),
        Number("largest ECAP after all steps, at most", "abstract", 0.2, last.ecap, OTHER_DATA),
        Number("pMSE", "abstract", 0.1235, last.pmse[0], OTHER_DATA),
    )


def _grid(found: Pipeline, title: str) -> Grid:
    rows = [
        (
            row.step,
            "" if row.removed is None else f"{row.removed:.1f} %",
            f"{row.gtcap[0]:.3f}",
            f"{row.right[0]:.3f}",
            f"{row.right[1]:.3f}",
            "" if row.ecap is None else f"{row.ecap:.3f}",
            f"{row.pmse[0]:.4f}",
            "" if row.pmse[1] is None else f"{row.pmse[1]:.2f}",
        )
        for row in found.rows
    ]
    printed = ("printed", "", PRINTED["GTCAP"], "", "", PRINTED["ECAP"], PRINTED["pMSE"], "")
    header = ("after", "removed", "GTCAP", "without", "with", "ECAP", "pMSE", "S_pMSE")
    return Grid(title, header, (*rows, printed))


def _by_target(found: Pipeline) -> Grid:
    """GTCAP of each target after each step, beside what is guessed right without the release."""
    rows = [
        (name, f"{without:.3f}", *(f"{row.targets[name][0]:.3f}" for row in found.rows))
        for name, (_, without, _) in found.rows[0].targets.items()
    ]
    header = ("target", "without", *(row.step for row in found.rows))
    return Grid("GTCAP by target", header, tuple(rows))


STUDY = Study(
    "distance-filter",
    "synthesis, distance filter and noise, measured after each step",
    run,
    paper="arXiv 2310.06571",
    takes="15 s",
    needs="sd2011.csv, else the built-in survey",
)
