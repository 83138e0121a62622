"""The declared domain of a private release: what every column can be, whoever is in the data.

Nothing of it is read off the records, and a release can hold nothing else: a missing value is a
cell only where one is declared. Each record is coded by itself. A number beyond its range becomes
the end of the range. Any other value that is not declared is an empty cell where the declaration
has one (``missing = [""]``); where it has none, the record is not counted in any table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding
from caveat.synthesis.grid import EXACT, declared_grid
from caveat.table import Column, Kind, Missing, Table

__all__ = ["DECLARED", "NOT_COUNTED", "cells_in", "declared_table", "outside", "words_of"]

Ints = NDArray[np.int64]

NOT_COUNTED = -1
"""The cell of records that hold a value which the declaration does not have."""

DECLARED = ("levels", "missing")
"""What is declared of a column, besides the range, the scale and the bins of numbers."""


def declared_table(names: Sequence[str], given: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table without a row whose columns can hold what is declared, and nothing else.

    Parameters
    ----------
    names
        The columns.
    given
        What is declared of each: ``levels`` of a class, or the ``range`` of a number, and the codes
        that mean ``missing``, "" for an empty cell.

    Examples
    --------
    >>> declared = {"sex": {"levels": ["f", "m"]}, "age": {"range": [0, 99, 1], "missing": [-8]}}
    >>> table = declared_table(["sex", "age"], declared)
    >>> table.n_rows, table["sex"].n_levels, [str(way) for way in table["age"].missing]
    (0, 2, ['-8'])
    """
    without = [n for n in names if not {"levels", "range"} & set(given.get(n, {}))]
    if without:
        several = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        raise CaveatError(
            f"what the column can be is not declared{several}",
            where="synthesis",
            column=without[0],
            do="a guarantee needs it from the code book, never from the data: write "
            f"columns = {{ {without[0]} = {{ levels = [...] }} }}, of a number "
            "range = [lowest, highest, step]; caveat look --codebook FILE writes it for you",
            code="synthesis.column.undeclared",
        )
    return Table({name: _column(name, given[name]) for name in names})


def _column(name: str, given: Mapping[str, Any]) -> Column:
    codes = list(given.get("missing", ()))
    empty = [Missing()] if any(code in (None, "") for code in codes) else []
    words = any(isinstance(level, str) for level in given.get("levels", ()))
    coded = [code if words else _as_number(code) for code in codes if code not in (None, "")]
    ways = (*empty, *map(Missing, coded))
    if "range" in given:
        if "levels" in given:
            raise _wrong(
                name,
                "it has levels and a range",
                "declare one of them",
                "synthesis.setting.conflict",
            )
        grid = declared_grid(given["range"], "", (), name)
        # The ends stand for the dictionary; points in between follow from the declaration.
        special = [
            number for number in map(_number, given.get("special", ())) if number is not None
        ]
        if len(special) < len(given.get("special", ())):
            raise _wrong(
                name,
                "a special value is no number",
                "write special = [0]",
                "synthesis.setting.type",
            )
        ends = [grid.low, grid.high, *special]
        whole = all(float(v).is_integer() and abs(v) < EXACT for v in (*ends, grid.step))
        held = np.unique(np.array(ends).astype(np.int64 if whole else np.float64))
        kind = Kind.INTEGER if whole else Kind.NUMERIC
        return Column(np.zeros(0, np.uint8), held, kind, ways)
    levels = _levels(name, given["levels"])
    if {_word(level) for level in levels.tolist()} & {"", *(_word(way.code) for way in ways)}:
        raise _wrong(
            name,
            "a level is empty or means missing",
            "leave it out of the levels",
            "synthesis.level.conflict",
        )
    return Column(np.zeros(0, np.uint8), levels, Kind.CATEGORY, ways)


def _as_number(code: Any) -> Any:
    """Return a code as the number that it is written for, as keys of a table are texts."""
    number = _number(code)
    if number is None:
        return code
    return int(number) if number.is_integer() else number


def _levels(name: str, given: Any) -> NDArray[Any]:
    levels = list(given) if isinstance(given, list | tuple) else []
    kinds = {type(level) for level in levels}
    if not levels or len({_word(level) for level in levels}) != len(levels):
        raise _wrong(
            name,
            "levels are a list of different values (01 and 1 are the same one, as are words that "
            "differ in spaces around them)",
            'write levels = ["a", "b"]',
            "synthesis.level.duplicate" if levels else "synthesis.level.empty",
        )
    if kinds == {str}:
        return np.array(levels, dtype=object)
    if kinds <= {bool} or kinds <= {int}:
        return np.array(levels)
    raise _wrong(
        name,
        "levels are all words or all whole numbers",
        "write them in quotes",
        "synthesis.level.type",
    )


def _wrong(name: str, what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis", column=name, do=do, code=code)


def cells_in(codings: Mapping[str, Coding], table: Table) -> dict[str, Ints]:
    """Return the cell of each row in each of the declared columns.

    A row with a value that has no cell is :data:`NOT_COUNTED` in all of them: it is in one cell of
    every table, or in none.
    """
    cells = {name: _lookup(coding, table[name])[0][table[name].codes]
             for name, coding in codings.items()}  # fmt: skip
    left = np.any([own == NOT_COUNTED for own in cells.values()], axis=0)
    return {name: np.where(left, NOT_COUNTED, own) for name, own in cells.items()}


def outside(codings: Mapping[str, Coding], table: Table) -> Iterator[tuple[str, int]]:
    """Return the columns with values that the declaration does not have, and how many."""
    for name, coding in codings.items():
        strangers = int(np.count_nonzero(_lookup(coding, table[name])[1][table[name].codes]))
        if strangers:
            yield name, strangers


def _lookup(coding: Coding, column: Column) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the cell of each code of a column of the data, and which of them are not declared.

    Each value is read by itself: how a file writes the others, or of what kind a column therefore
    is, must not move anybody's cell.
    """
    values = [*_plain(column.levels), *(way.code for way in column.missing)]
    if coding.grid is None:
        return _of_class(coding.column, values)
    return _of_number(coding, values)


def _of_class(known: Column, values: Sequence[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    ways = [way.code for way in known.missing]
    codes = {_word(value): code for code, value in enumerate([*known.levels.tolist(), *ways])}
    found = np.array([codes.get(_word(value), NOT_COUNTED) for value in values], np.int64)
    strange = found == NOT_COUNTED
    return np.where(strange, codes.get("", NOT_COUNTED), found), strange


def _of_number(coding: Coding, values: Sequence[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    grid = coding.grid
    assert grid is not None
    ways = [*coding.special_numbers.tolist(), *(way.code for way in coding.column.missing)]
    apart = {_word(value): grid.n_cells + place for place, value in enumerate(ways)}
    cells = np.full(len(values), apart.get("", NOT_COUNTED))
    strange = np.zeros(len(values), bool)
    for place, value in enumerate(values):
        word, number = _word(value), _number(value)
        if word in apart:
            cells[place] = apart[word]
        elif number is None:
            strange[place] = True
        else:
            cells[place] = grid.cell_of(np.array([number]))[0]
            strange[place] = not grid.low <= number <= grid.high
    return cells, strange


def words_of(levels: NDArray[Any]) -> list[str]:
    """Return levels as words that do not depend on the unit or the type of the others.

    Examples
    --------
    >>> words_of(np.array(["2020-01-01T10:00"], "M8[ns]")), words_of(np.array([1.0, 2.5]))
    (['2020-01-01T10:00:00'], ['1', '2.5'])
    """
    return [_word(value) for value in _plain(levels)]


def _plain(levels: NDArray[Any]) -> list[Any]:
    # Times as text: what Python makes of them hangs on their unit, and that on other records.
    held: list[Any] = (
        np.datetime_as_string(levels) if levels.dtype.kind == "M" else levels
    ).tolist()
    return held


def _word(value: Any) -> str:
    """Return a value as it would be written, the same whatever else is in its column."""
    number = _number(value)
    if number is not None:
        return str(int(number)) if number.is_integer() else repr(number)
    text = "" if value is None or value != value else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        # Whether the file was read as times or as words hangs on its other records.
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return text


def _number(value: Any) -> float | None:
    """Return a value as a number, None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
