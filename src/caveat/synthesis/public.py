"""What guarded trees take as public about each number: declared, or read off the data and said so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, hint
from caveat.synthesis.coding import Coding
from caveat.synthesis.grid import SCALES, Grid, assumed_grid, declared_grid
from caveat.table import Kind, Table
from caveat.table.numbers import decimals_of

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = ["with_grids"]

UNUSED = ("derived", "drop", "constant", "copy")


def with_grids(
    columns: Mapping[str, ColumnPlan], table: Table, given: Mapping[str, Mapping[str, Any]]
) -> dict[str, ColumnPlan]:
    """Give every number its grid, if a column of the plan is guarded.

    Parameters
    ----------
    columns
        The plan of each column.
    table
        The original table.
    given
        What the user says about single columns: their ``range`` and ``scale``.
    """
    guarded = any(entry.settings.method == "guarded" for entry in columns.values())
    return {
        name: replace(entry, grid=_grid(entry, table, name, given.get(name, {})))
        if guarded and entry.settings.method not in UNUSED
        else entry
        for name, entry in columns.items()
    }


def _grid(entry: ColumnPlan, table: Table, name: str, given: Mapping[str, Any]) -> Grid | None:
    where = f"synthesis, column {name}"
    column = table[name]
    coding = Coding.of(column, entry.special, name)
    if not coding.is_number:
        if "range" in given or "scale" in given:
            raise CaveatError("a range is for numbers", where=where, do="leave it out")
        return None
    scale = given.get("scale", "")
    if scale not in ("", *SCALES):
        raise CaveatError(f"there is no scale {scale!r}", where=where, do=hint(scale, SCALES))
    special = tuple(coding.special_numbers.tolist())
    ordinary = column.numbers[coding.kind_of[: len(column.levels)] == 0] if coding.two_step else (
        column.numbers
    )  # fmt: skip
    if "range" in given:
        grid = declared_grid(given["range"], scale, special, where)
        whole = column.kind is not Kind.NUMERIC
        if whole and not all(float(v).is_integer() for v in (grid.low, grid.step)):
            raise CaveatError("the column holds whole numbers, the range does not", where=where)
        if ordinary[0] < grid.low or ordinary[-1] > grid.high:
            raise CaveatError(
                "the data go beyond the declared range",
                where=where,
                do="declare a wider one, or code what lies beyond it (top-coding)",
            )
        return grid
    return assumed_grid(column, ordinary, decimals_of(column), scale, special)
