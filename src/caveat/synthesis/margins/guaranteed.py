"""A private release: planned from the declaration alone, measured once, and told to a reader."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.errors import CaveatError, CaveatWarning
from caveat.privacy import Budget, Limit, Spent, rho_of
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.margins.plan import (
    MARGINS,
    Published,
    components,
    counted_table,
    is_tree,
    maximal,
    words_of,
    write_tables,
)
from caveat.synthesis.margins.promise import (
    DECLARED,
    NOT_COUNTED,
    OPTIONS,
    Ints,
    Measured,
    Promise,
    cells_in,
    declared_table,
    measure,
    measure_poisson,
    outside,
)
from caveat.synthesis.margins.tables import check_size, n_cells_of
from caveat.synthesis.model import Model, written
from caveat.synthesis.options import parse_rule, visit_order
from caveat.synthesis.plan import Plan, make_plan
from caveat.table import Column, Kind, Table
from caveat.table.identifying import Output

__all__ = [
    "NoisyTable",
    "declared_codings",
    "fit_private",
    "measured_by",
    "noisy_tables",
    "plan_private",
    "source_of",
    "write_source",
]


UNUSABLE = {
    "weights": "a weight can be of any size, so that no noise hides it",
    "strata": "tables know no strata",
    "clearing": "cleared tables promise nothing, and noise needs no clearing",
}


def _spending(budget: Budget, promise: Promise) -> AbstractContextManager[None]:
    """Return the block in which the noise of a promise is drawn."""
    cost = Spent(rho=rho_of(promise.epsilon, promise.delta), what="noisy margins")
    if promise.alpha:
        cost = Spent(epsilon=promise.epsilon, delta=promise.delta, what="Poisson counts")
    return budget.spending(cost, alone=Limit(promise.epsilon, promise.delta))


def plan_private(
    names: Sequence[str], options: Mapping[str, Any], measured: Measured | None = None
) -> tuple[Table, Plan]:
    """Return the declared table, which has no rows, and the plan for it.

    Parameters
    ----------
    names
        The columns of the data.
    options
        What a user asks for.
    measured
        What was measured; before that the pairs are not known.
    """
    for name, why in UNUSABLE.items():
        if options.get(name):
            raise CaveatError(
                f"{name} does not go with a guarantee: {why}",
                where="synthesis",
                do=f"leave {name} out, or epsilon and poisson",
                entry=(name,),
                code="synthesis.setting.conflict",
            )
    dropped, derived = _dropped(names, options), set(options.get("derived", {}))
    single = {n: dict(e) for n, e in options.get("columns", {}).items() if n not in dropped}
    for name, values in options.get("special", {}).items():
        single.setdefault(name, {})["special"] = values
    _refuse_others(options, single)
    drawn = [name for name in names if name not in dropped | derived]
    declared = {name: single[name] for name in drawn if name in single}
    table = declared_table(drawn, declared)
    columns = {name: table[name] if name in table else _computed() for name in names
               if name not in dropped}  # fmt: skip
    table = Table(columns)
    promise = Promise.of(options, {name: declared[name] for name in drawn})
    kept = {n: {k: v for k, v in e.items() if k not in DECLARED} for n, e in single.items()}
    apart = (*OPTIONS, "drop", "columns", "judged", "left_out")
    rest = {n: v for n, v in options.items() if n not in apart}
    margins = _margins(options, promise, drawn, measured)
    asked = {**rest, "method": MARGINS, "margins": margins, "columns": kept, "judged": {},
             "order": _order(table, options), "rare_below": 1}  # fmt: skip
    plan = make_plan(table, asked)
    assert plan.margins is not None
    promise = replace(promise, measured=measured)
    chosen = not options.get("margins") and not promise.alpha
    told = replace(plan.margins, chosen=chosen, promise=promise)
    return table, replace(plan, margins=told, remarks=(*plan.remarks, *promise.remarks))


def _dropped(names: Sequence[str], options: Mapping[str, Any]) -> set[str]:
    """Return the columns that are left out."""
    for name in options.get("drop", ()):
        if name not in names:
            raise CaveatError(
                f"there is no column {name!r}",
                where="synthesis, drop",
                do=f"choose among {', '.join(names)}",
                code="data.column.unknown",
            )
    single = options.get("columns", {})
    return {*options.get("drop", ()), *(n for n, e in single.items() if e.get("method") == "drop")}


def _refuse_others(options: Mapping[str, Any], single: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse methods that look at records."""
    methods = {"": options.get("method", MARGINS)}
    methods |= {name: entry.get("method", MARGINS) for name, entry in single.items()}
    derived = options.get("derived", {})
    methods |= {name: "lookup" for name, value in derived.items() if not isinstance(value, str)}
    for name, method in methods.items():
        if method not in (MARGINS, "drop", "derived"):
            raise CaveatError(
                f"the method {method} promises nothing, and one column without a promise is enough "
                "to lose it",
                where="synthesis",
                column=name or None,
                do='use method = "margins" for all columns, or leave epsilon and poisson out',
                code="synthesis.method.conflict",
            )


def _order(table: Table, options: Mapping[str, Any]) -> list[str]:
    """Return the order of visits: what rules decide upon comes last, whichever pairs are chosen."""
    targets = {parse_rule(text).target for text in options.get("rules", ())}
    return sorted(visit_order(table, options.get("order"), "", ""), key=lambda n: n in targets)


def _computed() -> Column:
    """Return a column that a formula fills, with two decimal places."""
    return Column(np.zeros(0, np.uint8), np.array([0.01]), Kind.NUMERIC)


def _margins(
    options: Mapping[str, Any], promise: Promise, drawn: Sequence[str], measured: Measured | None
) -> list[tuple[str, ...]]:
    """Return the tables of the plan: the given ones, those measured, or each column alone."""
    given = [tuple(margin) for margin in options.get("margins", ())]
    if promise.alpha:
        if given:
            raise CaveatError(
                "the Poisson mechanism draws the whole table at once",
                where="synthesis, margins",
                do="leave the margins out",
                entry=("margins",),
                code="synthesis.margins.conflict",
            )
        return [tuple(drawn)]
    for part in components(maximal(given)):
        if not is_tree(part):
            raise CaveatError(
                "with noise only columns and pairs that form no circle are tabulated",
                where="synthesis, margins",
                do="leave pairs out, or all margins: then pairs are chosen privately",
                entry=("margins",),
                code="synthesis.margins.unsupported",
            )
    if given:
        # A column of no pair is counted as well: every column has a table of its own.
        return [*given, *((n,) for n in drawn if not any(n in margin for margin in given))]
    if measured is None:
        return [(name,) for name in drawn]
    alone = [(n,) for n in drawn if not any(n in pair for pair in measured.choices)]
    return [*measured.choices, *alone]


def declared_codings(plan: Plan) -> dict[str, Coding]:
    """Return how the declared columns of a private plan are cut into cells."""
    assert plan.margins is not None
    assert plan.margins.promise is not None
    declared = plan.margins.promise.declared
    table = declared_table(list(declared), declared)
    return {
        name: Coding.of(table[name], plan.columns[name].special, name, plan.columns[name].grid)
        for name in declared
    }


def measured_by(plan: Plan, cells: Mapping[str, Ints]) -> Measured:
    """Return what the mechanism of a plan lets out about records, drawn anew each time."""
    assert plan.margins is not None
    promise = plan.margins.promise
    assert promise is not None
    sizes = {name: n_cells_of(coding) for name, coding in declared_codings(plan).items()}
    if promise.alpha:
        check_size(list(sizes), list(sizes.values()))
        return measure_poisson(cells, sizes, promise.alpha)
    pairs = [(m[0], m[1]) for m in plan.margins.margins if len(m) == 2]
    given = None if plan.margins.chosen else pairs
    last = [n for n in sizes if any(rule.target == n for rule in plan.rules)]
    return measure(cells, sizes, promise.epsilon, promise.delta, given, last)


def fit_private(
    table: Table,
    options: Mapping[str, Any],
    seed: int,
    threads: int,
    budget: Budget | None = None,
    done: Callable[[str, ColumnModel], None] | None = None,
) -> Model:
    """Measure a table with noise, once, and return a model that knows nothing else of it.

    The noise comes from the operating system and cannot be drawn again: the seed only says which
    rows are drawn from the model.
    """
    empty, plan = plan_private(table.names, options)
    assert plan.margins is not None
    promise = plan.margins.promise
    assert promise is not None
    for remark in plan.remarks:
        if remark not in promise.terms:  # what holds for every promise is in the plan
            warnings.warn(remark, CaveatWarning, stacklevel=3)
    codings = declared_codings(plan)
    _say_strangers(codings, table, promise)
    with nullcontext() if budget is None else _spending(budget, promise):
        measured = measured_by(plan, cells_in(codings, table))
    _, plan = plan_private(table.names, options, measured)
    plan = replace(plan, structure_seed=seed)
    models = fit_columns(empty, plan, seed, threads, done)
    names = written(plan, empty)
    return Model(plan, models, names, max(measured.n_records, 1), seed, table.backend)


def _say_strangers(codings: Mapping[str, Coding], table: Table, promise: Promise) -> None:
    """Tell who declared the domain what does not fit it, and who chose δ if it is too large.

    A declaration that hardly anybody fits is a mistake, and is refused before anything is spent.
    """
    for name, many in outside(codings, table):
        if 2 * many > table.n_rows:
            raise CaveatError(
                "most values are not in the declared domain: noise would be paid for nothing",
                where="synthesis",
                column=name,
                do='repair the declaration (missing = [""] declares empty cells), or drop the '
                "column",
                code="data.value.undeclared",
            )
        warnings.warn(
            f"{name}: {many:,} values are not in the declared domain (do not publish this number)",
            CaveatWarning,
            stacklevel=4,
        )
    cells = next(iter(cells_in(codings, table).values()), np.zeros(0, np.int64))
    left = int(np.count_nonzero(cells == NOT_COUNTED))
    if 2 * left > table.n_rows:
        raise CaveatError(
            "most records hold a value that is not declared, and would not be counted",
            where="synthesis",
            do='repair the declaration; missing = [""] declares empty cells',
            code="data.value.undeclared",
        )
    if left:
        warnings.warn(
            f"{left:,} records hold a value that is not declared and are not counted; "
            'missing = [""] declares empty cells (do not publish this number)',
            CaveatWarning,
            stacklevel=4,
        )
    if not promise.alpha and promise.delta * table.n_rows >= 1:
        warnings.warn(
            f"δ = {promise.delta:g} is not below one in the number of records: a mechanism that "
            "publishes somebody's record whole keeps such a promise",
            CaveatWarning,
            stacklevel=4,
        )


# -------------------------------------------------------------------------------------------------
# Noisy tables as a reader sees them: all that a private release was made from.
#
# They are what the guarantee covers, so that whoever has the release may have them too.


@dataclass(frozen=True)
class NoisyTable:
    """One table.

    Parameters
    ----------
    columns
        Its columns.
    cells
        The cells whose noisy count is not 0, each as the values of the columns in words.
    counts
        The noisy count of each of them, which may lie below 0.
    n_cells
        Number of all cells; those that are not listed have 0.
    noise
        What the noise is, in words.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...]
    n_cells: int
    noise: str

    def __repr__(self) -> str:
        return f"<{' × '.join(self.columns)}: {self.n_cells} cells>"

    @property
    def table(self) -> Table:
        """The cells and their counts."""
        return counted_table(self.columns, self.cells, self.counts)

    @property
    def line(self) -> dict[str, Any]:
        """What the manifest says about it."""
        return {"cells": self.n_cells, "listed": len(self.cells), "total": sum(self.counts),
                "noise": self.noise}  # fmt: skip


def noisy_tables(plan: Plan) -> tuple[NoisyTable, ...]:
    """Return what was measured for a plan, in words; nothing if nothing was."""
    promise = None if plan.margins is None else plan.margins.promise
    if promise is None or promise.measured is None:
        return ()
    measured = promise.measured
    words = {name: words_of(coding) for name, coding in declared_codings(plan).items()}
    found = []
    for names, counts in measured.tables.items():
        noise = f"Poisson(count + {measured.alpha:g})"
        if names in measured.sigmas:
            noise = f"discrete Gaussian, sigma {measured.sigmas[names]:.6g}"
        cells = [
            tuple(words[name][at] for name, at in zip(names, place, strict=True))
            for place in np.argwhere(counts != 0).tolist()
        ]
        held = tuple(counts[counts != 0].tolist())
        found.append(NoisyTable(names, tuple(cells), held, counts.size, noise))
    return tuple(found)


def source_of(model: Model) -> Sequence[Published | NoisyTable]:
    """Return the tables that are the only source of a release, cleared or noisy, if it has such."""
    return model.cleared or noisy_tables(model.plan)


def write_source(
    model: Any, folder: Path, released: Output, *, escape_formulas: bool = False
) -> list[Output]:
    """Write the only source of a release into a folder in a folder; return the files in it.

    Nothing is written for any other model.
    """
    tables = source_of(model) if isinstance(model, Model) else ()
    if not tables:
        return []
    (folder / MARGINS).mkdir()
    outputs = write_tables(tables, folder / MARGINS, released, escape_formulas=escape_formulas)
    return [replace(output, name=f"{MARGINS}/{output.name}") for output in outputs]
