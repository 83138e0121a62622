"""What a draft is made from: published numbers, held against each other before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from caveat.discreet import without_values
from caveat.errors import CaveatError, about, hint
from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Derived,
    Floats,
    Numeric,
    check_weight,
    with_derived,
)
from caveat.synthesis.drafts.correlations import completed, nearest_correlation
from caveat.synthesis.drafts.joint import Margin
from caveat.synthesis.drafts.models import Equations, Model

__all__ = ["Correlations", "DraftPlan", "Model", "PublishedTable", "check_rows"]

ROUNDED = 0.006
"""Correlations may be so far from possible ones: they are published with two digits."""
TOTALS = 0.005
"""Totals of two publications may differ by this part."""
MOST_ROWS = 200_000


@dataclass(frozen=True)
class PublishedTable:
    """A published table of counts or shares.

    Parameters
    ----------
    by
        Its columns.
    cells
        The number of each combination of levels; one that is not named is 0.
    weight
        How much it counts against other targets.
    """

    by: tuple[str, ...]
    cells: Mapping[tuple[str, ...], float]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight)

    @property
    def total(self) -> float:
        """What the cells sum to."""
        return float(sum(self.cells.values()))


@dataclass(frozen=True, eq=False)
class Correlations:
    """Published correlations of some columns.

    Parameters
    ----------
    columns
        The columns.
    matrix
        Their correlations; NaN where nothing is published.
    repair
        Whether a matrix that no data can have is replaced by the nearest one.
    weight
        How much they count against other targets.
    """

    columns: tuple[str, ...]
    matrix: Floats
    repair: bool = False
    weight: float = 1.0

    __repr__ = without_values

    def __post_init__(self) -> None:
        check_weight(self.weight)


def check_rows(rows: int) -> None:
    """Refuse a number of rows that no draft has."""
    if not 2 <= rows <= MOST_ROWS:
        raise CaveatError(
            f"a draft has 2 to {MOST_ROWS:,} rows",
            entry=("rows",),
            do="choose another number",
            code="draft.entry.range",
        )


@dataclass(frozen=True, eq=False)
class DraftPlan:
    """Columns and targets of a draft.

    Parameters
    ----------
    columns
        What is known about each column.
    tables, correlations, models
        Published numbers about several columns.
    rows
        Number of rows; by default the total of the first table that has counts.

    Examples
    --------
    >>> plan = DraftPlan({"sex": Category(("f", "m"), (0.6, 0.4))}, rows=10)
    >>> plan.n_rows
    10
    """

    columns: Mapping[str, ColumnPlan]
    tables: tuple[PublishedTable, ...] = ()
    correlations: tuple[Correlations, ...] = ()
    models: tuple[Model, ...] = ()
    rows: int | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise CaveatError(
                "a draft has no columns",
                do="add [columns.age] with mean and sd",
                code="draft.column.absent",
            )
        self._check_tables()
        object.__setattr__(self, "columns", self._with_levels())
        self._check_derived()
        for i, one in enumerate(self.correlations):
            with about("correlation", i, "matrix"):
                self._check_correlations(i, one)
        assert self.equations is not None
        assert self.correlation is not None
        check_rows(self.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        counts = [table.total for table in self.tables if table.total > 1 + TOTALS]
        if self.rows is None and not counts:
            raise CaveatError(
                "nothing says how many rows the draft has",
                do="add rows = 1000",
                code="draft.entry.absent",
            )
        return round(counts[0]) if self.rows is None else self.rows

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """Tables, and shares of columns that are in tables too."""
        found = []
        for i, table in enumerate(self.tables):
            levels = [self.category(name).levels for name in table.by]
            shares = np.zeros([len(own) for own in levels])
            for cell, count in table.cells.items():
                place = (own.index(lv) for own, lv in zip(levels, cell, strict=True))
                shares[tuple(place)] += count
            told = shares if table.total <= 1 + TOTALS else None
            found.append(Margin(table.by, shares / shares.sum(), table.weight, ("table", i), told))
        tabled = dict.fromkeys(name for table in self.tables for name in table.by)
        known = [name for name in tabled if self.category(name).shares is not None]
        return (*found, *(self.own_margin(name) for name in known))

    def own_margin(self, name: str) -> Margin:
        """Return the shares of a column as a table."""
        plan = self.category(name)
        told = np.array(plan.shares, np.float64)
        entry = ("columns", name, "shares")
        return Margin((name,), told / told.sum(), plan.weight, entry, told)

    @cached_property
    def equations(self) -> tuple[Equations, ...]:
        """The models on these columns."""
        found = []
        for i, model in enumerate(self.models):
            try:
                found.append(Equations(self.columns, model))
            except CaveatError as error:
                error.entry = ("model", i, *(error.entry or ("formula",)))
                raise
        return tuple(found)

    def category(self, name: str) -> Category:
        """Return a column that is a category."""
        plan = self.columns[name]
        assert isinstance(plan, Category)
        return plan

    def _known(self, name: str, entry: tuple[str | int, ...]) -> ColumnPlan:
        if name not in self.columns:
            raise CaveatError(
                f"there is no column {name!r}",
                entry=entry,
                do=hint(name, tuple(self.columns)),
                code="data.column.unknown",
            )
        return self.columns[name]

    def _check_tables(self) -> None:
        first: float | None = None
        for i, table in enumerate(self.tables):
            entry = ("table", i, "by")
            for name in table.by:
                if not isinstance(self._known(name, entry), Category):
                    raise CaveatError(
                        f"{name!r} is a column of numbers", entry=entry,
                        do="a table is about categories; give a column of it no mean and sd",
                        code="draft.column.type",
                    )  # fmt: skip
            if len(set(table.by)) < len(table.by):
                raise CaveatError(
                    "a table has a column twice",
                    entry=entry,
                    do="drop one",
                    code="draft.column.duplicate",
                )
            cells = ("table", i, "cells")
            if not table.total > 0 or min(table.cells.values()) < 0:
                raise CaveatError(
                    "the cells of a table are from 0 up, and not all of them 0",
                    entry=cells,
                    code="draft.cell.range",
                )
            if table.total > 1 + TOTALS:
                first = table.total if first is None else first
                if abs(table.total - first) > TOTALS * first:
                    raise CaveatError(
                        f"the table sums to {table.total:,.6g} and the one before to {first:,.6g}",
                        entry=cells,
                        do="tables of the same people have the same total; shares instead of "
                        "counts have none",
                        code="draft.table.mismatch",
                    )
            elif abs(table.total - 1) > TOTALS:
                raise CaveatError(
                    f"the shares sum to {table.total:.4g}, not to 1",
                    entry=cells,
                    do="correct one",
                    code="draft.share.mismatch",
                )

    def _with_levels(self) -> dict[str, ColumnPlan]:
        """Return the columns; levels that no shares name are those of the tables."""
        found = dict(self.columns)
        for i, table in enumerate(self.tables):
            for at, name in enumerate(table.by):
                plan = self.category(name)
                seen = dict.fromkeys(cell[at] for cell in table.cells)
                if plan.shares is None:
                    known = found[name]
                    assert isinstance(known, Category)
                    levels = tuple(dict.fromkeys([*known.levels, *seen]))
                    found[name] = replace(known, levels=levels)
                for level in seen:
                    if plan.shares is not None and level not in plan.levels:
                        raise CaveatError(
                            f"{name} has no level {level!r}", entry=("table", i, "cells"),
                            do=hint(level, plan.levels),
                            code="draft.level.unknown",
                        )  # fmt: skip
        for name, one in found.items():
            if isinstance(one, Category) and not one.levels:
                raise CaveatError(
                    f"nothing is known about {name!r}", entry=("columns", name),
                    do="give shares, or mean and sd, or a formula, or a table that has it",
                    code="draft.column.undefined",
                )  # fmt: skip
        return found

    def _check_derived(self) -> None:
        for name, plan in self.columns.items():
            if not isinstance(plan, Derived):
                continue
            entry = ("columns", name, "formula")
            for part in plan.parts:
                if isinstance(self._known(part, entry), Category):
                    raise CaveatError(
                        f"{part!r} is a category",
                        entry=entry,
                        do="compute with numbers",
                        code="draft.column.type",
                    )
            self._check_circle(name, (), entry)
            with about(*entry):
                self._check_total(name, plan)

    def _check_circle(self, name: str, above: tuple[str, ...], entry: tuple[str, ...]) -> None:
        plan = self.columns[name]
        if name in above:
            raise CaveatError(
                f"{name!r} is computed from itself",
                entry=entry,
                do="drop one of the formulas",
                code="draft.formula.conflict",
            )
        for part in plan.parts if isinstance(plan, Derived) else ():
            self._known(part, entry)
            self._check_circle(part, (*above, name), entry)

    def _check_total(self, name: str, plan: Derived) -> None:
        """Refuse a mean of a total that is not the total of the means."""
        base = {n: p for n, p in self.columns.items() if isinstance(p, Numeric)}
        places = np.vstack([np.zeros(len(base)), np.eye(len(base)), np.full(len(base), 3.0)])
        rows = {n: places[:, j] for j, n in enumerate(base)}
        values = with_derived(self.columns, rows)[name]
        if not np.isfinite(values).all():
            return  # no sum
        factors = values[1:-1] - values[0]
        is_sum = np.isclose(values[-1], values[0] + 3 * factors.sum())
        used = [p for p, f in zip(base.values(), factors, strict=True) if f]
        if plan.mean is None or not is_sum or any(p.mean is None for p in used):
            return
        means = np.array([p.mean or 0.0 for p in base.values()])
        feasible = float(values[0] + means @ factors)
        size = max(abs(feasible), abs(plan.mean), float(np.abs(means * factors).max(initial=0)))
        if abs(feasible - plan.mean) > TOTALS * size:
            raise CaveatError(
                f"{name} has the mean {plan.mean:.6g}, but its parts together {feasible:.6g}",
                entry=("columns", name, "mean"),
                do=f"correct one of them; {feasible:.6g} is feasible",
                code="draft.entry.conflict",
            )

    def _check_correlations(self, i: int, one: Correlations) -> None:
        where = ("correlation", i, "columns")
        if len(set(one.columns)) < len(one.columns):
            raise CaveatError(
                "a column is named twice", entry=where, do="drop one", code="draft.column.duplicate"
            )
        for name in one.columns:
            plan = self._known(name, where)
            if isinstance(plan, Category) and (plan.values is None or len(plan.levels) < 2):
                raise CaveatError(
                    f"{name!r} is a category without an order", entry=where,
                    do="correlations are of numbers, or of two categories",
                    code="draft.column.type",
                )  # fmt: skip
        k, matrix = len(one.columns), one.matrix
        if matrix.shape != (k, k):
            raise CaveatError(
                f"the matrix is not {k} by {k}",
                do="give a line for each column, in their order",
                code="draft.matrix.mismatch",
            )
        if np.nanmax(np.abs(matrix), initial=0.0) > 1:
            raise CaveatError(
                "a correlation is not between -1 and 1",
                do="correct it",
                code="draft.correlation.range",
            )
        if not np.allclose(matrix, matrix.T, atol=1e-12, equal_nan=True):
            line, other = np.argwhere(~np.isclose(matrix, matrix.T, equal_nan=True))[0]
            raise CaveatError(
                f"the matrix is not symmetric: {one.columns[line]} with {one.columns[other]} is "
                f"{matrix[line, other]:g} and {matrix[other, line]:g}",
                do="correct one of them",
                code="draft.matrix.conflict",
            )
        if not np.allclose(np.diag(matrix), 1):
            raise CaveatError(
                "a column has another correlation than 1 with itself",
                do="write 1",
                code="draft.correlation.range",
            )

    @cached_property
    def correlation(self) -> tuple[tuple[str, ...], Floats, Floats]:
        """All columns with correlations, their matrix, and the weight of each entry (0: none).

        The matrix is one that data can have.
        """
        names, matrix, weights = self.published_correlation
        return names, self._possible(names, matrix, weights), weights

    @cached_property
    def published_correlation(self) -> tuple[tuple[str, ...], Floats, Floats]:
        """The same as it is published."""
        names = tuple(dict.fromkeys(name for one in self.correlations for name in one.columns))
        matrix, weights = np.eye(len(names)), np.zeros((len(names), len(names)))
        for i, one in enumerate(self.correlations):
            at = np.ix_(*[[names.index(name) for name in one.columns]] * 2)
            known = ~np.isnan(one.matrix)
            before, own = weights[at] > 0, np.where(known, one.matrix, matrix[at])
            if (np.abs(own - matrix[at])[before & known] > ROUNDED).any():
                raise CaveatError(
                    "two columns have two correlations", entry=("correlation", i, "matrix"),
                    do="drop one of them",
                    code="draft.correlation.duplicate",
                )  # fmt: skip
            matrix[at], weights[at] = own, np.where(known, one.weight, weights[at])
        np.fill_diagonal(weights, 0.0)
        return names, matrix, weights

    def _possible(self, names: tuple[str, ...], matrix: Floats, weights: Floats) -> Floats:
        """Return the correlations, made possible where only rounding is in the way."""
        known = (weights > 0) | np.eye(len(names), dtype=bool)
        whole = completed(matrix, known) if len(names) else matrix
        if not len(names) or np.linalg.eigvalsh(whole)[0] >= -1e-8:
            return whole
        nearest = nearest_correlation(whole, known)
        if np.abs(nearest - matrix)[known].max() > ROUNDED and not all(
            one.repair for one in self.correlations
        ):
            lines = "; ".join(
                f"{name}: {', '.join(f'{r:.4f}' for r in line[: i + 1])}"
                for i, (name, line) in enumerate(zip(names, nearest, strict=True))
            )
            last = len(self.correlations) - 1
            raise CaveatError(
                "no data have these correlations together",
                entry=("correlation", last, "matrix"),
                do="correct one, or add repair = true to take the nearest feasible ones, which are "
                + lines,
                code="draft.correlation.conflict",
            )
        return nearest
