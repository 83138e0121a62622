"""From an original table and a plan to fitted models, columns in parallel."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from caveat.errors import CaveatError, CaveatWarning
from caveat.expressions import Expression
from caveat.seeds import Stream, rng_of
from caveat.showing import without_values
from caveat.synthesis.coding import ORDINARY, Coding, Part
from caveat.synthesis.column_model import Cells, ColumnModel, empty_inputs, inputs_of
from caveat.synthesis.margins.models import Block, cleared_tables, without_records
from caveat.synthesis.margins.plan import MARGINS, Published, published_tables
from caveat.synthesis.margins.tables import cells_of, changed_by, n_cells_of
from caveat.synthesis.methods import METHODS, Fitted, Inputs, Settings, Target
from caveat.synthesis.methods.base import need
from caveat.synthesis.methods.guarded import Guarded, Stratified
from caveat.synthesis.methods.tables import Ipf, fit_block
from caveat.synthesis.options import WITHOUT_MODEL, Fixed, Order
from caveat.synthesis.plan import ColumnPlan, Plan
from caveat.table import Column, Kind, Table
from caveat.table.table import count_codes, decimals_of, survey_weights
from caveat.tree import Predictors

__all__ = ["ColumnFits", "changes_cleared", "cleared_by", "fit_columns", "one_thread_each"]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let linear algebra use one thread, as long as anybody is inside."""
    with _INSIDE.lock:
        if not _INSIDE.number:
            _INSIDE.limit = _linear_algebra().limit(limits=1)
        _INSIDE.number += 1
    try:
        yield
    finally:
        with _INSIDE.lock:
            _INSIDE.number -= 1
            if not _INSIDE.number:
                _INSIDE.limit.restore_original_limits()


class _Inside:
    """Who fits columns in this process: several may do so at the same time."""

    lock = threading.Lock()
    number = 0
    limit: Any = None


_INSIDE = _Inside()


@cache
def _linear_algebra() -> ThreadpoolController:
    return ThreadpoolController()


# -------------------------------------------------------------------------------------------------
# From an original table and a plan to fitted models, columns in parallel.


UNSHARED = ("guarded", MARGINS, *WITHOUT_MODEL)  # methods that take no codes of the tree engine


def fit_columns(
    table: Table,
    plan: Plan,
    seed: int,
    threads: int,
    done: Callable[[str, ColumnModel], ColumnModel | None] | None = None,
    finished: Mapping[str, ColumnModel] = MappingProxyType({}),
    copy: int = 0,
    structures: Mapping[str, ColumnModel] = MappingProxyType({}),
    published: bool = False,
) -> dict[str, ColumnModel]:
    """Fit the model of every column on the original columns before it.

    Parameters
    ----------
    table
        The original table.
    plan
        The checked plan.
    seed
        The root seed; each column has a child of its own.
    threads
        Number of columns fitted at the same time. It does not change the models.
    done
        Called with each model that is ready; it may return one that is held in its place.
    finished
        Models that exist already.
    copy
        The copy that the models are for; it matters only to a proper synthesis.
    structures
        Models whose drawn structure is kept and counted on this table, instead of a new draw.
    published
        Whether a model made from cleared tables is to know no value that they do not publish.
    """
    task = ColumnFits.of(table, plan, seed, copy, structures, published)
    finished = {name: model for name, model in finished.items() if task.accepts(name, model)}
    waiting = [name for name in plan.columns if name not in finished]

    def fit(name: str) -> ColumnModel:
        model = task.fit(name)
        held = None if done is None else done(name, model)
        return model if held is None else held

    # Columns are fitted side by side; linear algebra with threads of its own would be in the way.
    with one_thread_each(), ThreadPoolExecutor(max(1, threads)) as pool:
        # The last columns have most predictors: they come first, so that no thread waits long.
        futures = {name: pool.submit(fit, name) for name in reversed(waiting)}
        try:
            fitted = {name: futures[name].result() for name in waiting}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {name: finished.get(name) or fitted[name] for name in plan.columns}


@dataclass(frozen=True)
class ColumnFits:
    """Everything that the fits of the columns share."""

    table: Table
    plan: Plan
    seed: int
    copy: int
    weights: NDArray[np.float64] | None
    cells: Mapping[str, Cells]
    shared: Predictors | None
    positions: Mapping[str, list[int]]
    joint: ColumnFits | None = None
    block: Block | None = None
    structures: Mapping[str, ColumnModel] = field(default_factory=dict)

    __repr__ = without_values

    @classmethod
    def of(
        cls,
        table: Table,
        plan: Plan,
        seed: int,
        copy: int = 0,
        structures: Mapping[str, ColumnModel] = MappingProxyType({}),
        published: bool = False,
    ) -> ColumnFits:
        """Prepare the fits; the parameters are those of :func:`fit_columns`."""
        task = replace(cls._of_records(table, plan, seed, copy), structures=structures)
        return replace(task, joint=_joint(task), block=_block(task, published))

    @classmethod
    def _of_records(cls, table: Table, plan: Plan, seed: int, copy: int) -> ColumnFits:
        cells = {
            name: Cells(
                Coding.of(table[name], entry.special, name, entry.grid), codes=table[name].codes
            )
            for name, entry in plan.columns.items()
        }
        # Guarded trees have codes of their own: those that are public.
        sharing = [e for e in plan.columns.values() if e.settings.method not in UNSHARED]
        used = {name for entry in sharing for name in entry.predictors}
        used |= {plan.strata} if plan.strata and used else set()
        parts: list[Part] = []
        positions = {}
        for name in (n for n in plan.columns if n in used):
            positions[name] = [len(parts) + i for i in range(len(cells[name].parts))]
            parts += cells[name].parts
        shared = None
        if parts:
            shared = Predictors(
                [p.codes for p in parts], [p.n_levels for p in parts], [p.ordered for p in parts]
            )
        return cls(table, plan, seed, copy, weights_of(plan, table), cells, shared, positions)

    def inputs(self, names: Sequence[str]) -> Inputs:
        """Return the original columns as predictors, without a copy for the tree engine."""
        inputs = inputs_of(self.cells, names, self.table.n_rows)
        if not names or any(name not in self.positions for name in names):
            return inputs
        assert self.shared is not None
        whole = [self.positions[n] for n in names if len(self.positions[n]) == 1]
        split = [self.positions[n] for n in names if len(self.positions[n]) == 2]
        chosen = [place for places in whole + split for place in places]
        return replace(inputs, shared=self.shared.select(chosen))

    def accepts(self, name: str, model: ColumnModel) -> bool:
        """Say whether a model that comes from a file can stand for the fit of a column."""
        if self.plan.columns[name].settings.method == MARGINS:
            return False  # what other columns are changes the tables; looking them up is quick
        codings = {n: cells.coding for n, cells in self.cells.items()}
        try:
            need(model.coding.column.has_same_levels(self.table[name]), "another dictionary")
            model.check(empty_inputs(codings, predictors_of(self.plan, name)), self.table.n_rows)
        except ValueError:
            note = "what an interrupted run kept of it is damaged: it is fitted again"
            warnings.warn(f"{name}: {note}", CaveatWarning, stacklevel=2)
            return False
        return True

    def fit(self, name: str) -> ColumnModel:
        """Fit one column; what is wrong with it is said with its name."""
        try:
            return self._model(name)
        except CaveatError as error:
            if error.place:
                raise
            raise error.replaced(where="synthesis", column=name) from error

    def _model(self, name: str) -> ColumnModel:
        entry, column, coding = self.plan.columns[name], self.table[name], self.cells[name].coding
        if entry.settings.method in WITHOUT_MODEL:
            kept, decimals = _kept(entry, column), decimals_of(column)
            if self.block is not None and self.block.is_published:
                coding = without_records(coding)
            return ColumnModel(entry, coding, original=kept, decimals=decimals)
        if self.block is not None and entry.settings.method == MARGINS:
            _, fixed, lower = self._rules(name)
            return replace(self.block.model(name, entry), fixed=fixed, lower=lower)
        if self.joint is not None and entry.settings.method == "ipf":
            return self._from_joint(self.joint._model(name), name)
        names = predictors_of(self.plan, name)
        inputs = self.inputs(names)
        rng = rng_of(self.seed, Stream.FIT, self.copy, list(self.plan.columns).index(name))
        taking_part, fixed, lower = self._rules(name)
        kinds = None
        if coding.two_step:
            target = Target(
                coding.kind_of[column.codes], coding.n_kinds, rows=taking_part, weights=self.weights
            )
            settings = replace(entry.settings, smoothing="")
            kinds = self._fit(name, inputs, target, settings, rng, kind=True)
        target = self._value_target(column, coding, taking_part)
        values = None
        # Whether anybody takes part must not decide how a guarded column is made.
        if target.rows is None or len(target.rows) or entry.settings.method == "guarded":
            values = self._fit(name, inputs, target, entry.settings, rng)
        counts = _counts(target)
        return ColumnModel(
            entry, coding, kinds, values, fixed, lower, decimals=target.decimals, counts=counts
        )

    def _from_joint(self, model: ColumnModel, name: str) -> ColumnModel:
        """Add to the model of a column of a block what only the records know."""
        _, fixed, lower = self._rules(name)
        target = self._value_target(self.table[name], self.cells[name].coding, None)
        counts = _counts(target)
        return replace(model, fixed=fixed, lower=lower, counts=counts)

    def _value_target(
        self, column: Column, coding: Coding, taking_part: NDArray[np.int64] | None
    ) -> Target:
        if not coding.is_number:
            part = coding.parts(column.codes)[0]
            ordered = column.kind is Kind.ORDERED
            return Target(part.codes, part.n_levels, None, ordered, taking_part, self.weights)
        rows = taking_part
        if coding.two_step:
            ordinary = (coding.kind_of == ORDINARY)[column.codes]
            rows = np.flatnonzero(ordinary) if rows is None else rows[ordinary[rows]]
        codes = coding.value_of[column.codes]
        decimals = decimals_of(column)
        return Target(
            codes, len(coding.numbers), coding.numbers, True, rows, self.weights, decimals,
            coding.grid,
        )  # fmt: skip

    def _fit(
        self,
        name: str,
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
        kind: bool = False,
    ) -> Fitted:
        if self.weights is not None and (self.weights == 0).any():
            rows = _all(target)
            positive = np.where(self.weights > 0, self.weights, 1.0)
            target = replace(target, rows=rows[self.weights[rows] > 0], weights=positive)
        if settings.method == "ipf":
            return Ipf.of_cells(inputs, target)
        given = self.structures.get(name)
        if settings.method == "guarded" and given is not None:
            drawn = cast("Guarded | Stratified", given.kinds if kind else given.values)
            return drawn.counted_on(inputs, target)
        method = METHODS[kind_method(settings.method) if kind else settings.method]
        if self.plan.strata and len(inputs.parts):
            return Stratified.fit(method, inputs, target, settings, rng)
        return method.fit(inputs, target, settings, rng)

    def _rules(
        self, name: str
    ) -> tuple[NDArray[np.int64] | None, tuple[Any, ...], tuple[str, ...]]:
        """Return the rows that take part in the fit, the fixed codes and the lower bounds."""
        fixed, lower = rules_of(self.plan, name, self.table[name])
        free = np.ones(self.table.n_rows, dtype=bool)
        for condition, _ in fixed:
            free &= ~condition.holds(self.table.columns)
        for other in lower:
            free &= ~Order(other, name).broken(self.table)
        # Where every original record is covered by a rule, what a synthetic one outside it gets
        # can only come from all of them.
        # Guarded trees need nobody: they fall back on even shares.
        guarded = self.plan.columns[name].settings.method == "guarded"
        everybody = free.all() or not (free.any() or guarded)
        return (None if everybody else np.flatnonzero(free)), fixed, lower


def _block(task: ColumnFits, published: bool) -> Block | None:
    """Return what columns with the method margins are drawn from."""
    if task.plan.margins is None:
        return None
    names = [n for n, e in task.plan.columns.items() if e.settings.method == MARGINS]
    codings = {name: task.cells[name].coding for name in names}
    block = Block.counted(task.table, codings, task.plan.margins, task.weights)
    return block.published() if published and task.plan.margins.clearing is not None else block


def cleared_by(table: Table, plan: Plan) -> tuple[Published, ...]:
    """Return the tables that a release is made from, if the plan clears them."""
    if plan.margins is None or plan.margins.clearing is None:
        return ()
    table = plan.pooled(table)
    codings = _margin_codings(table, plan)
    tables = cleared_tables(table, codings, plan.margins, weights_of(plan, table))
    return published_tables(tables, codings, plan.margins)


def _margin_codings(table: Table, plan: Plan) -> dict[str, Coding]:
    entries = {n: e for n, e in plan.columns.items() if e.settings.method == MARGINS}
    return {n: Coding.of(table[n], e.special, n, e.grid) for n, e in entries.items()}


def changes_cleared(table: Table, plan: Plan) -> NDArray[np.bool_]:
    """Return for each record whether a cleared table of the plan would be another without it."""
    assert plan.margins is not None
    assert plan.margins.clearing is not None
    table = plan.pooled(table)
    codings = _margin_codings(table, plan)
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    cells, weights = cells_of(codings, table), weights_of(plan, table)
    return changed_by(cells, sizes, plan.margins.margins, plan.margins.clearing, weights)


def _joint(task: ColumnFits) -> ColumnFits | None:
    """Return the task of a block fitted by ipf: its cells, weighted by their probability."""
    block = {n: e for n, e in task.plan.columns.items() if e.settings.method == "ipf"}
    if not block:
        return None
    margins = list(dict.fromkeys(m for e in block.values() for m in e.settings.margins))
    columns = [task.table[name] for name in block]
    cells, shares = fit_block(
        [column.codes for column in columns],
        [column.n_levels for column in columns],
        list(block),
        margins,
        task.weights,
    )
    table = Table(
        {n: c.with_codes(codes) for n, c, codes in zip(block, columns, cells, strict=True)}
    )
    return replace(ColumnFits._of_records(table, Plan(block), task.seed, task.copy), weights=shares)


def _counts(target: Target) -> NDArray[np.int64]:
    """Return how often each code occurs among the rows that take part."""
    codes = target.codes if target.rows is None else target.codes[target.rows]
    return count_codes(codes, target.n_levels)


def _all(target: Target) -> NDArray[np.int64]:
    return np.arange(len(target.codes)) if target.rows is None else target.rows


def weights_of(plan: Plan, table: Table) -> NDArray[np.float64] | None:
    """Return the weight of each record in units of the plan; None when every one counts once."""
    if not plan.weights:
        return None
    return survey_weights(table[plan.weights], plan.weights) / plan.weight_unit


def predictors_of(plan: Plan, name: str) -> tuple[str, ...]:
    """Return the predictors of a column; with strata the stratum is the last one."""
    names = plan.columns[name].predictors
    if not plan.strata or name == plan.strata:
        return names
    return (*(n for n in names if n != plan.strata), plan.strata)


def rules_of(
    plan: Plan, name: str, column: Column
) -> tuple[tuple[tuple[Expression, int | str], ...], tuple[str, ...]]:
    """Return the conditions that fix a column, and the columns it must not fall below.

    It is fixed to a code, or to the value of a column.
    """
    if plan.columns[name].settings.method in WITHOUT_MODEL:
        return (), ()
    fixed = [r for r in plan.rules if isinstance(r, Fixed) and r.target == name]
    lower = [r.lower for r in plan.rules if isinstance(r, Order) and r.upper == name]
    wanted = tuple((rule.condition, rule.other or rule.code(column)) for rule in fixed)
    return wanted, tuple(lower)


def kind_method(method: str) -> str:
    """Return the method for the kinds of a two-step column: one for classes."""
    return {"normal": "multinomial", "normrank": "multinomial"}.get(method, method)


def _kept(entry: ColumnPlan, column: Column) -> NDArray[Any] | None:
    if entry.settings.method == "copy":
        return column.codes
    return column.codes[:1] if entry.settings.method == "constant" else None
