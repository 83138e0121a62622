"""Which columns one can be drawn from, and which have too many levels for it."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.synthesis.methods import Settings
from caveat.synthesis.public import too_many_levels, tree_fits
from caveat.table import Column, Table

__all__ = ["MOST_CLASSES", "all_that_fit"]

MOST_CLASSES = 65_535  # limits of the tree engine
MOST_CELLS = 1 << 24


def all_that_fit(
    table: Table, name: str, settings: Settings, usable: Sequence[str], remarks: list[str]
) -> list[str]:
    """Return the columns that one can be drawn from, and remark on those that it cannot."""
    column = table[name]
    guarded = settings.method == "guarded"
    fits = tree_fits if guarded else _fits
    chosen = [other for other in usable if fits(table[other], column)]
    if guarded and too_many_levels(column):
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for guarded trees to draw it from "
            "others: it is drawn from its own shares"
        )
    elif len(chosen) < len(usable):
        out = ", ".join(other for other in usable if other not in chosen)
        remarks.append(f"{name} is drawn without {out}, whose levels are too many for it")
    return chosen


def _fits(predictor: Column, column: Column) -> bool:
    """Whether the tree engine can tabulate the levels of a predictor by these classes."""
    if predictor.kind.has_order:
        return True
    classes = 1 if column.kind.is_number else column.n_levels
    return predictor.n_levels <= MOST_CLASSES and predictor.n_levels * classes <= MOST_CELLS
