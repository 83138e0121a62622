"""Tables of counts in both data sets: their statistics, how they are counted, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, isqrt, prod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table.cells import Style, pretty
from caveat.table.table import Codes, count_codes, smallest_unsigned
from caveat.utility.pair import Category, WeightedPair, Weights

STATISTICS = (
    "VW", "FT", "JSD", "SPECKS", "WMabsDD", "U", "G", "pMSE", "PO50", "MabsDD", "dBhatt",
)  # fmt: skip
STANDARDISED = ("S_VW", "S_FT", "S_JSD", "S_WMabsDD", "S_G", "S_pMSE")

Floats = NDArray[np.float64]


def count_statistics(
    observed: NDArray[np.integer], synthetic: NDArray[np.integer], *, k_syn: bool = False
) -> dict[str, float]:
    """Return all statistics of a table.

    Parameters
    ----------
    observed, synthetic
        Counts of the same cells.
    k_syn
        Whether the total of the synthetic table was free: one more degree of freedom.

    Returns
    -------
    The statistics by the names they have in synthpop:

    VW
        Voas and Williamson: Σ (s − e)² / (c (o + s)) with e = o n_s / n_o.
    FT
        Freeman and Tukey: 4 Σ (√s − √e)².
    G
        Likelihood ratio over the cells that both tables have, with shares among those cells.
    JSD
        Jensen–Shannon divergence in bits; dBhatt is √(1 − Σ √(p q)).
    MabsDD, WMabsDD
        Σ |p − q|, and the same in standard deviations over its expectation.
    pMSE, SPECKS, PO50, U
        The propensity statistics with a score s / (o + s) for each cell. PO50 counts a score above
        ½ as "synthetic": if the tables differ in size it is not 0 for equal distributions.
    S_…
        The statistic over its expectation if the synthesis is right, df = cells − 1. S_JSD uses
        synthpop's scale 2 N / ln 2, which makes it 4 % larger than S_VW for small differences.
        Not a number where there are no degrees of freedom.

    Examples
    --------
    >>> found = count_statistics(np.array([2182, 2818]), np.array([2174, 2826]))
    >>> round(found["S_pMSE"], 7), found["df"]
    (0.0520637, 1)
    """
    o, s = np.asarray(observed, np.float64).ravel(), np.asarray(synthetic, np.float64).ravel()
    filled = o + s > 0
    o, s = o[filled], s[filled]
    found = _distances(o, s)
    df, df_g = len(o) - 1 + k_syn, int(((o > 0) & (s > 0)).sum()) - 1 + k_syn
    found |= {f"S_{name}": _ratio(found[name], df) for name in ("VW", "FT", "WMabsDD")}
    found["S_JSD"] = _ratio(found["JSD"] * 2 * float(o.sum() + s.sum()) / math.log(2), df)
    found["S_G"] = _ratio(found["G"], df_g)
    found["S_pMSE"] = found["S_VW"]
    return found | {"df": df, "dfG": df_g}


def _distances(o: Floats, s: Floats) -> dict[str, float]:
    """Return the statistics of the filled cells as they are, over no expectation."""
    n_o, n_s = o.sum(), s.sum()
    total, c = n_o + n_s, n_s / (n_o + n_s)
    p, q = o / n_o, s / n_s
    expected, variance = o * (c / (1 - c)), (o + s) * c
    vw = float(((s - expected) ** 2 / variance).sum())
    specks = float(np.abs(p - q).sum() / 2)
    return {
        "VW": vw,
        "FT": float(4 * ((np.sqrt(s) - np.sqrt(expected)) ** 2).sum()),
        "JSD": (_relative_entropy(p, (p + q) / 2) + _relative_entropy(q, (p + q) / 2)) / 2,
        "SPECKS": specks,
        "WMabsDD": float((np.abs(s - expected) / np.sqrt(variance)).sum()) * math.sqrt(math.pi / 2),
        "U": _wins(o, s),
        "G": _likelihood_ratio(o, s),
        "pMSE": float(vw * c * (1 - c) ** 2 / total),
        "PO50": float(np.where(s > o, s, o).sum() / total - 0.5),
        "MabsDD": 2 * specks,
        # The same as √(1 − Σ √(p q)), without its rounding error near 0.
        "dBhatt": math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2),
    }


def _ratio(value: float, df: int) -> float:
    return value / df if df > 0 else math.nan


def _relative_entropy(p: Floats, q: Floats) -> float:
    """Return Σ p log2(p / q)."""
    held = p > 0
    return float((p[held] * np.log2(p[held] / q[held])).sum())


def _likelihood_ratio(o: Floats, s: Floats) -> float:
    both = (o > 0) & (s > 0)
    if not both.any():
        return 0.0
    p, q = o[both] / o[both].sum(), s[both] / s[both].sum()
    return float(2 * (s[both] * np.log(q / p)).sum())


def _wins(o: Floats, s: Floats) -> float:
    """Return in how many pairs the synthetic row has the higher score; ties are halves."""
    _, rank = np.unique(s / (o + s), return_inverse=True)
    originals, synthetics = np.bincount(rank, o), np.bincount(rank, s)
    below = np.cumsum(originals) - originals
    return float((synthetics * (below + originals / 2)).sum())


# -------------------------------------------------------------------------------------------------
# How all tables of some columns are counted.
#
# Two-way tables of large data are counted several at once: columns with few levels are crossed
# into blocks, two blocks are counted together, and the tables of their columns are sums of these
# counts. Twenty columns in fives need thirty passes over the rows instead of 190. Weighted counts
# are sums that depend on their order, and are counted table by table.


# A table is counted in an array of all its cells as long as that is no larger than this.
DENSE_CELLS = 1 << 22
LARGEST_CODE = 1 << 62
BLOCK_CELLS = 1 << 16  # of two blocks: near enough to the processor
ROWS_PER_CELL = 4  # fewer, and the sums cost more than the rows
PIECE = 1 << 17  # rows that are counted at once

Counts = tuple[NDArray[Any], NDArray[np.int64]]


def count_tables(
    always: Sequence[Category], free: Sequence[Category], ways: int, weights: Weights
) -> Iterator[Counts]:
    """Return the cells of all tables of some columns, in the order of `combinations`.

    Parameters
    ----------
    always
        Columns that are in every table.
    free
        The others.
    ways
        How many of the others are in each.
    weights
        Of the original's rows.
    """
    if always or ways > 2:
        return _deeper(always, free, ways, weights)
    if ways == 1:
        return (_one(column, weights) for column in free)
    return _pairs(free, weights)


def _one(column: Category, weights: Weights) -> Counts:
    theirs = count_codes(column.synthetic, column.n_levels)
    if weights is not None:
        return np.bincount(column.original, weights, column.n_levels), theirs
    return count_codes(column.original, column.n_levels), theirs


class _Block(NamedTuple):
    """Columns next to each other, crossed: the first one's place, their levels, and the codes."""

    first: int
    shape: tuple[int, ...]
    ours: Codes
    theirs: Codes

    @property
    def cells(self) -> int:
        return prod(self.shape)


def _pairs(columns: Sequence[Category], weights: Weights) -> Iterator[Counts]:
    rows = min(len(columns[0].original), len(columns[0].synthetic))
    most = min(BLOCK_CELLS, rows // ROWS_PER_CELL) if weights is None else 0
    blocks = _blocks(columns, isqrt(most))
    for place, block in enumerate(blocks):
        known = _within(block)
        for other in blocks[place + 1 :]:
            if len(block.shape) + len(other.shape) > 2 and block.cells * other.cells <= most:
                known |= _between(block, other)
        for i in range(block.first, block.first + len(block.shape)):
            for j in range(i + 1, len(columns)):
                found = known.pop((i, j), None)
                yield _two(columns[i], columns[j], weights) if found is None else found


def _blocks(columns: Sequence[Category], most: int) -> list[_Block]:
    """Cross columns with their neighbours as long as there are no more cells than so many."""
    blocks: list[_Block] = []
    for i, column in enumerate(columns):
        last, levels = blocks[-1] if blocks else None, column.n_levels
        if last is None or last.cells * levels > most:
            blocks.append(_Block(i, (levels,), column.original, column.synthetic))
            continue
        kind = smallest_unsigned(last.cells * levels)
        # Before one cell there is nothing to multiply, and 256 levels fit into a byte, not 256.
        step = kind.type(levels if last.cells > 1 else 1)
        ours, theirs = (
            codes.astype(kind) * step + more
            for codes, more in ((last.ours, column.original), (last.theirs, column.synthetic))
        )
        blocks[-1] = _Block(last.first, (*last.shape, levels), ours, theirs)
    return blocks


def _within(block: _Block) -> dict[tuple[int, int], Counts]:
    """Return the tables of two columns of a block."""
    if len(block.shape) == 1:
        return {}
    sides = [count_codes(c, block.cells).reshape(block.shape) for c in (block.ours, block.theirs)]
    axes, found = range(len(block.shape)), {}
    for i in axes:
        for j in axes[i + 1 :]:
            others = tuple(axis for axis in axes if axis not in (i, j))
            ours, theirs = (side.sum(axis=others).ravel() for side in sides)
            found[block.first + i, block.first + j] = ours, theirs
    return found


def _between(a: _Block, b: _Block) -> dict[tuple[int, int], Counts]:
    """Return the tables of a column of one block and one of another."""
    sides = [
        _joint(one, other, b.cells, a.cells * b.cells).reshape(*a.shape, b.cells)
        for one, other in ((a.ours, b.ours), (a.theirs, b.theirs))
    ]
    found = {}
    for i in range(len(a.shape)):
        others = tuple(axis for axis in range(len(a.shape)) if axis != i)
        some = [side.sum(axis=others).reshape(-1, *b.shape) for side in sides]
        for j in range(len(b.shape)):
            others = tuple(1 + axis for axis in range(len(b.shape)) if axis != j)
            ours, theirs = (side.sum(axis=others).ravel() for side in some)
            found[a.first + i, b.first + j] = ours, theirs
    return found


def _joint(a: Codes, b: Codes, levels: int, cells: int) -> NDArray[np.int64]:
    """Count two columns together, in pieces that stay near the processor."""
    counts, piece = np.zeros(cells, np.int64), max(PIECE, cells)
    for start in range(0, len(a), piece):
        codes = a[start : start + piece].astype(np.int64)
        codes *= levels
        codes += b[start : start + piece]
        counts += np.bincount(codes, minlength=cells)
    return counts


def _two(a: Category, b: Category, weights: Weights) -> Counts:
    """Count one table of two columns."""
    cells = a.n_levels * b.n_levels
    if cells <= DENSE_CELLS and weights is None:
        ours = _joint(a.original, b.original, b.n_levels, cells)
        return ours, _joint(a.synthetic, b.synthetic, b.n_levels, cells)
    return next(_deeper([], [a, b], 2, weights))


def _deeper(
    always: Sequence[Category], free: Sequence[Category], ways: int, weights: Weights
) -> Iterator[Counts]:
    """Count tables of any size, one by one.

    The crossed codes of the leading variables are kept, so that each table costs one more column.
    """
    split = len((*always, *free)[0].original)

    def deeper(start: int, left: int, codes: NDArray[np.int64], size: int) -> Iterator[Counts]:
        if left == 0:
            if size > DENSE_CELLS:
                codes, size = _dense(codes)
            ours, theirs = codes[:split], codes[split:]
            yield np.bincount(ours, weights, size), np.bincount(theirs, minlength=size)
            return
        for j in range(start, len(free) - left + 1):
            crossed, cells = _cross(codes, size, free[j])
            yield from deeper(j + 1, left - 1, crossed, cells)

    codes, size = np.zeros(split + len((*always, *free)[0].synthetic), np.int64), 1
    for column in always:
        codes, size = _cross(codes, size, column)
    return deeper(0, ways, codes, size)


def _cross(codes: NDArray[np.int64], size: int, column: Category) -> tuple[NDArray[np.int64], int]:
    more, levels = np.concatenate([column.original, column.synthetic]), column.n_levels
    if size * levels >= LARGEST_CODE:
        codes, size = _dense(codes)
    return codes * levels + more, size * levels


def _dense(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    distinct, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(distinct)


# -------------------------------------------------------------------------------------------------
# Tables of counts in both data sets: one, and all one-, two- and three-way ones, worst first.


MOST_TABLES = 20_000
"""Two-way tables that are counted: all of 200 variables."""

SEED = 27  # the same for every pair of tables: the same variables are in one block


@dataclass(frozen=True, eq=False)
class CrossTable:
    """The counts of the same cells in both tables.

    Attributes
    ----------
    names
        The variables.
    observed, synthetic
        Counts with one axis per variable; those of the original by its weights, if it has any.
    labels
        The levels of each variable.
    statistics
        See :func:`caveat.utility.tables.count_statistics`.
    """

    names: tuple[str, ...]
    observed: NDArray[Any]
    synthetic: NDArray[np.int64]
    labels: tuple[tuple[str, ...], ...]
    statistics: Mapping[str, float]

    __repr__ = without_values

    @property
    def empty(self) -> int:
        """Number of cells that neither table has."""
        return int(((self.observed == 0) & (self.synthetic == 0)).sum())


def cross_table(
    pair: WeightedPair,
    names: Sequence[str],
    *,
    groups: int = 5,
    style: Style = "quantile",
    use_empty: bool = True,
    k_syn: bool = False,
) -> CrossTable:
    """Tabulate some variables in both tables.

    Parameters
    ----------
    pair
        The two tables.
    names
        The variables.
    groups, style
        How numbers are cut; see :func:`caveat.table.cells.breaks`.
    use_empty
        Whether rows with an empty cell count. Declared codes always do.
    k_syn
        See :func:`caveat.utility.tables.count_statistics`.

    Examples
    --------
    >>> people = {"sex": list("ffmm"), "ill": list("nynn")}
    >>> release = {"sex": list("fmmm"), "ill": list("ynyn")}
    >>> cross_table(WeightedPair.of(people, release), ["sex", "ill"]).synthetic.tolist()
    [[0, 1], [2, 1]]
    """
    chosen = [pair.categories(groups, style)[n] for n in pair.choose(names)]
    shape = tuple(column.n_levels for column in chosen)
    if prod(shape) > DENSE_CELLS:
        raise CaveatError(
            f"the table has {prod(shape):,} cells",
            where=f"variables {', '.join(names)}",
            do="choose fewer variables or fewer groups",
            code="measure.table.too-large",
        )
    ours = np.ravel_multi_index([column.original for column in chosen], shape)
    theirs = np.ravel_multi_index([column.synthetic for column in chosen], shape)
    counts = [
        pair.weigh(ours, prod(shape)).reshape(shape),
        np.bincount(theirs, minlength=prod(shape)).reshape(shape),
    ]
    labels = [column.labels for column in chosen]
    if not use_empty:
        for axis, column in enumerate(chosen):
            kept = np.flatnonzero(~column.empty)
            counts = [table.take(kept, axis) for table in counts]
            labels[axis] = tuple(column.labels[i] for i in kept)
    observed, synthetic = counts
    return CrossTable(
        tuple(names),
        observed,
        synthetic,
        tuple(labels),
        count_statistics(observed, synthetic, k_syn=k_syn),
    )


@dataclass(frozen=True, eq=False)
class Tables:
    """The statistics of all tables of one size.

    Attributes
    ----------
    ways
        Number of variables in each table.
    variables
        All variables.
    tables
        The variables of each table.
    columns
        For each statistic its value in each table; not a number where it is undefined.
    """

    ways: int
    variables: tuple[str, ...]
    tables: tuple[tuple[str, ...], ...]
    columns: Mapping[str, NDArray[np.float64]]

    __repr__ = without_values

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def possible(self) -> int:
        """Number of tables that the variables have, counted or not."""
        return comb(len(self.variables), self.ways)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the tables with their statistics, in the order of the variables."""
        for i, names in enumerate(self.tables):
            yield {"variables": names} | {k: float(v[i]) for k, v in self.columns.items()}

    def ranked(self, by: str = "S_pMSE") -> list[tuple[tuple[str, ...], float]]:
        """Return the tables and one statistic, the worst first; undefined ones are left out."""
        values = self.columns[by]
        order = np.argsort(-values, kind="stable")
        return [(self.tables[i], float(values[i])) for i in order if np.isfinite(values[i])]

    def variable_scores(self, by: str = "S_pMSE") -> dict[str, float]:
        """Return for each variable the mean over the tables it is in, the worst first."""
        values = self.columns[by]
        place = {name: i for i, name in enumerate(self.variables)}
        inside = np.zeros((len(self.variables), len(self.tables)), bool)
        for i, table in enumerate(self.tables):
            inside[[place[name] for name in table], i] = True
        scores = {}
        for name in self.variables:
            here = values[inside[place[name]]]
            if np.isfinite(here).any():
                scores[name] = float(np.nanmean(here))
        return dict(sorted(scores.items(), key=lambda item: -item[1]))

    def mean(self, by: str = "S_pMSE") -> float:
        """Return the mean of a statistic over all tables."""
        return float(np.nanmean(self.columns[by]))

    def summary(self, of: Literal["median", "max"]) -> dict[str, float]:
        """Return the "median" or the "max" of each statistic."""
        reduce = np.nanmedian if of == "median" else np.nanmax
        return {name: float(reduce(values)) for name, values in self.columns.items()}


def all_tables(
    pair: WeightedPair,
    ways: int = 2,
    *,
    names: Sequence[str] | None = None,
    groups: int = 5,
    style: Style = "quantile",
    by: str | None = None,
    k_syn: bool = False,
) -> Tables:
    """Return the statistics of every table of `ways` variables.

    Two-way tables of more than about 200 variables are too many. Then the variables are dealt into
    blocks at random, always the same ones, and every table within a block is counted.

    Parameters
    ----------
    pair
        The two tables.
    ways
        Number of variables in each table.
    names
        The variables; all unless given.
    groups, style
        How numbers are cut; see :func:`caveat.table.cells.breaks`.
    by
        A variable that is in every table.
    k_syn
        See :func:`caveat.utility.tables.count_statistics`.

    Examples
    --------
    >>> people = {"sex": list("ffmm"), "ill": list("nynn")}
    >>> release = {"sex": list("fmmm"), "ill": list("ynyn")}
    >>> all_tables(WeightedPair.of(people, release), 1).ranked()[0][0]
    ('sex',)
    """
    chosen = pair.choose(names)
    if not 1 <= ways <= len(chosen):
        what, do = f"there are no tables of {ways} variables", f"choose 1 to {len(chosen)}"
        raise CaveatError(what, do=do, code="measure.setting.range")
    categories = pair.categories(groups, style)
    always = pair.choose([by] if by is not None else [])
    free, size = [n for n in chosen if n not in always], ways - len(always)
    blocks = _blocks_tables(free) if ways == 2 and not always else [free]
    tables = tuple((*always, *rest) for block in blocks for rest in combinations(block, size))
    columns = {name: np.empty(len(tables)) for name in (*STATISTICS, *STANDARDISED, "df", "dfG")}
    counted = (
        counts
        for block in blocks
        for counts in count_tables(
            [categories[n] for n in always], [categories[n] for n in block], size, pair.weights
        )
    )
    for i, (observed, synthetic) in enumerate(counted):
        for name, value in count_statistics(observed, synthetic, k_syn=k_syn).items():
            columns[name][i] = value
    return Tables(ways, chosen, tables, columns)


def _blocks_tables(names: Sequence[str]) -> list[list[str]]:
    """Return the variables in blocks that have few enough pairs together, each in their order."""
    if comb(len(names), 2) <= MOST_TABLES:
        return [list(names)]
    n_blocks = 2
    while n_blocks * comb(-(-len(names) // n_blocks), 2) > MOST_TABLES:
        n_blocks += 1
    dealt = rng_of(SEED).permutation(len(names)) % n_blocks
    return [[n for n, own in zip(names, dealt, strict=True) if own == i] for i in range(n_blocks)]


@dataclass(frozen=True, eq=False)
class Histogram:
    """One variable in both tables, as bars.

    Attributes
    ----------
    name
        The variable.
    labels
        The categories, or the lower limits of the bins.
    observed, synthetic
        Number of rows.
    limits
        The limits of the bins of a number, ``None`` for categories.
    n_missing
        How many of the last bars are ways to be missing.
    """

    name: str
    labels: tuple[str, ...]
    observed: NDArray[Any]
    synthetic: NDArray[np.int64]
    limits: NDArray[np.float64] | None
    n_missing: int

    __repr__ = without_values

    @property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bars as shares of all rows."""
        return self.observed / self.observed.sum(), self.synthetic / self.synthetic.sum()


# Numbers with fewer distinct values than this are shown value by value.
FEW_VALUES = 6
# Share of a bin within which a value counts as lying on its limit.
ON_LIMIT = 1e-7


def histogram(
    pair: WeightedPair,
    name: str,
    bins: int = 20,
    limits: NDArray[np.float64] | None = None,
) -> Histogram:
    """Count one variable as synthpop's ``compare`` does.

    Numbers fall into about `bins` bins with round limits over both tables, open on the left; every
    way to be missing has a bar of its own. Instead of `bins`, the `limits` may be given; numbers
    beyond them fall into the bins at the ends.

    Examples
    --------
    >>> ages = {"age": [16, 31, 31, 47, 52, 60, 97]}
    >>> histogram(WeightedPair.of(ages, ages), "age", bins=4).labels
    ('0', '20', '40', '60', '80')
    """
    ours, theirs = pair.columns(name)
    n = len(ours.levels)
    pooled = (ours.counts + theirs.counts)[:n]
    few = not ours.kind.is_number or np.count_nonzero(pooled) < FEW_VALUES
    if not few and limits is None:
        values = ours.numbers[pooled > 0]
        limits = pretty(values.min(), values.max(), bins)
    if limits is not None:
        values = ours.numbers
        # A value that is on a limit but for rounding belongs to the bin below it, as in R's hist.
        edges = limits + ON_LIMIT * np.median(np.diff(limits))
        position = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(limits) - 2)
        labels = [f"{limit:.15g}" for limit in limits[:-1]]
    else:
        position, labels = np.arange(n), [str(level) for level in ours.levels.tolist()]
    bars = [
        np.concatenate(
            [np.bincount(position, c[:n], len(labels)).astype(c.dtype, copy=False), c[n:]]
        )
        for c in pair.counts(name)
    ]
    ways = [str(m) for m in ours.missing]
    return Histogram(name, (*labels, *ways), bars[0], bars[1], limits, len(ways))
