"""Targets of a draft: how far its rows are from published numbers, and what brings them nearer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Derived,
    Floats,
    Margin,
    Numeric,
    Rows,
    numbers_of,
    with_derived,
)
from caveat.synthesis.drafts.plan import DraftPlan, Equations, Fitted

__all__ = ["Nearness", "Search", "Target", "targets_of"]


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


# -------------------------------------------------------------------------------------------------
# Bring the rows of a draft to its targets.
#
# Numbers are moved all together by the least change that meets the targets to first order, again
# and again (Gauss and Newton). Where that is not possible, for categories and whole numbers, rows
# evolve: in every generation many rows exchange a value with another row, or change by one; of
# all these mutations, and of all pairs of them, the best survive. An exchange leaves the column
# as it is.


STEPS = 60
DAMPINGS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
SLOW = 0.999
ALL_MET = 1e-18
"""A sum of squares at which all targets are met, in units of sampling error."""

ENOUGH = 1e-8
"""The same for rows that evolve: a ten-thousandth of the sampling error."""
GENERATIONS = 600
MUTATIONS = 600
PATIENCE = 25  # generations without a gain worth the name
GAIN = 1e-3


class Search:
    """The targets of a draft, and ways to come nearer to them."""

    def __init__(self, plans: Mapping[str, ColumnPlan], targets: Sequence[Target]) -> None:
        self.plans = plans
        self.targets = targets

    def _reached(self, name: str) -> set[str]:
        """Return a column and all that are computed from it."""
        found = {name}
        for _ in self.plans:
            found |= {
                n for n, p in self.plans.items() if isinstance(p, Derived) and found & set(p.parts)
            }
        return found

    def _moved_by(self, names: Sequence[str]) -> list[Target]:
        """Return the targets that some columns move."""
        touched = set().union(*(self._reached(name) for name in names)) if names else set()
        return [target for target in self.targets if touched & set(target.uses)]

    def _distance(self, targets: Sequence[Target], rows: Rows) -> Floats:
        """Return how far off the rows are, weighed: its square is what is made small."""
        whole = with_derived(self.plans, rows)
        found = [target.distance(whole) for target in targets]
        self.scale = np.concatenate(
            [np.full(len(d), np.sqrt(t.weight / max(len(d), 1)))
             for d, t in zip(found, targets, strict=True)]
        )  # fmt: skip
        return np.asarray(np.concatenate(found) * self.scale)

    def _shares(self, targets: Sequence[Target], rows: Rows) -> Floats:
        whole = with_derived(self.plans, rows)
        return np.asarray(np.hstack([target.shares(whole) for target in targets]) * self.scale)

    def move_numbers(self, rows: Rows, names: Sequence[str]) -> Rows:
        """Move numbers by the least change that meets the targets."""
        targets = self._moved_by(names)
        if not targets:
            return rows
        off = self._distance(targets, rows)
        for _ in range(STEPS):
            if off @ off < ALL_MET:
                break
            tried, after = self._best_step(targets, rows, names, off)
            if tried is None:
                break
            slow = after @ after > SLOW * (off @ off)
            rows, off = tried, after
            if slow:
                break
        self._distance(targets, rows)
        return rows

    def _best_step(
        self,
        targets: Sequence[Target],
        rows: Rows,
        names: Sequence[str],
        off: Floats,
    ) -> tuple[Rows | None, Floats]:
        """Try the whole step and ever more damped ones (Levenberg and Marquardt)."""
        best, found = off, None
        slopes = {name: self._slopes(targets, rows, name) for name in names}
        gram = sum((own.T @ own for own in slopes.values()), np.zeros((len(off), len(off))))
        for damping in DAMPINGS:
            pull = _least(gram, off, damping)
            tried = dict(rows)
            for name in names:
                plan = self.plans[name]
                assert isinstance(plan, Numeric)
                move = -(slopes[name] @ pull) * self._room(rows, name)
                tried[name] = np.clip(rows[name] + move, *plan.bounds)
            after = self._distance(targets, tried)
            if np.isfinite(after).all() and after @ after < best @ best:
                best, found = after, tried
            elif found is not None:
                break
        self._distance(targets, rows if found is None else found)
        return found, best

    def _room(self, rows: Rows, name: str) -> Floats:
        """Return how far each number may move in one step: less near a bound."""
        plan = self.plans[name]
        assert isinstance(plan, Numeric)
        sd, (low, high) = plan.start[1], plan.bounds
        free = np.minimum(rows[name] - low, high - rows[name])
        return np.clip(free, 1e-3 * sd, sd)

    def _slopes(self, targets: Sequence[Target], rows: Rows, name: str) -> Floats:
        """Return how each cell of a column moves each distance: all cells are tried at once."""
        plan = self.plans[name]
        assert isinstance(plan, Numeric)
        step = 1e-4 * plan.start[1]
        up = self._shares(targets, {**rows, name: rows[name] + step})
        down = self._shares(targets, {**rows, name: rows[name] - step})
        # A bound may be where a logarithm ends: such a cell is not moved.
        slopes = np.nan_to_num((up - down) / (2 * step), nan=0.0, posinf=0.0, neginf=0.0)
        return np.asarray(slopes * self._room(rows, name)[:, None])

    def evolve(
        self,
        rows: Rows,
        names: Sequence[str],
        rng: np.random.Generator,
        *,
        generations: int = GENERATIONS,
        done: Callable[[int, int], None] | None = None,
    ) -> Rows:
        """Let categories and whole numbers evolve."""
        targets = self._moved_by(names)
        if not targets or not names:
            return rows
        rows = {name: cells.copy() for name, cells in rows.items()}
        off = self._distance(targets, rows)
        best, waited = float(off @ off), 0
        for generation in range(generations):
            if best < ENOUGH or waited >= PATIENCE:
                break
            self._generation(targets, rows, off, names, rng)
            off = self._distance(targets, rows)
            now = float(off @ off)
            waited = 0 if now < (1 - GAIN) * best else waited + 1
            best = min(best, now)
            if done is not None:
                done(generation + 1, generations)
        return rows

    def _generation(
        self,
        targets: Sequence[Target],
        rows: Rows,
        off: Floats,
        names: Sequence[str],
        rng: np.random.Generator,
    ) -> None:
        """Try mutations, and carry out the best ones that do not touch the same rows."""
        moves = [self._mutations(rows, name, MUTATIONS // len(names) + 1, rng) for name in names]
        owner = [name for name, (own, _) in zip(names, moves, strict=True) for _ in own]
        lines = np.vstack([move[0] for move in moves])
        values = np.vstack([move[1] for move in moves])
        change = self._changes(targets, rows, owner, lines, values)
        gone: set[int] = set()
        for picked in _best(off, change, lines):
            if gone & set(lines[picked].ravel().tolist()):
                continue
            after = off + change[picked].sum(axis=0)
            if after @ after >= off @ off:
                continue
            off = after
            for one in picked:
                rows[owner[one]][lines[one]] = values[one]
            gone |= set(lines[picked].ravel().tolist())

    def _mutations(
        self, rows: Rows, name: str, many: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return pairs of rows, and the values that they get."""
        cells, plan = rows[name], self.plans[name]
        lines = rng.integers(0, len(cells), (many, 2))
        values = cells[lines][:, ::-1].copy()
        if isinstance(plan, Numeric):
            # Half of them move by one; where a mean is published another row moves back.
            moved = np.flatnonzero(rng.random(many) < 0.5)
            step = np.where(rng.random(len(moved)) < 0.5, -1, 1)
            back = step if plan.mean is not None else 0 * step
            values[moved] = cells[lines[moved]] + np.column_stack([step, -back])
            low, high = plan.bounds
            outside = ((values < low) | (values > high)).any(axis=1)
            values[outside] = cells[lines[outside]]
        useful = (lines[:, 0] != lines[:, 1]) & (values != cells[lines]).any(axis=1)
        return lines[useful], values[useful]

    def _changes(
        self,
        targets: Sequence[Target],
        rows: Rows,
        columns: Sequence[str],
        lines: NDArray[np.int64],
        values: Floats,
    ) -> Floats:
        """Return what each mutation would do to the distances."""
        before = {name: cells[lines.ravel()] for name, cells in rows.items()}
        after = dict(before)
        owner = np.repeat(np.array(columns, dtype=object), 2)
        for name in dict.fromkeys(columns):
            own = owner == name
            after[name] = before[name].copy()
            after[name][own] = values.ravel()[own]
        change = self._shares(targets, after) - self._shares(targets, before)
        return np.asarray(change.reshape(len(lines), 2, change.shape[1]).sum(axis=1))


def _least(gram: Floats, off: Floats, damping: float) -> Floats:
    """Solve for the least change; what no number moves is left alone."""
    values, vectors = np.linalg.eigh(gram)
    largest = max(float(values[-1]), 1e-300)
    useful = values > 1e-13 * largest
    told = (vectors[:, useful].T @ off) / (values[useful] + damping * largest)
    return np.asarray(vectors[:, useful] @ told)


def _best(off: Floats, change: Floats, lines: NDArray[np.int64]) -> list[list[int]]:
    """Return the best mutations, and pairs of them, the best first."""
    if not len(change):
        return []
    after = off + change
    alone = (after**2).sum(axis=1)
    # |off + a + b|² for all pairs at once.
    pairs = alone[:, None] + (change**2).sum(axis=1) + 2 * after @ change.T
    np.fill_diagonal(pairs, alone)
    few = np.argpartition(pairs, min(200, pairs.size - 1), axis=None)[:200]
    ordered = few[np.argsort(pairs.ravel()[few], kind="stable")]
    found = []
    for place in ordered.tolist():
        one, other = divmod(place, len(change))
        if one == other:
            found.append([one])
        elif one < other and not set(lines[one].tolist()) & set(lines[other].tolist()):
            found.append([one, other])
    return found


def movable(plans: Mapping[str, ColumnPlan], *, whole: bool) -> list[str]:
    """Return columns of whole numbers and categories, or of other numbers."""
    return [
        name
        for name, plan in plans.items()
        if (isinstance(plan, Category) and whole)
        or (isinstance(plan, Numeric) and plan.whole is whole)
    ]
