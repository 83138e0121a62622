"""What a draft is made from: published tables, correlations and regressions, checked together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, about, hint
from caveat.expressions import Categories, Formula, design
from caveat.showing import without_values
from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Derived,
    Floats,
    Margin,
    Numeric,
    Rows,
    as_columns,
    check_weight,
    completed,
    nearest_correlation,
    with_derived,
)

__all__ = ["Correlations", "DraftPlan", "Equations", "Model", "PublishedTable", "check_rows"]


FAMILIES = ("linear", "logistic", "poisson")
MOST_STEPS = 60
CONVERGED = 1e-8  # a step that moves no linear predictor further is the last one
SINGULAR = 1e-10  # what a scaled design varies less than this along, it does not vary along
BLIND = 1e-6
LONGEST = 5.0  # a step moves no linear predictor further
FARTHEST = 30.0  # beyond this linear predictor a probability is 0 or 1 to the last digit


@dataclass(frozen=True)
class Model:
    """A published regression.

    Parameters
    ----------
    formula
        As ``logistic: cars ~ age + sex``. Without a family two categories are logistic and numbers
        linear.
    coefficients
        What is published, by the names that treatment coding gives: ``Intercept``, ``age``,
        ``sex[T.2]``. Those that are not named are free.
    errors
        Standard errors, by the same names.
    reference
        The reference level of a category; the first by default.
    weight
        How much it counts against other targets.
    """

    formula: str
    coefficients: Mapping[str, float]
    errors: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, str] = field(default_factory=dict)
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Where a model stands on the rows of a draft: all that its targets are computed from.

    Parameters
    ----------
    matrix, response
        Design and response.
    beta
        Coefficients: the published ones, and for the others what suits the rows best beside them.
    mean, slope
        The mean of each row and how it moves with the linear predictor.
    inverse
        The inverse of the information.
    spread
        The variance of the errors; 1 where the family says it.
    blind
        Which coefficients the rows do not tell.
    converged
        Whether the estimate was found.
    """

    matrix: Floats
    response: Floats
    beta: Floats
    mean: Floats
    slope: Floats
    inverse: Floats
    spread: float
    blind: NDArray[np.bool_]
    converged: bool

    __repr__ = without_values

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.maximum(np.diag(self.inverse) * self.spread, 0.0))

    @property
    def step(self) -> Floats:
        """How far the estimates are from `beta`, to first order."""
        return np.asarray(self.inverse @ (self.matrix.T @ (self.response - self.mean)))


class Equations:
    """A published model on the columns of a draft."""

    def __init__(self, plans: Mapping[str, ColumnPlan], model: Model) -> None:
        self.plans, self.model = plans, model
        self.formula = Formula.parse(model.formula)
        for name in self.formula.columns:
            if name not in plans:
                raise CaveatError(
                    f"the model names {name!r}, which is no column of the draft",
                    entry=("formula",),
                    do=hint(name, tuple(plans)),
                    code="data.column.unknown",
                )
        for name, level in model.reference.items():
            plan = plans.get(name)
            if not isinstance(plan, Category) or level not in plan.levels:
                raise CaveatError(
                    f"{name!r} has no level {level!r}",
                    entry=("reference",),
                    do="correct it",
                    code="draft.level.unknown",
                )
        self.family = self.formula.family or self._usual()
        if self.family not in FAMILIES:
            raise CaveatError(
                f"a draft cannot reproduce the family {self.family!r}",
                entry=("formula",),
                do=f"use {', '.join(FAMILIES)}",
                code="draft.family.unsupported",
            )
        own = plans.get(self.response or "")
        if self.family == "poisson" and isinstance(own, Numeric) and not own.bounds[0] >= 0:
            raise CaveatError(
                f"{self.response} may be negative", entry=("formula",),
                do="a Poisson model explains counts: give the column least = 0",
                code="draft.column.range",
            )  # fmt: skip
        if not model.coefficients and not model.errors:
            raise CaveatError(
                "nothing of the model is published", entry=("coefficients",),
                do="give its coefficients",
                code="draft.entry.absent",
            )  # fmt: skip
        self.names, _ = self.cells({n: _tried(plans[n]) for n in self.formula.columns})
        for entry, given in (("coefficients", model.coefficients), ("errors", model.errors)):
            for name, value in given.items():
                if name not in self.names:
                    raise CaveatError(
                        f"the model has no term {name!r}",
                        entry=(entry,),
                        do=hint(name, tuple(self.names)),
                        code="draft.term.unknown",
                    )
                if entry == "errors" and value <= 0:
                    raise CaveatError(
                        "a standard error is above 0",
                        entry=("errors",),
                        do="correct it",
                        code="draft.entry.range",
                    )
        self.given = np.array([name in model.coefficients for name in self.names])
        told = model.coefficients
        self.wanted = np.array([told.get(name, 0.0) for name in self.names], np.float64)
        self.with_error = np.array([name in model.errors for name in self.names])
        self.wanted_errors = np.array([model.errors.get(name, np.nan) for name in self.names])

    @property
    def response(self) -> str | None:
        """The column that is explained; None if it is a function of columns."""
        return self.formula.column(self.formula.response)

    def _usual(self) -> str:
        is_category = self.response is not None and isinstance(self.plans[self.response], Category)
        return "logistic" if is_category else "linear"

    def cells(self, rows: Rows) -> tuple[list[str], tuple[Floats, Floats]]:
        """Return the names of the terms, the design and the response."""
        factors: dict[str, Floats | Categories] = {}
        for factor in self.formula.factors:
            name = self.formula.column(factor)
            if name is None:
                columns = as_columns(self.plans, rows, self.formula.columns)
                value = self.formula.compute(factor, columns)
                is_truth = value.dtype == np.bool_
                factors[factor] = (
                    Categories(value.astype(np.int64), ("False", "True")) if is_truth else value
                )
            else:
                factors[factor] = self._factor(factor, name, rows)
        names, matrix = design(self.formula.terms, factors)
        response = factors[self.formula.response]
        if isinstance(response, Categories):
            if len(response.levels) != 2 or self.family != "logistic":
                raise CaveatError(
                    f"{self.formula.response} does not suit the family {self.family}",
                    entry=("formula",),
                    do="explain two categories by a logistic model, and numbers by another",
                    code="draft.column.type",
                )
            response = response.codes.astype(np.float64)
        elif self.family == "logistic":
            raise CaveatError(
                f"{self.formula.response} is a number", entry=("formula",),
                do="a logistic model explains a category with two levels: give its shares",
                code="draft.column.type",
            )  # fmt: skip
        return names, (matrix, response)

    def _factor(self, factor: str, name: str, rows: Rows) -> Floats | Categories:
        plan = self.plans[name]
        if not isinstance(plan, Category):
            if self.formula.is_category(factor):
                raise CaveatError(
                    f"{name} is declared as numbers", entry=("formula",),
                    do="give its levels with shares, and it is a category",
                    code="draft.column.type",
                )  # fmt: skip
            return np.asarray(rows[name], np.float64)
        first = plan.levels.index(self.model.reference.get(name, plan.levels[0]))
        order = [first, *(i for i in range(len(plan.levels)) if i != first)]
        place = np.argsort(order)
        return Categories(place[rows[name]], tuple(plan.levels[i] for i in order))

    def fit(self, rows: Rows, *, free: bool = False) -> Fitted:
        """Return where the model stands; with all coefficients free it is the usual estimate."""
        _, (matrix, response) = self.cells(rows)
        moving = np.ones(len(self.names), bool) if free else ~self.given
        beta = np.where(moving, 0.0, self.wanted)
        own = _Scaled(matrix[:, moving])
        beta[moving] = own.towards(own.matrix.T @ (self._start(response) - matrix @ beta))
        converged, size = not moving.any(), 1.0
        if self.family == "linear":
            size = max(float(response.std()), 1e-3 * float(np.abs(response).max()))
        for _ in range(0 if converged else MOST_STEPS):
            mean, slope = self.means(matrix @ beta)
            own.weigh(slope)
            step = own.towards(own.matrix.T @ (response - mean))
            reach = float(np.abs(own.matrix @ (step * own.size)).max())
            far = self.family != "linear" and reach > LONGEST
            beta[moving] += step * (LONGEST / reach if far else 1.0)
            if reach <= CONVERGED * size:
                converged = True
                break
        return self._at(matrix, response, beta, converged)

    def _start(self, response: Floats) -> float:
        """Return the linear predictor that suits all rows without any regressor."""
        mean = float(response.mean())
        if self.family == "logistic":
            inside = min(max(mean, 1e-3), 1 - 1e-3)
            return float(np.log(inside / (1 - inside)))
        return float(np.log(max(mean, 1e-3))) if self.family == "poisson" else mean

    def _at(self, matrix: Floats, response: Floats, beta: Floats, converged: bool) -> Fitted:
        mean, slope = self.means(matrix @ beta)
        scaled = _Scaled(matrix)
        scaled.weigh(slope)
        spread = 1.0
        if self.family == "linear":
            spread = float(((response - mean) ** 2).sum() / max(len(matrix) - len(beta), 1))
        return Fitted(
            matrix, response, beta.copy(), mean, slope, scaled.inverse, spread, scaled.blind,
            converged,
        )  # fmt: skip

    def means(self, predictor: Floats) -> tuple[Floats, Floats]:
        """Return the mean of each row, and how it moves with the linear predictor."""
        near = np.clip(predictor, -FARTHEST, FARTHEST)
        if self.family == "logistic":
            mean = 1 / (1 + np.exp(-near))
            return mean, mean * (1 - mean)
        if self.family == "poisson":
            return np.exp(near), np.exp(near)
        return predictor, np.ones(len(predictor))


class _Scaled:
    """A design with columns of size 1: an income counts as much as an age.

    Sums of squares of columns that differ by many powers of ten, or of a year and its square, leave
    no digits; so the design itself is taken apart, not its sums of squares.
    """

    def __init__(self, matrix: Floats) -> None:
        size = np.sqrt((matrix**2).mean(axis=0))
        self.size = np.where(size > 0, size, 1.0)
        self.matrix = matrix / self.size
        self.weigh(np.ones(len(matrix)))

    def weigh(self, slope: Floats) -> None:
        """Look at the rows with these weights."""
        weighted = self.matrix * np.sqrt(slope)[:, None]
        if not np.isfinite(weighted).all():  # a row was tried where a logarithm ends
            weighted = np.zeros(weighted.shape)
        triangle = np.linalg.qr(weighted, mode="r")
        _, values, self.axes = np.linalg.svd(triangle, full_matrices=True)
        values = np.pad(values, (0, len(self.axes) - len(values)))
        self.seen = values > SINGULAR * max(float(values.max(initial=0.0)), 1e-300)
        self.values = values

    @property
    def _half(self) -> Floats:
        """Return the root of the inverse of the information."""
        return np.asarray(self.axes[self.seen].T / self.values[self.seen])

    def towards(self, score: Floats) -> Floats:
        """Return the step that a score of the scaled design asks for, in the units of the model."""
        half = self._half
        return np.asarray(half @ (half.T @ score) / self.size)

    @property
    def inverse(self) -> Floats:
        """The inverse of the information, in the units of the model."""
        half = self._half / self.size[:, None]
        return np.asarray(half @ half.T)

    @property
    def blind(self) -> NDArray[np.bool_]:
        """Which coefficients the rows do not tell: empty levels, and terms that follow others."""
        return np.asarray((np.abs(self.axes[~self.seen]) > BLIND).any(axis=0))


def _tried(plan: ColumnPlan) -> NDArray[Any]:
    """Return a few cells of a column, to see which terms a model has."""
    if isinstance(plan, Category):
        return np.arange(40) % len(plan.levels)
    mean, sd = plan.start
    return mean + sd * np.linspace(-1, 1, 40)


# -------------------------------------------------------------------------------------------------
# What a draft is made from: published numbers, held against each other before any work is done.


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
