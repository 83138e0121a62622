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


def expected_distance(n: int, area: float) -> float:
    """Return the mean distance to the nearest of n points that lie at random in an area.

    Examples
    --------
    >>> round(expected_distance(109_210, 581.7e6), 2)
    36.49
    """
    return 0.5 / float(np.sqrt(n / area))


def enclosing_area(points: Floats) -> float:
    """Return the area of the smallest rectangle around the points, in whatever direction.

    Examples
    --------
    >>> round(enclosing_area(np.array([[0.0, 1], [1, 0], [2, 1], [1, 2]])), 9)
    2.0
    """
    try:
        corners = points[scipy.spatial.ConvexHull(points).vertices]
    except (scipy.spatial.QhullError, ValueError):  # fewer than three points, or all on a line
        return 0.0
    edges = np.roll(corners, -1, axis=0) - corners
    along = edges / np.hypot(*edges.T)[:, None]
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    sides = [np.ptp(corners @ axis.T, axis=0) for axis in (along, across)]
    return float((sides[0] * sides[1]).min())


@dataclass(frozen=True)
class NearestNeighbours:
    """How near the points of a pattern are to each other.

    Attributes
    ----------
    n, area
        Number of points, and square metres of the smallest rectangle around them.
    observed, expected
        Mean distance to the nearest other point, and what it would be at random.
    """

    n: int
    area: float
    observed: float
    expected: float

    @property
    def ratio(self) -> float:
        """Observed by expected: below 1 the points cluster, above 1 they keep apart."""
        return self.observed / self.expected

    @property
    def z(self) -> float:
        """The difference in standard errors of a random pattern."""
        return (self.observed - self.expected) / (0.26136 / float(np.sqrt(self.n**2 / self.area)))

    def to_dict(self) -> dict[str, float]:
        """Return the numbers, ready for JSON."""
        return {
            "points": self.n, "area": self.area, "observed": self.observed,
            "expected": self.expected, "ratio": self.ratio, "z": self.z,
        }  # fmt: skip


def nearest_neighbours(points: Floats, area: float | None = None) -> NearestNeighbours | None:
    """Return the average nearest neighbour statistic; None for points on a line, or too few.

    Parameters
    ----------
    points
        Places in metres.
    area
        Square metres of the region; without it, the smallest rectangle around the points.
    """
    size = enclosing_area(points) if area is None else area
    if len(points) < 2 or not size > 0:
        return None
    distance = scipy.spatial.cKDTree(points).query(points, 2, workers=-1)[0][:, 1]
    return NearestNeighbours(
        len(points), size, float(distance.mean()), expected_distance(len(points), size)
    )


@dataclass(frozen=True)
class ZoneShares:
    """How frequent an attribute is in each zone, at the true places and at the moved ones.

    Attributes
    ----------
    zones
        The names of the zones.
    n, cases
        Records and those with the attribute in each zone: first before, then after.
    changed
        Share of the records that are in another zone afterwards.
    """

    zones: tuple[str, ...]
    n: NDArray[np.int64]
    cases: NDArray[np.int64]
    changed: float

    __repr__ = without_values

    @property
    def shares(self) -> Floats:
        """Prevalence by zone, before and after; NaN where nobody is."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.cases / self.n)

    @property
    def differences(self) -> Floats:
        """Prevalence after minus before; NaN where nobody is before or after."""
        return np.asarray(self.shares[1] - self.shares[0])

    @property
    def mean_difference(self) -> float | None:
        """Mean absolute difference, weighted by the records before; None if none is known."""
        known = ~np.isnan(self.differences)
        if not known.any():
            return None
        weights = self.n[0][known]
        return float(np.average(np.abs(self.differences[known]), weights=weights))

    def to_dict(self) -> dict[str, Any]:
        """Return all zones, ready for JSON."""
        shares = [[None if np.isnan(v) else v for v in row] for row in self.shares.tolist()]
        return {
            "zones": list(self.zones), "before": self.n[0].tolist(), "after": self.n[1].tolist(),
            "share before": shares[0], "share after": shares[1], "changed": self.changed,
            "mean difference": self.mean_difference,
        }  # fmt: skip


def zone_shares(
    before: NDArray[np.integer[Any]],
    after: NDArray[np.integer[Any]],
    cases: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    zones: Sequence[str],
) -> ZoneShares:
    """Return prevalences by zone.

    Parameters
    ----------
    before, after
        The zone of each record, as a position in *zones*.
    cases
        Who has the attribute, before and after.
    zones
        The names.

    Examples
    --------
    >>> ill = np.array([True, True, False, False])
    >>> found = zone_shares(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), (ill, ill), "ab")
    >>> found.shares.round(2).tolist(), found.changed
    ([[1.0, 0.0], [1.0, 0.33]], 0.25)
    """
    size = len(zones)
    n = np.stack([np.bincount(zone, minlength=size) for zone in (before, after)])
    sick = [np.bincount(z[c], minlength=size) for z, c in zip((before, after), cases, strict=True)]
    return ZoneShares(tuple(zones), n, np.stack(sick), float((before != after).mean()))


# -------------------------------------------------------------------------------------------------
# Places before and after masking: what hides them, and what an analyst still sees.


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
