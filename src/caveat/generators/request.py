"""What a generator in another process is given: the table as Parquet, and what to do as JSON.

The format is small on purpose, so that a generator in any language can be put behind a script of a
few lines. Kinds are ``category``, ``ordered``, ``integer``, ``number``, ``date`` and ``datetime``.
Levels are text. A number that is missing is an empty cell, whatever the way it is missing; in
columns of levels only the plain empty cell is, other ways to be missing are levels like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from caveat.table import Column, Kind, Missing, Table

__all__ = ["VERSION", "level_texts", "outputs", "plain_missing", "write_request"]

VERSION = 1
KINDS = {
    Kind.NUMERIC: "number",
    Kind.INTEGER: "integer",
    Kind.ORDERED: "ordered",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime",
}


def outputs(copies: int) -> list[str]:
    """Return the names of the files that the generator is to write, beside the request."""
    return [f"synthetic-{number}.parquet" for number in range(1, copies + 1)]


def write_request(
    folder: Path, table: Table, seed: int, rows: int, copies: int, settings: Mapping[str, Any]
) -> Path:
    """Write table and request into a folder; return the path of the request."""
    arrays = {name: _array(column) for name, column in table.columns.items()}
    pq.write_table(pa.table(arrays), folder / "data.parquet")
    request = {
        "version": VERSION,
        "data": "data.parquet",
        "schema": [{"name": name, **_described(column)} for name, column in table.columns.items()],
        "seed": seed,
        "rows": rows,
        "copies": copies,
        "settings": dict(settings),
        "out": outputs(copies),
    }
    path = folder / "request.json"
    path.write_text(
        json.dumps(request, ensure_ascii=False, indent=1, default=str), encoding="utf-8"
    )
    return path


def plain_missing(column: Column) -> int | None:
    """Return the code of an empty cell: the plain way, or else the most frequent one."""
    if not column.missing:
        return None
    n = len(column.levels)
    plain = [n + j for j, way in enumerate(column.missing) if way == Missing()]
    return plain[0] if plain else n + int(np.argmax(column.counts[n:]))


def level_texts(column: Column) -> list[str | None]:
    """Return the text of every code of a column of levels; None for the plain empty cell."""
    ways = [None if way.code is None else _text(way.code) for way in column.missing]
    return [*(_text(value) for value in column.levels.tolist()), *ways]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _array(column: Column) -> pa.Array:
    """Return the cells in the type that the kind promises."""
    missing = column.is_missing
    if not column.kind.is_number:
        return pa.array(level_texts(column), pa.string()).take(pa.array(column.codes))
    blank = np.zeros(1, column.levels.dtype)
    padded = np.append(column.levels, np.repeat(blank, len(column.missing)))
    values = padded[column.codes]
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return pa.array(values, mask=missing)


def _described(column: Column) -> dict[str, Any]:
    kind = KINDS.get(column.kind, "category")
    ways = [{"code": _plain(way.code), "label": way.label} for way in column.missing]
    about: dict[str, Any] = {"kind": kind, "missing": ways}
    if not column.kind.is_number:
        about["levels"] = [text for text in level_texts(column) if text is not None]
    elif len(column.levels):
        about["low"], about["high"] = _plain(column.levels.min()), _plain(column.levels.max())
        if column.kind is Kind.NUMERIC:
            about["decimals"] = _decimals(column)
    return about


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    value = value.item() if isinstance(value, np.number) else value
    if value is None or isinstance(value, str | int) or (value == value and type(value) is float):
        return value
    return str(value)


def _decimals(column: Column) -> int | None:
    """Return the digits after the point that every value has at most; None if they are many."""
    digits = range(7)
    return next((d for d in digits if np.array_equal(column.levels, column.levels.round(d))), None)
