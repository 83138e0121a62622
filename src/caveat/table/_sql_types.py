"""Which type a column has in a database, and its cells in that type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from caveat.errors import CaveatError
from caveat.table._columnar import arrow_of
from caveat.table.column import Column, Kind
from caveat.table.table import Table

__all__ = ["ENUM", "SURE_DIGITS", "cells_of", "exact_as", "spelled_exactly", "type_of", "types_of"]

ENUM = "enum "
# What a file says about its cells is only taken if it is one of these: it becomes part of SQL.
_PLAIN: Mapping[str, pa.DataType] = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}
_LENGTH = re.compile(r"(varchar|character)\((\d{1,8})\)")
_NUMERIC = re.compile(r"numeric(?:\((\d{1,2}),(\d{1,2})\))?")
_MOST_DIGITS = 38
SURE_DIGITS = 15  # so many a number of 64 bits always keeps


def exact_as(column: str, text: str) -> str:
    """Return three questions about a column of long numbers, in SQL.

    How many values it has, how many of them a number of 64 bits tells apart, and whether all are
    whole and fit into a whole number of that size.
    """
    whole = f"bool_and({column} = trunc({column}) AND abs({column}::{text}) <= 9e18)"
    return f"count(DISTINCT {column}), count(DISTINCT {column}::{text}), {whole}"


def spelled_exactly(name: str, told: Sequence[Any], text: str) -> str:
    """Return the type that a column of long numbers is read as, by the answers to those.

    Parameters
    ----------
    name
        The column.
    told
        The answers.
    text
        What the database calls a number of 64 bits.
    """
    values, apart, whole = told
    if values == apart:
        return text
    if whole:
        return "bigint"
    raise CaveatError(
        f"of {values:,} numbers with more than 15 digits only {apart:,} can be told apart when "
        "they are read",
        column=name,
        do="read it by a query that rounds it or makes it text, or leave it out",
        code="data.value.too-long",
    )


def types_of(table: Table) -> dict[str, str]:
    """Return the type of every column: the one it came with, if its values fit, or the usual."""
    return {name: type_of(table[name]) for name in table}


def type_of(column: Column) -> str:
    """Return the type of a column, in SQL; an enumeration is text unless the database knows it."""
    wanted = column.storage.removeprefix("sql:") if column.storage.startswith("sql:") else ""
    usual = _usual(column)
    return wanted if wanted and _fits(column, wanted, usual) else usual


def _usual(column: Column) -> str:
    kind = column.levels.dtype.kind
    if kind == "M":
        return "date" if column.kind is Kind.DATE else "timestamp"
    names = {"b": "boolean", "i": "bigint", "u": "numeric", "f": "double precision"}
    return names.get(kind, "text")


def _fits(column: Column, wanted: str, usual: str) -> bool:
    texts = [str(text) for text in column.levels.tolist()] if usual == "text" else []
    if length := _LENGTH.fullmatch(wanted):
        return usual == "text" and all(len(text) <= int(length[2]) for text in texts)
    if usual == "text":
        return wanted == "text"
    if _NUMERIC.fullmatch(wanted):
        return usual in ("bigint", "double precision") and _decimal(column, wanted) is not None
    target = _PLAIN.get(wanted)
    if target is None:
        return False
    if pa.types.is_floating(target) and usual in ("bigint", "double precision"):
        return wanted == "double precision" or bool(
            (column.levels.astype(np.float32) == column.levels).all()
        )
    if pa.types.is_integer(target) and usual == "bigint":
        largest = np.iinfo(target.to_pandas_dtype())
        numbers = [*column.levels.tolist(), *(m.code for m in column.missing)]
        return all(
            largest.min <= n <= largest.max for n in numbers if isinstance(n, int | np.integer)
        )
    return wanted == usual or (wanted == "timestamptz" and usual == "timestamp")


def _decimal(column: Column, wanted: str) -> pa.DataType | None:
    """Return the decimals that hold every level exactly; None if there are none."""
    found = _NUMERIC.fullmatch(wanted)
    assert found is not None
    levels = column.levels
    if found[1]:
        digits, scale = int(found[1]), int(found[2])
    else:
        texts = [f"{value!r}" for value in levels.tolist()]
        if any("e" in text for text in texts):
            return None
        scale = max((len(t.partition(".")[2]) for t in texts if not t.endswith(".0")), default=0)
        digits = _MOST_DIGITS
    if digits > _MOST_DIGITS or scale > digits:
        return None
    numbers = levels.astype(float)
    exact = (np.round(numbers, scale) == numbers).all()
    return pa.decimal128(digits, scale) if exact and _below(numbers, digits - scale) else None


def _below(numbers: Any, digits: int) -> bool:
    return not len(numbers) or float(np.abs(numbers).max()) < 10.0**digits


def cells_of(column: Column, type_: str, name: str) -> pa.Array:
    """Return the cells in the type of the database."""
    array = arrow_of(column)
    if isinstance(array, pa.DictionaryArray):
        array = array.cast(pa.string())
    try:
        if _NUMERIC.fullmatch(type_):
            return _as_decimals(array, column, type_)
        target = _PLAIN.get(type_, pa.string())
        return array if array.type == target else array.cast(target)
    except (pa.ArrowException, ValueError):
        raise CaveatError(
            f"a value does not fit into the type {type_}",
            column=name,
            do="write it to a table of another name, or declare its kind",
            code="data.value.type",
        ) from None


def _as_decimals(array: pa.Array, column: Column, type_: str) -> pa.Array:
    target = _decimal(column, type_)
    if target is None:
        raise ValueError(type_)
    if pa.types.is_integer(array.type):
        return array.cast(pa.decimal128(_MOST_DIGITS, target.scale)).cast(target)
    return array.cast(target)
