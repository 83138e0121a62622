"""Tables of counts in both data sets: one, and all one-, two- and three-way ones, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table.cells import Style, pretty
from caveat.utility.counts import STANDARDISED, STATISTICS, count_statistics
from caveat.utility.crossing import DENSE_CELLS, count_tables
from caveat.utility.pair import WeightedPair

__all__ = ["CrossTable", "Histogram", "Tables", "all_tables", "cross_table", "histogram"]


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
        See :func:`caveat.utility.counts.count_statistics`.
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
        See :func:`caveat.utility.counts.count_statistics`.

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
        See :func:`caveat.utility.counts.count_statistics`.

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
    blocks = _blocks(free) if ways == 2 and not always else [free]
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


def _blocks(names: Sequence[str]) -> list[list[str]]:
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
