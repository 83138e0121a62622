"""The shape of single columns: nothing to learn, names of records, long factors, rare levels."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from caveat.table.column import Column, Kind
from caveat.table.look.interpret import LONG_FACTOR
from caveat.table.look.profile import Finding, Strength, listed, percent, plain, plural, shown
from caveat.table.table import Table

__all__ = ["find_few_numbers", "find_shapes", "is_measured"]

# From this share of the rows on, one value is nearly all there is.
NEARLY_ALL = 0.95
# Rare levels have fewer rows than this, and less than this share of them.
RARE_ROWS = 10
RARE_SHARE = 0.01
# Tables shorter than this say nothing about identifiers: in six rows all is distinct.
ID_ROWS = 20
# Identifiers of digits have at least this many of them, all the same number.
ID_DIGITS = 5
# Identifiers that count records leave out few numbers.
DENSE = 2.0
# A group identifier has at least this share of distinct values.
GROUP_SHARE = 0.1
# Free text: words per level, distinct levels per row.
FREE_TEXT_WORDS = 4.0
FREE_TEXT_SHARE = 0.2

# Whole numbers with this many different values may be codes of groups (two need no decision).
FEW_NUMBERS = range(3, 11)

_ID_NAME = re.compile(
    r"(^|[^a-z])(id|ident|identifier|uuid|guid|key|pid|hid|nr)([^a-z]|$)|(ID|Id|Nr)$"
)


def find_shapes(original: Column, column: Column, name: str) -> list[Finding]:
    """Return what a column is as a whole.

    Parameters
    ----------
    original
        The column as it was read.
    column
        The column as it reads once its codes are declared.
    name
        Its name.
    """
    if not len(column) or not len(original.levels):
        return []
    found = _nearly_constant(original, name)
    if found and found[0].code == "constant":
        return found
    identity = _identity(column, name)
    if identity:
        return [*found, *identity]
    return [*found, *_long_factor(original, column, name), *_rare_levels(column, name)]


def find_few_numbers(table: Table) -> list[Finding]:
    """Find the columns of few whole numbers without value labels, which may be codes of groups."""
    names = tuple(
        name
        for name in table
        if table[name].kind is Kind.INTEGER
        and len(table[name].levels) in FEW_NUMBERS
        and not table[name].value_labels
        and len(table[name]) >= ID_ROWS
    )
    if not names:
        return []
    they = "it holds" if len(names) == 1 else f"these {len(names)} columns hold"
    most = FEW_NUMBERS[-1]
    message = f"{they} at most {most} different whole numbers: counts, or names of groups?"
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
        message = f"every row holds {shown(plain(column, 0))}."
        return [Finding("constant", (name,), message, rows=rows, share=1.0)]
    if n == 1:
        held = plural(int(column.counts[0]), "row")
        message = f"{shown(plain(column, 0))} in {held}, missing elsewhere."
        return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]
    measured_zero = (
        is_measured(column) and commonest < n and plain(column, commonest) == 0
    )  # that is what "semi-continuous" says
    if share < NEARLY_ALL or measured_zero or len(column) < ID_ROWS:
        return []
    what = (
        shown(plain(column, commonest))
        if commonest < n
        else f"missing ({column.missing[commonest - n]})"
    )
    message = f"{what} in {rows:,} of {len(column):,} rows ({percent(share)})."
    return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]


def _identity(column: Column, name: str) -> list[Finding]:
    """Tell identifiers and free text from other columns with many distinct values."""
    rows = int((~column.is_missing).sum())
    if column.kind is Kind.ID:
        return [_identifier("id-like", name, _distinct(column, rows), rows, len(column))]
    if rows < ID_ROWS or column.kind in (Kind.NUMERIC, Kind.BOOLEAN, Kind.DATE, Kind.DATETIME):
        return []
    unique = len(column.levels) == rows
    if column.levels.dtype == object:
        return _text_identity(column, name, rows, unique)
    if column.kind is not Kind.INTEGER:
        return []
    if unique and _looks_like_numbering(column, name):
        message = f"every one of the {rows:,} values is different, and they look like a numbering."
        return [_identifier("id-like", name, message, rows, len(column))]
    if (
        not unique
        and len(column.levels) >= GROUP_SHARE * rows
        and _is_numbering_of_groups(column, name)
    ):
        return [_group_identifier(column, name, rows)]
    return []


def _identifier(code: str, name: str, message: str, rows: int, total: int) -> Finding:
    return Finding(code, (name,), message, Strength.LIKELY, rows, rows / total, {"drop": True})


def _distinct(column: Column, rows: int) -> str:
    return f"{len(column.levels):,} different values in {rows:,} rows."


def _group_identifier(column: Column, name: str, rows: int) -> Finding:
    message = (
        f"{len(column.levels):,} different values in {rows:,} rows, at most "
        f"{int(column.counts[: len(column.levels)].max())} rows each."
    )
    return _identifier("group-id", name, message, rows, len(column))


def _looks_like_numbering(column: Column, name: str) -> bool:
    levels = column.levels
    codes = column.codes[~column.is_missing].astype(np.int64)
    steps = np.diff(codes)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    dense = float(levels[-1]) - float(levels[0]) < DENSE * len(levels)
    same_length = len(str(abs(levels[0]))) == len(str(abs(levels[-1]))) >= ID_DIGITS
    return in_order or dense or bool(_ID_NAME.search(name)) or (same_length and bool(levels[0] > 0))


def _is_numbering_of_groups(column: Column, name: str) -> bool:
    """Whether equal values stand in blocks, as members of a household do, or the name says so."""
    if _ID_NAME.search(name):
        return True
    codes = column.codes
    blocks = 1 + int((codes[1:] != codes[:-1]).sum())
    span = float(column.levels[-1]) - float(column.levels[0])
    return blocks == column.n_levels and span < DENSE * len(column.levels)


def _text_identity(column: Column, name: str, rows: int, unique: bool) -> list[Finding]:
    n = len(column.levels)
    if n <= LONG_FACTOR or column.kind is Kind.ORDERED:
        return []
    look = pl.Series(column.levels[:: max(1, n // 2000)].tolist(), dtype=pl.String)
    words = float(look.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    if words >= FREE_TEXT_WORDS and n >= FREE_TEXT_SHARE * rows:
        message = f"{n:,} different texts in {rows:,} rows, {words:.0f} words on average."
        return [_identifier("free-text", name, message, rows, len(column))]
    if unique or (n > NEARLY_ALL * rows and column.kind is Kind.TEXT):
        return [_identifier("id-like", name, _distinct(column, rows), rows, len(column))]
    if n >= GROUP_SHARE * rows and _ID_NAME.search(name):
        return [_group_identifier(column, name, rows)]
    return []


def _long_factor(column: Column, interpreted: Column, name: str) -> list[Finding]:
    n = len(column.levels)
    factor = column.kind in (Kind.CATEGORY, Kind.TEXT) or (
        column.kind is Kind.ORDERED and column.levels.dtype == object
    )
    if not factor or n <= LONG_FACTOR or column.levels.dtype.kind in "iuf":
        return []
    ways = f", 2^{n - 1} - 1 ways to split them" if n <= 64 else ""
    text = " as long as it is text" if interpreted.kind.is_number else ""
    message = f"{n:,} levels{text}{ways}."
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
    which = listed([f"{shown(plain(column, i))} ({counts[i]})" for i in order], 3)
    message = f"{plural(len(rare), 'level')} with fewer than {int(np.ceil(limit))} rows: {which}."
    return [Finding("rare-levels", (name,), message, rows=rows, share=rows / len(column))]
