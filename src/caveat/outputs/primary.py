"""Primary suppression: which cells tell too much about those who are in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs.dominance import few_have_most, largest_can_be_told
from caveat.outputs.tables import Cells

__all__ = ["Contributors", "PrimaryRules", "Reason", "contributors_of", "primary_cells"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Reason(StrEnum):
    """Why a cell is hidden by itself; in the order in which the rules are tried."""

    ZERO = "zero"
    SINGLE = "single contributor"
    THRESHOLD = "too few contributors"
    DOMINANCE = "dominated by the largest contributors"
    P_PERCENT = "the largest contributor can be estimated too well"
    EARLIER = "hidden in an earlier publication"


@dataclass(frozen=True)
class PrimaryRules:
    """The rules; those that are None do not hold.

    Parameters
    ----------
    least
        The smallest number of contributors that may be shown.
    dominance
        ``(n, k)``: the n largest contributors have more than the share k of the total.
    p_percent
        The total without the two largest is less than p per cent of the largest: the second can
        estimate the largest that well.
    zeros
        Whether cells without contributors are hidden.
    singles
        Whether cells with a single contributor are hidden, whatever `least` says.
    """

    least: int | None = 3
    dominance: tuple[int, float] | None = None
    p_percent: float | None = None
    zeros: bool = False
    singles: bool = True

    def __post_init__(self) -> None:
        if self.least is not None and self.least < 1:
            raise CaveatError(
                "the least number of contributors is 1 or more",
                entry=("least",),
                code="outputs.rule.range",
            )
        if self.dominance is not None:
            n, k = self.dominance
            if n < 1 or n != int(n) or not 0 < k < 1:
                raise CaveatError(
                    "dominance is a whole number of contributors, and a share between 0 and 1",
                    entry=("dominance",),
                    code="outputs.rule.range",
                )
        if self.p_percent is not None and not 0 < self.p_percent <= 100:
            raise CaveatError(
                "p is above 0 and at most 100 per cent",
                entry=("p_percent",),
                code="outputs.rule.range",
            )

    @property
    def of_magnitudes(self) -> bool:
        """Whether a rule compares contributions."""
        return self.dominance is not None or self.p_percent is not None


@dataclass(frozen=True, eq=False)
class Contributors:
    """Who is in each inner cell with how much.

    Attributes
    ----------
    row, who, weight, amount
        For each inner cell and contributor in it: the contributor's number, how many it stands
        for, and the value of one of them.
    negative
        Whether a record has a negative value, even where the contributor's sum has none.
    """

    row: Ints
    who: Ints
    weight: Floats
    amount: Floats
    negative: bool = False

    __repr__ = without_values


def contributors_of(
    rows: Ints,
    who: Ints | None = None,
    weights: Floats | None = None,
    amounts: Floats | None = None,
) -> Contributors:
    """Gather records into contributions.

    Parameters
    ----------
    rows
        The inner cell of each record.
    who
        The contributor of each record; each record is its own if not given.
    weights
        How many each record stands for.
    amounts
        Its value; 1 if not given. Records without a value (NaN) contribute nothing.
    """
    n = len(rows)
    who = np.arange(n) if who is None else np.asarray(who, np.int64)
    weights = np.ones(n) if weights is None else np.asarray(weights, float)
    amounts = np.ones(n) if amounts is None else np.asarray(amounts, float)
    there = np.flatnonzero(~np.isnan(amounts) & (weights > 0))  # no weight, nobody
    base = int(who.max(initial=0)) + 1
    pairs, inverse = np.unique(rows[there] * base + who[there], return_inverse=True)
    total = np.bincount(inverse, (weights * amounts)[there], len(pairs))
    weight = np.zeros(len(pairs))
    np.maximum.at(weight, inverse, weights[there])
    amount = np.divide(total, weight, out=np.zeros(len(pairs)), where=weight > 0)
    negative = bool((amounts[there] < 0).any())
    return Contributors(pairs // base, pairs % base, weight, amount, negative)


def primary_cells(
    cells: Cells, given: Contributors, rules: PrimaryRules
) -> tuple[NDArray[Any], Ints, Ints]:
    """Apply the rules to every cell.

    Returns
    -------
    The reason of each cell (None where it may be shown), and the single contributor of each cell
    and of each inner cell (-1 where there are several or none).
    """
    if rules.of_magnitudes and given.negative:
        raise CaveatError(
            "dominance and p per cent rules compare contributions, and some are negative",
            where="tables",
            do="use absolute values, or the least number of contributors alone",
            code="outputs.rule.unsupported",
        )
    reasons = np.full(cells.n_cells, None, object)
    # What nobody is in twice is added up; only contributions need to be gathered cell by cell.
    if not rules.of_magnitudes and len(np.unique(given.who)) == len(given.who):
        counts, owner = (
            cells.sums(np.bincount(given.row, more, len(cells.inner)).astype(np.int64))
            for more in (None, given.who)
        )
        merged, starts = given, np.zeros(0, np.int64)
    else:
        merged = _by_cell(cells, given)
        starts = np.searchsorted(merged.row, np.arange(cells.n_cells + 1))
        counts = np.diff(starts)
        owner = np.append(merged.who, -1)[starts[:-1]]
    owner = np.where(counts == 1, owner, -1)
    _mark(reasons, counts, rules)
    if rules.of_magnitudes:
        total = _sum(merged.row, merged.weight * merged.amount, cells.n_cells)
        if rules.dominance is not None:
            n, k = rules.dominance
            much = few_have_most(total, largest(merged, starts, n), k)
            _set(reasons, much, Reason.DOMINANCE)
        if rules.p_percent is not None:
            one, two = largest(merged, starts, 1), largest(merged, starts, 2)
            near = largest_can_be_told(total, one, two, rules.p_percent / 100)
            _set(reasons, near, Reason.P_PERCENT)
    in_row = np.bincount(given.row, minlength=len(cells.inner))
    row_owner = np.full(len(cells.inner), -1, np.int64)
    alone = in_row[given.row] == 1
    row_owner[given.row[alone]] = given.who[alone]
    return reasons, owner, row_owner


def _mark(reasons: NDArray[Any], counts: Ints, rules: PrimaryRules) -> None:
    """Mark cells by the number of their contributors."""
    if rules.zeros:
        _set(reasons, counts == 0, Reason.ZERO)
    if rules.singles:
        _set(reasons, counts == 1, Reason.SINGLE)
    if rules.least is not None:
        _set(reasons, (counts > 0) & (counts < rules.least), Reason.THRESHOLD)


def _set(reasons: NDArray[Any], which: NDArray[np.bool_], reason: Reason) -> None:
    for cell in np.flatnonzero(which):
        if reasons[cell] is None:
            reasons[cell] = reason


def _sum(at: Ints, values: Floats, n: int) -> Floats:
    return np.bincount(at, values, n).astype(np.float64)


def _by_cell(cells: Cells, given: Contributors) -> Contributors:
    """Return the contributions to cells; the largest of each cell first."""
    matrix = sp.csr_array(cells.matrix)
    if len(np.unique(given.who)) == len(given.who):
        return _alone(cells, given, matrix)
    many = np.diff(matrix.indptr)[given.row]
    which = np.repeat(np.arange(len(given.row)), many)
    offset = np.repeat(matrix.indptr[given.row] - np.cumsum(many) + many, many)
    cell = matrix.indices[offset + np.arange(len(which))].astype(np.int64)
    merged = contributors_of(cell, given.who[which], given.weight[which], given.amount[which])
    order = np.lexsort((-merged.amount, merged.row))
    return Contributors(
        merged.row[order], merged.who[order], merged.weight[order], merged.amount[order]
    )


def _alone(cells: Cells, given: Contributors, matrix: Any) -> Contributors:
    """Return the same where nobody is in two inner cells: sorted once, then dealt out."""
    first = np.argsort(-given.amount, kind="stable")
    dealt = sp.csr_array(
        (np.ones(len(first), np.int8), given.row[first], np.arange(len(first) + 1)),
        shape=(len(first), len(cells.inner)),
    )
    by_cell = sp.csc_array(dealt @ matrix.astype(np.int8))
    by_cell.sort_indices()
    which = first[by_cell.indices]
    cell = np.repeat(np.arange(cells.n_cells), np.diff(by_cell.indptr))
    return Contributors(cell, given.who[which], given.weight[which], given.amount[which])


def largest(merged: Contributors, starts: Ints, n: int) -> Floats:
    """Return the sum of the n largest contributions to each cell.

    A record that stands for several contributors counts as so many.
    """
    before = np.cumsum(merged.weight) - merged.weight
    before -= np.append(before, 0)[starts[:-1]][merged.row] if len(merged.row) else 0
    taken = np.clip(n - before, 0, merged.weight)
    return _sum(merged.row, taken * merged.amount, len(starts) - 1)
