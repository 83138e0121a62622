"""Weights that meet given margins, also for samples of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table.align import common_levels
from caveat.table.grouping import constant_columns
from caveat.table.table import Column, Kind, Table, survey_weights

Floats = NDArray[np.float64]

ACCEPTED = 1e-6
"""Weights are accepted if no cell is further than this part of its target from it."""

ROUNDS = 200
HALVINGS = 40
STEEPEST = 50.0  # a step changes no weight by more than this power of e
MOST_CELLS = 5_000


@dataclass(frozen=True, eq=False)
class TargetMargin:
    """What the weights have to sum to in each cell of a table.

    Parameters
    ----------
    codes
        The cell of each unit, or of each member of one.
    targets
        What the cells have to sum to, one number for each code.
    unit
        For members: the position of the unit that each belongs to. Not for units themselves.
    """

    codes: NDArray[Any]
    targets: Floats
    unit: NDArray[Any] | None = None

    __repr__ = without_values


def rake(weights: Any, margins: Mapping[str, TargetMargin], *, tolerance: float = 1e-9) -> Floats:
    """Return weights that meet all margins, as near as can be to the given ones.

    Parameters
    ----------
    weights
        One positive number for each unit; only their proportions count.
    margins
        The margins by name. A cell whose target is 0 makes all units that are in it, or have a
        member in it, 0.
    tolerance
        The work ends when every cell is within this part of its target; if it does not get there,
        1e-6 is good enough, and anything more is refused.

    Examples
    --------
    A single woman, a single man and a couple are to stand for 30 women and 40 men:

    >>> sex, household = np.array([0, 1, 0, 1]), np.array([0, 1, 2, 2])
    >>> margin = TargetMargin(sex, np.array([30.0, 40.0]), household)
    >>> rake([1, 1, 1], {"sex": margin}).round(3).tolist()
    [12.972, 22.972, 17.028]
    """
    start = np.asarray(weights, dtype=np.float64)
    if not (start.ndim == 1 and np.isfinite(start).all() and (start >= 0).all() and start.any()):
        raise CaveatError(
            "weights are numbers from 0 up, and not all of them 0",
            where="raking",
            code="data.weights.range",
        )
    if not margins:
        raise CaveatError(
            "there is no margin to rake to", do="name one", code="synthesis.margin.absent"
        )
    matrix = scipy.sparse.hstack(
        [_counts(m, len(start), name) for name, m in margins.items()], "csr"
    )
    targets = np.concatenate([np.asarray(m.targets, np.float64) for m in margins.values()])
    if len(targets) > MOST_CELLS:
        raise CaveatError(
            f"the margins have {len(targets):,} cells, more than {MOST_CELLS:,}",
            where="raking",
            do="name fewer margins, or group their levels",
            code="synthesis.cell.too-many",
        )
    _check_totals(margins)
    # A target of 0 leaves nobody in its cell; what remains has a positive target everywhere.
    barred = np.asarray(matrix[:, targets == 0].sum(axis=1)).ravel() > 0
    left = np.flatnonzero((start > 0) & ~barred)
    asked = np.flatnonzero(targets > 0)
    matrix = matrix[left][:, asked]
    _check_filled(np.asarray(matrix.sum(axis=0)).ravel(), margins, asked)
    found = np.zeros(len(start))
    found[left] = _newton(start[left], matrix, targets[asked], tolerance)
    _check_met(matrix.T @ found[left], targets[asked], margins, asked)
    return found


def _counts(margin: TargetMargin, n: int, name: str) -> scipy.sparse.csr_array:
    """Return how many members of each unit are in each cell; a unit is its own member."""
    codes, targets = np.asarray(margin.codes), np.asarray(margin.targets, dtype=np.float64)
    unit = np.arange(n) if margin.unit is None else np.asarray(margin.unit)
    if len(codes) != len(unit):
        whom = "units" if margin.unit is None else "members"
        raise CaveatError(
            f"there are {len(codes):,} codes for {len(unit):,} {whom}",
            where=f"margin {name}",
            do="give each one its cell",
            code="synthesis.margin.mismatch",
        )
    if not (np.isfinite(targets).all() and (targets >= 0).all() and targets.any()):
        raise CaveatError(
            "targets are numbers from 0 up, and not all of them 0",
            where=f"margin {name}",
            code="synthesis.target.range",
        )
    if len(codes) and not (codes.min() >= 0 and codes.max() < len(targets)):
        raise CaveatError(
            "a code has no target",
            where=f"margin {name}",
            do="give one target for each cell",
            code="synthesis.target.absent",
        )
    if len(unit) and not (unit.min() >= 0 and unit.max() < n):
        raise CaveatError(
            "a member belongs to no unit", where=f"margin {name}", code="synthesis.unit.unknown"
        )
    return scipy.sparse.csr_array((np.ones(len(codes)), (unit, codes)), shape=(n, len(targets)))


def _check_totals(margins: Mapping[str, TargetMargin]) -> None:
    """Refuse margins of the same units, or of the same members, that differ in their total."""
    first: dict[int, tuple[str, float]] = {}
    for name, margin in margins.items():
        total = float(np.sum(margin.targets))
        other, known = first.setdefault(id(margin.unit), (name, total))
        if abs(total - known) > ACCEPTED * known:
            raise CaveatError(
                f"the targets sum to {total:,.6g} and those of margin {other} to {known:,.6g}",
                where=f"margin {name}",
                do="margins of the same units need the same total",
                code="synthesis.target.mismatch",
            )


def _named(margins: Mapping[str, TargetMargin], cell: int) -> str:
    """Return the margin and the code that a cell among all of them stands for."""
    for name, margin in margins.items():
        if cell < len(margin.targets):
            return f"margin {name}, code {cell}"
        cell -= len(margin.targets)
    raise IndexError(cell)


def _check_filled(
    counts: Floats, margins: Mapping[str, TargetMargin], asked: NDArray[np.intp]
) -> None:
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        raise CaveatError(
            "a cell has a target above 0 and nobody in it who may have a weight",
            where=_named(margins, int(asked[empty[0]])),
            do="group it with another cell",
            code="synthesis.cell.empty",
        )


def _check_met(
    sums: Floats, targets: Floats, margins: Mapping[str, TargetMargin], asked: NDArray[np.intp]
) -> None:
    off = np.abs(sums / targets - 1)
    worst = int(np.argmax(off))
    if not off[worst] <= ACCEPTED:
        raise CaveatError(
            f"no weights meet all margins: a cell stays {off[worst]:.1%} off its target",
            where=_named(margins, int(asked[worst])),
            do="drop a margin, or group cells that few units are in",
            code="synthesis.margin.conflict",
        )


def _newton(
    start: Floats, matrix: scipy.sparse.csr_array, targets: Floats, tolerance: float
) -> Floats:
    """Minimise Σ d exp(A λ) − λ'target, whose slope is what the cells hold beyond their targets.

    The weights are first brought to the right size as a whole: so their unit does not matter.
    """
    begun = start * (targets.sum() / float((matrix.T @ start).sum()))
    log = np.log(begun)
    weights, best = begun, begun
    lack, least = _off(matrix, weights, targets), np.inf
    power, length = np.zeros(len(targets)), np.diff(matrix.indptr)
    weighted = matrix.copy()
    for _ in range(ROUNDS):
        if lack < least:
            best, least = weights, lack
        if lack <= tolerance:
            break
        slope = matrix.T @ weights - targets
        weighted.data = matrix.data * np.repeat(weights, length)
        bend = (matrix.T @ weighted).toarray()
        # Margins of the same units say some things twice: of all solutions the shortest is taken.
        with threadpool_limits(
            limits=1
        ):  # threads that wait for a busy core cost more than they save
            step = -np.linalg.lstsq(bend, slope, rcond=1e-12)[0]
        moved = matrix @ step
        scale = min(1.0, STEEPEST / max(float(np.abs(moved).max(initial=0.0)), 1e-300))
        here = float(weights.sum() - power @ targets)
        for _ in range(HALVINGS):
            there = np.exp(np.minimum(log + scale * moved, 700.0))
            value = float(there.sum() - (power + scale * step) @ targets)
            if value <= here + 1e-4 * scale * float(slope @ step) or scale < 1e-9:
                break
            scale /= 2
        power, log = power + scale * step, log + scale * moved
        weights = np.exp(np.minimum(log, 700.0))
        lack = _off(matrix, weights, targets)
    return best if least <= lack else np.asarray(weights)


def _off(matrix: scipy.sparse.csr_array, weights: Floats, targets: Floats) -> float:
    return float(np.abs(matrix.T @ weights / targets - 1).max())


# -------------------------------------------------------------------------------------------------
# Weights of a sample of groups, calibrated to what is known of the population.


OF_MEMBERS, OF_GROUPS = "count", "groups"
"""The column of a margin that holds its numbers: of members, or of groups."""


def calibrated(table: Table, key: str, weights: str, margins: Sequence[Table]) -> Table:
    """Return the table with weights of groups that sum to given margins.

    Parameters
    ----------
    table
        The sample; rows with the same key are one group and have one weight.
    key, weights
        The columns of the key and of the weights.
    margins
        Tables with columns of the sample and one more, ``count`` for numbers of members or
        ``groups`` for numbers of groups.

    Examples
    --------
    >>> sample = Table.from_frame({"hh": [1, 2, 2], "sex": ["f", "f", "m"], "w": [10.0, 10, 10]})
    >>> known = Table.from_frame({"sex": ["f", "m"], "count": [50, 20]})
    >>> calibrated(sample, "hh", "w", [known])["w"].cell_numbers.round(3).tolist()
    [30.0, 20.0, 20.0]
    """
    first, owner = np.unique(table[key].codes, return_index=True, return_inverse=True)[1:]
    start = survey_weights(table[weights], weights)[first]
    targets = {}
    for number, margin in enumerate(margins, 1):
        where = f"margin {number}"
        name = next((n for n in (OF_MEMBERS, OF_GROUPS) if n in margin), "")
        if not name or len(margin.names) < 2:
            raise CaveatError(
                "it has no column with numbers, or no other column",
                where=where,
                do=f"call the numbers of members {OF_MEMBERS!r}, those of groups {OF_GROUPS!r}",
                code="synthesis.margin.malformed",
            )
        names = [n for n in margin if n != name]
        cells = _cells(table, margin, names, where)
        numbers = _numbers(margin[name], where, name)
        of_groups = name == OF_GROUPS
        if of_groups:
            _check_shared(table, key, names, where)
        targets[str(number)] = TargetMargin(
            cells[first] if of_groups else cells, numbers, None if of_groups else owner
        )
    raked = rake(start, targets)[owner]
    levels, codes = np.unique(raked, return_inverse=True)
    return table.with_columns({weights: Column(codes, levels, Kind.NUMERIC)})


def _numbers(column: Column, where: str, name: str) -> NDArray[np.float64]:
    if not column.kind.is_number or column.is_missing.any():
        raise CaveatError(
            "it has cells that are no numbers", where=where, column=name, code="data.value.type"
        )
    return column.cell_numbers


def _check_shared(table: Table, key: str, names: Sequence[str], where: str) -> None:
    """Refuse numbers of groups in cells that members do not share."""
    shared = constant_columns(table.select([key, *names]), key)
    for name in names:
        if name not in shared:
            raise CaveatError(
                "members of a group differ in it, and numbers of groups are asked for",
                where=where,
                column=name,
                do=f"call the numbers {OF_MEMBERS!r} if they count members",
                code="data.group.mismatch",
            )


def _cells(table: Table, margin: Table, names: Sequence[str], where: str) -> NDArray[np.int64]:
    """Return for each row of the table the row of the margin that it counts in."""
    ours, theirs = np.zeros(table.n_rows, np.int64), np.zeros(margin.n_rows, np.int64)
    for name in names:
        if name not in table:
            raise CaveatError(
                f"there is no column {name!r}",
                where=where,
                do="check its name",
                code="data.column.unknown",
            )
        mine, other = common_levels([table[name], margin[name]], name)
        ours = ours * mine.n_levels + mine.codes
        theirs = theirs * mine.n_levels + other.codes
    order = np.argsort(theirs)
    if (np.diff(theirs[order]) == 0).any():
        raise CaveatError(
            "a cell stands in two rows",
            where=where,
            do="give each cell one row",
            code="synthesis.cell.duplicate",
        )
    place = np.minimum(np.searchsorted(theirs[order], ours), margin.n_rows - 1)
    lost = int((theirs[order][place] != ours).sum())
    if lost:
        raise CaveatError(
            f"{lost:,} rows of the sample are in no cell of it",
            where=where,
            do="add the cells that are missing",
            code="synthesis.cell.absent",
        )
    return order[place]
