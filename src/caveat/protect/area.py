"""The area that moved points stay in: a box, a polygon, or the polygons of a GeoJSON file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.documents import parse
from caveat.errors import CaveatError
from caveat.table.coordinates import LARGEST, Floats

__all__ = ["Area"]

BANDS = 4096  # at most so many horizontal bands, each with a list of the edges in it
DO = "give a box of four numbers, a list of three points or more, or a file of polygons"


@dataclass(frozen=True)
class Area:
    """Polygons in the coordinates of the points.

    Parameters
    ----------
    polygons
        Each a list of rings: its outline, then its holes; a ring is an array of corners.

    Examples
    --------
    >>> Area.of([0, 0, 10, 5]).contains(np.array([[1.0, 1.0], [1.0, 6.0]])).tolist()
    [True, False]
    """

    polygons: tuple[tuple[Floats, ...], ...]

    def __repr__(self) -> str:
        return f"<Area: {self.says}>"

    @classmethod
    def of(cls, told: Area | Sequence[Any]) -> Area:
        """Return the area of a box (west, south, east, north) or of a list of points."""
        if isinstance(told, Area):
            return told
        if isinstance(told, str | bytes) or not isinstance(told, Sequence | np.ndarray):
            raise CaveatError(
                "this is no area", where="inside", do=DO, code="protection.area.malformed"
            )
        try:
            given = np.asarray(told, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape == (4,):
            west, south, east, north = given.tolist()
            if not (west < east and south < north):
                raise CaveatError(
                    "the box is empty",
                    where="inside",
                    do="give west, south, east, north",
                    code="protection.area.empty",
                )
            given = np.array([[west, south], [east, south], [east, north], [west, north]])
        return cls(((_ring(given),),))

    @classmethod
    def read(cls, path: Path) -> Area:
        """Read the polygons of a GeoJSON file; its coordinates are those of the points."""
        try:
            content = parse(path.read_bytes())
        except OSError as error:
            raise CaveatError(
                f"this file cannot be read ({error.strerror})",
                where=str(path),
                code="data.file.unreadable",
            ) from None
        except ValueError as error:
            raise CaveatError(
                f"this is no GeoJSON ({error})", where=str(path), do=DO, code="data.file.malformed"
            ) from None
        try:
            polygons = [
                tuple(_ring(np.asarray(ring, dtype=np.float64)) for ring in rings)
                for rings in _polygons(content)
            ]
        except (TypeError, ValueError, RecursionError, CaveatError):
            raise CaveatError(
                "a polygon has no outline of points",
                where=str(path),
                do="mend the file",
                code="protection.area.malformed",
            ) from None
        if not polygons or not all(polygons):
            raise CaveatError(
                "there is no polygon in this file",
                where=str(path),
                do=DO,
                code="protection.area.empty",
            )
        return cls(tuple(polygons))

    @property
    def says(self) -> str:
        """What it is, in words."""
        corners = sum(len(ring) for rings in self.polygons for ring in rings)
        n = len(self.polygons)
        return f"{n} {'polygon' if n == 1 else 'polygons'}, {corners} corners"

    @property
    def corners(self) -> Floats:
        """The corners of all outlines."""
        return np.concatenate([rings[0] for rings in self.polygons])

    def contains(self, points: Floats) -> NDArray[np.bool_]:
        """Whether each point lies inside one of the polygons."""
        found = np.zeros(len(points), dtype=np.bool_)
        for one in self._prepared:
            west, south, east, north = one.box
            x, y = points[:, 0], points[:, 1]
            near = np.flatnonzero(~found & (x >= west) & (x <= east) & (y >= south) & (y <= north))
            if len(near):
                some = np.ascontiguousarray(points[near])
                found[near] = _is_inside(some, one.edges, one.first, south, one.height)
        return found

    @cached_property
    def _prepared(self) -> list[_Prepared]:
        return [_prepare(rings) for rings in self.polygons]


class _Prepared(NamedTuple):
    box: tuple[float, float, float, float]
    edges: Floats  # of each band, one band after the other
    first: NDArray[np.int64]  # where each band begins
    height: float


def _ring(corners: Floats) -> Floats:
    if corners.ndim != 2 or corners.shape[1] < 2 or len(corners) < 3:
        raise CaveatError(
            "this is no area", where="inside", do=DO, code="protection.area.malformed"
        )
    corners = corners[:, :2]
    if not (np.abs(corners) <= LARGEST).all():
        raise CaveatError(
            "a corner of the area is beyond any map",
            where="inside",
            do="mend it",
            code="protection.area.range",
        )
    return corners[:-1] if len(corners) > 3 and (corners[0] == corners[-1]).all() else corners


def _polygons(content: Any) -> Iterator[Any]:
    """Return the coordinates of all polygons of a GeoJSON document."""
    if not isinstance(content, dict):
        return
    kind = content.get("type")
    if kind == "Polygon":
        yield content.get("coordinates") or ()
    elif kind == "MultiPolygon":
        yield from content.get("coordinates") or ()
    elif kind == "Feature":
        yield from _polygons(content.get("geometry"))
    elif kind in ("FeatureCollection", "GeometryCollection"):
        for part in content.get("features" if kind[0] == "F" else "geometries") or ():
            yield from _polygons(part)


def _prepare(rings: Sequence[Floats]) -> _Prepared:
    """Sort the edges into bands, so that a point looks only at those of its height."""
    edges = np.concatenate([np.hstack([r, np.roll(r, -1, axis=0)]) for r in rings])
    outline = rings[0]
    (west, south), (east, north) = outline.min(axis=0).tolist(), outline.max(axis=0).tolist()
    bands = int(min(BANDS, len(edges)))
    height = (north - south) / bands or 1.0
    ends = np.floor((edges[:, [1, 3]] - south) / height).astype(np.int64).clip(0, bands - 1)
    low, high = ends.min(axis=1), ends.max(axis=1)
    times = high - low + 1
    which = np.repeat(np.arange(len(edges)), times)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    band = low[which] + offset
    order = np.argsort(band, kind="stable")
    first = np.searchsorted(band[order], np.arange(bands + 1))
    return _Prepared((west, south, east, north), edges[which[order]], first, height)


@kernel
def _is_inside(points, edges, first, south, height):  # type: ignore[no-untyped-def]
    """Whether a line to the right of each point crosses an odd number of edges."""
    found = np.zeros(len(points), np.bool_)
    last = len(first) - 2
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        band = min(max(int(np.floor((y - south) / height)), 0), last)
        odd = False
        for e in range(first[band], first[band + 1]):
            x1, y1, x2, y2 = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
            if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
                odd = not odd
        found[i] = odd
    return found
