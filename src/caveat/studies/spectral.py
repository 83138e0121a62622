"""Asymptotic Utility of Spectral Anonymization (Perkonoja and Virta, 2024).

Singular vectors are permuted (P), given random signs (J) or turned (O). What that costs an analyst
is known in the limit; what it costs the persons is seen by the nearest original record. The paper
prints figures and few numbers: beside ours stand those of another implementation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from caveat.protect.spectral import Way, disturb
from caveat.seeds import rng_of
from caveat.studies._beside import beside
from caveat.studies.study import Grid, Number, Output, Study, StudyResult

__all__ = [
    "DATA", "REFERENCE", "STUDY", "WAYS", "Errors", "Linkage", "expected_matches", "limits",
    "linkage", "run",
]  # fmt: skip

Floats = NDArray[np.float64]

WAYS: tuple[Way, ...] = ("P", "J", "O")
REFERENCE: Mapping[tuple[int, int], tuple[float, float, float]] = {
    (2, 25): (0.363, 0.344, 0.467),
    (2, 100): (0.229, 0.193, 0.264),
    (2, 400): (0.129, 0.103, 0.139),
    (3, 25): (0.880, 0.818, 0.982),
    (3, 100): (0.640, 0.569, 0.678),
    (3, 400): (0.431, 0.377, 0.444),
    (6, 25): (2.70, 2.58, 2.81),
    (6, 100): (2.31, 2.22, 2.34),
    (6, 400): (1.88, 1.80, 1.89),
}
"""Mean distances by columns and rows, of P, J and O: 400 data sets, errors of about 1 per cent."""
SETS = 400
MANY = 2000
ROWS = 400
LONG = 3000
DATA: Mapping[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "normal, variances p … 1": lambda rng, n, p: rng.normal(3, np.sqrt(_falling(p)), (n, p)),
    "normal, variances 1": lambda rng, n, p: rng.normal(3, 1, (n, p)),
    "Poisson, means p … 1": lambda rng, n, p: rng.poisson(_falling(p), (n, p)).astype(np.float64),
    "Poisson, means 1": lambda rng, n, p: rng.poisson(1, (n, p)).astype(np.float64),
}
"""The four simulated data sets; the theorems hold for the first."""


def _falling(p: int) -> Floats:
    return np.arange(p, 0, -1, dtype=np.float64)


class Linkage(NamedTuple):
    """The mean distance to the nearest original record, its standard error, and the matches."""

    distance: float
    error: float
    matches: float


def linkage(n: int, p: int, way: Way, sets: int = SETS) -> Linkage:
    """Return how near releases of the first data set come to its records.

    A match is a record released nearer than 10⁻⁶ to an original one.
    """
    draw = DATA["normal, variances p … 1"]
    means, matches = np.zeros(sets), np.zeros(sets)
    for i in range(sets):
        points = draw(rng_of(1, n, p, i), n, p)
        near = cKDTree(points).query(disturb(points, way, rng_of(2, n, p, i, WAYS.index(way))))[0]
        means[i], matches[i] = near.mean(), (near < 1e-6).mean()
    return Linkage(
        float(means.mean()), float(means.std(ddof=1)) / math.sqrt(sets), float(matches.mean())
    )


def expected_matches(n: int, p: int, way: Way) -> float:
    """Return the share of exact copies to expect.

    Examples
    --------
    >>> expected_matches(25, 2, "P"), expected_matches(25, 6, "J"), expected_matches(25, 2, "O")
    (0.04, 0.015625, 0.0)
    """
    return {"P": float(n) ** (1 - p), "J": 2.0**-p, "O": 0.0}[way]


class Errors(NamedTuple):
    """How releases vary over data sets.

    Attributes
    ----------
    mean, variance, cross
        The variance of √n times a mean, a variance and a covariance, each divided by what it is
        without any protection (in the limit), on average over columns.
    off_mean, off_covariance
        The relative errors of the whole covariance matrices against their limits.
    """

    mean: float
    variance: float
    cross: float
    off_mean: float
    off_covariance: float


def limits(name: str, way: Way | None, n: int = ROWS, p: int = 3, sets: int = MANY) -> Errors:
    """Compare means and covariances of many releases of a data set with their limits."""
    rows, columns = np.triu_indices(p)
    means, entries = np.zeros((sets, p)), np.zeros((sets, len(rows)))
    for i in range(sets):
        points = DATA[name](rng_of(3, n, p, i), n, p)
        if way is not None:
            points = disturb(points, way, rng_of(4, n, p, i, WAYS.index(way)))
        means[i] = points.mean(axis=0)
        entries[i] = np.cov(points.T)[rows, columns]
    own = _falling(p) if "…" in name else np.ones(p)
    spread, spread_entries = n * np.cov(means.T), n * np.cov(entries.T)
    limit = np.diag(own) * (2 if way in ("J", "O") else 1)
    cross = rows != columns
    product = own[rows] * own[columns]
    limit_entries = np.diag(product * np.where(cross, 1 if way is None else 2, 2))
    return Errors(
        float(np.mean(np.diag(spread) / own)),
        float(np.mean((np.diag(spread_entries) / (2 * product))[~cross])),
        float(np.mean((np.diag(spread_entries) / product)[cross])),
        float(np.linalg.norm(spread - limit) / np.linalg.norm(limit)),
        float(np.linalg.norm(spread_entries - limit_entries) / np.linalg.norm(limit_entries)),
    )


def run(
    output: Output, data: Path | None = None, sets: int = SETS, many: int = MANY
) -> StudyResult:
    """Rerun the simulations; neither output nor data are used."""
    del output, data
    found = {(p, n, way): linkage(n, p, way, sets) for p, n in REFERENCE for way in WAYS}
    first = next(iter(DATA))
    errors = {way: limits(first, way, n=LONG, sets=many) for way in (None, *WAYS)}
    numbers = (*_printed(errors, found, many), *_distances(found))
    return StudyResult(
        (
            beside("The numbers of the paper", numbers[:-27]),
            _distance_grid(found, sets),
            _match_grid(found),
            _limit_grid(many),
        ),
        remarks=(
            "signs alone (J) leave every record of the release one of the 2^p reflections of an "
            "original one, and a share of 2^-p are copies: not for release",
            "turns (O) keep nothing but the mean and the covariance: a normal sample",
            "the distance is of unstandardised numbers, and rewards what is useless",
            "half of the efficiency for covariances is lost in cross terms only, between principal "
            "components; variances lose nothing",
        ),
        numbers=numbers,
    )


def _seconds(way: Way, times: int = 5) -> float:
    """Return the shortest time for 1,000 records of six columns."""
    points = DATA["normal, variances p … 1"](rng_of(5), 1000, 6)
    taken = []
    for i in range(times):
        start = time.perf_counter()
        disturb(points, way, rng_of(6, i))
        taken.append(time.perf_counter() - start)
    return min(taken)


def _printed(
    errors: Mapping[Way | None, Errors], found: Mapping[tuple[int, int, Way], Linkage], many: int
) -> list[Number]:
    error = 100 * math.sqrt(4 / many / 3)  # of a ratio of two variances, three columns
    plain = errors[None]
    near = f"{many} data sets of {LONG:,} rows: standard error about {error:.1f} % of it"
    efficiencies = {"P": 100, "J": 50, "O": 50}
    seconds = {"P": 0.002, "J": 0.001, "O": 2.44}
    return [
        *(
            Number(f"{way}: efficiency of the mean, per cent", "Theorem 1", efficiencies[way],
                   100 * plain.mean / errors[way].mean,
                   "exact: a permutation keeps the mean" if way == "P" else near)
            for way in WAYS
        ),
        *(
            Number(f"{way}: efficiency of cross terms of the covariance, per cent", "Theorem 2", 50,
                   100 * plain.cross / errors[way].cross, near)
            for way in WAYS
        ),
        Number("O: matches, p = 2", "Sect. 3.2", 0, found[2, 100, "O"].matches, "exact"),
        Number("P: matches, p = 6", "Sect. 3.2", 0, found[6, 100, "P"].matches,
               "expected are n^(1-p), nearly none"),
        Number("J: share of matches, p = 6", "Sect. 3.2", 0.03, found[6, 400, "J"].matches,
               "a record keeps all its signs with chance 2^-6 = 0.0156: half of what is printed"),
        *(
            Number(f"{way}: seconds for 1,000 records, p = 6", "Sect. 4", seconds[way],
                   _seconds(way), "another machine" + (
                       "; a turned unit vector is a random one, so no n by n matrix is needed"
                       if way == "O" else ""))
            for way in WAYS
        ),
    ]  # fmt: skip


def _distances(found: Mapping[tuple[int, int, Way], Linkage]) -> list[Number]:
    return [
        Number(
            f"{way}: mean distance to the nearest record, p = {p}, n = {n}",
            "Figure 4",
            value,
            found[p, n, way].distance,
            "the figure has no numbers: of another implementation, 400 data sets; ± "
            f"{math.sqrt(2) * found[p, n, way].error:.4f} is one standard error of the difference",
        )
        for (p, n), values in REFERENCE.items()
        for way, value in zip(WAYS, values, strict=True)
    ]


def _distance_grid(found: Mapping[tuple[int, int, Way], Linkage], sets: int) -> Grid:
    header = ["columns, rows"]
    for way in WAYS:
        header += [way, "±", "reference"]
    rows = []
    for (p, n), values in REFERENCE.items():
        row = [f"{p}, {n}"]
        for way, value in zip(WAYS, values, strict=True):
            one = found[p, n, way]
            row += [f"{one.distance:.4f}", f"{one.error:.4f}", f"{value:g}"]
        rows.append(tuple(row))
    return Grid(
        "Mean distance to the nearest original record (EUC, Figure 4)",
        tuple(header),
        tuple(rows),
        f"{sets} data sets each; ±: one standard error; reference: another implementation",
    )


def _match_grid(found: Mapping[tuple[int, int, Way], Linkage]) -> Grid:
    rows = []
    for p, n in REFERENCE:
        row = [f"{p}, {n}"]
        for way in WAYS:
            row += [f"{found[p, n, way].matches:.5f}", f"{expected_matches(n, p, way):.5f}"]
        rows.append(tuple(row))
    return Grid(
        "Share of released records that are copies (Figure 5)",
        ("columns, rows", "P", "expected", "J", "expected", "O", "expected"),
        tuple(rows),
        "expected: n^(1-p) of permutations, 2^-p of signs, none of turns",
    )


def _limit_grid(many: int) -> Grid:
    rows = []
    for name in DATA:
        for way in (None, *WAYS):
            one = limits(name, way, sets=many)
            rows.append(
                (f"{name}: {way or 'original'}", f"{one.mean:.2f}", f"{one.variance:.2f}",
                 f"{one.cross:.2f}", f"{one.off_mean:.3f}", f"{one.off_covariance:.3f}")
            )  # fmt: skip
    return Grid(
        "Variance of means, variances and covariances over data sets (Figures 2 and 3)",
        ("data", "mean", "variance", "covariance", "RE mean", "RE covariance"),
        tuple(rows),
        f"three columns, {ROWS} rows, {many} data sets; times what it is for original normal data; "
        "RE: relative error against the limits of the theorems, which need normal data with "
        "different variances",
    )


STUDY = Study(
    "spectral",
    "singular vectors permuted, reflected or turned: what stays, and who is copied",
    run,
    paper="Perkonoja and Virta (2024)",
    takes="25 s",
)
