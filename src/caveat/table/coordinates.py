"""Places: two columns of numbers as points in metres, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table.table import Kind, Table

__all__ = ["LARGEST", "Floats", "Plane", "plane_of", "points_of"]

Floats = NDArray[np.float64]

OFF = 0.01
"""So much may a metre of a map differ from a metre on the ground."""
TRIED = 500  # places at which it is looked up
LARGEST = 1e9
LATITUDE, LONGITUDE = ("lat", "breite", "nord"), ("lon", "lng", "laenge", "länge", "ost")


@dataclass(frozen=True)
class Plane:
    """Where distances are measured in metres.

    Parameters
    ----------
    forward
        Takes points as they are written, and returns metres.
    back
        Takes metres, and returns points as they are written.
    degrees
        Whether points are written as longitude and latitude.
    """

    forward: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    degrees: bool = False

    __repr__ = without_values


def points_of(table: Table, x: str, y: str) -> Floats:
    """Return the places of a table, one row each, NaN where both coordinates are missing.

    Examples
    --------
    >>> points_of(Table.from_frame({"e": [1.5, None], "n": [2.5, None]}), "e", "n").tolist()
    [[1.5, 2.5], [nan, nan]]
    """
    if x == y:
        raise CaveatError(
            "x and y are the same column",
            column=x,
            do="name two columns",
            code="place.column.duplicate",
        )
    for name in (x, y):
        if table[name].kind not in (Kind.NUMERIC, Kind.INTEGER):
            raise CaveatError(
                "coordinates must be numbers",
                column=name,
                do="name two columns of numbers",
                code="place.column.type",
            )
    points = np.stack([table[name].cell_numbers for name in (x, y)], axis=1)
    half = np.isnan(points).sum(axis=1) == 1
    if half.any():
        row = int(np.argmax(half))
        raise CaveatError(
            "one of the two coordinates is missing",
            column=(x, y)[int(np.argmax(np.isnan(points[row])))],
            row=row + 1,
            do="empty both or fill it: half a place still tells where somebody is",
            code="place.coordinate.absent",
        )
    return points


def plane_of(
    points: Floats, names: tuple[str, str], *, degrees: bool | None = None, epsg: int | None = None
) -> Plane:
    """Return where distances between points are measured.

    Parameters
    ----------
    points
        The places, NaN where they are missing.
    names
        The two columns, for messages.
    degrees
        True for longitude and latitude (WGS84), False for metres; None: metres, unless the numbers
        look like degrees, which is an error.
    epsg
        Of degrees: the metric coordinate reference system to measure in. Without one, an
        azimuthal equidistant projection around the middle of the points.
    """
    known = points[~np.isnan(points).any(axis=1)]
    if not (np.abs(known) <= LARGEST).all():
        raise CaveatError(
            "a coordinate is beyond any map",
            where=_where(names),
            do="mend it",
            code="place.coordinate.range",
        )
    if not degrees:
        if epsg is not None:
            raise CaveatError(
                "an EPSG code is for degrees only: metres are taken as they are",
                where="epsg",
                do="leave it out, or say that the columns are degrees",
                code="place.setting.conflict",
            )
        if degrees is None and _look_like_degrees(known):
            raise CaveatError(
                "the coordinates look like degrees, and radii are metres",
                where=_where(names),
                do="say so (degrees = true, --degrees), or that they are metres (--metres)",
                code="place.unit.undeclared",
            )
        return Plane(lambda told: told, lambda metres: metres)
    _check_degrees(known, names)
    return _projected(known, names, epsg)


def _where(names: tuple[str, str]) -> str:
    return f"columns {names[0]} and {names[1]}"


def _look_like_degrees(points: Floats) -> bool:
    """Whether numbers with decimals are all small enough for degrees, in either order."""
    if not len(points):
        return False
    one, two = np.abs(points).max(axis=0)
    has_decimals = bool((points != np.round(points)).any())
    return has_decimals and max(one, two) <= 180 and min(one, two) <= 90


def _check_degrees(points: Floats, names: tuple[str, str]) -> None:
    x, y = (name.lower() for name in names)
    if x.startswith(LATITUDE) or y.startswith(LONGITUDE):
        raise _swapped(names)
    if not len(points):
        return
    widest, highest = np.abs(points).max(axis=0)
    if highest > 90 and widest <= 90 and highest <= 180:
        raise _swapped(names)
    if widest > 180 or highest > 90:
        raise CaveatError(
            "these are no degrees: a longitude is beyond 180 or a latitude beyond 90",
            where=_where(names),
            do="say that they are metres, or mend them",
            code="place.coordinate.range",
        )


def _swapped(names: tuple[str, str]) -> CaveatError:
    return CaveatError(
        "longitude and latitude seem to be swapped",
        where=_where(names),
        do="give the longitude as x and the latitude as y",
        code="place.coordinate.conflict",
    )


def _pyproj() -> Any:
    try:
        import pyproj
    except ImportError:
        raise CaveatError(
            "longitude and latitude need the package pyproj, which is not installed",
            do="run: pip install 'caveat[geo]'",
            code="command.package.not-installed",
        ) from None
    return pyproj


def _projected(points: Floats, names: tuple[str, str], epsg: int | None) -> Plane:
    """Return the plane of a metric coordinate reference system."""
    pyproj = _pyproj()
    if epsg is None:
        middle = (points.min(axis=0) + points.max(axis=0)) / 2 if len(points) else np.zeros(2)
        told = f"+proj=aeqd +lon_0={middle[0]!s} +lat_0={middle[1]!s} +datum=WGS84 +units=m"
        system = pyproj.CRS.from_proj4(told)
    else:
        system = _metric(pyproj, epsg)
        _check_region(system, points, names)
    there = pyproj.Transformer.from_crs("EPSG:4326", system, always_xy=True)

    def moved(given: Floats, direction: str) -> Floats:
        out = np.stack(there.transform(given[:, 0], given[:, 1], direction=direction), axis=1)
        return np.asarray(out, dtype=np.float64)

    some = points[:: max(1, len(points) // TRIED)]
    factors = pyproj.Proj(system).get_factors(some[:, 0], some[:, 1])
    scales = np.stack([factors.meridional_scale, factors.parallel_scale])
    # What is not finite is not near 1 either.
    if len(some) and not (np.abs(scales - 1) <= OFF).all():
        raise CaveatError(
            "a metre of the map is not a metre at these places",
            where="the local projection" if epsg is None else f"EPSG:{epsg}",
            do="give the EPSG code of the region's own system in metres, such as its UTM zone",
            code="place.projection.unsupported",
        )
    return Plane(lambda told: moved(told, "FORWARD"), lambda told: moved(told, "INVERSE"), True)


def _metric(pyproj: Any, epsg: int) -> Any:
    try:
        system = pyproj.CRS.from_epsg(epsg)
    except pyproj.exceptions.CRSError:
        raise CaveatError(
            "there is no such coordinate reference system",
            where=f"EPSG:{epsg}",
            do="give the code of a system in metres, such as 25832",
            code="place.projection.unknown",
        ) from None
    units = {axis.unit_name for axis in system.axis_info[:2]}
    if not system.is_projected or units != {"metre"}:
        raise CaveatError(
            "this coordinate reference system is not in metres",
            where=f"EPSG:{epsg}",
            do="give the code of one that is, such as 25832",
            code="place.projection.unsupported",
        )
    return system


def _check_region(system: Any, points: Floats, names: tuple[str, str]) -> None:
    """Refuse points that lie in the system's region only after they are swapped."""
    region = system.area_of_use
    if region is None or region.west > region.east or not len(points):
        return
    low, high = (region.west, region.south), (region.east, region.north)
    here, turned = (
        float(((told >= low) & (told <= high)).all(axis=1).mean())
        for told in (points, points[:, ::-1])
    )
    if turned > 0.5 > here:
        raise _swapped(names)
