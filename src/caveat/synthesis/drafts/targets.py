"""Targets of a draft: each says how far the rows are from a published number, and what moves it.

All distances are in units of sampling error: a mean that is one standard error off counts as much
as a share or a coefficient that is. Each target is a sum over rows, to first order; so the change
that a new value in one row makes is known without looking at the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Floats,
    Numeric,
    Rows,
    numbers_of,
)
from caveat.synthesis.drafts.joint import Margin
from caveat.synthesis.drafts.models import Equations, Fitted
from caveat.synthesis.drafts.plan import DraftPlan

__all__ = ["Nearness", "Target", "targets_of"]

Plans = Mapping[str, ColumnPlan]
ERRORS_UNIT = 0.05
"""So large a part of a standard error counts as one unit: no sample tells it better."""

EXACT = 1e4
"""How much more a total counts, which is exact in the end: others settle beside it."""
MET = 1e-6
"""A number that differs by this part of the published one is met."""
MET_UNITS = 1e-5
"""So is one that differs by this part of the sampling error: a published 0 has no digits."""


@dataclass(frozen=True)
class Nearness:
    """How near a draft came to one published number.

    Parameters
    ----------
    kind
        "share", "mean", "sd", "correlation", "coefficient" or "standard error".
    what
        Of what.
    wanted, got
        The published number and that of the draft; None where it cannot be computed.
    units
        The difference in units of sampling error.
    why
        Why it cannot be computed; empty where it can.
    """

    kind: str
    what: str
    wanted: float
    got: float | None
    units: float | None
    why: str = ""

    @property
    def words(self) -> str:
        """How near it is, in words."""
        if self.got is None or self.units is None:
            return "cannot be computed"
        off = abs(self.got - self.wanted)
        if off <= MET * abs(self.wanted) or abs(self.units) <= MET_UNITS:
            return "met"
        if abs(self.units) <= 0.05:
            return "very near"
        return "near" if abs(self.units) <= 1 else "missed"


class Target(Protocol):
    """A published number, or several."""

    @property
    def uses(self) -> tuple[str, ...]:
        """The columns that it depends on."""

    @property
    def weight(self) -> float:
        """How much it counts."""

    def distance(self, rows: Rows) -> Floats:
        """Return how far off the rows are, and look from here on at the neighbourhood of these."""

    def shares(self, rows: Rows) -> Floats:
        """Return what each row adds to each distance, up to a constant: one line per row."""

    def report(self, rows: Rows) -> list[Nearness]:
        """Say how near the rows came."""


@dataclass
class TableTarget:
    """Shares of a table."""

    plans: Plans
    margin: Margin
    rows: int

    @property
    def uses(self) -> tuple[str, ...]:
        return self.margin.by

    @property
    def weight(self) -> float:
        return self.margin.weight

    @property
    def _units(self) -> Floats:
        shares = np.maximum(self.margin.shares.ravel(), 1 / self.rows)
        return np.asarray(np.sqrt(shares * np.maximum(1 - shares, 1 / self.rows) / self.rows))

    def _cells(self, rows: Rows) -> NDArray[np.int64]:
        codes = [rows[name] for name in self.margin.by]
        return np.asarray(np.ravel_multi_index(codes, self.margin.shares.shape), np.int64)

    def distance(self, rows: Rows) -> Floats:
        counts = np.bincount(self._cells(rows), minlength=self.margin.shares.size)
        return (counts / self.rows - self.margin.shares.ravel()) / self._units

    def shares(self, rows: Rows) -> Floats:
        cells = self._cells(rows)
        found = np.zeros((len(cells), self.margin.shares.size))
        found[np.arange(len(cells)), cells] = (1 / self.rows / self._units)[cells]
        return found

    def report(self, rows: Rows) -> list[Nearness]:
        told = self.margin.shares if self.margin.published is None else self.margin.published
        wanted = told.ravel()
        got = np.bincount(self._cells(rows), minlength=wanted.size) / self.rows
        off = (got - wanted) / self._units
        plans = ((name, self.plans[name]) for name in self.margin.by)
        levels = [
            [f"{n} {level}" for level in p.levels] for n, p in plans if isinstance(p, Category)
        ]
        found = []
        for i, place in enumerate(product(*levels)):
            what = ", ".join(place)
            found.append(Nearness("share", what, float(wanted[i]), float(got[i]), float(off[i])))
        return found


@dataclass
class MomentTarget:
    """Mean or standard deviation of a column."""

    plans: Plans
    kind: str
    name: str
    wanted: float
    size: float
    rows: int
    weight: float
    centre: float = 0.0

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def _unit(self) -> float:
        return float(self.size / np.sqrt(self.rows * (1 if self.kind == "mean" else 2)))

    def _value(self, rows: Rows) -> float:
        values = rows[self.name]
        return float(values.mean() if self.kind == "mean" else values.std(ddof=1))

    def distance(self, rows: Rows) -> Floats:
        self.centre = float(rows[self.name].mean())
        self.now = self._value(rows)
        return np.array([(self.now - self.wanted) / self._unit])

    def shares(self, rows: Rows) -> Floats:
        values = rows[self.name][:, None]
        if self.kind == "mean":
            return np.asarray(values / self.rows / self._unit)
        spread = 2 * max(self.now, 1e-6 * self.size) * (self.rows - 1)
        return np.asarray((values - self.centre) ** 2 / spread / self._unit)

    def report(self, rows: Rows) -> list[Nearness]:
        got = self._value(rows)
        off = (got - self.wanted) / self._unit
        return [_near(self.kind, self.name, self.wanted, got, off)]


@dataclass
class CorrelationTarget:
    """Correlations of pairs of columns."""

    plans: Plans
    pairs: tuple[tuple[str, str], ...]
    wanted: Floats
    published: Floats
    rows: int
    weight: float

    __repr__ = without_values

    def __post_init__(self) -> None:
        self.names = tuple(dict.fromkeys(name for pair in self.pairs for name in pair))
        self.left = [self.names.index(one) for one, _ in self.pairs]
        self.right = [self.names.index(other) for _, other in self.pairs]

    @property
    def uses(self) -> tuple[str, ...]:
        return self.names

    def _scores(self, rows: Rows) -> Floats:
        return np.asarray((numbers_of(self.plans, rows, self.names) - self.centre) / self.scale)

    def distance(self, rows: Rows) -> Floats:
        values = numbers_of(self.plans, rows, self.names)
        self.centre = values.mean(axis=0)
        self.scale = np.maximum(values.std(axis=0, ddof=1), 1e-12)
        scores = self._scores(rows)
        self.now = (scores[:, self.left] * scores[:, self.right]).sum(axis=0) / (self.rows - 1)
        return np.asarray((self.now - self.wanted) * np.sqrt(self.rows))

    def shares(self, rows: Rows) -> Floats:
        scores = self._scores(rows)
        one, other = scores[:, self.left], scores[:, self.right]
        # A correlation falls when either column spreads.
        moved = one * other - self.now / 2 * (one**2 + other**2)
        return np.asarray(moved / (self.rows - 1) * np.sqrt(self.rows))

    def report(self, rows: Rows) -> list[Nearness]:
        self.distance(rows)
        off = (self.now - self.published) * np.sqrt(self.rows)
        values = numbers_of(self.plans, rows, self.names)
        still = np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)
        constant = [name for name, own in zip(self.names, still, strict=True) if own]
        found = []
        for pair, wanted, now, units in zip(self.pairs, self.published, self.now, off, strict=True):
            why = next((f"{name} is constant" for name in pair if name in constant), "")
            what = " with ".join(pair)
            found.append(_near("correlation", what, float(wanted), float(now), float(units), why))
        return found


@dataclass
class ModelTarget:
    """Coefficients of a model, and their standard errors."""

    equations: Equations

    @property
    def uses(self) -> tuple[str, ...]:
        return self.equations.formula.columns

    @property
    def weight(self) -> float:
        return self.equations.model.weight

    def _units(self, fitted: Fitted) -> Floats:
        model = self.equations
        own = np.where(fitted.errors > 0, fitted.errors, 1.0)
        return np.where(model.with_error, model.wanted_errors, own)

    def distance(self, rows: Rows) -> Floats:
        model = self.equations
        self.fitted = fitted = model.fit(rows)
        # Coefficients hang together, the constant with all others: whitened, they are judged by
        # the score statistic, and each can be moved without the rest.
        inner = fitted.inverse[np.ix_(model.given, model.given)] * fitted.spread
        size = np.sqrt(np.maximum(np.diag(inner), 0.0))
        size = np.where(size > 0, size, 1.0)  # terms differ by many powers of ten
        inner = inner / np.outer(size, size)
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        roots = np.sqrt(np.maximum(values, 1e-12 * float(values.max(initial=1e-300))))
        self.whitened = vectors / roots / size[:, None]
        steps = fitted.step[model.given] @ self.whitened
        errors = (fitted.errors / model.wanted_errors - 1)[model.with_error] / ERRORS_UNIT
        return np.concatenate([steps, errors])

    def shares(self, rows: Rows) -> Floats:
        model, fitted = self.equations, self.fitted
        _, (matrix, response) = model.cells(rows)
        mean, slope = model.means(matrix @ fitted.beta)
        lack = response - mean
        towards = matrix @ fitted.inverse
        found = (towards * lack[:, None])[:, model.given] @ self.whitened
        if not model.with_error.any():
            return np.asarray(found)
        # How a row moves a variance: by its error, and by what it tells about the coefficient.
        moved = -fitted.spread * slope[:, None] * towards**2
        if model.family == "linear":
            free = max(len(fitted.matrix) - len(fitted.beta), 1)
            moved += lack[:, None] ** 2 / free * np.diag(fitted.inverse)
        least = 1e-9 * np.nan_to_num(model.wanted_errors, nan=1.0)
        own = 2 * np.maximum(fitted.errors, least) * model.wanted_errors * ERRORS_UNIT
        return np.hstack([found, (moved / own)[:, model.with_error]])

    def report(self, rows: Rows) -> list[Nearness]:
        model = self.equations
        fitted = model.fit(rows, free=True)
        units, errors = self._units(fitted), fitted.errors
        found = []
        for i, term in enumerate(model.names):
            what = f"{term} in {model.formula.text}"
            why = self._why(fitted, i)
            if model.given[i]:
                wanted, got = float(model.wanted[i]), float(fitted.beta[i])
                found.append(
                    _near("coefficient", what, wanted, got, (got - wanted) / units[i], why)
                )
            if model.with_error[i]:
                wanted, got = float(model.wanted_errors[i]), float(errors[i])
                ratio = (got / wanted - 1) / ERRORS_UNIT
                if model.family == "linear" and len(fitted.matrix) <= len(model.names):
                    why = why or "there are no more rows than terms"
                found.append(_near("standard error", what, wanted, got, ratio, why))
        return found

    def _why(self, fitted: Fitted, i: int) -> str:
        """Say why the model does not tell a coefficient; nothing if it does."""
        if fitted.blind[i]:
            names = [n for n, own in zip(self.equations.names, fitted.blind, strict=True) if own]
            return f"the rows do not determine {', '.join(names)}"
        return "" if fitted.converged else "the fit does not converge"


def _near(kind: str, what: str, wanted: float, got: float, units: float, why: str = "") -> Nearness:
    """Say how near a number came, unless something is in the way of it."""
    if not why and not np.isfinite([got, units]).all():
        why = "it is no number"
    if why:
        return Nearness(kind, what, wanted, None, None, why)
    return Nearness(kind, what, wanted, float(got), float(units))


def _is_total(one: ColumnPlan) -> bool:
    return isinstance(one, Numeric) and one.exact


def targets_of(plan: DraftPlan, rows: int) -> list[Target]:
    """Return all targets of a plan on so many rows."""
    found: list[Target] = [TableTarget(plan.columns, margin, rows) for margin in plan.margins]
    tabled = {name for margin in plan.margins for name in margin.by}
    for name, one in plan.columns.items():
        if not isinstance(one, Category):
            found += [
                MomentTarget(
                    plan.columns, kind, name, wanted, one.start[1], rows,
                    one.weight * (EXACT if kind == "mean" and _is_total(one) else 1.0),
                )
                for kind, wanted in (("mean", one.mean), ("sd", one.sd))
                if wanted is not None
            ]  # fmt: skip
        elif one.shares is not None and name not in tabled:
            found.append(TableTarget(plan.columns, plan.own_margin(name), rows))
    names, matrix, weights = plan.correlation
    for weight in np.unique(weights[weights > 0]):
        at = np.argwhere(np.triu(weights == weight, 1))
        pairs = tuple((names[i], names[j]) for i, j in at)
        wanted = matrix[at[:, 0], at[:, 1]]
        published = plan.published_correlation[1][at[:, 0], at[:, 1]]
        found.append(CorrelationTarget(plan.columns, pairs, wanted, published, rows, float(weight)))
    return found + [ModelTarget(one) for one in plan.equations]
