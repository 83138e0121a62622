"""What a column of a text file is, by the looks of all its cells and by what is declared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.late import Late
from caveat.table._scan import Look, Scan
from caveat.table.column import Kind
from caveat.table.schema import ColumnSchema

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")

__all__ = ["AS_TEXT", "Parsing", "declared", "may_group", "quotes_speak_in", "shape_of"]

# Quotation marks around this share of a column's cells are meant for the whole column.
QUOTED_SHARE = 0.95


@dataclass(frozen=True)
class Parsing:
    """How a column is parsed: its kind, the parser's type and how it is written back.

    Text may be numbers or dates in a local form, unless it was declared to be text.
    """

    kind: Kind
    dtype: Any = pl.String
    storage: str = ""
    empty_is_missing: bool = False
    infinite_row: int = 0
    local: bool = False
    said_text: bool = False


AS_TEXT = Parsing(Kind.CATEGORY, empty_is_missing=True)
"""Cells that look like numbers as the text that they are."""


def quotes_speak_in(found: Scan) -> bool:
    """Return whether quotation marks say "text": some column's cells must be without them."""
    filled = found.looks.sum(axis=1) - found.looks[:, Look.EMPTY]
    return bool(((filled > 0) & (found.quoted < (1 - QUOTED_SHARE) * filled)).any())


def shape_of(found: Scan, c: int, data: bytes, quotes_speak: bool) -> Parsing:
    """Return what a column is by the looks of all its cells."""
    looks = found.looks[c]
    filled = int(looks.sum() - looks[Look.EMPTY])
    numbers = int(looks[[Look.INTEGER, Look.BIG_INTEGER, Look.DECIMAL]].sum())
    said_text = quotes_speak and found.quoted[c] >= QUOTED_SHARE * filled
    text = Parsing(
        Kind.CATEGORY, empty_is_missing=not quotes_speak, local=True, said_text=bool(said_text)
    )
    if not filled:
        return text
    if looks[Look.TRUTH] == filled:
        word = data[found.truth[c] :][:4].decode()
        style = "lower" if word.islower() else "upper" if word.isupper() else "title"
        return Parsing(Kind.BOOLEAN, storage=f"text:{style}")
    if looks[Look.DATE] == filled:
        return Parsing(Kind.DATE)
    if looks[Look.DATETIME] == filled:
        return _time_plan(found.times[c]) or text
    tokens = int(looks[Look.NA_TOKEN])
    if not numbers or numbers + tokens + looks[Look.INFINITE] < filled or said_text:
        return text
    if looks[Look.DECIMAL] and looks[Look.BIG_INTEGER]:
        return text  # a floating-point number cannot hold them all
    raw = bool(tokens or found.padded[c] or looks[Look.INFINITE])
    if not looks[Look.DECIMAL]:
        plan = Parsing(Kind.INTEGER, pl.String if raw else pl.Int64)
    else:
        storage = _decimals(*found.decimals[c])
        plan = Parsing(Kind.NUMERIC, pl.String if raw else pl.Float64, storage)
    return replace(plan, infinite_row=int(found.first_infinite[c]))


def may_group(found: Scan, c: int) -> bool:
    """Return whether the points of a column may stand between thousands: three digits follow."""
    fewest, most = found.decimals[c].tolist()
    return most == 3 and fewest in (0, 3)


def _decimals(fewest: int, most: int) -> str:
    if fewest == most:
        return f"text:decimals={most}"
    return "text:point" if fewest > 0 and most > 0 else ""


def _time_plan(times: NDArray[np.int64]) -> Parsing | None:
    """Return the plan for datetimes, if all are written in one way."""
    shortest, longest, separators = times.tolist()
    if separators == 3 or (shortest == 16) != (longest == 16):
        return None
    form = "%Y-%m-%dT%H:%M" if separators == 1 else "%Y-%m-%d %H:%M"
    form += "" if longest == 16 else ":%S" if longest == 19 else f":%S.{longest - 20}"
    return Parsing(Kind.DATETIME, storage=f"text:{form}")


def declared(shape: Parsing, entry: ColumnSchema | None, name: str, path: Path) -> Parsing:
    """Return how to parse the column, given what the user declares about it."""
    categorical = (Kind.CATEGORY, Kind.ORDERED, Kind.TEXT, Kind.ID)
    if (
        entry
        and entry.kind in categorical
        and (
            # Whole numbers say the same as text and as numbers, but sort better as numbers.
            shape.kind is not Kind.INTEGER or entry.kind is Kind.TEXT
        )
    ):
        return Parsing(Kind.CATEGORY, empty_is_missing=shape.empty_is_missing)
    if entry and entry.date_format:
        return Parsing(Kind.CATEGORY, empty_is_missing=True)
    if shape.infinite_row:
        raise CaveatError(
            "a value is infinite",
            where=str(path),
            column=name,
            row=shape.infinite_row,
            do="replace it by a number or leave the cell empty",
            code="data.value.infinite",
        )
    return shape
