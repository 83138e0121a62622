"""From Isolation to Identification (D'Acquisto, Cohen, Naldi and Nissim, 2024).

Who has seen no release isolates with more than every third guess, and with many guesses nearly
everybody. So a release is judged by its gain over that, and the gain rests on P(B), the probability
of a description. The paper is theory: its closed forms are computed and simulated here, and what
the three ways to say P(B) make of real releases is seen on the built-in survey, of which any number
of fresh samples can be had.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from caveat.datasets import survey
from caveat.risk.isolation import (
    best_isolations,
    count_gain,
    isolation_chances,
    isolation_probability,
    population_uniqueness,
)
from caveat.risk.scenario import Scenario
from caveat.seeds import rng_of
from caveat.studies._beside import beside
from caveat.studies.study import Grid, Number, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.table import Table

__all__ = [
    "FIGURE_1", "KEYS", "STUDY", "guesses_for", "isolated_by_chance", "partition_bound", "run",
    "simulated_gain",
]  # fmt: skip

MANY = 1_000_000
FIGURE_1 = (1, 2, 3, 4, 5, 10, 20, 25, 50, 100)
"""Numbers of guesses at five records."""
KEYS = ("sex", "age", "education", "marital", "income", "weight", "height", "bmi")
GROUPED = dict.fromkeys(("age", "income", "weight", "height", "bmi"), 10)
PEOPLE = 2000
FRESH = 20


def guesses_for(share: float) -> float:
    """Return how many guesses per record isolate a share of many records.

    Examples
    --------
    >>> round(guesses_for(0.95), 3)
    19.496
    """
    return 1 / math.log(1 / share)


def partition_bound(c: float, k: int, n: int) -> float:
    """Return the least expected isolations of k guesses at parts of unknown, unequal probability.

    The parts are max(k, n) in number; the standard deviation of their probabilities is at most c
    times their mean (Appendix A).

    Examples
    --------
    >>> round(partition_bound(1 / 4, 10**6, 10**6) / 10**6, 4)
    0.2274
    """
    parts = max(k, n)
    half, more = (j * (1 - j / (2 * parts)) ** (n - 1) for j in (1, 3))
    return (1 - 4 * c * c) * k * n / (2 * parts) * min(half, more)


def isolated_by_chance(
    chances: np.ndarray, n: int, runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return how many of n drawn records are alone in their cell, and the standard error."""
    alone = (rng.multinomial(n, chances, size=runs) == 1).sum(axis=1)
    return float(alone.mean()), float(alone.std(ddof=1)) / math.sqrt(runs)


def simulated_gain(
    p: float, n: int, runs: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return how often a published count helps, its standard error, and what the formula says.

    A cell of probability p has m of n records; where it has any, a part of it with chance 1/m for
    each is guessed. The gain is the ratio of means over all m: of isolations with the counts to
    isolations of the same guesses in an independent data set.
    """
    m = rng.binomial(n, p, runs)
    m = m[m > 0]
    hits = rng.binomial(m, 1 / m) == 1
    without = isolation_probability(p / m, n)
    ratio = float(hits.mean() / without.mean())
    error = float((hits - ratio * without).std(ddof=1) / (math.sqrt(len(m)) * without.mean()))
    formula = float(np.mean([count_gain(p, int(k), n) for k in m[:2000]] * without[:2000]))
    return ratio, error, formula / float(without[:2000].mean())


def run(
    output: Output, data: Path | None = None, people: int = PEOPLE, fresh: int = FRESH
) -> StudyResult:
    """Compute and simulate the closed forms, and compare three ways to say P(B)."""
    del output, data
    numbers = _numbers()
    return StudyResult(
        (
            beside(
                "The numbers of the paper", numbers, "limits of many records where none is given"
            ),
            _figure(),
            _partition(),
            _counts(),
            _three_ways(people, fresh),
        ),
        remarks=(
            "P(B) of the order of 1/(100 N) cannot be counted in a sample of n: it needs a model, "
            "or the gain is that over a control",
            "the guess depends on the release only; descriptions made from the original and found "
            "in the release are not this attack",
            "where it is known who is in the data, isolation in them is identification already",
        ),
        numbers=numbers,
    )


def _numbers() -> tuple[Number, ...]:
    exact, up = "exact; the paper rounds", "exact; the paper rounds up"
    fullest = _fullest(MANY, 20, rng_of(1, 1))
    part = _mean_part(100, 10_000, rng_of(1, 2))
    return (
        Number("chance of the best single guess", "Theorem 1", 0.37,
               float(isolation_probability(1 / MANY, MANY)), exact),
        Number("chance if P(B) = 2/n", "Remark 3", 0.27,
               float(isolation_probability(2 / MANY, MANY)), exact),
        Number("guesses per record that isolate 95 %", "Sect. 3.2", 20, guesses_for(0.95), up),
        Number("guesses per record that isolate 99 %", "Sect. 3.2", 100, guesses_for(0.99), up),
        Number("population uniqueness for P(B) = 1/(100 N)", "Sect. 4", 0.99,
               population_uniqueness(1e-10, 10**6, 10**8), "exact; printed as more than 0.99"),
        Number("population uniqueness for P(B) = 1/n, N = 100 n", "footnote 11", 1e-43,
               population_uniqueness(1e-6, 10**6, 10**8), exact),
        Number("isolations per record, partition with c = 1/4", "Appendix A",
               0.23, partition_bound(0.25, MANY, MANY) / MANY, exact),
        Number("gain from the fullest of 10⁶ counts, P(A) = 1/n",
               "Sect. 4.1", math.log(MANY) / math.e, fullest,
               "the fullest of n bins has about ln n / ln ln n records to first order, here 8 or "
               "9, and not ln n = 13.8; mean over 20 draws"),
        Number("mean of n P(B) where P(A) = 100/n", "Sect. 4.1", 1.0, part,
               "printed is E[P(B)] = 1, which must be about 1/n; beside it stands n times it"),
        Number("population uniqueness of Governor Weld", "footnote 13", 0.58, None,
               "quoted from another study; needs its model of the population"),
    )  # fmt: skip


def _fullest(n: int, runs: int, rng: np.random.Generator) -> float:
    """Return the mean gain from the largest of n counts of cells of probability 1/n."""
    most = [int(np.bincount(rng.integers(0, n, n)).max()) for _ in range(runs)]
    return float(np.mean([count_gain(1 / n, m, n) for m in most]))


def _mean_part(expected: int, n: int, rng: np.random.Generator, runs: int = 100_000) -> float:
    """Return n times the mean of P(A) / m for a cell A of so many expected records."""
    return expected * float(np.mean(1 / np.maximum(rng.binomial(n, expected / n, runs), 1)))


def _figure() -> Grid:
    rows = []
    for k in FIGURE_1:
        cells = np.full(max(k, 5), 1 / max(k, 5))
        mean, error = isolated_by_chance(cells, 5, 20_000, rng_of(2, k))
        share = min(k, 5) / 5 if k < 5 else 1.0  # of fewer than five cells the first k are guessed
        rows.append(
            (str(k), f"{best_isolations(k, 5):.4f}", f"{share * mean:.4f}", f"{share * error:.4f}")
        )
    return Grid(
        "Expected isolations of k guesses at five records, nothing released (Figure 1)",
        ("guesses", "formula", "simulated", "±"),
        tuple(rows),
        "20,000 data sets each; ±: one standard error; the figure prints no numbers",
    )


def _partition() -> Grid:
    n, rows = 1000, []
    for c in (0.0, 0.25, 0.4):
        weights = np.ones(n)
        weights[::2], weights[1::2] = 1 - c, 1 + c  # two kinds of parts: the deviation is exactly c
        mean, error = isolated_by_chance(weights / n, n, 1000, rng_of(3, int(100 * c)))
        bound = partition_bound(c, n, n) / n
        rows.append((f"{c:g}", f"{bound:.4f}", f"{mean / n:.4f}", f"{error / n:.4f}"))
    return Grid(
        "Isolations per record with a partition whose weights are not known (Appendix A)",
        ("c", "at least", "simulated", "±"),
        tuple(rows),
        f"n = k = {n}; half of the parts have 1 − c, half 1 + c times the mean weight",
    )


def _counts() -> Grid:
    n, rows = 10_000, []
    for times in (0.001, 0.1, 1.0, 10.0, 100.0):
        runs = 200_000 if times >= 0.1 else 20_000_000
        ratio, error, formula = simulated_gain(times / n, n, runs, rng_of(4, int(1000 * times)))
        rows.append((f"{times:g}", f"{formula:,.2f}", f"{ratio:,.2f}", f"{error:,.2f}"))
    return Grid(
        "Isolation gain from a published count (Sect. 4.1, equation 2)",
        ("n P(A)", "formula", "simulated", "±"),
        tuple(rows),
        f"n = {n:,}; cells without records are not guessed at; far below 1/n the gain is about "
        "1 / (n P(A)), far above it there is none",
    )


def _three_ways(people: int, fresh: int) -> Grid:
    ours, control, other = (survey(people, seed=seed).select(KEYS) for seed in (1, 2, 3))
    made = Synthesizer(seed=1).fit(ours).tables()[0]
    attacker = Scenario(KEYS, groups=GROUPED)
    rows = []
    for name, release in (
        ("the original itself", ours), ("CART", made), ("other people", other),
    ):  # fmt: skip
        found = isolation_chances(ours, release, attacker, control)
        truth = _truth(ours, release, attacker, fresh)
        success = found["control"].success
        row = [name, f"{success:.4f}", f"{truth:.4f}", f"{success / truth:.2f}"]
        for way in ("independent", "tree", "control"):
            gain = found[way].gain
            row += [f"{found[way].chance:.4f}", "" if gain is None else f"{gain:.2f}"]
        rows.append(tuple(row))
    return Grid(
        "Gain by three ways to say P(B), the built-in survey",
        ("release", "isolates", "truth", "true gain", "independent", "its gain", "tree", "its gain",
         "control", "its gain"),
        tuple(rows),
        f"{len(KEYS)} keys, {people:,} persons; descriptions: unique rows of the release; "
        "independent: P(B) is the product of the margins; tree: each key depends on one other; "
        "control: as many other people; truth: the mean of "
        f"{fresh} more such samples. Where keys depend on each other their product makes "
        "everything look rare, and a release without any disclosure seems to have a large gain.",
    )  # fmt: skip


def _truth(ours: Table, release: Table, attacker: Scenario, fresh: int) -> float:
    """Return how often the descriptions isolate in samples that have nothing to do with them."""
    chances = [
        isolation_chances(ours, release, attacker, survey(len(ours), seed=100 + i).select(KEYS))
        for i in range(fresh)
    ]
    return float(np.mean([found["control"].chance for found in chances]))


STUDY = Study(
    "isolation",
    "how often one is singled out without any release, and the gain of one over that",
    run,
    paper="D'Acquisto, Cohen, Naldi and Nissim (2024)",
    takes="15 s",
)
