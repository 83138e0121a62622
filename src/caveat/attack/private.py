"""The strong attacker on a private release: she is given the noisy tables and the chosen pairs.

Rows drawn from the tables tell nothing that the tables do not. How probable these are in a world
that differs in one record is known exactly: a record moves one cell of each table by one, and with
it the distance of every pair from independence, by which pairs are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.privacy import discrete_gaussian_log_pmf
from caveat.synthesis import Plan
from caveat.synthesis.coding import Coding
from caveat.synthesis.margins.guaranteed import declared_codings
from caveat.synthesis.margins.promise import (
    NOT_COUNTED,
    Measured,
    Pair,
    cells_in,
    expected,
    open_pairs,
)
from caveat.synthesis.margins.tables import count_tables, places
from caveat.table import Table

__all__ = ["TableChanges"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FAR = 12
"""Standard deviations that noise never moves a count by."""
BLOCK = 4_096
"""Worlds whose choices are compared at a time."""


class TableChanges:
    """How much more or less probable what was measured is when one record is another, or gone.

    Parameters
    ----------
    measured
        The noisy tables and the choices.
    cells
        The cell of each record, by column.
    codings
        How other records find their cells.
    """

    @classmethod
    def of(cls, plan: Plan, original: Table) -> TableChanges | None:
        """Return the changes to a table by whose noisy tables a plan was filled; None for others.

        A plan that promises something is attacked by what was measured, or not at all.
        """
        promise = None if plan.margins is None else plan.margins.promise
        if promise is None:
            return None
        if promise.measured is None:
            raise CaveatError(
                "the plan does not say what was measured, which the attacker is given",
                where="generator",
                do="give the fitted model (--model)",
                code="attack.model.absent",
            )
        codings = declared_codings(plan)
        changes = cls(promise.measured, cells_in(codings, original), codings)
        if changes.is_foreign:
            raise CaveatError(
                "the noisy tables are not of these data: no noise is so far from their counts",
                where="generator",
                do="give the table that the model was measured on",
                code="attack.model.mismatch",
            )
        return changes

    def __init__(
        self,
        measured: Measured,
        cells: Mapping[str, Ints],
        codings: Mapping[str, Coding] | None = None,
    ) -> None:
        self.codings = codings or {}
        self.measured = measured
        self.cells = cells
        pairs = expected(measured.singles, measured.sizes) if measured.choices else {}
        wanted = [*measured.tables, *(pair for pair in pairs if pair not in measured.tables)]
        counted = count_tables(cells, measured.sizes, wanted)
        self._counts = {n: np.rint(t).astype(np.int64).ravel() for n, t in counted.items()}
        self._expected = {pair: counts.ravel() for pair, counts in pairs.items()}

    @property
    def is_foreign(self) -> bool:
        """Whether a count is further from what was seen than noise ever is."""
        for names, seen in self.measured.tables.items():
            off = np.abs(seen.ravel() - self._counts[names] - self.measured.alpha)
            wide = self.measured.sigmas.get(names) or np.sqrt(self._counts[names] + 1.0)
            if np.any(off > FAR * wide + FAR * bool(self.measured.alpha)):
                return True
        return False

    def logs(
        self,
        records: Ints,
        come: Mapping[str, Ints] | None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return log p(measured | world) - log p(measured | data), one world per record.

        Parameters
        ----------
        records
            The record that leaves in each world.
        come
            The cells of the one that comes instead, by column; None if nobody does.
        done
            Called with the share of the work that has become ready.
        """
        parts = []
        for start in range(0, len(records), BLOCK):
            block = slice(start, start + BLOCK)
            gone = {name: codes[records[block]] for name, codes in self.cells.items()}
            new = None if come is None else {name: codes[block] for name, codes in come.items()}
            parts.append(self._of_tables(gone, new) + self._of_choices(gone, new))
            if done is not None:
                done(len(parts[-1]) / len(records))
        return np.concatenate(parts) if parts else np.zeros(0)

    def logs_of(
        self, records: Ints, come: Table | None, done: Callable[[float], None] | None = None
    ) -> Floats:
        """Return the same for rows of a table that come instead."""
        return self.logs(records, None if come is None else cells_in(self.codings, come), done)

    def _of_tables(self, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> Floats:
        """Return what the noise has to say."""
        total: Floats = np.zeros(len(next(iter(gone.values()))))
        touched = _touched(gone, come)
        for names, seen in self.measured.tables.items():
            if not touched & set(names):
                continue
            less, more = (self._moved(names, seen.ravel(), by) for by in (-1, 1))
            out, into = self._places(names, gone, come)
            total += np.where((out == into) | (out < 0), 0.0, less[out])
            if come is not None:
                total += np.where((out == into) | (into < 0), 0.0, more[into])
        return total

    def _moved(self, names: tuple[str, ...], seen: Ints, by: int) -> Floats:
        """Return for each cell how its probability changes when one is added to its count."""
        counts = self._counts[names]
        if self.measured.alpha:
            return _log_poisson(seen, counts + by, self.measured.alpha) - _log_poisson(
                seen, counts, self.measured.alpha
            )
        sigma = self.measured.sigmas[names]
        before, after = (discrete_gaussian_log_pmf(seen - c, sigma) for c in (counts, counts + by))
        return np.asarray(after - before)

    def _places(
        self, names: tuple[str, ...], gone: Mapping[str, Ints], come: Mapping[str, Ints] | None
    ) -> tuple[Ints, Ints]:
        """Return the cells that lose and win one; below 0 where none does.

        Nobody may come, and a record that is not counted moves no table.
        """
        out = np.maximum(places(gone, self.measured.sizes, names), NOT_COUNTED)
        if come is None:
            return out, np.full(len(out), NOT_COUNTED)
        return out, np.maximum(places(come, self.measured.sizes, names), NOT_COUNTED)

    def _of_choices(self, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> Floats:
        """Return what the choice of the pairs has to say."""
        total: Floats = np.zeros(len(next(iter(gone.values()))))
        if not self.measured.choices:
            return total
        touched = _touched(gone, come)
        scale = self.measured.choice_epsilon / 2
        base = {p: float(np.abs(self._counts[p] - e).sum()) for p, e in self._expected.items()}
        moved = {p: scale * self._further(p, gone, come) for p in base if touched & set(p)}
        more = {pair: np.expm1(further) for pair, further in moved.items()}
        chosen: list[Pair] = []
        for pair in self.measured.choices:
            still = {
                p: base[p] for p in open_pairs(self.measured.sizes, chosen, self.measured.last)
            }
            top = max(still.values())
            weights = {p: math.exp(scale * (score - top)) for p, score in still.items()}
            before = math.fsum(weights.values())
            after = before + sum((w * more[p] for p, w in weights.items() if p in more), 0.0)
            total += moved.get(pair, 0.0) - np.log(after / before)
            chosen.append(pair)
        return total

    def _further(
        self, pair: Pair, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None
    ) -> Ints:
        """Return how much further the table of a pair is from independence in each world."""
        away = self._counts[pair] - self._expected[pair]
        out, into = self._places(pair, gone, come)
        less = np.abs(away[out] - 1) - np.abs(away[out])
        more = np.abs(away[into] + 1) - np.abs(away[into])
        moved = np.where(out < 0, 0, less) + np.where(into < 0, 0, more)
        return np.where(out == into, 0, moved)


def _touched(gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> set[str]:
    """Return the columns in which a record that comes differs from the one that goes."""
    if come is None:
        return set(gone)
    return {name for name, cells in gone.items() if not np.array_equal(cells, come[name])}


def _log_poisson(seen: Ints, counts: Ints, alpha: float) -> Floats:
    """Return log P(seen) of Poisson(count + alpha); cells that nobody leaves do not matter."""
    mean = np.maximum(counts, 0) + alpha
    return np.asarray(seen * np.log(mean) - mean - scipy.special.gammaln(seen + 1))
