"""Single persons found: outliers (Trindade et al., 2024), isolation (D'Acquisto et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from caveat.attack.ordinary.outliers import outlier_links
from caveat.datasets import survey
from caveat.generators.contract import reference
from caveat.risk.isolation import (
    best_isolations,
    count_gain,
    isolation_chances,
    isolation_probability,
    population_uniqueness,
)
from caveat.risk.scenario import Scenario
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.studies.study import Grid, Number, Output, Study, StudyResult, beside
from caveat.synthesis import Synthesizer
from caveat.table import Table, read
from caveat.utility.pair import WeightedPair
from caveat.utility.variables import variables

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Network = list[tuple[str, tuple[str, ...]]]

MOST = 30
BINS = 20


@dataclass(frozen=True, eq=False)
class Classes:
    """A column in classes; the last one is missing.

    Attributes
    ----------
    codes, n
        The class of each row, and how many there are.
    levels
        The values of the classes, or None for a number in bins.
    edges
        The limits of the bins.
    """

    codes: Ints
    n: int
    levels: tuple[object, ...] | None = None
    edges: Floats | None = None

    __repr__ = without_values


def bins_of(values: Floats, bins: int = BINS) -> tuple[Ints, Floats]:
    """Cut numbers into equally wide bins, closed on the right; missing ones come last.

    Examples
    --------
    >>> codes, edges = bins_of(np.array([0.0, 5.0, 5.1, 10.0, np.nan]), bins=2)
    >>> codes.tolist(), edges.tolist()
    ([0, 0, 1, 1, 2], [0.0, 5.0, 10.0])
    """
    edges = np.linspace(np.nanmin(values), np.nanmax(values), bins + 1)
    codes = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, bins - 1)
    return np.where(np.isnan(values), bins, codes).astype(np.int64), edges


def classes_of(column: pl.Series) -> Classes:
    """Return a column in classes: its values, or bins of a number with 30 values or more."""
    there = column.drop_nulls()
    if column.dtype.is_numeric() and there.n_unique() >= MOST:
        codes, edges = bins_of(column.cast(pl.Float64).to_numpy().astype(np.float64))
        return Classes(codes, BINS + 1, edges=edges)
    levels = there.unique().sort().to_list()
    place = {level: i for i, level in enumerate(levels)}
    codes = np.array([place.get(value, len(levels)) for value in column.to_list()], np.int64)
    return Classes(codes, len(levels) + 1, levels=tuple(levels))


def grow(columns: Mapping[str, Classes], rng: np.random.Generator) -> Network:
    """Return the columns in order, each with at most two parents among those before it.

    The first is drawn; then always the column and the parents with most mutual information.
    """
    names = list(columns)
    done = [names[int(rng.integers(len(names)))]]
    rest = [name for name in names if name != done[0]]
    network: Network = [(done[0], ())]
    best: dict[str, tuple[float, tuple[str, ...]]] = {}
    while rest:
        # Pairs of older columns were looked at before.
        pairs: list[tuple[str, ...]] = [(old, done[-1]) for old in done[:-1]]
        pairs = pairs or [(done[0],)]
        if len(done) <= 2:
            best = dict.fromkeys(rest, (-1.0, ()))
        for parents in pairs:
            joint = np.unique(_joint(columns, parents, _own(columns)), return_inverse=True)[1]
            for name in rest:
                told = _mutual_information(joint, columns[name])
                if told > best[name][0]:
                    best[name] = told, parents
        chosen = max(rest, key=lambda name: best[name][0])
        network.append((chosen, best[chosen][1]))
        done.append(chosen)
        rest.remove(chosen)
    return network


def _own(columns: Mapping[str, Classes]) -> Callable[[str], Ints]:
    return lambda name: columns[name].codes


def _joint(
    columns: Mapping[str, Classes], parents: Sequence[str], codes: Callable[[str], Ints]
) -> Ints:
    """Return one number for each combination of the parents' classes."""
    joint = codes(parents[0])
    for name in parents[1:]:
        joint = joint * columns[name].n + codes(name)
    return joint


def _mutual_information(joint: Ints, child: Classes) -> float:
    counts = np.bincount(joint * child.n + child.codes, minlength=(int(joint.max()) + 1) * child.n)
    table = counts.reshape(-1, child.n)
    rows, columns = np.nonzero(table)
    both = table[rows, columns]
    alone = table.sum(axis=1)[rows] * table.sum(axis=0)[columns]
    return float((both * np.log(both * len(joint) / alone)).sum() / len(joint))


def _draw(
    columns: Mapping[str, Classes], network: Network, n: int, rng: np.random.Generator
) -> dict[str, Ints]:
    """Draw classes in the order of the network; after unseen parents all are equally likely."""
    drawn: dict[str, Ints] = {}
    for name, parents in network:
        child = columns[name]
        if not parents:
            shares = np.bincount(child.codes, minlength=child.n) / len(child.codes)
            drawn[name] = rng.choice(child.n, n, p=shares)
            continue
        seen = _joint(columns, parents, _own(columns))
        wanted = _joint(columns, parents, drawn.__getitem__)
        size = int(np.prod([columns[parent].n for parent in parents]))
        counts = np.bincount(seen * child.n + child.codes, minlength=size * child.n)
        table = counts.reshape(size, child.n).astype(np.float64)
        total = table.sum(axis=1, keepdims=True)
        table = np.where(total > 0, table / np.maximum(total, 1), 1 / child.n)
        below = table.cumsum(axis=1)[wanted] < rng.random(n)[:, None]
        drawn[name] = np.minimum(below.sum(axis=1), child.n - 1).astype(np.int64)
    return drawn


def network_copy(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return a release of the same size by a network of its own."""
    rng = np.random.default_rng(seed)
    columns = {name: classes_of(frame[name]) for name in frame.columns}
    drawn = _draw(columns, grow(columns, rng), frame.height, rng)
    return pl.DataFrame([_values(frame[name], columns[name], drawn[name], rng) for name in columns])


def _values(
    column: pl.Series, classes: Classes, codes: Ints, rng: np.random.Generator
) -> pl.Series:
    """Return values of drawn classes; a number lies anywhere in its bin, a whole one is rounded."""
    missing = codes == classes.n - 1
    if classes.edges is None:
        levels = (*(classes.levels or ()), None)
        return pl.Series(column.name, [levels[code] for code in codes], dtype=column.dtype)
    low = np.where(missing, 0, codes)
    values = rng.uniform(classes.edges[low], classes.edges[low + 1])
    ordinary = column.drop_nulls().cast(pl.Float64).to_numpy()
    if (ordinary == np.round(ordinary)).all():
        values = np.round(values)
    return pl.Series(
        column.name,
        [None if gone else value for gone, value in zip(missing, values.tolist(), strict=True)],
        dtype=pl.Float64,
    ).cast(column.dtype)


# -------------------------------------------------------------------------------------------------
# Synthetic Data Outliers: Navigating Identity Disclosure (Trindade et al., 2024).
#
# The outliers of a file about credits are linked with the synthetic records that agree with them
# on home and purpose, and nearly on age and income; one link only is the dangerous case. The
# paper has no control: outliers who were never in the data find such a record as well.
#
# The file may not be passed on. Without it a stand-in of its size and shape is used, so that
# printed values are quoted, and nothing of them is claimed to be met.


FILE = "credit_risk_dataset.csv"
COMPLETE = 28_638
"""Rows of the public file that lack nothing; the paper has four fifths of them."""
NUMBERS = ("person_age", "person_income")
KEYS = (*NUMBERS, "person_home_ownership", "loan_intent")
TOLERANCE = {"person_age": 10.0, "person_income": 2000.0}
"""Where the Gaussian score falls to one half: offset + scale, twice 5 and twice 1,000."""
EXAMPLE = (
    {"person_age": 54, "person_income": 170_000},
    {"person_age": 54, "person_income": 170_262},
)
"""Table 5: an original record and the one that was linked with it; MORTGAGE, PERSONAL are both."""
SHARES: Mapping[str, Mapping[str, float]] = {
    "person_home_ownership": {"RENT": 0.507, "MORTGAGE": 0.413, "OWN": 0.077, "OTHER": 0.003},
    "loan_intent": {
        "EDUCATION": 0.198, "MEDICAL": 0.186, "VENTURE": 0.175, "PERSONAL": 0.170,
        "DEBTCONSOLIDATION": 0.160, "HOMEIMPROVEMENT": 0.111,
    },
    "loan_grade": {"A": 0.33, "B": 0.32, "C": 0.20, "D": 0.11, "E": 0.03, "F": 0.008, "G": 0.002},
}  # fmt: skip
GENERATED = {
    "TVAE": 720, "CTGAN": 840, "CopulaGAN": 794, "Independent": 1449, "PrivBayes": 1483,
    "DPsynthpop": 114,
}  # fmt: skip
"""Table 4: mean number of outliers in the releases of each model."""


def gauss_score(difference: float, offset: float, scale: float) -> float:
    """Return the score of two numbers in the paper's record linkage.

    Examples
    --------
    >>> gauss_score(4, 5, 5), gauss_score(10, 5, 5)
    (1.0, 0.5)
    """
    return float(2.0 ** -((max(0.0, abs(difference) - offset) / scale) ** 2))


def credit_file(rows: int = COMPLETE, seed: int = 2024) -> Table:
    """Draw a stand-in for the file: the same columns, nobody's data.

    Shares and ranges are roughly those of the file; the tail of the incomes was chosen so that it
    has about as many outliers.
    """
    rng = np.random.default_rng(seed)
    age = 20 + np.floor(rng.gamma(1.35, 5.6, rows))
    income = 55_000 * np.exp(rng.normal(0, 0.53, rows)) * (1 + 0.006 * (age - 27))
    tail = rng.random(rows) < 0.015
    income = np.where(tail, np.minimum(income * (2 + rng.pareto(1.6, rows)), 2_000_000), income)
    mistaken = rng.choice(rows, max(1, rows // 5000), replace=False)
    age[mistaken] = rng.integers(94, 145, len(mistaken))  # the file has ages up to 144
    factors = {
        name: rng.choice(
            list(shares), rows, p=np.array(list(shares.values())) / sum(shares.values())
        )
        for name, shares in SHARES.items()
    }
    grade = np.searchsorted(list("ABCDEFG"), factors["loan_grade"])
    amount = np.minimum(35_000, 100 * np.round(rng.gamma(2.3, 42, rows)) + 500)
    share = np.round(amount / income, 2)
    default = rng.random(rows) < 0.08 + 0.06 * grade + 0.4 * np.minimum(share, 0.5)
    return Table.from_frame(
        pd.DataFrame(
            {
                "person_age": age.astype(int),
                "person_income": np.round(income).astype(int),
                "person_home_ownership": factors["person_home_ownership"],
                "person_emp_length": np.floor(rng.exponential(4.8, rows)).astype(int),
                "loan_intent": factors["loan_intent"],
                "loan_grade": factors["loan_grade"],
                "loan_amnt": amount.astype(int),
                "loan_int_rate": np.round(rng.normal(7.3 + 3 * grade, 0.9), 2),
                "loan_status": default.astype(int),
                "loan_percent_income": share,
                "cb_person_default_on_file": np.where(rng.random(rows) < 0.05 * grade, "Y", "N"),
                "cb_person_cred_hist_length": (2 + np.floor((age - 20) * 0.45)).astype(int),
            }
        )
    )


def _file(data: Path | None) -> Table | None:
    """Return the complete rows of the public file, if it is there."""
    path = None if data is None else data / FILE
    if path is None or not path.exists():
        return None
    table = read(path)
    whole = ~np.any([column.is_missing for column in table.columns.values()], axis=0)
    return table.take(np.flatnonzero(whole))


def n_outliers(table: Table, like: Table | None = None) -> int:
    """Return how many records lie more than three standard deviations from a mean of *like*."""
    flags = np.zeros(len(table), bool)
    for name in NUMBERS:
        values = table[name].cell_numbers
        by = values if like is None else like[name].cell_numbers
        flags |= np.abs(values - by.mean()) > 3 * by.std(ddof=1)
    return int(flags.sum())


@dataclass(frozen=True)
class Linked:
    """What an attacker finds who looks for the outliers in a release.

    Attributes
    ----------
    by_numbers, by_all
        Possible matches: pairs that agree on the numbers, and on all keys.
    one, control
        Shares of outliers with exactly one match, and of outliers who were not in the data.
    """

    by_numbers: int
    by_all: int
    one: float
    control: float


def linked(original: Table, release: Table, control: Table) -> Linked:
    """Link the outliers of the original, and those of a control, with the release."""
    pairs = []
    for keys in (NUMBERS, KEYS):
        found = outlier_links(original, release, keys=keys, tolerance=TOLERANCE, control=control)
        pairs.append(int(found.details["linked pairs"] or 0))
    return Linked(pairs[0], pairs[1], found.value or 0.0, found.control or 0.0)


def utility(original: Table, release: Table) -> tuple[float, float, float]:
    """Return boundary adherence, coverage and similarity of medians, each a mean over columns."""
    found = variables(WeightedPair.of(original, release))

    def mean(values: Sequence[float | None]) -> float:
        return float(np.mean([value for value in values if value is not None]))

    return (
        mean([one.boundary_adherence for one in found]),
        mean([*(o.range_coverage for o in found), *(o.category_coverage for o in found)]),
        mean([one.median_similarity for one in found]),
    )


def _releases(ours: Table, other: Table) -> dict[str, Table]:
    columns = ours.names
    return {
        "the original itself": ours,
        "CART": Synthesizer(seed=1, method="cart").fit(ours).tables()[0],
        "CART, leaves of 50": Synthesizer(seed=1, method="cart", minbucket=50)
        .fit(ours)
        .tables()[0],
        "network": Table.from_frame(network_copy(ours.to_frame("polars"), 1)).select(columns),
        "margins": reference("margins").fit(ours, 1).sample()[0],
        "other people": other,
    }


def run_outliers(output: Output, data: Path | None = None, rows: int = COMPLETE) -> StudyResult:
    """Link outliers with releases of the public file or of its stand-in."""
    del output
    file = _file(data)
    everyone = file if file is not None else credit_file(rows)
    order: NDArray[np.int64] = np.random.default_rng(5).permutation(len(everyone))
    size = int(0.8 * len(everyone))
    ours, control = everyone.take(order[:size]), everyone.take(order[size:])
    other = credit_file(size, seed=7)
    rows_of_grid = []
    adherence = 0.0
    for name, release in _releases(ours, other).items():
        if file is not None and release is other:
            continue  # people of the stand-in are not those of the file
        one, kept = linked(ours, release, control), utility(ours, release)
        if name == "CART":
            adherence = kept[0]
        rows_of_grid.append(
            (name, str(n_outliers(release, ours)), f"{one.by_numbers:,}", f"{one.by_all:,}",
             f"{100 * one.one:.1f}", f"{100 * one.control:.1f}", *(f"{k:.3f}" for k in kept))
        )  # fmt: skip
    numbers = _numbers(len(everyone), n_outliers(ours), adherence, file is not None)
    grid = Grid(
        f"Outliers of {size:,} records, {n_outliers(ours)} of them, linked with releases",
        ("release", "its outliers", "pairs, numbers", "pairs, all keys", "one link %",
         "control %", "in bounds", "coverage", "medians"),
        tuple(rows_of_grid),
        "pairs: possible matches of the original's outliers; one link: share of them with exactly "
        "one; control: the same for outliers among the fifth that was not used. In bounds, "
        "coverage, medians: means over columns, 1 is best",
    )  # fmt: skip
    return StudyResult(
        (grid, beside("What the paper prints, and what can be said of it", numbers)),
        remarks=(
            *(() if file is not None else (
                f"a stand-in: give --data FOLDER with {FILE} for the public file",
            )),
            "a link is no disclosure: outliers who were not in the data have one as well, so that "
            "only what exceeds the control counts, and other columns of a linked record are wrong",
            "mean and standard deviation are inflated by the outliers themselves: rule='mad' of "
            "outlier_links is not",
        ),
        numbers=numbers,
    )  # fmt: skip


def _numbers(complete: int, found: int, adherence: float, real: bool) -> tuple[Number, ...]:
    stand_in = "" if real else "; stand-in, chosen to have about as many"
    first, second = EXAMPLE
    scores = [
        gauss_score(first[name] - second[name], width / 2, width / 2)
        for name, width in TOLERANCE.items()
    ]
    needs = "needs the generators of SDV and dpart, and the file"
    return (
        Number("records", "Sect. 3.1", 22_910, int(0.8 * (complete if real else COMPLETE)),
               "four fifths of the 28,638 complete rows, which the paper does not say"),
        Number("releases", "Sect. 3.2", 102, 3 * 3**3 + 3 * 7, "exact"),
        Number("outliers of the original", "Sect. 4.1", 617, found,
               "samples of four fifths have 491 to 684, 551 on average; the seed is not known"
               + stand_in),
        Number("smaller score of the two numbers in the example", "Table 5", 1, min(scores),
               "exact: 262 apart is within the offset of 1,000"),
        Number("boundary adherence, all models but DPsynthpop", "Sect. 4.1", 1, adherence,
               "ours: CART, which draws values of the original"),
        Number("boundary adherence of DPsynthpop, median", "Sect. 4.1", 0.45, None, needs),
        Number("TVAE (150, 20, 12): matches by numbers", "Sect. 4.2", 4279, None, needs),
        Number("TVAE (150, 20, 12): matches by all keys", "Sect. 4.2", 490, None, needs),
        *(
            Number(f"outliers in releases of {name}, mean", "Table 4", count, None, needs)
            for name, count in GENERATED.items()
        ),
    )  # fmt: skip


OUTLIERS_STUDY = Study(
    "outliers",
    "outliers linked with the one synthetic record like them, with the control that was missing",
    run_outliers,
    paper="Trindade, Antunes, Carvalho and Moniz (2024)",
    takes="10 s",
)


# -------------------------------------------------------------------------------------------------
# From Isolation to Identification (D'Acquisto, Cohen, Naldi and Nissim, 2024).
#
# Who has seen no release isolates with more than every third guess, and with many guesses nearly
# everybody. So a release is judged by its gain over that, and the gain rests on P(B), the
# probability of a description. The paper is theory: its closed forms are computed and simulated
# here, and what the three ways to say P(B) make of real releases is seen on the built-in survey,
# of which any number of fresh samples can be had.


MANY = 1_000_000
FIGURE_1 = (1, 2, 3, 4, 5, 10, 20, 25, 50, 100)
"""Numbers of guesses at five records."""
SURVEY_KEYS = ("sex", "age", "education", "marital", "income", "weight", "height", "bmi")
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


def run_isolation(
    output: Output, data: Path | None = None, people: int = PEOPLE, fresh: int = FRESH
) -> StudyResult:
    """Compute and simulate the closed forms, and compare three ways to say P(B)."""
    del output, data
    numbers = _numbers_isolation()
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


def _numbers_isolation() -> tuple[Number, ...]:
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
    ours, control, other = (survey(people, seed=seed).select(SURVEY_KEYS) for seed in (1, 2, 3))
    made = Synthesizer(seed=1).fit(ours).tables()[0]
    attacker = Scenario(SURVEY_KEYS, groups=GROUPED)
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
        f"{len(SURVEY_KEYS)} keys, {people:,} persons; descriptions: unique rows of the release; "
        "independent: P(B) is the product of the margins; tree: each key depends on one other; "
        "control: as many other people; truth: the mean of "
        f"{fresh} more such samples. Where keys depend on each other their product makes "
        "everything look rare, and a release without any disclosure seems to have a large gain.",
    )  # fmt: skip


def _truth(ours: Table, release: Table, attacker: Scenario, fresh: int) -> float:
    """Return how often the descriptions isolate in samples that have nothing to do with them."""
    chances = [
        isolation_chances(
            ours, release, attacker, survey(len(ours), seed=100 + i).select(SURVEY_KEYS)
        )
        for i in range(fresh)
    ]
    return float(np.mean([found["control"].chance for found in chances]))


ISOLATION_STUDY = Study(
    "isolation",
    "how often one is singled out without any release, and the gain of one over that",
    run_isolation,
    paper="D'Acquisto, Cohen, Naldi and Nissim (2024)",
    takes="15 s",
)
