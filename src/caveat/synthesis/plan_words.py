"""How a plan is told: a line for each column, and the table that a notebook shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from caveat.showing import Summary
from caveat.synthesis.methods import Settings

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = ["described", "methods_of", "summary_of"]

USUAL = Settings()


def described(entry: ColumnPlan) -> str:
    """Return in one line how a column is made."""
    method, predictors, settings = _parts(entry)
    if method == "derived":
        return f"derived: {settings}"
    told = [text for text in (settings, str(entry.grid or "")) if text]
    source = f" from {predictors}" if predictors else ""
    return method + source + (f" ({'; '.join(told)})" if told else "")


def _parts(entry: ColumnPlan) -> tuple[str, str, str]:
    """Return the method, what it draws from and what is not usual about it.

    Without the grid, whose ends may be somebody's.
    """
    settings = entry.settings
    if settings.method == "derived":
        return "derived", "", settings.formula
    names = [item.name for item in fields(Settings) if item.name != "method"]
    changed = [
        f"{name} {getattr(settings, name)}"
        for name in names
        if getattr(settings, name) != getattr(USUAL, name)
    ]
    if entry.special:
        changed.append(f"special {', '.join(map(str, entry.special))}")
    return settings.method, ", ".join(entry.predictors), "; ".join(changed)


def methods_of(columns: Mapping[str, ColumnPlan]) -> str:
    """Return how many columns are made by which method."""
    methods = Counter(entry.settings.method for entry in columns.values())
    return ", ".join(f"{count} {method}" for method, count in methods.items())


def summary_of(columns: Mapping[str, ColumnPlan], remarks: Sequence[str]) -> Summary:
    """Return what a notebook shows of a plan."""
    rows = [(name, *_parts(entry)) for name, entry in columns.items()]
    header = ("column", "method", "drawn from", "settings")
    return Summary(f"Plan: {len(rows)} columns ({methods_of(columns)})", header, rows, remarks)
