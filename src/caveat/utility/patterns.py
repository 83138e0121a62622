"""Patterns of points: how near they are to each other, and how an attribute depends on zones.

The average nearest neighbour ratio and the prevalence by zone are those of Cremer, Jehmlich and
Lenz (2024): the first says whether points still cluster, the second whether an attribute still
depends on where its people live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.table.coordinates import Floats

__all__ = [
    "NearestNeighbours",
    "ZoneShares",
    "enclosing_area",
    "expected_distance",
    "nearest_neighbours",
    "zone_shares",
]


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
