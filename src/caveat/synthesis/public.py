"""What guarded trees take as public about a number: declared, or read off the data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, about, hint
from caveat.synthesis.coding import Coding
from caveat.synthesis.grid import SCALES, Grid, assumed_grid, declared_bins, declared_grid
from caveat.synthesis.methods.guarded import GUARDS
from caveat.table import Column, Kind, Table
from caveat.table.table import decimals_of, survey_weights

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan, Plan

__all__ = [
    "assumed_public",
    "assumed_ranges",
    "has_guard",
    "remark_on_ranges",
    "sole_ends",
    "too_many_levels",
    "tree_fits",
    "weight_unit",
    "with_grids",
    "with_guards",
]

Floats = NDArray[np.float64]
UNUSED = ("derived", "drop", "constant", "copy")
MOST_PREDICTED = 5_000
"""Levels of a column that guarded trees draw from others; more are drawn from their own shares."""
HEAP = 0.25
"""Share of records at the lowest value from which on it is modelled apart unless declared."""
FEW_VALUES = 20
"""Numbers with fewer values have no heap."""
USUAL_BINS = 16
"""Cells of a number in tables of counts."""
USUAL_ROWS = 5_000
"""Rows from which on the dial is as it is."""
NAMED = 8
"""Columns that a remark names at most."""
MOST_SPLIT = 1_000
"""Levels without an order that guarded trees split."""


def too_many_levels(column: Column) -> bool:
    """Whether guarded trees draw a column from its own shares only."""
    return not column.kind.is_number and column.n_levels > MOST_PREDICTED


def tree_fits(predictor: Column, column: Column) -> bool:
    """Whether guarded trees can draw a column from another."""
    if too_many_levels(column):
        return False
    return predictor.kind.is_number or predictor.n_levels <= MOST_SPLIT


def weight_unit(columns: Mapping[str, ColumnPlan], table: Table, weights: str) -> float:
    """Return the weight that counts as one record: about the mean, one digit; 1 without guard."""
    if not weights or not has_guard(columns):
        return 1.0
    mean = float(survey_weights(table[weights], weights).mean())
    return float(f"{mean:.0e}") if mean > 0 else 1.0


def assumed_public(
    plan: Plan, columns: Mapping[str, Column] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return what nobody declared and the guard takes as public, in words.

    Parameters
    ----------
    plan
        The plan.
    columns
        The columns, for those that hold dates.
    """
    found = []
    for name, entry in plan.columns.items():
        grid = entry.grid
        if grid is not None and not grid.declared:
            found.append(f"{name}: {_dates(grid, columns.get(name)) or grid.words}")
        if grid is not None and grid.heap:
            found.append(f"{name}: {', '.join(f'{v:g}' for v in grid.special)} is modelled apart")
    if plan.weights and has_guard(plan.columns):
        found.append(f"a weight of {plan.weight_unit:g} counts as one record")
    return tuple(found)


def assumed_ranges(columns: Mapping[str, ColumnPlan]) -> tuple[str, ...]:
    """Return the columns whose range was read off the data."""
    return tuple(
        name
        for name, entry in columns.items()
        if entry.grid is not None and not entry.grid.declared
    )


def remark_on_ranges(columns: Mapping[str, ColumnPlan]) -> list[str]:
    """Name the columns whose range was read off the data; nothing if there are none."""
    names = assumed_ranges(columns)
    if not names:
        return []
    which = ", ".join(names[:NAMED]) + (" and others" if len(names) > NAMED else "")
    return [
        f"{which}: the range was read off the data and rounded outwards; declare it, "
        "range = [lowest, highest, step]"
    ]


def sole_ends(columns: Mapping[str, ColumnPlan], table: Table) -> Iterator[SoleEnd]:
    """Yield the records without which an undeclared range would be narrower.

    Parameters
    ----------
    columns
        The plan of each column.
    table
        The table that it was made for.
    """
    for name in assumed_ranges(columns):
        grid, column = columns[name].grid, table[name]
        assert grid is not None
        ordinary = np.flatnonzero(~np.isin(column.numbers, grid.special))
        for end in {int(ordinary[0]), int(ordinary[-1])}:
            if len(ordinary) < 3 or column.counts[end] != 1:
                continue
            record = int(np.flatnonzero(column.codes == end)[0])
            rest = column.take(np.delete(np.arange(len(column)), record)).compact()
            others = rest.numbers[~np.isin(rest.numbers, grid.special)]
            without = assumed_grid(rest, others, decimals_of(rest), grid.scale, grid.special)
            if without.low > grid.low or without.high < grid.high:
                yield SoleEnd(name, record, without.low, without.high)


class SoleEnd(NamedTuple):
    """A record that alone holds an end of a range, and the ends without it."""

    column: str
    record: int
    low: float
    high: float


def _dates(grid: Grid, column: Column | None) -> str:
    """Return the range of dates as dates; nothing for numbers."""
    if column is None or column.levels.dtype.kind != "M":
        return ""
    ends = np.array([grid.low, grid.high]).astype(np.int64).astype(column.levels.dtype)
    return f"range {ends[0]} to {ends[1]}, {grid.scale} cells"


def has_guard(columns: Mapping[str, ColumnPlan]) -> bool:
    """Whether a column is made by guarded trees, which draw their structure."""
    return any(entry.settings.method == "guarded" for entry in columns.values())


def with_grids(
    columns: Mapping[str, ColumnPlan],
    table: Table,
    given: Mapping[str, Mapping[str, Any]],
    exact: Collection[str] = (),
) -> dict[str, ColumnPlan]:
    """Give every number its grid, if a column of the plan is guarded, or it is made from margins.

    Parameters
    ----------
    columns
        The plan of each column.
    table
        The original table.
    given
        What the user says about single columns: their ``range``, ``scale`` and ``bins``.
    exact
        Columns whose range is not made wider than the data.
    """
    guarded = has_guard(columns)
    found = dict(columns)
    for name, entry in columns.items():
        own, tabulated = given.get(name, {}), entry.settings.method == "margins"
        if "bins" in own and not tabulated:
            raise CaveatError(
                "bins are for columns that are made from margins",
                where="synthesis",
                column=name,
                do='add method = "margins", or leave them out',
                entry=(name, "bins"),
                code="synthesis.setting.unused",
            )
        if tabulated or (guarded and entry.settings.method not in UNUSED):
            heap = () if "special" in own else _heap(entry, table[name])
            entry = replace(entry, special=heap or entry.special)
            grid = _grid(entry, table, name, own, name in exact)
            if grid is not None and heap:
                grid = replace(grid, heap=True)
            if grid is not None and tabulated:
                grid = replace(grid, bins=declared_bins(own.get("bins", USUAL_BINS), name))
            found[name] = replace(entry, grid=grid)
    return found


def with_guards(columns: Mapping[str, ColumnPlan], rows: int) -> dict[str, ColumnPlan]:
    """Write the numbers behind the dial into the plan of a small table, as far as none are given.

    A record weighs more among few. Below 5,000 rows temperature, backoff and floor are therefore
    those of the dial times √(5000/rows): about as many records then show as in larger tables. The
    number of rows is public, and so is the rule.
    """
    factor = max(1.0, sqrt(USUAL_ROWS / max(rows, 1)))
    found = dict(columns)
    for name, entry in columns.items():
        settings = entry.settings
        if settings.method == "guarded" and factor > 1:
            dial = GUARDS[settings.guard]
            larger: dict[str, Any] = {
                word: float(f"{factor * getattr(dial, word):.3g}")
                for word in ("temperature", "backoff", "floor")
                if getattr(settings, word) is None
            }
            found[name] = replace(entry, settings=replace(settings, **larger))
    return found


def _heap(entry: ColumnPlan, column: Column) -> tuple[Any, ...]:
    """Return the lowest value of a number if very many records have it: zero, mostly."""
    levels = column.levels
    if (
        entry.settings.method not in ("guarded", "margins")
        or not column.kind.is_number
        or len(levels) < FEW_VALUES
    ):
        return ()
    share = column.counts[0] / max(column.counts[: len(levels)].sum(), 1)
    return (levels[0].item(),) if share >= HEAP and levels.dtype.kind != "M" else ()


def _grid(
    entry: ColumnPlan, table: Table, name: str, given: Mapping[str, Any], exact: bool = False
) -> Grid | None:
    where, column = "synthesis", table[name]
    coding = Coding.of(column, entry.special, name)
    if not coding.is_number:
        for word in (word for word in ("range", "scale", "bins") if word in given):
            raise CaveatError(
                f"{word} is for numbers" if word == "bins" else f"a {word} is for numbers",
                where=where,
                column=name,
                do="leave it out",
                entry=(name, word),
                code="synthesis.column.type",
            )
        return None
    scale = given.get("scale", "")
    if scale not in ("", *SCALES):
        raise CaveatError(
            f"there is no scale {scale!r}",
            where=where,
            column=name,
            do=hint(str(scale), SCALES),
            entry=(name, "scale"),
            code="synthesis.scale.unknown",
        )
    special = tuple(coding.special_numbers.tolist())
    ordinary = column.numbers[coding.kind_of[: len(column.levels)] == 0] if coding.two_step else (
        column.numbers
    )  # fmt: skip
    if not len(ordinary):
        raise CaveatError(
            "all values are special: none is left to be drawn",
            where=where,
            column=name,
            do="leave one of them out",
            code="synthesis.column.empty",
        )
    if "range" in given:
        with about(name, "range"):
            return _declared(given["range"], scale, special, column, ordinary, name)
    return assumed_grid(column, ordinary, decimals_of(column), scale, special, exact)


def _declared(
    given: Any, scale: str, special: tuple[float, ...], column: Column, ordinary: Floats, name: str
) -> Grid:
    """Return the grid of a declared range that the data keep to."""
    where = "synthesis"
    grid = declared_grid(given, scale, special, name)
    if column.kind is not Kind.NUMERIC and not all(
        float(v).is_integer() for v in (grid.low, grid.step)
    ):
        raise CaveatError(
            "the column holds whole numbers, the range does not",
            where=where,
            column=name,
            do="give a whole lowest value and step",
            code="synthesis.setting.type",
        )
    if len(ordinary) and (ordinary[0] < grid.low or ordinary[-1] > grid.high):
        raise CaveatError(
            "the data go beyond the declared range",
            where=where,
            column=name,
            do="declare a wider one, or code what lies beyond it (top-coding)",
            code="data.value.range",
        )
    if not grid.holds(ordinary).all():
        raise CaveatError(
            "the data have values between the steps of the declared range",
            where=where,
            column=name,
            do="declare a smaller step, or round the column first",
            code="data.value.range",
        )
    return grid
