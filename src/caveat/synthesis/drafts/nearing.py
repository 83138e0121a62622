"""Bring the rows of a draft to its targets.

Numbers are moved all together by the least change that meets the targets to first order, again and
again (Gauss and Newton). Where that is not possible, for categories and whole numbers, rows evolve:
in every generation many rows exchange a value with another row, or change by one; of all these
mutations, and of all pairs of them, the best survive. An exchange leaves the column as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.drafts.columns import (
    Category,
    ColumnPlan,
    Derived,
    Floats,
    Numeric,
    Rows,
    with_derived,
)
from caveat.synthesis.drafts.targets import Target

__all__ = ["Search"]

STEPS = 60
DAMPINGS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
SLOW = 0.999
MET = 1e-18
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
            if off @ off < MET:
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
