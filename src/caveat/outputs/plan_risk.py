"""A publication plan: which tables of a synthetic file would be poor, and which would tell.

An office that publishes tables from a synthetic file wants to know it table by table and level by
level of geography, before they are made (Kolb, Tang and Giessing 2024). For each table: the
Hellinger distance from the same table of the original, and its group disclosure, combinations of
keys whose records share one value of the target. For all tables together: the TCAP ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from caveat.errors import CaveatError
from caveat.intervals import Z95
from caveat.risk.measurement import Measurement
from caveat.risk.pair import ScenarioPair, pair
from caveat.risk.scenario import Scenario
from caveat.risk.tables import naive_targets, table_risk, tcap_ratio
from caveat.table import Table
from caveat.table.cells import key_cells

__all__ = ["Correlation", "PlanRisk", "PlannedTable", "correlation", "plan_risk", "planned_tables"]

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
