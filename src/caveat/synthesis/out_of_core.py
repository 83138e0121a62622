"""Large tables: fitted models and drawn columns lie in a working folder, one at a time in memory.

A model of trees can be larger than the table it was fitted on. Its arrays are written as soon as a
column is ready and mapped from there. A copy is drawn column by column, each for all its rows, so
that only one model is looked at; every block of rows of every column has a seed of its own, so that
it is the same copy, byte for byte, as one drawn row by row.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.cells import Cells
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.methods import Settings
from caveat.synthesis.model import BLOCK, Model
from caveat.synthesis.plan import GIVEN, ColumnPlan
from caveat.table import Table
from caveat.table.code_files import open_array, write_array
from caveat.table.drafts import unwritable
from caveat.table.table import smallest_unsigned

__all__ = ["Store"]

SMALL = 1 << 16  # bytes of an array that is not worth a file
ALIGNED = 8  # bytes at whose multiples arrays begin
HELD = ("codes", "kinds", "numbers")  # the arrays of cells


class Store:
    """A folder for the models and the drawn columns of one synthesis.

    Parameters
    ----------
    folder
        A folder that is there, private, and removed by whoever made it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = count()  # also of threads at the same time

    def put_away(self, model: ColumnModel) -> ColumnModel:
        """Return a model whose large arrays are mapped from files."""
        with unwritable(self.folder):
            return _rebuilt_model(model, self._mapped)

    def blocks(self, model: Model, rows: int | None = None, copy: int = 0) -> Iterator[Table]:
        """Draw one copy as :meth:`Model.blocks` does, but column by column."""
        n = model.checked_rows(rows)
        columns = model.columns_of(copy)
        starts = range(0, max(n, 1), BLOCK)
        drawn: list[dict[str, Cells]] = [{} for _ in starts]
        before: dict[str, ColumnModel] = {}
        for name, column in columns.items():
            if column.entry.settings.method not in ("drop", GIVEN):
                # Another one, whose cumulated weights and shares go with it.
                once = _rebuilt_model(column, np.asarray)
                self._draw(model, {**before, name: once}, copy, n, drawn)
                _rebuilt_model(column, _let_go)
            before[name] = _passed_over(column)
        for start, block in zip(starts, drawn, strict=True):
            yield model.complete(model._table([block]), copy, start)
            block.clear()

    def _draw(
        self,
        model: Model,
        columns: Mapping[str, ColumnModel],
        copy: int,
        n: int,
        drawn: list[dict[str, Cells]],
    ) -> None:
        """Draw the last column for every block, and keep it."""
        *_, name = columns
        path, at, places = self._new(), 0, []
        with unwritable(self.folder), path.open("wb") as file:
            for number, given in enumerate(drawn):
                start = number * BLOCK
                # Fresh ones, because cells remember what they are to the columns that follow.
                fresh = {other: replace(cells) for other, cells in given.items()}
                cells = model._draw(columns, copy, start, min(n, start + BLOCK), fresh)[name]
                cells = _short(cells, columns[name])
                place = {}
                for part in HELD:
                    array = getattr(cells, part)
                    if array is not None:
                        place[part] = at, array.dtype, len(array)
                        at += file.write(_padded(array))
                given[name] = replace(cells, codes=None, kinds=None, numbers=None)
                places.append(place)
        whole = np.asarray(np.memmap(path, np.uint8, "c")) if at else np.zeros(0, np.uint8)
        for given, place in zip(drawn, places, strict=True):
            found = {
                part: whole[first : first + length * dtype.itemsize].view(dtype)
                for part, (first, dtype, length) in place.items()
            }
            given[name] = replace(given[name], **found)

    def _new(self) -> Path:
        return self.folder / f"store-{next(self.numbers):06}"

    def _mapped(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.nbytes < SMALL or array.dtype == object:
            return array
        path = self._new().with_suffix(".npy")
        write_array(path, array)
        # Kernels are compiled for arrays that may be written to; what they would write is lost.
        return np.asarray(open_array(path, "c"))


def _rebuilt(value: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Return a fitted model, or a part of one, with changed arrays and without what it cached."""
    if isinstance(value, np.ndarray):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        other = object.__new__(type(value))
        for field in fields(value):
            object.__setattr__(other, field.name, _rebuilt(getattr(value, field.name), change))
        return other
    if isinstance(value, dict):
        return {key: _rebuilt(held, change) for key, held in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_rebuilt(held, change) for held in value)
    return value


def _rebuilt_model(
    model: ColumnModel, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> ColumnModel:
    return replace(
        model, kinds=_rebuilt(model.kinds, change), values=_rebuilt(model.values, change)
    )


def _let_go(array: NDArray[Any]) -> NDArray[Any]:
    """Let the system forget the pages of a mapped array; they come back when they are needed."""
    base = array.base
    if isinstance(base, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        base._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
    return array


def _passed_over(column: ColumnModel) -> ColumnModel:
    """Return a column that is not drawn again: its place counts for the seeds of those behind."""
    return ColumnModel(ColumnPlan(Settings("drop"), ()), column.coding)


def _short(cells: Cells, column: ColumnModel) -> Cells:
    """Return the cells in as few bytes as they need."""
    coding, codes, kinds = cells.coding, cells.codes, cells.kinds
    if codes is not None:
        codes = codes.astype(smallest_unsigned(coding.column.n_levels), copy=False)
    if kinds is not None:
        kinds = kinds.astype(smallest_unsigned(coding.n_kinds), copy=False)
    if coding is not column.coding:  # a derived column has a dictionary for every block
        coding = replace(coding, column=coding.column.take(slice(0, 0)))
    return replace(cells, coding=coding, codes=codes, kinds=kinds)


def _padded(array: NDArray[Any]) -> bytes:
    raw = np.ascontiguousarray(array).tobytes()
    return raw + bytes(-len(raw) % ALIGNED)
