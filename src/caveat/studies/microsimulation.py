"""Deaths of a simulated town, rounded: Brenzel, Palm, Weymeirsch and Münnich (2024).

The paper simulates the deaths of a year in Trier by age and sex, rounds counts below three to none
or three at random, and shows one run and the mean of 1,000: no small count is shown, and the mean
is that of the simulation. Its population and life table are not to be had here, so the town and its
deaths are made up: a smooth age pyramid, and a mortality that grows by a tenth a year of age.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.protect import rounded_table, stochastic_round
from caveat.seeds import child_seed, rng_of
from caveat.studies.study import Grid, Number, Output, Study, StudyResult

__all__ = ["STUDY", "Deaths", "deaths", "run", "town"]

AGES, K, RUNS = 96, 3, 1000  # 0 … 94 and 95 or more
PEOPLE = 110_000
Floats = NDArray[np.float64]


class Deaths(NamedTuple):
    """Deaths by run, age and sex: as simulated, and as shown."""

    simulated: NDArray[np.int64]
    shown: NDArray[np.int64]


def town() -> tuple[NDArray[np.int64], Floats]:
    """Return people and their probability of death by age and sex, women first."""
    age = np.arange(AGES)[:, None]
    shape = np.exp(-(((age - 42) / 38.0) ** 4)) * [1.02, 0.98]
    people = np.maximum(np.round(PEOPLE * shape / shape.sum()), 5).astype(np.int64)
    risk = np.minimum([1.6e-5, 2.6e-5] * np.exp(0.1 * age), [0.24, 0.29])
    risk[0] = 0.003
    return people, risk


def deaths(runs: int = RUNS, k: int = K, seed: int = 1) -> Deaths:
    """Simulate the deaths of a year, each run with people of its own, and round each run."""
    people, risk = town()
    simulated = rng_of(seed).binomial(people, risk, (runs, *people.shape))
    shown = [stochastic_round(one, k, seed=child_seed(seed, i)) for i, one in enumerate(simulated)]
    return Deaths(simulated, np.stack(shown))


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Compare one run and the mean of all with what is expected."""
    del output, data
    people, risk = town()
    found = deaths()
    expected = people * risk
    error = np.sqrt(found.shown.var(axis=0).clip(1e-9) / RUNS)
    off = (found.shown.mean(axis=0) - expected) / error
    small = int(((found.shown > 0) & (found.shown < K)).sum())
    table = rounded_table(found.simulated[0], K, seed=1)
    true = found.simulated[0].sum()
    decades = [slice(a, a + 10) for a in range(0, 90, 10)] + [slice(90, AGES)]
    rows = tuple(
        (f"{d.start}–{d.stop - 1 if d.stop < AGES else '95+'}", f"{expected[d].sum():.1f}",
         f"{found.simulated[0][d].sum()}", f"{found.shown[0][d].sum()}",
         f"{found.simulated.mean(axis=0)[d].sum():.1f}", f"{found.shown.mean(axis=0)[d].sum():.1f}")
        for d in decades
    )  # fmt: skip
    grid = Grid(
        "Deaths by age: one run and the mean of 1,000 (Fig. 3)",
        ("age", "expected", "one run", "rounded", "mean of runs", "mean rounded"),
        rows,
        f"Margins come from the rounded cells: those of the first run add up to {table[-1, -1]:,} "
        f"deaths, and {true:,} were simulated. True margins beside them would give cells away.",
    )
    made_up = "the town is made up; a count of 1 or 2 cannot be shown, whatever the town"
    numbers = (
        Number("classes of age and sex", "Sect. 3", 192, people.size, "exact"),
        Number("counts of 1 or 2 that are shown, all runs", "Fig. 3", 0, small, made_up),
        Number("largest probability of death, men of 95", "Sect. 3", 0.3, None,
               "a bound on a life table that is not used here"),
    )  # fmt: skip
    remark = (
        "means of the rounded counts are off by at most "
        f"{np.abs(off[expected > 0.05]).max():.1f} standard errors in 192 classes"
    )
    return StudyResult((grid,), remarks=(remark,), numbers=numbers)


STUDY = Study(
    "microsimulation",
    "deaths of a simulated town by age and sex, small counts rounded at random",
    run,
    paper="Brenzel, Palm, Weymeirsch and Münnich (2024)",
    takes="2 s",
)
