"""Published regressions: what their coefficients ask of the rows of a draft.

A file reproduces coefficients exactly if the estimating equations Σ x (y − μ(xβ)) are zero at the
published β. That is a sum over rows: so it is known at once how a change of one row moves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError, hint
from caveat.expressions import Categories, Formula, design
from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Floats,
    Numeric,
    Rows,
    as_columns,
    check_weight,
)

__all__ = ["Equations", "Model"]

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
