"""Survey weights in the synthesis: the coverage simulation of Oganian, Drechsler and Iqbal (2024).

A sample is drawn with probability proportional to M, so its unweighted means are off. Models fitted
with the weights (pseudo-likelihood) give synthetic simple random samples; the share of 95 %
intervals that hold the population value is compared with Table 1 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer

__all__ = ["PRINTED", "STUDY", "Coverage", "coverage", "population"]

VARIABLES = ("M", "C1", "C2", "B1", "B2")
# Table 1, pseudo-likelihood (PL), stratum 1; 10,000 repetitions.
PRINTED: Mapping[str, tuple[float, ...]] = {
    "linear": (0.95, 0.97, 0.98, 0.98, 0.98),
    "nonlinear": (0.88, 0.88, 0.89, 0.94, 0.95),
}
COPIES = 10
SAMPLE_SIZE = 1000
REPETITIONS = 500
MODELS: Mapping[str, Mapping[str, Any]] = {
    "M": {"method": "sample"},
    "C1": {"method": "normal", "predictors": ["M"], "proper": True},
    "C2": {"method": "normal", "predictors": ["C1"], "proper": True},
    "B1": {"method": "logistic", "predictors": ["M"], "proper": True},
    "B2": {"method": "logistic", "predictors": ["B1"], "proper": True},
}


@dataclass(frozen=True)
class Coverage:
    """Share of intervals that hold the population value, by variable.

    Parameters
    ----------
    scenario
        "linear" or "nonlinear".
    bootstrap
        Whether the first variable's shares were drawn too (a Bayesian bootstrap).
    repetitions
        Number of samples.
    shares
        The coverage of M, C1, C2, B1, B2.
    """

    scenario: str
    bootstrap: bool
    repetitions: int
    shares: tuple[float, ...]

    def errors(self) -> NDArray[np.float64]:
        """Return the Monte Carlo standard errors of the shares."""
        shares = np.clip(self.shares, 0.5 / self.repetitions, 1 - 0.5 / self.repetitions)
        return np.asarray(np.sqrt(shares * (1 - shares) / self.repetitions))


def population(scenario: str, size: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Simulate a population as the paper describes it."""
    low, high, offset, slope = {
        "linear": (500, 600, 16.0, 0.03),
        "nonlinear": (100, 900, 10.0, 0.02),
    }[scenario]
    m = rng.uniform(low, high, size)
    c1 = rng.normal(0.8 * m, 15)
    c2 = rng.normal(0.8 * c1, 15)
    b1 = rng.random(size) < 1 / (1 + np.exp(offset - slope * m))
    b2 = rng.random(size) < 1 / (1 + np.exp(3 - 7 * b1))
    return {"M": m, "C1": c1, "C2": c2, "B1": b1, "B2": b2}


def coverage(
    scenario: str,
    *,
    repetitions: int = 1000,
    bootstrap: bool = False,
    seed: int = 1,
    size: int = 200_000,
    done: Callable[[], None] | None = None,
) -> Coverage:
    """Repeat sampling, synthesis and estimation, and count the intervals that hold the truth.

    Parameters
    ----------
    scenario
        "linear" or "nonlinear".
    repetitions
        Number of samples.
    bootstrap
        Whether the shares of the first variable are drawn too.
    seed
        Root of all randomness.
    size
        Size of the population.
    done
        Called after each repetition.
    """
    rng = np.random.default_rng(seed)
    people = population(scenario, size, rng)
    truth = np.array([people[name].mean() for name in VARIABLES])
    columns = {**MODELS, "M": {**MODELS["M"], "proper": bootstrap}}
    hits = np.zeros(len(VARIABLES))
    for repetition in range(repetitions):
        rows, weights = _proportional_sample(people["M"], rng)
        sample = {name: people[name][rows] for name in VARIABLES}
        synthesizer = Synthesizer(seed=repetition, threads=1, weights="w", columns=columns)
        copies = synthesizer.fit({**sample, "w": weights}).tables(copies=COPIES, threads=1)
        means = np.array([[_mean(copy[name]) for name in VARIABLES] for copy in copies])
        hits += _holds(means, truth)
        if done is not None:
            done()
    return Coverage(scenario, bootstrap, repetitions, tuple((hits / repetitions).tolist()))


def _proportional_sample(
    size_measure: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw a systematic sample with probability proportional to size; return rows and weights."""
    order = rng.permutation(len(size_measure))
    chances = SAMPLE_SIZE * size_measure / size_measure.sum()
    steps = np.cumsum(chances[order])
    rows = order[np.searchsorted(steps, rng.random() + np.arange(SAMPLE_SIZE))]
    return rows, 1 / chances[rows]


def _mean(column: Any) -> float:
    return float(np.average(column.numbers, weights=column.counts))


def _holds(means: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the interval of V = (1 + 1/m) b with m - 1 degrees of freedom holds the truth."""
    m = len(means)
    variance = (1 + 1 / m) * means.var(axis=0, ddof=1)
    reach = stats.t.ppf(0.975, m - 1) * np.sqrt(variance)
    return np.asarray(np.abs(means.mean(axis=0) - truth) <= reach)


def run(output: Output, data: Path | None) -> StudyResult:
    """Simulate both scenarios, with and without draws of the first variable's shares."""
    del output, data
    rows = []
    for scenario, printed in PRINTED.items():
        rows.append((f"{scenario}, printed", *(f"{share:.2f}" for share in printed)))
        for bootstrap in (False, True):
            found = coverage(scenario, repetitions=REPETITIONS, bootstrap=bootstrap)
            label = "ours, first variable's shares drawn too" if bootstrap else "ours"
            cells = zip(found.shares, found.errors(), strict=True)
            rows.append((label, *(f"{share:.3f} ± {error:.3f}" for share, error in cells)))
    note = (
        f"{REPETITIONS} samples each, {COPIES} copies, intervals from (1 + 1/m) b, m - 1 degrees "
        "of freedom; ± is one Monte Carlo standard error. The printed rows are stratum 1."
    )
    grid = Grid(
        "Coverage of 95 % intervals, pseudo-likelihood (Table 1)",
        ("scenario", *VARIABLES),
        tuple(rows),
        note,
    )
    return StudyResult((grid,))


STUDY = Study("weights", "survey weights in the synthesis: coverage of intervals (Table 1)", run)
