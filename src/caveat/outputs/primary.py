"""Cells that tell too much: primary suppression, earlier publications, and rounding instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.audit import recoverable_by_any
from caveat.outputs.statbarns import few_have_most, largest_can_be_told
from caveat.outputs.tables import Cells
from caveat.seeds import rng_of
from caveat.showing import without_values

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


# -------------------------------------------------------------------------------------------------
# What an earlier publication has told already: it cannot be undone, only not be added to.


Bools = NDArray[np.bool_]
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Earlier:
    """Tables that are published already, among those of one model matrix.

    Parameters
    ----------
    tables
        Their positions among the tables.
    shown
        Whether each cell is shown in one of them. What they have and do not show, they hide.
    """

    tables: tuple[int, ...]
    shown: Bools

    __repr__ = without_values


@dataclass(frozen=True, eq=False)
class Settled:
    """What is left to protect beside an earlier publication.

    Attributes
    ----------
    primary
        Which cells must stay hidden: by the rules, or since they were hidden earlier.
    known
        Which cells are shown already, or follow from those that are.
    told
        The cells that the rules hide, and that are known all the same: only in earlier tables.
    tables
        The positions of the earlier tables.
    """

    primary: Bools
    known: Bools
    told: tuple[int, ...] = ()
    tables: tuple[int, ...] = ()

    __repr__ = without_values


def settle(cells: Cells, reasons: NDArray[Any], earlier: Earlier | None) -> Settled:
    """Say what can be protected; a cell of a new table that is told already is refused.

    Parameters
    ----------
    cells
        The cells of the new and of the earlier tables.
    reasons
        Why the rules hide each cell, None where they do not. What the earlier tables hide and the
        rules do not is written into it.
    earlier
        What is published already.
    """
    primary = np.array([reason is not None for reason in reasons], bool)
    if earlier is None or not earlier.tables:
        return Settled(primary, np.zeros(cells.n_cells, bool))
    known = earlier.shown | recoverable_by_any(cells.matrices, ~earlier.shown)
    told = primary & known
    new = np.zeros(cells.n_cells, bool)
    for position, members in enumerate(cells.members):
        new[members] |= position not in earlier.tables
    if (told & new).any():
        which = np.flatnonzero(told & new)
        raise CaveatError(
            f"the earlier publication tells cells that the rules hide ({len(which):,}): "
            f"{in_words(cells, which.tolist())}",
            where="tables",
            do="this cannot be undone; use coarser codes, or leave the new table out",
            code="outputs.cell.confidential",
        )
    hidden = np.zeros(cells.n_cells, bool)
    for position in earlier.tables:
        hidden[cells.members[position]] = True
    reasons[hidden & ~known & ~primary] = Reason.EARLIER
    primary = (primary | hidden) & ~known
    return Settled(primary, known, tuple(np.flatnonzero(told).tolist()), earlier.tables)


def in_words(cells: Cells, which: Sequence[int]) -> str:
    """Name some cells."""
    more = len(which) - MOST_NAMED
    named = "; ".join(cells.words(cell) for cell in which[:MOST_NAMED])
    return f"{named}; and {more} more" if more > 0 else named


# -------------------------------------------------------------------------------------------------
# Rounding and perturbation of counts, where no cell is to be hidden.
#
# `controlled`
#     Every cell becomes a multiple of a base next to its count, and the tables still add up: a
#   whole
#     program by HiGHS.
# `perturbed`
#     Every record has a key between 0 and 1. The key of a cell is the fraction of the sum of the
#   keys
#     of its records, and chooses its noise from a table of probabilities. The same cell has the
#   same
#     noise wherever it is shown; tables do not add up exactly.
#
# Stochastic rounding of inner cells is :func:`caveat.protect.stochastic_round`; totals are sums
# of the rounded inner cells.

SECONDS = 60.0


def controlled(matrix: Any, inner: Ints, base: int, *, seconds: float = SECONDS) -> Ints:
    """Round inner cells to a multiple of the base below or above, so that totals stay near.

    Parameters
    ----------
    matrix
        Inner cells by cells.
    inner
        The counts of the inner cells.
    base
        The base.
    seconds
        How long to look for the roundings whose cells are nearest to the counts.

    Returns
    -------
    The rounded value of each cell: sums of rounded inner cells, so that all tables add up.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    >>> controlled(matrix, np.array([2, 2, 1]), 5)[3].item()
    5
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    inner = np.asarray(inner)
    if inner.dtype.kind not in "iu" or (inner < 0).any() or base < 2:
        raise CaveatError(
            "controlled rounding is for counts, and a base of 2 or more",
            where="rounding",
            code="outputs.setting.range" if base < 2 else "outputs.value.type",
        )
    cells = sp.csr_array(sp.csc_array(matrix).T)
    n_cells, n = cells.shape
    low = inner // base
    rest = (inner % base > 0).astype(float)
    # A rounded cell is base * X'(low + up); its distance from the count is bounded by a variable.
    off = cells @ (base * low - inner)
    eye = sp.eye_array(n_cells)
    lines = sp.vstack([sp.hstack([base * cells, -eye]), sp.hstack([-base * cells, -eye])])
    found = milp(
        np.append(np.zeros(n), np.ones(n_cells)),
        constraints=LinearConstraint(sp.csr_array(lines), ub=np.append(-off, off)),
        bounds=Bounds(np.zeros(n + n_cells), np.append(rest, np.full(n_cells, np.inf))),
        integrality=np.append(np.ones(n), np.zeros(n_cells)),
        options={"time_limit": seconds},
    )
    if found.x is None:
        raise CaveatError(
            f"no rounding was found within {seconds:g} seconds",
            where="rounding",
            do="use stochastic rounding, or fewer tables at once",
            code="outputs.table.timeout",
        )
    rounded = base * (low + np.rint(found.x[:n]).astype(np.int64))
    return np.asarray(cells @ rounded, np.int64)


def record_keys(n: int, seed: int) -> NDArray[np.float64]:
    """Return a key for each record; keep them with the records for every table that is made."""
    return rng_of(seed).random(n)


def perturbations(least: int = 3, largest: int = 5) -> NDArray[np.float64]:
    """Return the table of probabilities of noise: for each count, of noise -largest … largest.

    Noise has mean 0, and no count from 1 to least - 1 comes out. Among such noise it is the one
    with p(v) proportional to exp(a v - v²/largest); the last row is for all larger counts. A count
    of 0 stays 0.

    Examples
    --------
    >>> table = perturbations(3, 5)
    >>> noise = np.arange(-5, 6)
    >>> bool(np.allclose(table @ noise, 0))
    True
    """
    from scipy.optimize import brentq

    if largest < least or least < 1:
        largest = max(largest, least, 1)
    noise = np.arange(-largest, largest + 1)
    rows = []
    for count in range(largest + least + 1):
        after = count + noise
        allowed = (after == 0) | (after >= least) if count else noise == 0

        def shares(a: float, allowed: NDArray[np.bool_] = allowed) -> NDArray[np.float64]:
            raw = a * noise - noise**2 / largest
            raw = np.where(allowed, raw, -np.inf)
            p = np.exp(raw - raw.max())
            return np.asarray(p / p.sum())

        if count and not (noise[allowed] == 0).all():
            rows.append(shares(brentq(lambda a, s=shares: float(s(a) @ noise), -60, 60)))
        else:
            rows.append(shares(0.0))
    return np.stack(rows)


def perturbed(cells: Cells, keys: NDArray[np.float64], table: NDArray[np.float64]) -> Ints:
    """Return the counts of all cells with the noise that their keys choose.

    Parameters
    ----------
    cells
        The cells.
    keys
        The key of each record, from :func:`record_keys`.
    table
        Probabilities of noise, from :func:`perturbations`.
    """
    n = len(cells.inner)
    counts = cells.sums(np.bincount(cells.row_of, minlength=n))
    # Whole numbers of 2^-40, so that a cell's key does not depend on the order of its records.
    whole = np.floor(keys * 2**40).astype(np.int64)
    per_row = np.zeros(n, np.int64)
    np.add.at(per_row, cells.row_of, whole)
    key = (cells.sums(per_row) % 2**40) / 2**40
    steps = np.cumsum(table, axis=1)[np.minimum(counts, len(table) - 1)]
    steps[:, -1] = 1.0
    noise = (key[:, None] >= steps).sum(axis=1) - table.shape[1] // 2
    return np.asarray(counts + noise, np.int64)
