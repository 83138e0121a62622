"""Places before and after masking: what hides them, and what an analyst still sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.risk.places import (
    CRITICAL,
    TOLERABLE,
    SpatialAnonymity,
    check_side,
    people_within,
    spatial_k,
)
from caveat.showing import without_values
from caveat.table import Table
from caveat.table.align import common_levels
from caveat.table.cells import key_cells
from caveat.table.coordinates import Floats, Plane, plane_of, points_of
from caveat.utility.patterns import NearestNeighbours, ZoneShares, nearest_neighbours, zone_shares

__all__ = ["Places", "Population", "Zones", "measure_places"]


@dataclass(frozen=True)
class Population:
    """Where people live.

    Parameters
    ----------
    places
        Addresses, or middles of grid cells, in the coordinates of the tables.
    counts
        How many people at each; one without it.
    cell
        The side of a grid cell in metres.
    """

    places: Floats
    counts: Floats | None = None
    cell: float | None = None

    __repr__ = without_values

    def hides(self, true: Floats, new: Floats, plane: Plane) -> SpatialAnonymity:
        """Return among how many people each moved place hides."""
        where = plane.forward(self.places)
        return SpatialAnonymity(
            people_within(true, new, where, self.counts, cell=self.cell), "people"
        )


@dataclass(frozen=True)
class Zones:
    """Which prevalence is compared, and by which zones.

    Parameters
    ----------
    target, value
        The column, and its value that is counted.
    cell
        The side of square zones in metres; or
    column
        the column of the original that names the zone of each true place: a moved place is in the
        zone of the nearest true one; or
    places
        points whose nearest one gives the zone, with
    names
        their zones.
    """

    target: str
    value: Any
    cell: float | None = None
    column: str = ""
    places: Floats | None = None
    names: NDArray[Any] | None = None

    __repr__ = without_values


@dataclass(frozen=True)
class Places:
    """Places before and after masking.

    Attributes
    ----------
    missing
        Records without a place on one side, left out.
    distance
        How far each place was moved, in metres.
    anonymity, people
        k among the moved points, and among a population if one was given.
    before, after
        The nearest neighbours of both patterns.
    zones
        Prevalences by zone, if asked for.
    apart
        Records that share their true place with others and were moved elsewhere than these.
    reordered
        Columns with the same values in another order: perhaps the records are.
    """

    missing: int
    distance: Floats
    anonymity: SpatialAnonymity
    people: SpatialAnonymity | None
    before: NearestNeighbours | None
    after: NearestNeighbours | None
    zones: ZoneShares | None
    apart: int
    reordered: tuple[str, ...] = ()

    __repr__ = without_values

    def to_dict(self, k: float = CRITICAL) -> dict[str, Any]:
        """Return all results but those of single records, ready for JSON."""
        moved = np.quantile(self.distance, (0, 0.5, 1)).tolist()
        found = (self.people, self.before, self.after, self.zones)
        parts = [None if part is None else part.to_dict() for part in found[1:]]
        return {
            "points": len(self.distance), "missing": self.missing, "moved apart": self.apart,
            "moved": {"least": moved[0], "median": moved[1], "most": moved[2]},
            "k": self.anonymity.to_dict(k),
            "people": None if self.people is None else self.people.to_dict(k),
            "nearest neighbours": {"before": parts[0], "after": parts[1]}, "zones": parts[2],
        }  # fmt: skip

    def sentences(self, k: int = CRITICAL) -> list[str]:
        """Return what was found, in words."""
        low, middle, high = np.quantile(self.distance, (0, 0.5, 1)).tolist()
        told = [f"{len(self.distance):,} places moved by {low:,.0f} to {high:,.0f} m, the middle "
                f"one by {middle:,.0f} m"]  # fmt: skip
        if self.missing:
            told.append(f"{self.missing:,} records have no place and are left out")
        told += [_hidden(one, k) for one in (self.anonymity, self.people) if one is not None]
        told.append(_pattern(self.before, self.after))
        if self.zones is not None:
            told.append(_moved_zones(self.zones))
        if self.reordered:
            told.append(
                f"WARNING: {', '.join(self.reordered)}: the same values in another order; if the "
                "records are not in the order of the original, nothing of this is true"
            )
        unmoved = int((self.distance == 0).sum())
        if unmoved:
            told.append(f"WARNING: {unmoved:,} places were not moved at all")
        if self.apart:
            told.append(
                f"WARNING: {self.apart:,} records share their true place with others and were "
                "moved apart: who sees that they belong together averages their places; move "
                "them together"
            )
        return told


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _hidden(found: SpatialAnonymity, k: int) -> str:
    low, middle, high = found.quartiles
    alike = f" with the same {', '.join(found.same)}" if found.same else ""
    share = found.below(k)
    told = f"half of the places hide among {middle:,.0f} or more {found.against}{alike} (quartiles "
    told += f"{low:,.0f} and {high:,.0f}); {_percent(share)} among fewer than {k}"
    if k != CRITICAL:
        return told
    kept = "below" if share < TOLERABLE else "NOT below"
    return f"{told}, {kept} the {100 * TOLERABLE:.0f} % that are tolerable in a file for research"


def _moved_zones(found: ZoneShares) -> str:
    told = f"{_percent(found.changed)} of the records are in another zone; "
    if found.mean_difference is None:
        return told + "no zone has records before and after"
    points = 100 * found.mean_difference
    return told + f"the prevalence of a zone changes by {points:.1f} points on average"


def _pattern(before: NearestNeighbours | None, after: NearestNeighbours | None) -> str:
    if before is None or after is None:
        return "too few places, or all on a line, for a ratio of nearest neighbours"
    return (
        f"the nearest other place is {before.observed:,.1f} m away on average, and "
        f"{after.observed:,.1f} m afterwards: {before.ratio:.2f} and {after.ratio:.2f} of what it "
        "would be at random (below 1: clusters)"
    )


def measure_places(
    original: Table,
    moved: Table,
    x: str,
    y: str,
    *,
    same: Sequence[str] = (),
    population: Population | None = None,
    zones: Zones | None = None,
    degrees: bool | None = None,
    epsg: int | None = None,
) -> Places:
    """Measure what masking did to places.

    Parameters
    ----------
    original, moved
        The table before and after: the same records in the same order.
    x, y
        The columns of the places in both.
    same
        Columns of the moved table that an attacker knows: only records that agree on them hide
        each other.
    population
        Where people live, for a k among people.
    zones
        Which prevalence to compare, by which zones.
    degrees, epsg
        As for :func:`caveat.protect.donut`.
    """
    if original.n_rows != moved.n_rows:
        raise CaveatError(
            "the two tables have different numbers of rows",
            where="places",
            do="give the same records in the same order",
            code="data.row.mismatch",
        )
    told = points_of(original, x, y), points_of(moved, x, y)
    plane = plane_of(told[0], (x, y), degrees=degrees, epsg=epsg)
    rows = np.flatnonzero(~np.isnan(told[0][:, 0]) & ~np.isnan(told[1][:, 0]))
    if not len(rows):
        what, where = "no record has a place before and after", f"columns {x} and {y}"
        raise CaveatError(what, where=where, code="data.record.too-few")
    true, new = (plane.forward(points[rows]) for points in told)
    (classes,), _ = key_cells(
        [[np.zeros(len(rows), np.int64), *(moved[name].codes[rows] for name in same)]],
        [1, *(moved[name].n_levels for name in same)],
    )
    return Places(
        missing=original.n_rows - len(rows),
        distance=np.hypot(*(new - true).T),
        anonymity=SpatialAnonymity(spatial_k(true, new, classes), "moved points", tuple(same)),
        people=None if population is None else population.hides(true, new, plane),
        before=nearest_neighbours(true),
        after=nearest_neighbours(new),
        zones=None if zones is None else _zones(zones, original, moved, rows, true, new, plane),
        apart=_moved_apart(true, new),
        reordered=_reordered(original, moved, (x, y)),
    )


def _reordered(original: Table, moved: Table, places: tuple[str, str]) -> tuple[str, ...]:
    """Return the columns that hold the same values, but not row by row."""
    found = []
    for name in original:
        if name not in moved or name in places or original[name].kind != moved[name].kind:
            continue
        one, two = common_levels([original[name], moved[name]], name)
        if (one.codes != two.codes).any() and np.array_equal(one.counts, two.counts):
            found.append(name)
    return tuple(found)


def _moved_apart(true: Floats, new: Floats) -> int:
    """Return how many records share a place that others of them left for another one."""
    order = np.lexsort(true.T)
    fresh = np.append(True, (true[order][1:] != true[order][:-1]).any(axis=1))
    place = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)[place]
    shift = (new - true)[order]
    differs = np.hypot(*(shift - shift[first]).T) > 1.0  # metres; rounding is less
    torn = np.bincount(place, differs) > 0
    return int(torn[place].sum())


def _zones(
    told: Zones, original: Table, moved: Table, rows: NDArray[np.intp], true: Floats, new: Floats,
    plane: Plane,
) -> ZoneShares:  # fmt: skip
    one, two = common_levels([original[told.target], moved[told.target]], told.target)
    names = [str(level) for level in one.levels.tolist()]
    if str(told.value) not in names:
        raise CaveatError(
            "no record has the value that is to be counted",
            column=told.target,
            do="name a value that occurs",
            code="data.level.unknown",
        )
    before, after, labels = _zone_of(told, original, rows, true, new, plane)
    wanted = names.index(str(told.value))
    known = ~(one.is_missing | two.is_missing)[rows] & (before >= 0)
    if not known.any():
        raise CaveatError(
            "no record has a place, a zone and a value",
            column=told.target,
            do="mend the columns",
            code="data.record.too-few",
        )
    sick = tuple(column.codes[rows][known] == wanted for column in (one, two))
    return zone_shares(before[known], after[known], (sick[0], sick[1]), labels)


def _zone_of(
    told: Zones, original: Table, rows: NDArray[np.intp], true: Floats, new: Floats, plane: Plane
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return the zone of each place before and after, -1 where nobody knows, and the names."""
    if told.cell is not None:
        check_side(told.cell)
        squares = np.floor(np.concatenate([true, new]) / told.cell).astype(np.int64)
        corners, number = np.unique(squares, axis=0, return_inverse=True)
        before, after = np.split(number.reshape(-1).astype(np.int64), 2)
        return before, after, [f"{e * told.cell:.0f}, {n * told.cell:.0f}" for e, n in corners]
    if told.places is not None and told.names is not None:
        tree = scipy.spatial.cKDTree(plane.forward(told.places))
        labels, number = np.unique(told.names.astype(str), return_inverse=True)
        before, after = (number[tree.query(points, workers=-1)[1]] for points in (true, new))
        return before, after, labels.tolist()
    column = original[told.column].take(rows)
    at = np.flatnonzero(~column.is_missing)
    if not len(at):
        raise CaveatError(
            "no record with a place has a zone", column=told.column, code="data.record.too-few"
        )
    before = np.where(column.is_missing, -1, column.codes.astype(np.int64))
    after = before[at[scipy.spatial.cKDTree(true[at]).query(new, workers=-1)[1]]]
    return before, after, [str(level) for level in column.levels.tolist()]
