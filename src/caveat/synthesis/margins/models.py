"""From tables of shares to fitted models, one for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.margins.plan import MarginsPlan, components, is_tree
from caveat.synthesis.margins.tables import (
    ClearedTable,
    Tables,
    cells_of,
    clear_tables,
    cleared_counts,
    count_tables,
    joint_shares,
    margin_of,
    n_cells_of,
    ordinary_of,
    rescale,
)
from caveat.synthesis.methods.tables import Margins
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Table

__all__ = ["Block", "agreeing_shares", "cleared_tables", "counted_shares", "without_records"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def counted_shares(
    table: Table, codings: Mapping[str, Coding], plan: MarginsPlan, weights: Floats | None
) -> Tables:
    """Return the shares that columns are drawn from: those of the records, or of cleared tables."""
    if plan.promise is not None:  # nothing but what was measured
        assert plan.promise.measured is not None
        return plan.promise.measured.shares
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    cells = cells_of(codings, table)
    if plan.clearing is None:
        counts = count_tables(cells, sizes, plan.margins, weights)
        return agreeing_shares(counts, sizes, exact=True)
    counts = cleared_counts(cells, sizes, plan.margins, plan.clearing, weights)
    return agreeing_shares(counts, sizes)


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
            found |= rescale(own)
    return found


@dataclass(frozen=True, eq=False)
class Block:
    """What columns that are made from margins are drawn from.

    Parameters
    ----------
    codings
        The columns with what is known of their values.
    shares
        Tables that agree; one of them has a column with all its parents.
    is_published
        Whether the codings know no value without a share.
    """

    codings: Mapping[str, Coding]
    shares: Tables
    is_published: bool = False

    __repr__ = without_values

    @classmethod
    def counted(
        cls,
        table: Table,
        codings: Mapping[str, Coding],
        plan: MarginsPlan,
        weights: Floats | None,
    ) -> Block:
        """Return the shares of the records, or of cleared tables."""
        return cls(codings, counted_shares(table, codings, plan, weights))

    def published(self) -> Block:
        """Return the same shares without a trace of values that have none.

        Where a whole column has none nothing can be drawn, and nothing is left out.
        """
        kept, codings = {}, {}
        for name, coding in self.codings.items():
            seen = margin_of(self.shares, [name]) > 0
            if not seen.any():
                return self
            codings[name], kept[name] = _public(name, coding, seen)
        shares = {m: t[np.ix_(*(kept[name] for name in m))] for m, t in self.shares.items()}
        return Block(codings, shares, True)

    def model(self, name: str, entry: ColumnPlan) -> ColumnModel:
        """Return the model of a column."""
        coding = self.codings[name]
        parents, split = _as_inputs(entry.predictors, self.codings)
        joint = margin_of(self.shares, [*parents, name])
        n = ordinary_of(coding)
        kinds = None
        if coding.two_step:
            both = np.append(joint[..., :n].sum(-1, keepdims=True), joint[..., n:], -1)
            kinds = Margins.of_shares(both, split)
        values = Margins.of_shares(joint[..., :n], split, coding.grid)
        decimals = 0 if coding.grid is None else coding.grid.decimals
        return ColumnModel(entry, coding, kinds, values, decimals=decimals)


def _public(name: str, coding: Coding, seen: Flags) -> tuple[Coding, Flags]:
    """Return a coding that knows only values that are published, and which cells it has.

    Of numbers the range is public, not who is where in it: both its ends stand for all of them.
    """
    column, kept = coding.column, seen.copy()
    if coding.grid is None:
        column = column.with_codes(np.flatnonzero(seen)).compact()
    else:
        apart = coding.special_numbers
        kept[: coding.grid.n_cells + len(apart)] = True
        ends = coding.grid.values_of(coding.grid.first + np.array([0, coding.grid.n_points - 1]))
        levels = np.union1d(ends, apart)
        if column.levels.dtype.kind in "iuM":
            levels = levels.astype(np.int64).astype(column.levels.dtype)
        ways = kept[coding.grid.n_cells + len(apart) :]
        missing = [way for way, known in zip(column.missing, ways, strict=True) if known]
        none = np.zeros(0, np.uint8)
        column = replace(column, codes=none, levels=levels, missing=tuple(missing))
    return Coding.of(column.take(slice(0, 0)), coding.special, name, coding.grid), kept


def without_records(coding: Coding) -> Coding:
    """Return the coding of a column that is not drawn, without its values."""
    levels = coding.column.levels
    kept = levels[np.isin(levels, list(coding.special))] if coding.special else levels[:0]
    column = replace(coding.column, codes=np.zeros(0, np.uint8), levels=kept, missing=())
    return replace(coding, column=column)


def _as_inputs(names: Sequence[str], codings: Mapping[str, Coding]) -> tuple[list[str], int]:
    """Return columns in the order of the variables that they are as predictors."""
    whole = [name for name in names if not codings[name].two_step]
    split = [name for name in names if codings[name].two_step]
    return [*whole, *split], len(split)
