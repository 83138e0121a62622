"""The synthesiser as a user meets it: fitted and drawn here, or on workers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

import numpy as np

from caveat.cluster import Workers, running_on, workers_now, workers_of
from caveat.cluster.workers import Kept, shared_folder
from caveat.errors import CaveatError, CaveatWarning
from caveat.privacy import Budget
from caveat.seeds import ReleaseKey, is_guessable, random_root
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import ColumnFits, cleared_by, fit_columns, one_thread_each
from caveat.synthesis.linked.model import GroupPlan, fit_groups, fit_linked, plan_groups
from caveat.synthesis.linked.plan import LinkedPlan, make_linked_plan
from caveat.synthesis.margins.guaranteed import fit_private, plan_private
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.model import BLOCK, Model, written
from caveat.synthesis.options import one_stratum
from caveat.synthesis.plan import Plan, make_plan
from caveat.synthesis.replacing import remarks_on, replaced_in, replaced_in_linked
from caveat.synthesis.seen import has_guard
from caveat.synthesis.store import load, load_columns, load_plan, save, save_column, save_plan
from caveat.table import Table
from caveat.table.calibration import calibrated
from caveat.table.code_files import CodeFiles, open_code_files, write_code_files
from caveat.table.drafts import unwritable
from caveat.table.frames import in_parts, part_name, table_of, workplace, write_part
from caveat.table.grouping import Groups
from caveat.table.linked import Linked

__all__ = ["Synthesizer", "blocks_of", "blocks_on", "fit_on", "in_memory"]


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


# -------------------------------------------------------------------------------------------------
# The synthesiser as a user meets it.


FEW_ROWS = 50  # below, a synthetic table hides hardly anybody


class Synthesizer:
    """Makes synthetic copies of a table, column by column.

    Parameters
    ----------
    seed
        Names one of the releases of a key. Without a key it makes a trial, which can be repeated
        anywhere and must not be released; without either, the draws cannot be guessed and only the
        model can repeat them.
    key
        The file of the release's secret key; it is created if there is none. The same data,
        settings, key and seed give the same bytes.
    threads
        Columns fitted at the same time; all cores by default. The result does not depend on it.
    anyway
        Whether a table is synthesised that is too small to hide anybody.
    order, keep, drop
        The visit sequence (columns that are not named follow as they stand); columns that stay
        although they seem to name people; columns that are left out.
    method
        "guarded" trees by default; "cart" is synthpop's. See ``docs/methods.md`` for the others.
    columns
        Settings of single columns: ``{"income": {"method": "normrank"}}``.
    predictors
        What columns are drawn from: "all" earlier ones, "auto" (the strongest ones, chosen), how
        many, or a mapping of columns to lists.
    special, derived, rules
        Values that are modelled apart; columns that are computed; what must hold in the output.
    strata, weights
        The column within whose levels all others are modelled apart; the column of
        survey weights.
    groups
        The column that says which rows belong together: whole households are made then, with
        fresh keys. See :func:`caveat.synthesis.linked.model.plan_groups`.
    guard, temperature, smallest, backoff, floor, depth
        How strongly guarded trees hide single records ("light", "standard", "strong"), and the
        numbers behind it; see :class:`caveat.tree.guarded.Guard`.
    minbucket, minsplit, cp, prune, max_depth, smoothing, proper, trees
        Settings of plain trees and forests; see :class:`caveat.synthesis.methods.Settings`.
    within, margins, pseudo_count, formula, clearing
        Settings of single methods: nested, ipf and margins, saturated, models with a formula.
    rare_below
        Levels that nobody declared and that fewer units have are pooled or left out; 5 by default,
        1 for none.
    replace
        Columns that invented values take the place of: "id" (fresh ids), "name" (invented names) or
        "code" (codes of the same form). No value of theirs is used.
    epsilon, delta, poisson, budget
        Ask for a guarantee (method "margins", every column declared); the budget says where it is
        written down, see :class:`caveat.privacy.Budget`.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> model = Synthesizer(seed=1).fit(buyer_beware())
    >>> model.sample(rows=5)["var1"].shape
    (5,)
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        key: str | Path | None = None,
        threads: int | None = None,
        anyway: bool = False,
        order: Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        method: str | None = None,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        predictors: str | int | Mapping[str, Sequence[str]] | None = None,
        special: Mapping[str, Sequence[Any]] | None = None,
        derived: Mapping[str, Any] | None = None,
        rules: Sequence[str] | None = None,
        strata: str | Sequence[str] | None = None,
        weights: str | None = None,
        groups: Any = None,
        guard: str | None = None,
        temperature: float | None = None,
        smallest: float | None = None,
        backoff: float | None = None,
        floor: float | None = None,
        depth: int | None = None,
        minbucket: int | None = None,
        minsplit: int | None = None,
        cp: float | None = None,
        prune: bool | None = None,
        max_depth: int | None = None,
        smoothing: str | None = None,
        proper: bool | None = None,
        trees: int | None = None,
        within: str | None = None,
        margins: Sequence[Sequence[str]] | None = None,
        pseudo_count: float | None = None,
        formula: str | None = None,
        clearing: Mapping[str, Any] | None = None,
        rare_below: int | None = None,
        replace: Mapping[str, str] | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        poisson: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if value is not None}
        for name in ("self", "seed", "key", "threads", "anyway"):
            given.pop(name, None)
        if key is not None:
            seed = ReleaseKey.at(Path(key)).root(0 if seed is None else seed)
        self._take(given, seed, threads, anyway)

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        *,
        seed: int | None = None,
        threads: int | None = None,
        anyway: bool = False,
    ) -> Synthesizer:
        """Return the synthesiser for the options of a specification."""
        made = cls.__new__(cls)
        made._take(dict(options), seed, threads, anyway)
        return made

    def _take(
        self, options: dict[str, Any], seed: int | None, threads: int | None, anyway: bool
    ) -> None:
        self.seed, self.threads, self.anyway = seed, threads, anyway
        if "strata" in options:
            options["strata"] = one_stratum(options["strata"])
        if options.get("replace") and is_private(options):
            raise CaveatError(
                "invented values take their form from the data, and no guarantee covers it",
                where="synthesis, replace",
                do="leave replace out",
                entry=("replace",),
                code="synthesis.setting.conflict",
            )
        self.groups = options.pop("groups", None)
        self.budget = options.pop("budget", None)
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise CaveatError(
                "a budget names its ledger and the data",
                where="budget",
                do='write Budget("ledger.jsonl", "survey") (caveat.privacy)',
                code="synthesis.setting.type",
            )
        self.options = options

    def __repr__(self) -> str:
        seed = "draws that cannot be guessed"
        if self.seed is not None and is_guessable(self.seed):
            seed = f"trial with seed {self.seed}"
        return f"<Synthesizer: {', '.join([seed, *self.options])}>"

    def plan(self, data: Any) -> Any:
        """Return the plan for a table, or for linked ones, without carrying it out."""
        data = self._prepared(data)
        plan = self._plan(data, self.seed)
        if self._replaced:  # what cannot be replaced is an error now
            self._with_replaced(None, data, plan)
        return replace(plan, structure_seed=self.seed)

    @property
    def _replaced(self) -> dict[str, str]:
        """The columns that invented values take the place of."""
        return dict(self.options.get("replace") or {})

    def _plan(self, data: Table | Linked, seed: int | None) -> Plan | LinkedPlan:
        plan = self._plan_of_drawn(data, seed)
        said = remarks_on(self._replaced)
        return replace(plan, remarks=(*said, *plan.remarks)) if said else plan

    def _plan_of_drawn(self, data: Table | Linked, seed: int | None) -> Plan | LinkedPlan:
        if is_private(self.options) and (isinstance(data, Linked) or self.groups is not None):
            raise CaveatError(
                "a guarantee is for single records of one table: a group of them needs more noise",
                where="synthesis",
                do="leave epsilon and poisson out, or [groups] and [tables]",
                code="synthesis.setting.conflict",
            )
        if isinstance(data, Linked):
            if self.groups is not None:
                raise CaveatError(
                    "linked tables have groups already",
                    where="groups",
                    do="leave groups out",
                    code="synthesis.setting.conflict",
                )
            return make_linked_plan(data, self.options)
        if self.groups is not None:
            return plan_groups(data, self.groups, self.options)
        if is_private(self.options):
            return plan_private(data.names, self.options)[1]
        return make_plan(data, self.options, seed)

    def _prepared(self, data: Any) -> Table | Linked:
        """Return the tables; weights of groups are calibrated if margins are known."""
        if isinstance(data, Linked):
            return data
        table = table_of(data)
        groups = None if self.groups is None else Groups.of(self.groups)
        if groups is None or not groups.margins:
            return table
        weights = self.options.get("weights", "")
        if not weights:
            raise CaveatError(
                "margins are for weights, and none are named",
                where="groups, margins",
                do='write weights = "…" in [synthesis]',
                code="synthesis.weights.absent",
            )
        margins = [Table.from_frame(margin) for margin in groups.margins]
        return calibrated(table, groups.key, weights, margins)

    def fit(
        self,
        data: Any,
        *,
        done: Callable[[str, ColumnModel], Any] | None = None,
        finished: Mapping[str, ColumnModel] | None = None,
        cluster: Any = None,
        work: str | Path | None = None,
    ) -> Any:
        """Fit the models of all columns on the original data.

        Parameters
        ----------
        data
            A frame or a table, a Dask frame, the name of a folder of Parquet files, or linked
            tables; with workers, parts are read into the working folder and not into memory. The
            model is a :class:`~caveat.synthesis.Model`, with groups a
            :class:`~caveat.synthesis.linked.GroupModel`, of linked tables a
            :class:`~caveat.synthesis.linked.LinkedModel`.
        done
            Called with the name and the model of each column that is ready; of a single table it
            may return a model that is held in its place.
        finished
            Models of columns that were fitted before, by the same plan on the same data.
        cluster
            Who fits the columns: a Dask client, the address of a scheduler, ``"local:4"`` for four
            processes, or workers (:mod:`caveat.cluster`). The result does not depend on it.
        work
            The folder for working files, which all workers must see; a temporary one by default.
        """
        if cluster is None:
            return self._fit(data, done, finished)
        with (
            workers_of(cluster, work) as workers,
            running_on(workers),
            self._kept(data, workers) as table,
        ):
            model = self._fit(table, done, finished)
            if table is not data and model.source is not None:  # its files are about to go
                model = replace(model, source=in_memory(model.source))
            return model

    @contextmanager
    def _kept(self, data: Any, workers: Workers | None) -> Iterator[Any]:
        """Give data that come in parts as a table of code files: they need not fit into memory."""
        alone = self.groups is None and not is_private(self.options)
        if workers is None or not alone or not in_parts(data):
            yield data
            return
        with workplace(workers.place) as folder:
            yield table_of(data, CodeFiles(folder))

    def _fit(
        self,
        data: Any,
        done: Callable[[str, ColumnModel], None] | None,
        finished: Mapping[str, ColumnModel] | None,
    ) -> Any:
        data = self._prepared(data)
        table = _longest(data) if isinstance(data, Linked) else data
        if table.n_rows == 0:
            raise CaveatError(
                "the table has no rows",
                do="give a table with at least one record",
                code="data.table.empty",
            )
        seed = random_root() if self.seed is None else self.seed
        threads = self.threads or os.cpu_count() or 1
        if is_private(self.options) and isinstance(data, Table) and self.groups is None:
            return fit_private(data, self.options, seed, threads, self.budget, done)
        plan = self._plan(data, seed)
        for remark in (*_too_small(table, plan, self.anyway), *plan.remarks):
            warnings.warn(remark, CaveatWarning, stacklevel=3)
        if isinstance(plan, GroupPlan):
            groups = fit_groups(table, plan, seed, threads, done)
            return self._with_replaced(groups, table, plan)
        if isinstance(plan, LinkedPlan):
            linked = fit_linked(data, plan, seed, threads, done)
            return self._with_replaced(linked, data, plan)
        plan = replace(plan, structure_seed=seed)
        table = plan.pooled(table)
        cleared = cleared_by(table, plan)
        workers = workers_now()
        if workers is None:
            models = fit_columns(table, plan, seed, threads, done, finished or {}, published=True)
        else:
            models = fit_on(workers, table, plan, seed, done, finished)
        proper = any(entry.settings.proper for entry in plan.columns.values())
        names = written(plan, table)
        model = Model(
            plan,
            models,
            names,
            table.n_rows,
            seed,
            table.backend,
            table if proper else None,
            cleared,
        )
        return self._with_replaced(model, data, plan)

    def _with_replaced(self, model: Any, data: Table | Linked, plan: Plan | LinkedPlan) -> Any:
        """Return a fitted model that knows which columns are replaced by invented values."""
        if not self._replaced:
            return model
        found: Any
        if isinstance(data, Linked):
            found = replaced_in_linked(data, self._replaced)
        else:
            groups = plan.groups if isinstance(plan, GroupPlan) else None
            drawn = [n for n, e in plan.columns.items() if e.settings.method != "drop"]
            drawn += [] if groups is None else [groups.key]
            shared = () if groups is None else groups.constant or ()
            found = replaced_in(data, self._replaced, drawn, shared)
        return None if model is None else replace(model, replaced=found)


def _longest(linked: Linked) -> Table:
    """Return the longest of the tables that are drawn."""
    return max((linked.tables[name] for name in linked.sequence), key=lambda table: table.n_rows)


def _too_small(table: Table, plan: Plan | LinkedPlan, anyway: bool) -> Iterator[str]:
    """Refuse a table whose columns no tree can split; say so if it is hardly larger."""
    drawn = [e.settings for e in plan.columns.values() if e.settings.method != "drop"]
    least = 2 * min((settings.minbucket for settings in drawn), default=1)
    if table.n_rows < least and not anyway:
        what, do = f"fewer than two leaves of a tree ({least})", "lower minbucket, or "
        if has_guard(plan.columns):
            what, do = f"fewer than {least}: nothing hides so few people", "or "
        raise CaveatError(
            f"the table has {table.n_rows:,} rows, {what}",
            do=f"collect more, {do}use --anyway (anyway=True)",
            code="data.record.too-few",
        )
    if table.n_rows < FEW_ROWS:
        yield (
            f"the table has {table.n_rows:,} rows: in so small a table nearly every record can be "
            "recognised, synthetic or not"
        )
