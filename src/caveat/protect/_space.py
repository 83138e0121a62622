"""The spaces in which the distance filter measures: coordinates of two tables, by metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.nearest import Floats, Mixed, gower_smallest, jaccard_smallest, tree_smallest
from caveat.notes import Note
from caveat.table import Column, Kind, Table, align
from caveat.table.align import recode_to

__all__ = ["METRICS", "Metric", "Points", "Space", "space_of"]

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
