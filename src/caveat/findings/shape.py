"""The shape of single columns: nothing to learn, names of records, long factors, rare levels."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.findings.codes_and_kinds import LONG_FACTOR
from caveat.findings.profile import (
    Finding,
    Strength,
    listed,
    percent,
    plain,
    plural,
    shown_level,
)
from caveat.table.column import Column, Kind
from caveat.table.identifying import Judgement
from caveat.table.private import quantities, share_alone
from caveat.table.rare import K, has_open_vocabulary, is_mostly_rare, rare_levels
from caveat.table.table import Table

__all__ = [
    "FINDINGS",
    "find_few_numbers",
    "find_mostly_rare",
    "find_private_numbers",
    "find_shapes",
    "is_measured",
]

# From this share of the rows on, one value is nearly all there is.
NEARLY_ALL = 0.95
# Rare levels have fewer rows than this, and less than this share of them.
RARE_ROWS = 10
RARE_SHARE = 0.01
# Shorter tables say nothing about shapes: in six rows all is rare and distinct.
LEAST_ROWS = 20
# From this share of records on that have a number for themselves, it is said.
ALONE = 0.05

# Whole numbers with this many different values may be codes of groups (two need no decision).
FEW_NUMBERS = range(3, 11)

# How the look calls what the judgement finds.
FINDINGS = {
    "identifier": "id-like",
    "group-key": "group-id",
    "free-text": "free-text",
    "person-name": "person-name",
    "near-unique-text": "near-unique-text",
    "coordinate": "coordinate",
    "birth-date": "birth-date",
}


def find_shapes(
    original: Column, column: Column, name: str, judged: Judgement | None
) -> list[Finding]:
    """Return what a column is as a whole.

    Parameters
    ----------
    original
        The column as it was read.
    column
        The column as it reads once its codes are declared.
    name
        Its name.
    judged
        What the one judgement of identifying columns says about it.
    """
    if not len(column) or not len(original.levels):
        return []
    found = _nearly_constant(original, name)
    if found and found[0].code == "constant":
        return found
    if judged is not None:
        return [*found, _identifying(original, name, judged)]
    return [*found, *_long_factor(original, column, name), *_rare_levels(column, name)]


def find_few_numbers(table: Table) -> list[Finding]:
    """Find the columns of few whole numbers without value labels, which may be codes of groups."""
    names = tuple(
        name
        for name in table
        if table[name].kind is Kind.INTEGER
        and len(table[name].levels) in FEW_NUMBERS
        and not table[name].value_labels
        and len(table[name]) >= LEAST_ROWS
    )
    if not names:
        return []
    most = FEW_NUMBERS[-1]
    message = f"at most {most} different whole numbers."
    return [Finding("few-numbers", names, message, Strength.POSSIBLE, table.n_rows, 1.0)]


def is_measured(column: Column) -> bool:
    """Whether the column holds numbers that are quantities rather than a few codes."""
    return column.kind in (Kind.NUMERIC, Kind.INTEGER) and len(column.levels) >= LONG_FACTOR


def _nearly_constant(column: Column, name: str) -> list[Finding]:
    n = len(column.levels)
    commonest = int(np.argmax(column.counts))
    rows = int(column.counts[commonest])
    share = rows / len(column)
    if n == 1 and not column.is_missing.any():
        message = f"every row has the value {shown_level(column, 0)}."
        return [Finding("constant", (name,), message, rows=rows, share=1.0)]
    if n == 1:
        held = plural(int(column.counts[0]), "row")
        message = f"{shown_level(column, 0)} in {held}; all other rows are missing."
        return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]
    measured_zero = (
        is_measured(column) and commonest < n and plain(column, commonest) == 0
    )  # that is what "semi-continuous" says
    if share < NEARLY_ALL or measured_zero or len(column) < LEAST_ROWS:
        return []
    what = (
        shown_level(column, commonest)
        if commonest < n
        else f"missing ({column.missing[commonest - n]})"
    )
    message = f"{what} in {rows:,} of {len(column):,} rows ({percent(share)})."
    return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]


def _identifying(column: Column, name: str, judged: Judgement) -> Finding:
    share = judged.rows / len(column)
    message = f"{judged.reason}."
    return Finding(
        FINDINGS[judged.code], (name,), message, Strength.LIKELY, judged.rows, share, {"drop": True}
    )


def find_private_numbers(table: Table, judged: Collection[str]) -> list[Finding]:
    """Find the numbers that many records have for themselves alone."""
    if table.n_rows < LEAST_ROWS:
        return []
    alone = {n: share_alone(table[n]) for n in table if n not in judged and quantities(table[n])}
    alone = {name: share for name, share in alone.items() if share >= ALONE}
    if not alone:
        return []
    order = sorted(alone, key=lambda name: -alone[name])
    which = listed([f"{name} {percent(alone[name])}" for name in order])
    message = f"share of the records with a value that no other record has: {which}."
    worst = alone[order[0]]
    rows = round(worst * table.n_rows)
    return [Finding("private-numbers", tuple(order), message, rows=rows, share=worst)]


def find_mostly_rare(
    table: Table, judged: Collection[str], units: NDArray[Any] | None = None
) -> list[Finding]:
    """Find the columns that are left out because few units have any of their levels.

    Parameters
    ----------
    table
        The table.
    judged
        Columns that are left out anyway.
    units
        The group of each row, where whole groups are synthesised.
    """
    if table.n_rows < LEAST_ROWS:
        return []
    found = []
    for name in (n for n in table if n not in judged and is_mostly_rare(table[n], units)):
        counts = table[name].counts[: len(table[name].levels)]
        rare = rare_levels(table[name], units)
        rows, n = int(counts[rare].sum()), int(rare.sum())
        message = f"{n:,} levels with fewer than {K} records each cover {rows:,} rows."
        share, drop = rows / table.n_rows, {"drop": True}
        found.append(Finding("mostly-rare", (name,), message, Strength.LIKELY, rows, share, drop))
    return found


def _long_factor(column: Column, interpreted: Column, name: str) -> list[Finding]:
    n = len(column.levels)
    factor = column.kind in (Kind.CATEGORY, Kind.TEXT) or (
        column.kind is Kind.ORDERED and column.levels.dtype == object
    )
    if not factor or n <= LONG_FACTOR or interpreted.kind.is_number:
        return []
    message = f"{n:,} levels."
    return [
        Finding(
            "long-factor", (name,), message, rows=len(column), share=1.0, suggestion={"late": True}
        )
    ]


def _rare_levels(column: Column, name: str) -> list[Finding]:
    if is_measured(column) or column.kind in (Kind.DATE, Kind.DATETIME, Kind.NUMERIC, Kind.TEXT):
        return []
    counts = column.counts[: len(column.levels)]
    limit = min(RARE_ROWS, RARE_SHARE * len(column))
    rare = np.flatnonzero((counts > 0) & (counts < limit))
    if not len(rare):
        return []
    order = rare[np.argsort(counts[rare], kind="stable")]
    rows = int(counts[rare].sum())
    which = listed([f"{shown_level(column, i)} ({counts[i]})" for i in order], 3)
    have = "level has" if len(rare) == 1 else "levels have"
    message = f"{len(rare):,} {have} fewer than {int(np.ceil(limit))} rows: {which}."
    pooled = has_open_vocabulary(column) and bool((counts[rare] < K).any())
    asked = {"pooled": True} if pooled else {}
    action = "" if pooled else "Merge them if records with these values could be recognised."
    share = rows / len(column)
    return [
        Finding("rare-levels", (name,), message, rows=rows, share=share, suggestion=asked,
                action=action)
    ]  # fmt: skip
