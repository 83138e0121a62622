"""Fitting and drawing on workers: one task a column, then one task a block of rows.

The table and the plan go into files that all workers see, and the models and the rows come back
through files. Columns are fitted independently, and a block has a seed of its own: models and
release are the same, byte for byte, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

import numpy as np

from caveat.cluster import Workers, workers_now
from caveat.cluster.sharing import Kept, shared_folder
from caveat.errors import CaveatError
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import ColumnFits
from caveat.synthesis.model import BLOCK, Model
from caveat.synthesis.one_thread import one_thread_each
from caveat.synthesis.plan import Plan
from caveat.synthesis.store import load, load_columns, load_plan, save, save_column, save_plan
from caveat.table import Table
from caveat.table.code_files import open_code_files, write_code_files
from caveat.table.drafts import unwritable
from caveat.table.frames import part_name, write_part

__all__ = ["blocks_of", "blocks_on", "fit_on", "in_memory"]

CODES, PLAN, MODEL = "codes", "plan.caveat", "model.caveat"
KEY = "spread"  # of the columns in a folder that holds those of one fit alone

Done = Callable[[str, ColumnModel], Any]


def fit_on(
    workers: Workers,
    table: Table,
    plan: Plan,
    seed: int,
    done: Done | None = None,
    finished: Mapping[str, ColumnModel] | None = None,
) -> dict[str, ColumnModel]:
    """Fit the models of all columns on workers, as :func:`fit_columns` does on threads.

    Parameters
    ----------
    workers
        Who does it.
    table, plan, seed, done
        As for :func:`caveat.synthesis.fitting.fit_columns`.
    finished
        Models that exist already.
    """
    names = list(plan.columns)
    models = dict(finished or {})
    with shared_folder(workers, forget_fits) as folder:
        (folder / CODES).mkdir()
        write_code_files(table, folder / CODES)
        save_plan(folder / PLAN, plan, seed)
        # The last columns have most predictors: they come first, so that no worker waits long.
        waiting = [n for n, name in reversed(list(enumerate(names))) if name not in models]
        for number in workers.map(fit_one, [(str(folder), number) for number in waiting]):
            name = names[number]
            model = _fetched(folder / f"{number:05}", plan, name)
            held = None if done is None else done(name, model)
            models[name] = model if held is None else held
    return {name: models[name] for name in names}


def _fetched(place: Path, plan: Plan, name: str) -> ColumnModel:
    found = load_columns(place, KEY, plan)
    if name not in found:
        raise CaveatError(
            "what a worker has written cannot be read here",
            where=str(place.parent.parent),
            column=name,
            do="check that all machines see the same folder",
            code="cluster.file.unreadable",
        )
    rmtree(place, ignore_errors=True)
    return found[name]


def _fits(folder: str) -> tuple[Plan, ColumnFits]:
    plan, seed = load_plan(Path(folder) / PLAN)
    table = open_code_files(Path(folder) / CODES)
    return plan, ColumnFits.of(table, plan, seed, published=True)


_FITS = Kept(_fits)


def fit_one(item: tuple[str, int]) -> int:
    """Fit one column: the task of a worker."""
    folder, number = item
    plan, fits = _FITS.of(folder)
    name = list(plan.columns)[number]
    with one_thread_each():
        model = fits.fit(name)
    place = Path(folder) / f"{number:05}"
    with unwritable(place):
        place.mkdir(exist_ok=True)  # another worker may have begun, and been lost
    save_column(place, KEY, name, model, packed=False)
    return number


def forget_fits(folder: str) -> None:
    """Let a worker forget what it has fitted columns with."""
    _FITS.forget(folder)


def blocks_of(
    model: Model, rows: int | None = None, copy: int = 0, parts: Path | None = None
) -> Iterator[Table]:
    """Draw one copy block by block, on workers if work is to run there."""
    workers = workers_now()
    if workers is None:
        return model.blocks(rows, copy)
    return blocks_on(workers, model, rows, copy, parts)


def blocks_on(
    workers: Workers,
    model: Model,
    rows: int | None = None,
    copy: int = 0,
    parts: Path | None = None,
) -> Iterator[Table]:
    """Draw one copy block by block on workers, as :meth:`Model.blocks` does here.

    Parameters
    ----------
    workers
        Who does it.
    model, rows, copy
        As for :meth:`Model.blocks`.
    parts
        A folder into which each worker writes its blocks as parts of the table.
    """
    n = model.checked_rows(rows)
    if parts is not None:
        workers.check(parts)
    with shared_folder(workers, forget_model) as folder:
        save(model, folder / MODEL, packed=False)
        starts = range(0, max(n, 1), BLOCK)
        there = "" if parts is None else str(parts)
        items = [(str(folder), n, copy, start, there) for start in starts]
        for start in workers.map(draw_one, items):
            place = folder / f"{start}"
            block = in_memory(open_code_files(place))
            rmtree(place, ignore_errors=True)
            yield block


def in_memory(table: Table) -> Table:
    """Return a table that needs no file any more: not every system removes what is mapped."""
    columns = table.columns.items()
    return table.with_columns({n: c.with_codes(np.array(c.codes)) for n, c in columns})


def _model(folder: str) -> dict[int, Any]:
    return {-1: load(Path(folder) / MODEL)}


_MODEL = Kept(_model)


def draw_one(item: tuple[str, int, int, int, str]) -> int:
    """Draw one block of rows: the task of a worker."""
    folder, rows, copy, start, parts = item
    kept = _MODEL.of(folder)
    with _MODEL.lock:
        if copy not in kept:  # copies of a proper synthesis have models of their own
            kept[copy] = kept[-1].columns_of(copy)
    table = kept[-1].block(kept[copy], copy, start, min(rows, start + BLOCK))
    if parts:
        write_part(table, Path(parts) / part_name(start // BLOCK))
    place = Path(folder) / f"{start}"
    made = place.with_name(f"{start}-{token_hex(6)}")
    with unwritable(made):
        made.mkdir()
    write_code_files(table, made)
    # A worker that was taken for lost may have been before us, with the same rows.
    with suppress(OSError):
        made.rename(place)
    return start


def forget_model(folder: str) -> None:
    """Let a worker forget the model that it has drawn from."""
    _MODEL.forget(folder)
