"""What tables of synthetic and simulated files would tell, and which would be poor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Z95
from caveat.risk.isolation import naive_targets, table_risk, tcap_ratio
from caveat.risk.measure import Measurement
from caveat.risk.pair import ScenarioPair, pair
from caveat.risk.scenario import Scenario
from caveat.showing import without_values
from caveat.table import Table
from caveat.table.align import common_levels
from caveat.table.cells import key_cells

Level = tuple[str, ...]


@dataclass(frozen=True)
class PlannedTable:
    """One table of a plan, at one level, with one of its variables as what is learned.

    Attributes
    ----------
    columns
        The variables of the table.
    level
        The columns that name the place, none for the whole.
    target
        The variable that would be learned from the others.
    hellinger
        Distance of the counts from those of the original, from 0 to 1. Whatever the target.
    synthetic, original
        Combinations of the other variables with one value of the target only, in either table.
    common
        Those that both have, with the same value: what is read from the table is true.
    """

    columns: tuple[str, ...]
    level: Level
    target: str
    hellinger: float
    synthetic: int
    original: int
    common: int

    @property
    def risk(self) -> float | None:
        """True share of what seems to be disclosed; None where nothing is."""
        return self.common / self.synthetic if self.synthetic else None

    @property
    def recall(self) -> float | None:
        """Share of what the original table would disclose; None where it discloses nothing."""
        return self.common / self.original if self.original else None


@dataclass(frozen=True)
class PlanRisk:
    """A plan, measured.

    Attributes
    ----------
    tables
        All tables, at all levels, with each of their targets.
    tcap_ratio
        By target: the same as the risk of a table, for all variables and levels at once.
    """

    tables: tuple[PlannedTable, ...]
    tcap_ratio: Mapping[str, Measurement]

    def worst(self, n: int = 10) -> tuple[PlannedTable, ...]:
        """Return the tables that disclose most that is true, in number."""
        return tuple(sorted(self.tables, key=lambda one: -one.common)[:n])

    def summary(self) -> dict[tuple[Level, int], tuple[int, float, int, int, int]]:
        """Return by level and number of variables what there is in all.

        Returns
        -------
        Tables, mean Hellinger distance, and the sums of ``synthetic``, ``original`` and ``common``.
        """
        found: dict[tuple[Level, int], list[PlannedTable]] = {}
        for one in self.tables:
            found.setdefault((one.level, len(one.columns)), []).append(one)
        return {
            place: (
                len({one.columns for one in some}),
                float(np.mean(list({one.columns: one.hellinger for one in some}.values()))),
                sum(one.synthetic for one in some),
                sum(one.original for one in some),
                sum(one.common for one in some),
            )
            for place, some in found.items()
        }


def planned_tables(
    untouched: Sequence[str], synthesised: Sequence[str], *, smallest: int = 2, largest: int = 5
) -> list[tuple[str, ...]]:
    """Return all tables of some variables that have a synthesised one among them.

    Examples
    --------
    >>> len(planned_tables(["a", "b", "c"], ["x", "y", "z"]))
    52
    """
    every = [*untouched, *synthesised]
    return [
        columns
        for size in range(smallest, min(largest, len(every)) + 1)
        for columns in combinations(every, size)
        if not set(columns).isdisjoint(synthesised)
    ]


def plan_risk(
    original: Table, synthetic: Table, tables: Sequence[Sequence[str]], targets: Sequence[str], *,
    levels: Sequence[Sequence[str]] = ((),), groups: Mapping[str, int] | None = None,
) -> PlanRisk:  # fmt: skip
    """Measure the tables that are to be published from a synthetic file.

    Parameters
    ----------
    original, synthetic
        The two files.
    tables
        The variables of each table.
    targets
        What may not be learned: the synthesised variables, or the sensitive ones. In a table with
        several each is the target in turn; a table with none is left out.
    levels
        For each level the columns that name the place; they are keys of every table. ``()`` is the
        whole.
    groups
        Number of groups that a numeric column is cut into, by column.

    Examples
    --------
    >>> people = Table.from_frame({"town": list("aabb"), "sex": list("fmfm"), "ill": list("ynyy")})
    >>> found = plan_risk(people, people, [["sex", "ill"]], ["ill"], levels=[[], ["town"]])
    >>> [(one.level, one.common, one.risk) for one in found.tables]
    [((), 1, 1.0), (('town',), 4, 1.0)]
    """
    places = [tuple(level) for level in levels]
    chosen = [tuple(columns) for columns in tables if not set(columns).isdisjoint(targets)]
    _check(chosen, places)
    every = tuple(dict.fromkeys(name for part in (*chosen, *places) for name in part))
    # The tables of all targets are on the same levels: aligned and cut into groups once.
    first = next(name for name in every if name in targets)
    scenario = _scenario(every, first, groups or {})
    both = pair(original.select(every), synthetic.select(every), scenario)
    pairs = {
        target: ScenarioPair(both.original, both.synthetic, _scenario(every, target, {}))
        for target in targets
        if target in every
    }
    naive = {target: naive_targets(one) for target, one in pairs.items()}
    found = []
    for level in places:
        for columns in chosen:
            distance = _hellinger(both, (*level, *columns))
            for target in columns:
                if target in pairs:
                    keys = (*level, *(name for name in columns if name != target))
                    counts = table_risk(pairs[target], keys, naive[target])
                    found.append(PlannedTable(columns, level, target, distance, *counts[1:]))
    return PlanRisk(tuple(found), {target: tcap_ratio(one) for target, one in pairs.items()})


def _scenario(columns: Sequence[str], target: str, groups: Mapping[str, int]) -> Scenario:
    return Scenario(tuple(name for name in columns if name != target), target, groups)


def _check(tables: Sequence[tuple[str, ...]], levels: Sequence[Level]) -> None:
    if not tables:
        raise CaveatError(
            "no table has a target in it",
            where="tables",
            do="name tables with a target",
            code="outputs.target.absent",
        )
    for columns in tables:
        if len(set(columns)) < len(columns):
            raise CaveatError(
                "a table names a variable twice", where="tables", code="data.column.duplicate"
            )
        if len(columns) < 2:
            raise CaveatError(
                "a table of one variable has nothing to learn it from",
                column=columns[0],
                code="outputs.column.too-few",
            )
        for level in levels:
            if not set(level).isdisjoint(columns):
                raise CaveatError(
                    "a place is a variable of a table too",
                    column=min(set(level) & set(columns)),
                    do="name it in one of the two",
                    code="outputs.column.conflict",
                )


def _hellinger(both: ScenarioPair, columns: tuple[str, ...]) -> float:
    tables = [[table[name].codes for name in columns] for table in (both.original, both.synthetic)]
    cells, n = key_cells(tables, [both.original[name].n_levels for name in columns])
    p, q = (np.bincount(one, minlength=n) / len(one) for one in cells)
    return math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2)


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation, and its 95 % interval by Fisher's z.

    Attributes
    ----------
    value
        None where one of the two is constant.
    interval
        None where there are fewer than four settings, or the value is exact.
    n
        Number of settings for which both are defined.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int


def correlation(one: Sequence[float | None], other: Sequence[float | None]) -> Correlation:
    """Correlate two measures over settings, where both are defined.

    Examples
    --------
    >>> found = correlation([0.1, 0.2, 0.3, None, 0.5], [1, 2, 4, 3, 5])
    >>> round(found.value, 3), found.n
    (0.962, 4)
    """
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    n = len(pairs)
    if n < 3 or min(np.ptp(np.array(pairs), axis=0)) == 0:
        return Correlation(None, None, n)
    value = float(scipy.stats.pearsonr(*np.array(pairs).T)[0])
    if n < 4 or abs(value) >= 1:
        return Correlation(value, None, n)
    reach = Z95 / math.sqrt(n - 3)
    low, high = np.tanh([math.atanh(value) - reach, math.atanh(value) + reach])
    return Correlation(value, (float(low), float(high)), n)


# -------------------------------------------------------------------------------------------------
# Replication over the copies of a simulation: how often a small cell comes out true.
#
# Data made of harmless inputs must be checked again: many sources and calibration to the margins
# of small areas can bring back the same rare cases in every run (Brenzel, Palm, Weymeirsch and
# Münnich 2024). A cell that comes out true now and then is chance; one that does in nearly every
# copy is replicated systematically. The paper names the idea and no formula: what chance would
# give is ours.


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shown = Callable[[Ints, int], Ints]

OFTEN = 0.9
"""A cell that comes out true in so many copies is replicated systematically."""


@dataclass(frozen=True)
class Replication:
    """The small cells of the original over the copies.

    Attributes
    ----------
    columns
        What the cells are combinations of.
    k
        Small cells hold 1 to k − 1 records.
    copies
        Number of copies.
    often
        Share of the copies from which on replication is systematic.
    cells
        The values of each small cell.
    counts
        Its records in the original.
    seen, true
        Share of the copies in which it holds anybody, and exactly its count.
    chance, margins
        What *true* would be on average if copies knew the cell by chance, its count on average, and
        if they knew the margins alone.
    mean
        Its mean count over the copies.
    shown
        Its mean count over what is shown of the copies; None if they are shown as they are.
    """

    columns: tuple[str, ...]
    k: int
    copies: int
    often: float
    cells: tuple[tuple[Any, ...], ...]
    counts: Ints
    seen: Floats
    true: Floats
    chance: Floats
    margins: Floats
    mean: Floats
    shown: Floats | None = None

    __repr__ = without_values

    @property
    def systematic(self) -> NDArray[np.bool_]:
        """Which cells come out true in nearly every copy."""
        return np.asarray(self.true >= self.often)

    @property
    def by_chance(self) -> float:
        """How many of the cells would be called systematic by chance."""
        least = ceil(self.often * self.copies - 1e-9)
        return float(scipy.stats.binom.sf(least - 1, self.copies, self.chance).sum())

    def averaged(self) -> float:
        """Return the share of the cells that the mean over what is shown tells, rounded."""
        mean = self.mean if self.shown is None else self.shown
        return float((np.abs(mean - self.counts) < 0.5).mean())

    def to_dict(self, *, cells: bool = False) -> dict[str, Any]:
        """Return the results, ready for JSON; single cells only if asked."""
        some = bool(len(self.counts))
        found: dict[str, Any] = {
            "columns": list(self.columns), "k": self.k, "copies": self.copies,
            "often": self.often, "small cells": len(self.counts),
            "true": float(self.true.mean()) if some else None,
            "by chance": float(self.chance.mean()) if some else None,
            "by margins": float(self.margins.mean()) if some else None,
            "systematic": int(self.systematic.sum()), "systematic by chance": self.by_chance,
            "told by the mean": self.averaged() if some else None,
            "rounded": self.shown is not None,
        }  # fmt: skip
        if cells:
            rows = zip(self.cells, self.counts, self.seen, self.true, self.mean, strict=True)
            found["cells"] = [
                {"cell": [_plain(v) for v in cell], "count": int(d), "seen": float(seen),
                 "true": float(true), "mean": float(mean)}
                for cell, d, seen, true, mean in rows
            ]  # fmt: skip
        return found

    def sentences(self) -> list[str]:
        """Return what was found, in words and without a value of any cell."""
        what = " × ".join(self.columns)
        if not len(self.counts):
            return [f"no cell of {what} holds fewer than {self.k} records: nothing to replicate"]
        n = len(self.counts)
        told = [
            f"{n:,} cells of {what} hold fewer than {self.k} records; over {self.copies} copies "
            f"they come out true {_percent(self.true.mean())} of the time",
            f"copies that knew each cell on average would give {_percent(self.chance.mean())}, "
            f"copies that knew the margins alone {_percent(self.margins.mean())}",
            f"{int(self.systematic.sum()):,} cells come out true in {100 * self.often:.0f} % of "
            f"the copies or more; by chance it would be {self.by_chance:.1f}",
        ]
        if self.systematic.sum() > max(1.0, 3 * self.by_chance):
            told.append(
                "WARNING: that is more than chance: these cells are replicated systematically; "
                "leave their margins out of the calibration, or make the categories coarser"
            )
        shown = "the counts" if self.shown is None else "the rounded counts"
        told.append(
            f"who averages {shown} of all copies has the true number of "
            f"{_percent(self.averaged())} of these cells"
        )
        return told


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def replication(
    original: Table,
    copies: Sequence[Table],
    columns: Sequence[str],
    *,
    k: int = 3,
    often: float = OFTEN,
    shown: Shown | None = None,
) -> Replication:
    """Count over copies how often the small cells of the original come out true.

    Parameters
    ----------
    original, copies
        The real records, and two or more runs of the simulation.
    columns
        What makes a cell; a missing value is one of its own.
    k, often
        As in :class:`Replication`.
    shown
        What is shown of the counts of a copy, a function of them and of the copy's number.

    Examples
    --------
    >>> town = Table.from_frame({"age": [30, 30, 30, 95], "sex": ["f", "f", "f", "m"]})
    >>> found = replication(town, [town, town], ["age", "sex"])
    >>> found.counts.tolist(), found.true.tolist()
    ([1], [1.0])
    """
    _check_replication(original, copies, columns, k, often)
    tables = [original, *copies]
    parts = [common_levels([table[name] for table in tables], name) for name in columns]
    levels = [part[0].n_levels for part in parts]
    rows, n = key_cells([[part[i].codes for part in parts] for i in range(len(tables))], levels)
    true, *drawn = (np.bincount(cell, minlength=n) for cell in rows)
    small = np.flatnonzero((true > 0) & (true < k))
    first = np.zeros(n, np.intp)  # a record of each cell
    first[rows[0]] = np.arange(len(rows[0]))
    of_cell = [part[0].take(first[small]) for part in parts]
    d, made = true[small], np.stack([counts[small] for counts in drawn])
    apart = np.ones(len(small))
    for part, cell in zip(parts, of_cell, strict=True):
        apart *= part[0].counts[cell.codes] / original.n_rows
    sizes = np.array([table.n_rows for table in copies])[:, None]
    seen = [shown(counts, i)[small] for i, counts in enumerate(drawn)] if shown else None
    return Replication(
        columns=tuple(columns),
        k=k,
        copies=len(copies),
        often=often,
        cells=tuple(zip(*(cell.values.tolist() for cell in of_cell), strict=True)),
        counts=d,
        seen=(made > 0).mean(axis=0),
        true=(made == d).mean(axis=0),
        chance=scipy.stats.poisson.pmf(d, sizes * d / original.n_rows).mean(axis=0),
        margins=scipy.stats.poisson.pmf(d, sizes * apart).mean(axis=0),
        mean=made.mean(axis=0),
        shown=None if seen is None else np.stack(seen).mean(axis=0),
    )


def _check_replication(
    original: Table, copies: Sequence[Table], columns: Sequence[str], k: int, often: float
) -> None:
    if not original.n_rows:
        raise CaveatError(
            "the original has no records", where="replication", code="data.table.empty"
        )
    if len(copies) < 2:
        raise CaveatError(
            "one copy does not tell what recurs",
            where="replication",
            do="give two or more",
            code="outputs.copy.too-few",
        )
    if not columns or len(set(columns)) < len(columns):
        raise CaveatError(
            "cells need columns, each named once",
            where="replication",
            do="name some",
            code="data.column.duplicate" if columns else "outputs.column.absent",
        )
    if k < 2:
        raise CaveatError(
            "no count lies below 2 and above 0",
            where="k",
            do="use 3, 5 or 10",
            code="outputs.setting.range",
        )
    if not 0 < often <= 1:
        raise CaveatError(
            "a share of the copies lies above 0 and up to 1",
            where="often",
            code="outputs.setting.range",
        )
