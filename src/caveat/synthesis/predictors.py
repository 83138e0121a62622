"""Which columns one can be drawn from, and which have too many levels for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.synthesis.methods import Settings
from caveat.synthesis.public import too_many_levels, tree_fits
from caveat.table import Column, Table

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = ["MOST_CLASSES", "all_that_fit", "derived_last", "fits", "usual_method"]

MOST_CLASSES = 65_535  # limits of the tree engine
MOST_CELLS = 1 << 24


def usual_method(column: Column, name: str, settings: Settings, remarks: list[str]) -> Settings:
    """Return the settings for a column, with a method that can hold its levels."""
    if not column.kind.is_number and column.n_levels > MOST_CLASSES:
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for a tree: it is drawn from its own "
            'distribution; method = "nested" would draw it within the levels of another column'
        )
        return replace(settings, method="sample")
    return settings


def all_that_fit(
    table: Table, name: str, settings: Settings, usable: Sequence[str], remarks: list[str]
) -> list[str]:
    """Return the columns that one can be drawn from, and remark on those that it cannot."""
    column = table[name]
    guarded = settings.method == "guarded"
    chosen = [other for other in usable if fits(table[other], column, settings)]
    if guarded and too_many_levels(column):
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for guarded trees to draw it from "
            "others: it is drawn from its own shares"
        )
    elif len(chosen) < len(usable):
        out = ", ".join(other for other in usable if other not in chosen)
        remarks.append(f"{name} is drawn without {out}, whose levels are too many for it")
    return chosen


def fits(predictor: Column, column: Column, settings: Settings) -> bool:
    """Whether trees can split a predictor of a column, or tabulate its levels by classes."""
    if settings.method == "guarded":
        return tree_fits(predictor, column)
    if predictor.kind.has_order:
        return True
    classes = 1 if column.kind.is_number else column.n_levels
    return predictor.n_levels <= MOST_CLASSES and predictor.n_levels * classes <= MOST_CELLS


def derived_last(columns: dict[str, ColumnPlan]) -> dict[str, ColumnPlan]:
    """Put derived columns behind the columns they need; a circle is an error."""
    plain = {n: e for n, e in columns.items() if e.settings.method != "derived"}
    waiting = {n: e for n, e in columns.items() if n not in plain}
    needs = {n: Expression(e.settings.formula).columns for n, e in waiting.items()}
    for name, sources in needs.items():
        absent = [s for s in sources if s not in columns or columns[s].settings.method == "drop"]
        if absent:
            raise CaveatError(
                f"the formula needs {absent[0]}, which is not synthesised",
                where="synthesis",
                column=name,
                do="use columns of the output",
                code="synthesis.column.absent",
            )
    while waiting:
        ready = [n for n in waiting if all(s in plain for s in needs[n])]
        if not ready:
            circle = " and ".join(waiting)
            raise CaveatError(
                f"{circle} are derived from each other",
                where="synthesis, derived",
                do="synthesise one of them",
                entry=("derived",),
                code="synthesis.formula.conflict",
            )
        plain |= {name: waiting.pop(name) for name in ready}
    return plain
