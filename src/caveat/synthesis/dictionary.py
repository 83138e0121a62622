"""Columns and tables as plain states for a file, and back after a check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.methods import State
from caveat.synthesis.methods._checks import check_codes, need
from caveat.table import Column, Kind, Table
from caveat.table.code_files import column_of, dictionary_state
from caveat.table.coding import decode

__all__ = [
    "check_decodes",
    "column_from_state",
    "table_from_state",
    "table_state",
]

DATES = tuple(f"<M8[{unit}]" for unit in ("D", "s", "ms", "us", "ns"))
LEVEL_TYPES = ("|O", "|b1", "<i8", "<u8", "<f8", *DATES)
# What the levels of these kinds are made of; levels of the others can be anything.
TYPES_OF_KIND = {
    Kind.NUMERIC: "fiu",
    Kind.INTEGER: "iu",
    Kind.BOOLEAN: "b",
    Kind.DATE: "M",
    Kind.DATETIME: "M",
}
END = 20  # levels at each end that are tried
SCALARS = (type(None), str, bool, int, float)


def column_from_state(state: State) -> Column:
    """Return a column without cells, or raise ValueError if it is no dictionary."""
    kind, missing = Kind(state["kind"]), state["missing"]
    levels = _levels(state["levels"], state["type"])
    need(levels.dtype.kind in TYPES_OF_KIND.get(kind, "ObiufM"), "levels of another kind")
    _check_levels(levels, kind)
    _check_pairs(missing)
    _check_pairs(state["value_labels"])
    need(isinstance(state["label"], str), "no label")
    need(isinstance(state["storage"], str), "no type of cells")
    column = column_of(np.zeros(0, np.uint8), levels, state)
    need(len({m.key for m in column.missing}) == len(missing), "a way to be missing twice")
    return column


def _levels(levels: Any, dtype: Any) -> NDArray[Any]:
    need(dtype in LEVEL_TYPES, "levels of no known type")
    if dtype == "|O":
        need(isinstance(levels, list), "no levels")
        types = {type(value) for value in levels} - {type(None)}
        need(len(types) <= 1 and types <= set(SCALARS), "levels of several types")
        values = np.empty(len(levels), dtype=object)
        values[:] = levels
        return values
    stored = "<i8" if dtype in DATES else dtype
    need(isinstance(levels, np.ndarray) and levels.dtype.str == stored, "no levels")
    need(levels.ndim == 1, "no levels")
    return np.asarray(levels.view(dtype))


def _check_levels(levels: NDArray[Any], kind: Kind) -> None:
    """Need distinct levels, none of them empty, and rising ones where they are numbers."""
    if levels.dtype == object:
        need(len(set(levels.tolist())) == len(levels), "a level twice")
        return
    need(levels.dtype.kind != "f" or np.all(np.isfinite(levels)), "a level that is no number")
    need(levels.dtype.kind != "M" or not np.any(np.isnat(levels)), "a level that is no date")
    ordered = levels if kind.is_number else np.sort(levels)
    need(np.all(ordered[1:] > ordered[:-1]), "a level twice, or out of order")


def _check_pairs(pairs: Any) -> None:
    need(isinstance(pairs, list), "no list of values and labels")
    for value, label in pairs:
        need(type(value) in SCALARS and isinstance(label, str), "no value with a label")


def check_decodes(column: Column, backend: str) -> None:
    """Need a dictionary that can be turned into values of the frame that came in.

    Levels are of one type and rise where they are numbers: what holds at both ends holds between.
    """
    levels = column.levels
    ends = levels if len(levels) <= 2 * END else np.append(levels[:END], levels[-END:])
    codes = np.arange(len(ends) + len(column.missing))
    try:
        decode(replace(column, levels=ends, codes=codes), backend or "pandas")
    except Exception as error:  # three libraries, each with errors of its own
        raise ValueError("levels that no frame can hold") from error


def table_state(table: Table) -> State:
    """Return a whole table."""
    columns = {
        name: {**dictionary_state(column), "codes": column.codes}
        for name, column in table.columns.items()
    }
    return {"columns": columns, "backend": table.backend}


def table_from_state(state: State) -> Table:
    """Return a table, or raise ValueError if it is none."""
    columns = {}
    for name, entry in state["columns"].items():
        column = column_from_state(entry)
        check_codes(entry["codes"], column.n_levels)
        columns[name] = column.with_codes(entry["codes"])
    return Table(columns, state["backend"])
