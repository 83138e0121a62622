"""The declared domain of a private release: what every column can be, whoever is in the data.

Nothing of it is read off the records. What does not fit the declaration is made to fit: a number
beyond its range becomes the end of the range, and every other value is an empty cell. An empty cell
is therefore possible in every column, whether it occurs or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.synthesis.coding import ORDINARY, Coding
from caveat.synthesis.grid import declared_grid
from caveat.table import Column, Kind, Missing, Table
from caveat.table.align import recode_to

__all__ = ["DECLARED", "cells_in", "declared_table", "outside"]

Ints = NDArray[np.int64]

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
        that mean ``missing``.

    Examples
    --------
    >>> declared = {"sex": {"levels": ["f", "m"]}, "age": {"range": [0, 99, 1], "missing": [-8]}}
    >>> table = declared_table(["sex", "age"], declared)
    >>> table.n_rows, table["sex"].n_levels, [str(way) for way in table["age"].missing]
    (0, 3, ['empty', '-8'])
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
        )
    return Table({name: _column(name, given[name]) for name in names})


def _column(name: str, given: Mapping[str, Any]) -> Column:
    missing = [Missing(code) for code in given.get("missing", ()) if code not in (None, "")]
    ways = (Missing(), *missing)
    if "range" in given:
        if "levels" in given:
            raise _wrong(name, "it has levels and a range", "declare one of them")
        grid = declared_grid(given["range"], "", (), name)
        whole = all(float(v).is_integer() for v in (grid.low, grid.high, grid.step))
        # The ends stand for the dictionary; points in between follow from the declaration.
        ends = [grid.low, grid.high, *(v for v in given.get("special", ()))]
        held = np.unique(np.array(ends, np.int64 if whole else np.float64))
        kind = Kind.INTEGER if whole else Kind.NUMERIC
        return Column(np.zeros(0, np.uint8), held, kind, ways)
    return Column(np.zeros(0, np.uint8), _levels(name, given["levels"]), Kind.CATEGORY, ways)


def _levels(name: str, given: Any) -> NDArray[Any]:
    levels = list(given) if isinstance(given, list | tuple) else []
    kinds = {type(level) for level in levels}
    if not levels or len(set(levels)) != len(levels):
        raise _wrong(name, "levels are a list of different values", 'write levels = ["a", "b"]')
    if kinds == {str}:
        return np.array(levels, dtype=object)
    if kinds <= {bool} or kinds <= {int}:
        return np.array(levels)
    raise _wrong(name, "levels are all words or all whole numbers", "write them in quotes")


def _wrong(name: str, what: str, do: str) -> CaveatError:
    return CaveatError(what, where="synthesis", column=name, do=do)


def cells_in(codings: Mapping[str, Coding], table: Table) -> dict[str, Ints]:
    """Return the cell of each row in each of the declared columns."""
    return {name: _cells(coding, table[name])[0] for name, coding in codings.items()}


def outside(codings: Mapping[str, Coding], table: Table) -> Iterator[tuple[str, int]]:
    """Return the columns with values that the declaration does not have, and how many."""
    for name, coding in codings.items():
        strangers = int(np.count_nonzero(_cells(coding, table[name])[1]))
        if strangers:
            yield name, strangers


def _cells(coding: Coding, column: Column) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the cells, and which values are not declared."""
    known, grid = coding.column, coding.grid
    if grid is None:
        codes = recode_to(column, known)
        strange = codes == known.n_levels
        return np.where(strange, _empty(known), codes), strange
    if not column.kind.is_number:
        empty = grid.n_cells + coding.n_kinds - 2 - _behind(known)
        return np.full(len(column), empty), np.ones(len(column), bool)
    kinds, numbers = coding.split(column)
    assert kinds is not None  # an empty cell is always possible
    unknown = kinds >= coding.n_kinds
    kinds = np.where(unknown, coding.n_kinds - 1 - _behind(known), kinds)
    ordinary = kinds == ORDINARY
    beyond = ordinary & ((numbers < grid.low) | (numbers > grid.high))
    cells = np.where(ordinary, grid.cell_of(numbers), grid.n_cells + kinds - 1)
    return cells, unknown | beyond


def _empty(column: Column) -> int:
    """Return the code of an empty cell."""
    return len(column.levels) + [m.code for m in column.missing].index(None)


def _behind(column: Column) -> int:
    """Return how many ways to be missing stand behind an empty cell."""
    return column.n_levels - 1 - _empty(column)
