"""The fitted synthesiser: draws tables, in memory or in a folder, and says how probable one is."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.seeds import Stream, rng_of
from caveat.showing import Summary, in_short, on_page, without_values
from caveat.synthesis.column_model import (
    ON_A_GRID,
    Cells,
    ColumnModel,
    derive,
    inputs_of,
    without_unknown,
)
from caveat.synthesis.fitting import fit_columns, predictors_of
from caveat.synthesis.margins.plan import Published
from caveat.synthesis.methods import Settings
from caveat.synthesis.options import GIVEN
from caveat.synthesis.plan import ColumnPlan, Plan, methods_of
from caveat.synthesis.replacing import Replaced
from caveat.table import Table
from caveat.table.align import recode_to
from caveat.table.code_files import open_array, write_array
from caveat.table.drafts import unwritable
from caveat.table.table import smallest_unsigned

__all__ = ["BLOCK", "LogProb", "Model", "Store", "recoded", "whole_number", "written"]


BLOCK = 65_536  # rows that are drawn together; part of what a seed means


@dataclass(frozen=True)
class LogProb:
    """Log probabilities of the cells of a table under a model.

    Parameters
    ----------
    columns
        One array per column that has a probability.
    unknown
        The columns that have none, and why.
    """

    columns: Mapping[str, NDArray[np.float64]]
    unknown: Mapping[str, str]

    __repr__ = without_values

    @property
    def rows(self) -> NDArray[np.float64] | None:
        """The log probability of each row; None when a column has none."""
        if self.unknown or not self.columns:
            return None
        return np.asarray(np.sum(list(self.columns.values()), axis=0))

    @property
    def total(self) -> float | None:
        """The log probability of the whole table; None when a column has none."""
        rows = self.rows
        return None if rows is None else float(rows.sum())


@dataclass(frozen=True)
class Model:
    """A fitted synthesiser. It holds values of original records and is as confidential as they are.

    Parameters
    ----------
    plan
        The plan it was fitted by.
    columns
        The fitted models in the order in which they are visited.
    names
        The columns of the output in their order.
    n_rows
        Number of original records.
    seed
        The root of all draws: of a release a secret, of a trial the seed that the user wrote.
    backend
        The kind of frame that came in.
    source
        The original table, kept only for a proper synthesis: each copy has a fit of its own.
    cleared
        The tables that it was made from and that are published with it; none unless the plan
        clears them.
    log_choice
        Log probability of the predictors that were drawn, where the attacker compares worlds.
    replaced
        The columns that are replaced by invented values once the others are drawn.
    """

    plan: Plan
    columns: Mapping[str, ColumnModel]
    names: tuple[str, ...]
    n_rows: int
    seed: int
    backend: str = ""
    source: Table | None = None
    cleared: tuple[Published, ...] = ()
    log_choice: float = 0.0
    replaced: Replaced = field(default_factory=Replaced, repr=False)

    def _summary(self) -> Summary:
        plan, how = self.plan._summary(), methods_of(self.plan.columns)
        title = f"Model: {self.n_rows:,} original records, {len(self.columns)} columns ({how})"
        note = "It holds values of original records: as confidential as they are."
        return plan._replace(title=title, notes=(*plan.notes, note))

    __repr__ = in_short
    _repr_html_ = on_page

    def sample(self, rows: int | None = None, copies: int = 1, threads: int | None = None) -> Any:
        """Draw synthetic copies as frames of the kind that came in.

        Parameters
        ----------
        rows
            Rows of each copy; as many as the original has by default.
        copies
            Number of copies. One gives a frame, several a list of frames.
        threads
            Blocks drawn at the same time; all cores by default. The result does not depend on it.
        """
        drawn = enumerate(self.tables(rows, copies, threads))
        # A level that only the dictionary knows would tell that somebody in the original has it.
        frames = [self.complete(table, copy).compact().to_frame() for copy, table in drawn]
        return frames[0] if copies == 1 else frames

    def complete(self, table: Table, copy: int = 0, first: int = 0) -> Table:
        """Return a drawn copy, or the block of it from a row on, with its invented columns."""
        return self.replaced.complete(table, self.seed, copy, first)

    def tables(
        self, rows: int | None = None, copies: int = 1, threads: int | None = None
    ) -> list[Table]:
        """Draw synthetic copies as tables that share the dictionaries of the original.

        They have no invented columns, which nothing can be measured by; see :meth:`complete`.
        """
        whole_number(copies, "copies", 1)
        n = self.checked_rows(rows)
        starts = range(0, max(n, 1), BLOCK)
        models = [self.columns_of(copy) for copy in range(copies)]
        work = [(copy, start, min(n, start + BLOCK)) for copy in range(copies) for start in starts]
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            blocks = list(pool.map(lambda item: self._draw(models[item[0]], *item), work))
        per_copy = len(starts)
        return [
            self._table(blocks[copy * per_copy : (copy + 1) * per_copy]) for copy in range(copies)
        ]

    def blocks(self, rows: int | None = None, copy: int = 0) -> Iterator[Table]:
        """Draw one copy block by block, for output that does not fit into memory."""
        n = self.checked_rows(rows)
        columns = self.columns_of(copy)
        for start in range(0, max(n, 1), BLOCK):
            yield self.block(columns, copy, start, min(n, start + BLOCK))

    def block(self, columns: Mapping[str, ColumnModel], copy: int, start: int, stop: int) -> Table:
        """Draw one block of a copy from the models of it, see :meth:`columns_of`."""
        drawn = self._table([self._draw(columns, copy, start, stop)])
        return self.complete(drawn, copy, start)

    def draw(
        self, given: Mapping[str, Cells], rows: int, threads: int | None = None
    ) -> dict[str, Cells]:
        """Draw rows whose given columns are known; return all their cells."""
        starts = range(0, max(rows, 1), BLOCK)

        def block(start: int) -> dict[str, Cells]:
            stop = min(rows, start + BLOCK)
            part = {name: cells.take(slice(start, stop)) for name, cells in given.items()}
            return self._draw(self.columns, 0, start, stop, part)

        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            blocks = list(pool.map(block, starts))
        return {name: Cells.stack([part[name] for part in blocks]) for name in blocks[0]}

    def columns_of(self, copy: int) -> Mapping[str, ColumnModel]:
        """Return the models for a copy: the same for all, unless the parameters are drawn too.

        Copied rows come in a random order of their own: the place of a row must not tell whose it
        was. All copied columns share it, so that what belongs together stays together. They are
        sorted by what they hold first, so that who knows the seed cannot undo the shuffling.
        """
        columns = self.columns
        if copy > 0 and self.source is not None:
            threads = os.cpu_count() or 1
            columns = fit_columns(self.source, self.plan, self.seed, threads, copy=copy)
        if not self._copied:
            return columns
        rng = rng_of(self.seed, Stream.SHUFFLE, copy)
        held = {name: self._original(name) for name in self._copied}
        order = np.lexsort(list(held.values()))
        order = order[rng.permutation(self.n_rows)]
        shuffled = {name: replace(columns[name], original=held[name][order]) for name in held}
        return {**columns, **shuffled}

    @property
    def _copied(self) -> list[str]:
        return [n for n, m in self.columns.items() if m.entry.settings.method == "copy"]

    def _original(self, name: str) -> NDArray[Any]:
        return np.asarray(self.columns[name].original)

    def checked_rows(self, rows: int | None) -> int:
        """Return the rows of a copy; refuse a number that copied columns do not have."""
        n = self.n_rows if rows is None else whole_number(rows, "rows", 0)
        copied = self._copied
        if copied and n != self.n_rows:
            raise CaveatError(
                f"a copied column has {self.n_rows:,} rows, not {n:,}",
                column=copied[0],
                do="leave the number of rows out, or do not copy the column",
                code="synthesis.setting.conflict",
            )
        return n

    def _draw(
        self,
        columns: Mapping[str, ColumnModel],
        copy: int,
        start: int,
        stop: int,
        given: Mapping[str, Cells] = MappingProxyType({}),
    ) -> dict[str, Cells]:
        """Walk the visit sequence for one block of rows."""
        n = stop - start
        cells: dict[str, Cells] = dict(given)
        for position, (name, model) in enumerate(columns.items()):
            method = model.entry.settings.method
            if method in ("drop", GIVEN):
                continue
            if model.original is not None:
                kept = model.original
                codes = kept[start:stop] if method == "copy" else np.repeat(kept, n)
                cells[name] = Cells(model.coding, codes=codes)
            elif method == "derived":
                cells[name] = derive(model, cells, n)
            else:
                rng = rng_of(self.seed, Stream.SAMPLE, copy, position, start // BLOCK)
                inputs = inputs_of(cells, predictors_of(self.plan, name), n)
                cells[name] = model.draw(inputs, cells, rng)
        return cells

    def _table(self, blocks: list[dict[str, Cells]]) -> Table:
        columns = {
            name: Cells.stack([block[name] for block in blocks]).column for name in self.names
        }
        return Table(columns, backend=self.backend)

    def log_prob(self, data: Any) -> LogProb:
        """Return the log probability of every cell of a table under this model.

        A value that the model cannot give has probability zero (-inf).
        """
        table = Table.from_frame(data)
        cells = {
            name: recoded(model, table, name)
            for name, model in self.columns.items()
            if name in self.names or model.entry.settings.method == GIVEN
        }
        known, unknown = {}, {}
        for name in self.names:
            model = self.columns[name]
            result = self._log_prob(name, model, cells, table.n_rows)
            if isinstance(result, str):
                unknown[name] = result
            else:
                known[name] = result
        return LogProb(known, unknown)

    def _log_prob(
        self, name: str, model: ColumnModel, cells: Mapping[str, Cells], n: int
    ) -> NDArray[np.float64] | str:
        method = model.entry.settings.method
        if method == "derived":
            return np.zeros(n)
        if model.original is not None:
            if method == "copy":
                return self._log_prob_of_copies(name, cells, n)
            return np.where(cells[name].codes == model.original, 0.0, -np.inf)
        safe = {name: without_unknown(c) for name, c in cells.items()}
        inputs = inputs_of(safe, predictors_of(self.plan, name), n)
        return model.log_prob(inputs, cells[name], safe)

    def _log_prob_of_copies(
        self, name: str, cells: Mapping[str, Cells], n: int
    ) -> NDArray[np.float64] | str:
        """Return how probable copied rows are: drawn from the original without putting back."""
        if n != self.n_rows:
            return "a copied column belongs to a table of the original's length"
        copied = self._copied
        if name != copied[0]:  # the first one stands for all of them
            return np.zeros(n)
        theirs = np.column_stack([np.asarray(cells[k].codes, np.int64) for k in copied])
        ours = np.column_stack([self._original(k).astype(np.int64) for k in copied])
        _, key = np.unique(np.concatenate([ours, theirs]), axis=0, return_inverse=True)
        key = key.reshape(-1)
        left = np.bincount(key[:n], minlength=int(key.max()) + 1)[key[n:]] - _taken(key[n:])
        with np.errstate(divide="ignore"):
            logs: NDArray[np.float64] = np.log(np.maximum(left, 0) / np.arange(n, 0, -1))
        return logs


def _taken(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often each value has stood before, row by row."""
    order = np.argsort(key, kind="stable")
    places = np.arange(len(key))
    first = np.append(True, np.diff(key[order]) != 0)
    taken = np.empty(len(key), np.int64)
    taken[order] = places - np.maximum.accumulate(np.where(first, places, 0))
    return taken


def recoded(model: ColumnModel, table: Table, name: str) -> Cells:
    """Return a column of any table in the codes of the model; unknown values get one code more."""
    free = model.makes_numbers or (model.entry.settings.method == GIVEN and model.coding.is_number)
    if free and table[name].kind.is_number:
        kinds, numbers = model.coding.split(table[name])
        if kinds is None and model.entry.settings.method in ON_A_GRID:
            # A cell without a number is impossible where the model knows no such cells.
            numbers = np.where(table[name].is_missing, np.nan, numbers)
        return Cells(model.coding, kinds=kinds, numbers=numbers)
    codes = recode_to(table[name], model.coding.column)
    return Cells(model.coding, codes=codes)


def written(plan: Plan, table: Table) -> tuple[str, ...]:
    """Return the columns of the output in their order."""
    unwritten = ("drop", GIVEN)
    made = {n for n, entry in plan.columns.items() if entry.settings.method not in unwritten}
    return tuple(name for name in table if name in made)


def whole_number(given: Any, what: str, least: int) -> int:
    """Return a number of rows, groups or copies, or say that it is none."""
    is_whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not is_whole or given < least:
        raise CaveatError(
            f"the number of {what} must be {least} or more"
            if is_whole
            else f"the number of {what} is no whole number",
            where=what,
            do=f"give a whole number, {least} or more",
            code=f"synthesis.setting.{'range' if is_whole else 'type'}",
        )
    return int(given)


# -------------------------------------------------------------------------------------------------
# Large tables: fitted models and drawn columns lie in a working folder, one at a time in memory.
#
# A model of trees can be larger than the table it was fitted on. Its arrays are written as soon
# as a column is ready and mapped from there. A copy is drawn column by column, each for all its
# rows, so that only one model is looked at; every block of rows of every column has a seed of its
# own, so that it is the same copy, byte for byte, as one drawn row by row.


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
