"""Anonymised numbers: spectral anonymisation, and the loads of smart meters."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import ndtr

from caveat.outputs.statbarns import few_have_most, largest_can_be_told
from caveat.protect.numbers import Way, disturb, mdav
from caveat.seeds import rng_of
from caveat.studies.study import Grid, Number, Output, Study, StudyResult, beside

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


def run_spectral(
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


SPECTRAL_STUDY = Study(
    "spectral",
    "singular vectors permuted, reflected or turned: what stays, and who is copied",
    run_spectral,
    paper="Perkonoja and Virta (2024)",
    takes="25 s",
)


# -------------------------------------------------------------------------------------------------
# Attribute Disclosure Risk in Smart Meter Data (Navarro-Arribas and Torra, 2024).
#
# Load curves of a day are microaggregated, and each half-hour of each group is taken for a cell
# of a table of magnitudes: who dominates it? The printed columns of the dominance rule are the
# cells that are *not* sensitive. A member of a group who finds it again learns about the others.
#
# The meters are not public: log-normal loads stand in, as many houses, with hours of no use. How
# much they vary was chosen by hand among a few settings so that the counts look like the printed
# ones: that they do is no evidence. What is shown without data is the number of cells, and that
# the printed columns contradict themselves.

Ints = NDArray[np.int64]

READINGS = 48
DOMINANCE, P = 0.6, 0.66
SIZES = (2, 4, 6, 8, 10, 15, 20, 30)


@dataclass(frozen=True)
class Meters:
    """A stand-in for one data set: houses, and how their loads vary.

    Attributes
    ----------
    houses
        Number of meters.
    between, within
        Standard deviations of log loads between houses and within a day.
    night, day
        Share of houses that use anything at the quietest and at the busiest time.
    """

    houses: int
    between: float
    within: float
    night: float
    day: float


STAND_INS: Mapping[str, Meters] = {
    "banes": Meters(79, 1.4, 0.4, 0.3, 1.3),
    "cer-elec": Meters(983, 0.5, 0.95, 1.0, 1.0),
    "cer-gas": Meters(1493, 0.5, 0.85, 0.0, 0.8),
}
PRINTED: Mapping[str, tuple[tuple[int, int, int, int], ...]] = {
    "banes": (
        (1872, 0, 669, 1410), (912, 184, 623, 384), (624, 325, 436, 129), (432, 274, 312, 109),
        (336, 224, 243, 83), (240, 195, 196, 44), (144, 100, 105, 44), (96, 96, 96, 0),
    ),
    "cer-elec": (
        (23568, 0, 8671, 23556), (11760, 1426, 10861, 5068), (7824, 5566, 7683, 723),
        (5856, 5349, 5818, 153), (4704, 4508, 4688, 62), (3120, 3097, 3118, 6),
        (2352, 2341, 2352, 2), (1536, 1536, 1536, 0),
    ),
    "cer-gas": (
        (35808, 0, 4728, 19306), (17904, 980, 5582, 9650), (11904, 2283, 4787, 6425),
        (8928, 2313, 4187, 4838), (7152, 2218, 3873, 3789), (4752, 1954, 3103, 2234),
        (3552, 1722, 2565, 1454), (2352, 1403, 1920, 743),
    ),
}  # fmt: skip
"""Table 1: cells, "dom2", "dom1" and p, by group size."""


def loads(meters: Meters, rng: np.random.Generator) -> Floats:
    """Draw a day of half-hourly readings of every house."""
    size = (meters.houses, READINGS)
    at = np.arange(READINGS)
    busy = (1 - np.cos(2 * np.pi * (at - 8) / READINGS)) / 2
    used = ndtr(_lasting(rng, size)) < meters.night + (meters.day - meters.night) * busy
    own = rng.normal(0, meters.between, (meters.houses, 1))
    return np.asarray(np.exp(own + meters.within * _lasting(rng, size)) * used)


def _lasting(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Draw standard normal series, each value much like the one before."""
    series = rng.standard_normal(size)
    for at in range(1, size[1]):
        series[:, at] = 0.75 * series[:, at - 1] + np.sqrt(1 - 0.75**2) * series[:, at]
    return series


class Sensitive(NamedTuple):
    """Numbers of cells: all, empty ones, and those that each rule calls sensitive."""

    cells: int
    zero: int
    two: int
    one: int
    p: int

    @property
    def as_printed(self) -> tuple[int, int, int, int]:
        """Cells, not sensitive by dominance of two and of one, sensitive by the p % rule."""
        filled = self.cells - self.zero
        return self.cells, filled - self.two, filled - self.one, self.p


def sensitive_cells(readings: Floats, group: Ints) -> Sensitive:
    """Count the cells, half-hours of groups, that the rules call sensitive.

    Examples
    --------
    >>> sensitive_cells(np.array([[6.0, 0.0], [4.0, 0.0]]), np.array([0, 0]))
    Sensitive(cells=2, zero=1, two=1, one=0, p=1)
    """
    parts = []
    for number in range(int(group.max()) + 1):
        falling = -np.sort(-readings[group == number], axis=0)
        parts.append((falling.sum(axis=0), falling[0], falling[:2].sum(axis=0)))
    total, one, two = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Sensitive(
        len(total),
        int((total == 0).sum()),
        int(few_have_most(total, two, DOMINANCE).sum()),
        int(few_have_most(total, one, DOMINANCE).sum()),
        int(largest_can_be_told(total, one, two, P).sum()),
    )


class Insider(NamedTuple):
    """What members of groups find out.

    Attributes
    ----------
    found
        Share of those whose own group is the one with the nearest mean.
    exact
        Share of readings of others that one knows to the last digit, in groups of two.
    slack
        How far the bound of the second largest lies above the largest reading, as a share of it:
        the median over cells of larger groups.
    """

    found: float
    exact: float
    slack: float


def insider(readings: Floats, group: Ints) -> Insider:
    """Let every house look for its group and bound the readings of the others.

    A member of a group of r with the published mean m knows that another's reading is at most
    r m less her own; of two it is exactly that.

    Examples
    --------
    >>> insider(np.array([[6.0], [4.0], [90.0], [80.0]]), np.array([0, 0, 1, 1]))
    Insider(found=1.0, exact=1.0, slack=0.0)
    """
    sizes = np.bincount(group)
    means = np.stack([readings[group == j].mean(axis=0) for j in range(len(sizes))])
    apart = ((readings[:, None, :] - means[None]) ** 2).sum(axis=2)
    found = float((apart.argmin(axis=1) == group).mean())
    exact, pairs, slacks = 0, 0, [np.zeros(0)]
    for number, r in enumerate(sizes):
        members = -np.sort(-readings[group == number], axis=0)
        bound = r * means[number] - members
        if r == 2:
            exact += int(np.isclose(bound, members[::-1]).sum())
            pairs += bound.size
        elif r > 2:
            used = members[0] > 0
            slacks.append((bound[1] / np.where(used, members[0], 1) - 1)[used])
    slack = float(np.median(np.concatenate(slacks))) if len(slacks) > 1 else 0.0
    return Insider(found, exact / pairs if pairs else 0.0, slack)


def run_smart_meter(
    output: Output, data: Path | None = None, sizes: tuple[int, ...] = SIZES
) -> StudyResult:
    """Aggregate the stand-ins, count sensitive cells and let insiders attack."""
    del output, data
    counted: dict[tuple[str, int], Sensitive] = {}
    attacked: dict[tuple[str, int], Insider] = {}
    for number, (name, meters) in enumerate(STAND_INS.items()):
        readings = loads(meters, rng_of(1, number))
        for k in sizes:
            group = mdav(readings, k)
            counted[name, k] = sensitive_cells(readings, group)
            attacked[name, k] = insider(readings, group)
    grids = [_table(name, sizes, counted) for name in STAND_INS]
    found = [one.found for one in attacked.values()]
    numbers = (
        *_numbers(sizes, counted),
        Number("insiders who find their own group, mean over sizes and data", "Figure 4", 0.5,
               float(np.mean(found)), "printed: mostly above 50 %; all members of the stand-ins "
               "instead of 100 drawn ones"),
        Number("readings of the other known exactly in groups of two", "Equation 4", 1.0,
               attacked["cer-elec", 2].exact, "exact: twice the mean less one's own"),
    )  # fmt: skip
    return StudyResult(
        (_consistency(), *grids, _insiders(sizes, attacked)),
        remarks=(
            "printed as sensitive by dominance are the cells that are not: one contributor would "
            "have more than 60 per cent more often than two have together, and of groups of two no "
            "cell would be dominated by both. The true risk falls with the size of the groups",
            "60 per cent and p = 66 are far stricter than what offices use for tables (90 and 10)",
            "distances are of raw readings: large consumers are grouped among themselves",
        ),
        numbers=numbers,
    )


def _numbers(sizes: tuple[int, ...], counted: Mapping[tuple[str, int], Sensitive]) -> list[Number]:
    labels = (
        ("cells", "exact: 48 times the number of groups, ⌊n/k⌋"),
        (
            "cells that two do not dominate (dom2)",
            "stand-in, chosen to look like it; the paper calls them sensitive",
        ),
        (
            "cells that one does not dominate (dom1)",
            "stand-in, chosen to look like it; the paper calls them sensitive",
        ),
        ("cells sensitive by the p % rule", "stand-in, chosen to look like it"),
    )
    return [
        Number(f"{name}, k = {k}: {label}", "Table 1", printed, ours, why)
        for name in STAND_INS
        for k, row in zip(SIZES, PRINTED[name], strict=True)
        if k in sizes
        for (label, why), printed, ours in zip(
            labels, row, counted[name, k].as_printed, strict=True
        )
    ]


def _table(name: str, sizes: tuple[int, ...], counted: Mapping[tuple[str, int], Sensitive]) -> Grid:
    rows = []
    for k in sizes:
        one = counted[name, k]
        printed = PRINTED[name][SIZES.index(k)]
        row = [str(k)]
        for ours, theirs in zip(one.as_printed, printed, strict=True):
            row += [str(ours), str(theirs)]
        shares = [f"{100 * n / one.cells:.1f}" for n in (one.two, one.one, one.p)]
        rows.append((*row, str(one.zero), *shares))
    return Grid(
        f"{name}, {STAND_INS[name].houses} meters: cells (Table 1)",
        ("k", "cells", "printed", "not dom2", "printed", "not dom1", "printed", "p", "printed",
         "empty", "dom2 %", "dom1 %", "p %"),
        tuple(rows),
        "a stand-in for the readings, chosen to look like the printed counts; not dom2, not dom1: "
        "filled cells of which two, or one, have at most 60 %, printed as sensitive; in per cent: "
        "the cells that are sensitive",
    )  # fmt: skip


def _consistency() -> Grid:
    """Show from the printed numbers alone that a column must be the complement."""
    every = [row for rows in PRINTED.values() for row in rows]
    pairs = [rows[0] for rows in PRINTED.values()]
    checks = (
        ("one dominates at most where two do", sum(r[2] <= r[1] for r in every),
         sum(r[0] - r[2] <= r[0] - r[1] for r in every), len(every)),
        ("two dominate every filled cell of a pair", sum(r[1] >= r[3] for r in pairs),
         sum(r[0] - r[1] >= r[3] for r in pairs), len(pairs)),
        ("p per cent flags at most what two dominate", sum(r[3] <= r[1] for r in every),
         sum(r[3] <= r[0] - r[1] for r in every), len(every)),
    )  # fmt: skip
    return Grid(
        "What must hold of Table 1, in how many of its rows it does",
        ("rule", "as printed", "complements", "rows"),
        tuple((name, str(a), str(b), str(n)) for name, a, b, n in checks),
        "what the p % rule with p = 66 finds has two contributors with more than 60 %: the rest is "
        "less than 0.66 times the largest",
    )


def _insiders(sizes: tuple[int, ...], attacked: Mapping[tuple[str, int], Insider]) -> Grid:
    rows = []
    for k in sizes:
        row = [str(k)]
        for name in STAND_INS:
            one = attacked[name, k]
            row += [f"{one.found:.3f}", "exact" if k == 2 else f"{one.slack:.3f}"]
        rows.append(tuple(row))
    header = ["k"]
    for name in STAND_INS:
        header += [f"{name}: found", f"{name}: slack"]
    return Grid(
        "Insiders (Figure 4): share that finds the own group, and how loose the bound is",
        tuple(header),
        tuple(rows),
        "slack: how far the bound of the second largest lies above the largest reading, as a share "
        "of it, median over cells; of groups of two the other's reading is known exactly",
    )


SMART_METER_STUDY = Study(
    "smart-meter",
    "aggregated load curves: dominated cells, and a member who finds her own group",
    run_smart_meter,
    paper="Navarro-Arribas and Torra (2024)",
    takes="5 s",
)
