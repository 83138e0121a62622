"""Synthetic records that are too close to a person: the distance filter, and uniques removed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.nearest import TIE, Floats, Mixed, gower_smallest, jaccard_smallest, tree_smallest
from caveat.notes import Note
from caveat.protect.record import Protected, Step
from caveat.risk import key_cells
from caveat.table import Column, Kind, Table, align, concat
from caveat.table.align import recode_to

Points = NDArray[Any] | Mixed
Metric = Literal["mahalanobis", "euclidean", "gower", "jaccard"]
METRICS: tuple[Metric, ...] = ("mahalanobis", "euclidean", "gower", "jaccard")

# Eigenvalues of the correlation matrix. Below the first the columns determine each other; below the
# second the inverse would blow rounding and sampling error up, and the matrix is shrunken.
SINGULAR = 1e-10
NEARLY_SINGULAR = 1e-4
FAR = 3.0  # ranges: further out, all numbers are equally far away


@dataclass(frozen=True)
class Space:
    """How points of the two tables are made and compared.

    Parameters
    ----------
    points
        Turns rows of either table into coordinates.
    nearest
        Finds the smallest distances between points, and the largest ``own`` at that distance.
    columns
        The columns that take part.
    notes
        What was decided.
    """

    points: Callable[[Table], Points]
    nearest: Callable[..., tuple[Floats, Floats]]
    columns: tuple[str, ...]
    notes: tuple[Note, ...] = ()


def space_of(original: Table, metric: Metric, columns: Sequence[str] | None) -> Space:
    """Return the space of a metric; without columns, those that the metric can take."""
    if metric not in METRICS:
        raise CaveatError(
            f"there is no distance {metric!r}",
            where="metric",
            do=f"use {', '.join(METRICS)}",
            code="protection.setting.unknown",
        )
    usable = [n for n in original if _fits(original[n], metric)]
    left_out = [n for n in original if n not in usable]
    if columns is not None:
        for name in columns:
            if original[name] is not None and name not in usable:
                raise CaveatError(
                    f"the {metric} distance cannot take it",
                    column=name,
                    do='leave it out, or use metric = "gower" for mixed columns',
                    code="protection.column.unsupported",
                )
        usable, left_out = list(columns), []
    if not usable:
        raise CaveatError(
            f"no column can take part in the {metric} distance",
            do="use gower",
            code="protection.column.absent",
        )
    notes = (Note("left-out", f"without {', '.join(left_out)}"),) if left_out else ()
    if metric == "gower":
        return _gower(original, usable, notes)
    if metric == "jaccard":
        return _jaccard(original, usable, notes)
    return _linear(original, usable, notes, metric == "mahalanobis")


def _fits(column: Column, metric: Metric) -> bool:
    if column.kind in (Kind.TEXT, Kind.ID):
        return False
    if metric == "gower":
        return True
    binary = int((column.counts[: len(column.levels)] > 0).sum()) == 2
    if metric == "jaccard":
        return binary and not column.is_missing.any()
    return (column.kind.has_order or binary) and not _constant(column)


def _constant(column: Column) -> bool:
    return int((column.counts > 0).sum()) < 2


def _place(column: Column) -> Floats:
    """Return a number for every code: the value, or the place in the order; NaN for missing."""
    n = len(column.levels)
    numbers = column.numbers if column.kind.is_number else np.arange(n, dtype=np.float64)
    return np.append(numbers, np.full(len(column.missing), np.nan))


def _raw(original: Table, table: Table, names: Sequence[str]) -> Floats:
    """Return numbers of a table in the order that the original's levels have."""
    out = np.empty((table.n_rows, len(names)))
    for j, name in enumerate(names):
        found = align(original.select([name]), table.select([name]))
        out[:, j] = _place(found.original[name])[found.synthetic[name].codes]
    return out


def _linear(original: Table, names: Sequence[str], notes: tuple[Note, ...], whiten: bool) -> Space:
    """Numbers in standard deviations, decorrelated for Mahalanobis.

    A missing number is the mean, and a column of its own says that it is missing.
    """
    raw = _raw(original, original, names)
    mean = np.nanmean(raw, axis=0)
    gaps, labels = _missing_patterns(raw, names)

    def filled(table: Table) -> Floats:
        values = _raw(original, table, names)
        marks = np.isnan(values[:, gaps]).astype(np.float64)
        return np.hstack([np.where(np.isnan(values), mean, values), marks])

    ours = filled(original)
    centre, spread = ours.mean(axis=0), ours.std(axis=0)
    standard = (ours - centre) / spread
    turn = np.eye(standard.shape[1])
    if whiten:
        turn, note = _whitening(standard, labels)
        notes += note

    def points(table: Table) -> Points:
        return _turned((filled(table) - centre) / spread, turn)

    return Space(points, tree_smallest, tuple(names), notes)


def _turned(points: Floats, turn: Floats) -> Floats:
    """Return points @ turn, summed in one order for every row: equal rows must stay equal."""
    out = np.zeros((len(points), turn.shape[1]))
    for column, row in zip(points.T, turn, strict=True):
        out += column[:, None] * row
    return out


def _missing_patterns(raw: Floats, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the columns with a pattern of missing cells of their own, and names for all."""
    gaps: list[int] = []
    seen: set[bytes] = set()
    for j in range(raw.shape[1]):
        pattern = np.isnan(raw[:, j])
        if pattern.any() and pattern.tobytes() not in seen:
            seen.add(pattern.tobytes())
            gaps.append(j)
    return gaps, [*names, *(f"{names[j]} (missing or not)" for j in gaps)]


def _whitening(standard: Floats, labels: Sequence[str]) -> tuple[Floats, tuple[Note, ...]]:
    """Return W with W W' = R⁻¹ for the correlations R, shrunken where these are nearly singular."""
    correlation = standard.T @ standard / len(standard)
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < SINGULAR:
        involved = [name for name, w in zip(labels, vectors[:, 0], strict=True) if abs(w) > 1e-6]
        raise CaveatError(
            "they determine each other, so that there is no Mahalanobis distance",
            where=f"columns {', '.join(involved)}",
            do="leave one of them out, or use another metric",
            code="protection.column.conflict",
        )
    notes: tuple[Note, ...] = ()
    if values[0] < NEARLY_SINGULAR:
        from sklearn.covariance import ledoit_wolf_shrinkage

        share = float(ledoit_wolf_shrinkage(standard, assume_centered=True))
        share = max(share, NEARLY_SINGULAR)
        values = (1 - share) * values + share
        says = "correlations nearly singular: shrunken towards none by {share:.2g}"
        notes = (Note("shrunken", says, share=share),)
    return vectors / np.sqrt(values), notes


def _gower(original: Table, names: Sequence[str], notes: tuple[Note, ...]) -> Space:
    """Numbers and ordered levels as shares of the original's range, codes for the rest.

    A way to be missing is a number far from all others: differences count 1 at most.
    """
    numbers = [n for n in names if original[n].kind.has_order and not _constant(original[n])]
    others = [n for n in names if n not in numbers]
    used = [_used(original[n]) for n in numbers]
    low = np.array([np.nanmin(values) for values in used])
    width = np.array([np.nanmax(values) for values in used]) - low
    width[width == 0] = 1.0
    # The columns that differ most come first: they end the search soonest.
    spread = [np.nanstd(_place(original[n])[original[n].codes]) for n in numbers] / width
    first = np.argsort(-spread, kind="stable")
    numbers, low, width = [numbers[k] for k in first], low[first], width[first]

    def points(table: Table) -> Points:
        shares = np.clip((_raw(original, table, numbers) - low) / width, -FAR, FAR)
        for k, name in enumerate(numbers):
            way = recode_to(table[name], original[name]) - len(original[name].levels)
            shares[:, k] = np.where(np.isnan(shares[:, k]), FAR * (way + 2), shares[:, k])
        codes = np.empty((table.n_rows, len(others)), dtype=np.int32)
        for k, name in enumerate(others):
            codes[:, k] = recode_to(table[name], original[name])
        return Mixed(shares, codes)

    return Space(points, gower_smallest, tuple(names), notes)


def _used(column: Column) -> Floats:
    place = _place(column)
    return np.where(column.counts > 0, place, np.nan)


def _jaccard(original: Table, names: Sequence[str], notes: tuple[Note, ...]) -> Space:
    """Take the larger of the two levels as 1: true of false and true, yes of no and yes."""

    def points(table: Table) -> Points:
        raw = _raw(original, table, names)
        if np.isnan(raw).any():
            raise CaveatError(
                "the release has missing cells where the original has none",
                code="data.value.mismatch",
            )
        return np.asarray(raw == largest, dtype=np.uint8)

    largest = np.nanmax(_raw(original, original, names), axis=0)
    return Space(points, jaccard_smallest, tuple(names), notes)


# -------------------------------------------------------------------------------------------------
# The distance filter: no synthetic record closer to a person than her own neighbour is.
#
# A synthetic record is removed if it is closer to its nearest original record than that record is
# to its own nearest original neighbour (arXiv 2310.06571). The filter looks at real records, and
# what it removes tells something about them.


Refill = Callable[[int, int], Table]
"""Draws so many fresh synthetic records; the second number counts the rounds from 1."""

MOST_AT_ONCE = 4  # a round draws at most so many times the rows that are wanted


class Filter:
    """The distances among the originals, found once for all rounds."""

    def __init__(self, original: Table, space: Space, threads: int | None = None) -> None:
        self.space = space
        self.threads = threads
        self.points, _, counts = _distinct(space.points(original))
        own = np.full(len(counts), np.inf)  # nobody is near somebody who is alone
        if len(counts) > 1:
            own, _ = space.nearest(self.points, self.points, own, apart=True, threads=threads)
        # A record with a twin has a neighbour at distance 0.
        self.own = np.where(counts > 1, 0.0, own)
        self.n_twins = int(counts[counts > 1].sum())

    def closer(self, synthetic: Table) -> NDArray[np.bool_]:
        """Return which synthetic records are too close."""
        query, place, _ = _distinct(self.space.points(synthetic))
        distance, own = self.space.nearest(query, self.points, self.own, threads=self.threads)
        return np.asarray((distance < own * (1 - TIE))[place])


def _distinct(points: Points) -> tuple[Points, NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct points, which of them each row is, and how often they occur."""
    parts = points if isinstance(points, Mixed) else (points,)
    rows = np.hstack([part.astype(np.float64) for part in parts]) + 0.0  # no minus zero
    _, first, place, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    chosen = points.take(first) if isinstance(points, Mixed) else points[first]
    return chosen, place.reshape(-1), counts


def too_close(
    original: Table,
    synthetic: Table,
    *,
    metric: Metric = "mahalanobis",
    columns: Sequence[str] | None = None,
    threads: int | None = None,
) -> NDArray[np.bool_]:
    """Return for each synthetic record whether the filter removes it.

    The arguments are those of :func:`distance_filter`. Where several originals are equally near,
    it is enough to be closer than the neighbour of one of them.

    Examples
    --------
    >>> people = Table.from_frame({"x": [0.0, 10.0, 20.0]})
    >>> release = Table.from_frame({"x": [1.0, 35.0]})
    >>> too_close(people, release, metric="euclidean").tolist()
    [True, False]
    """
    space = space_of(original, metric, columns)
    return Filter(original, space, threads).closer(synthetic)


def distance_filter(
    original: Table,
    synthetic: Table,
    *,
    metric: Metric = "mahalanobis",
    columns: Sequence[str] | None = None,
    refill: Refill | None = None,
    most_rounds: int = 20,
    threads: int | None = None,
) -> Protected:
    """Remove synthetic records that are too close to an original one, and refill.

    Parameters
    ----------
    original, synthetic
        The original and the release.
    metric
        "mahalanobis" and "euclidean" (in standard deviations) for numbers, ordered and binary
        columns; "gower" for mixed columns; "jaccard" for binary ones.
    columns
        The columns that take part; by default all that the metric can take.
    refill
        Draws fresh records until there are as many as before. Without it the release gets smaller.
    most_rounds
        Rounds of refilling after which the filter gives up with a warning.
    threads
        Cores to use; the result does not depend on it.
    """
    space = space_of(original, metric, columns)
    judge = Filter(original, space, threads)
    wanted, rounds, drawn = synthetic.n_rows, 0, synthetic.n_rows
    close = judge.closer(synthetic)
    first = int(close.sum())
    kept = [synthetic.take(np.flatnonzero(~close))]
    n_kept = kept[0].n_rows
    while refill is not None and n_kept < wanted and rounds < most_rounds:
        rounds += 1
        fresh = refill(_to_draw(wanted, n_kept, drawn), rounds)
        close = judge.closer(fresh)
        drawn += fresh.n_rows
        kept.append(fresh.take(np.flatnonzero(~close)[: wanted - n_kept]))
        n_kept += kept[-1].n_rows
    if not n_kept:
        raise _nothing_left(drawn, metric, space.columns)
    notes = space.notes
    if refill is not None and n_kept < wanted:
        notes += (_not_refilled(n_kept, wanted, rounds),)
        warnings.warn(f"distance filter: {notes[-1]}", CaveatWarning, stacklevel=2)
    counts = {
        "rows": wanted,
        "removed": first,
        "removed, per cent": 100 * first / max(wanted, 1),
        "rounds of refilling": rounds,
        "drawn": drawn,
        "left": n_kept,
        "originals with a twin": judge.n_twins,
    }
    settings = {"metric": metric, "columns": list(space.columns), "most_rounds": most_rounds}
    step = Step("distance_filter", settings, counts, reads_original=True, notes=notes)
    return Protected(concat(kept) if len(kept) > 1 else kept[0], step)


def _not_refilled(kept: int, wanted: int, rounds: int) -> Note:
    says = "{kept:,} of {wanted:,} records after {rounds} rounds of refilling"
    return Note("not-refilled", says, kept=kept, wanted=wanted, rounds=rounds)


def _nothing_left(drawn: int, metric: Metric, columns: Sequence[str]) -> CaveatError:
    return CaveatError(
        f"the filter would remove all of {drawn:,} synthetic records",
        where=f"distance {metric}, columns {', '.join(columns)}",
        do="use fewer columns or another metric; or the generator only copies",
        code="protection.table.empty",
    )


def _to_draw(wanted: int, kept: int, drawn: int) -> int:
    """Return how many records to draw so that about enough of them will be kept."""
    share = max(kept / drawn, 1 / MOST_AT_ONCE)
    return max(1, min(math.ceil(1.1 * (wanted - kept) / share), MOST_AT_ONCE * wanted))


# -------------------------------------------------------------------------------------------------
# Removal of synthetic uniques that stand for somebody in the original.


def remove_replicated_uniques(
    original: Table, synthetic: Table, keys: Sequence[str], *, existing: bool = False
) -> Protected:
    """Remove records that are unique on the keys in the release and in the original.

    Parameters
    ----------
    original, synthetic
        The original and the release.
    keys
        Columns an attacker may know.
    existing
        Remove also uniques of the release whose keys several original records have.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffm"), "age": [31, 47, 31]})
    >>> release = Table.from_frame({"sex": list("ffm"), "age": [31, 31, 31]})
    >>> dict(remove_replicated_uniques(people, release, ["sex", "age"]).step.counts)
    {'rows': 3, 'removed': 1}
    """
    if not keys:
        raise CaveatError(
            "no key is named",
            do="say which columns an attacker may know",
            code="protection.key.absent",
        )
    both = align(original.select(keys), synthetic.select(keys))
    tables = (both.original, both.synthetic)
    cells, n = key_cells(
        [[table[key].codes for key in keys] for table in tables],
        [both.original[key].n_levels for key in keys],
    )
    ours, theirs = (np.bincount(c, minlength=n) for c in cells)
    bad = (theirs == 1) & ((ours >= 1) if existing else (ours == 1))
    keep = ~bad[cells[1]]
    if not keep.any():
        raise CaveatError(
            "every synthetic record is such a unique, and nothing would remain",
            where=f"keys {', '.join(keys)}",
            do="choose fewer or coarser keys",
            code="protection.table.empty",
        )
    step = Step(
        "remove_replicated_uniques",
        {"keys": list(keys), "existing": existing},
        {"rows": len(keep), "removed": int((~keep).sum())},
        reads_original=True,
    )
    return Protected(synthetic.take(np.flatnonzero(keep)), step)
