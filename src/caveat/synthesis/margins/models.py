"""From tables of shares to fitted models, one for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.margins.cells import cells_of, n_cells_of, ordinary_of
from caveat.synthesis.margins.clearing import ClearedTable, clear_tables
from caveat.synthesis.margins.cliques import joint_shares
from caveat.synthesis.margins.plan import MarginsPlan, components, is_tree
from caveat.synthesis.margins.reconcile import reconcile
from caveat.synthesis.margins.tables import Tables, count_tables, margin_of
from caveat.synthesis.methods.margins import Margins
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Table

__all__ = ["agreeing_shares", "cleared_tables", "column_model", "counted_shares"]

Floats = NDArray[np.float64]


def counted_shares(
    table: Table, codings: Mapping[str, Coding], plan: MarginsPlan, weights: Floats | None
) -> Tables:
    """Return the shares that columns are drawn from: those of the records, or of cleared tables."""
    if plan.promise is not None:  # nothing but what was measured
        assert plan.promise.measured is not None
        return plan.promise.measured.shares
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    if plan.clearing is None:
        counts = count_tables(cells_of(codings, table), sizes, plan.margins, weights)
        return agreeing_shares(counts, sizes, exact=True)
    cleared = cleared_tables(table, codings, plan, weights)
    return agreeing_shares({key: found.counts for key, found in cleared.items()}, sizes)


def cleared_tables(
    table: Table, codings: Mapping[str, Coding], plan: MarginsPlan, weights: Floats | None
) -> dict[tuple[str, ...], ClearedTable]:
    """Return the tables as they are published."""
    assert plan.clearing is not None
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    cells = cells_of(codings, table)
    return clear_tables(cells, sizes, plan.margins, plan.clearing, weights)


def agreeing_shares(tables: Tables, sizes: Mapping[str, int], *, exact: bool = False) -> Tables:
    """Return shares that agree on every column they share.

    Parameters
    ----------
    tables
        Counts of the margins of a plan.
    sizes
        The number of cells of each column, in the order in which they are visited.
    exact
        Whether they are counts of the same records, which agree already.
    """
    found: Tables = {}
    for part in components(list(tables)):
        own = {margin: tables[margin] for margin in part}
        names = [name for name in sizes if any(name in margin for margin in part)]
        if not is_tree(part):
            found |= joint_shares(own, sizes, names)
        elif exact:
            found |= {m: t / max(t.sum(), np.finfo(float).tiny) for m, t in own.items()}
        else:
            found |= reconcile(own, sizes)
    return found


def column_model(
    name: str, entry: ColumnPlan, codings: Mapping[str, Coding], shares: Tables
) -> ColumnModel:
    """Return the model of a column from tables that agree: one of them has it and its parents."""
    coding = codings[name]
    parents, split = _as_inputs(entry.predictors, codings)
    joint = margin_of(shares, [*parents, name])
    ordinary = ordinary_of(coding)
    kinds = None
    if coding.two_step:
        both = np.append(joint[..., :ordinary].sum(-1, keepdims=True), joint[..., ordinary:], -1)
        kinds = Margins.of_shares(both, split)
    values = Margins.of_shares(joint[..., :ordinary], split, coding.grid)
    decimals = 0 if coding.grid is None else coding.grid.decimals
    return ColumnModel(entry, coding, kinds, values, decimals=decimals)


def _as_inputs(names: Sequence[str], codings: Mapping[str, Coding]) -> tuple[list[str], int]:
    """Return columns in the order of the variables that they are as predictors."""
    whole = [name for name in names if not codings[name].two_step]
    split = [name for name in names if codings[name].two_step]
    return [*whole, *split], len(split)
