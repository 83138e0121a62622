"""Donut masking: places moved by a distance between two radii, within an area."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.documents import parse
from caveat.errors import CaveatError, hint
from caveat.notes import Note
from caveat.protect.record import Protected, Step, with_numbers
from caveat.seeds import random_root
from caveat.table import Column, Kind, Table
from caveat.table.coordinates import LARGEST, Floats, Plane, plane_of, points_of

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


# -------------------------------------------------------------------------------------------------
# Donut masking: every place is moved in a random direction by a distance between two radii.
#
# The distance is uniform between the radii. Cremer, Jehmlich and Lenz (2024) do not say so, but
# their mean numbers of points within the distance moved fit it, and not one that is uniform in
# area. Whole numbers stay whole, and text files keep their decimal places: a spot counts as it is
# written.


RADIAL = ("distance", "area")
# Draws that are tried together: first one at a time for all rows, in the end very many for a few.
STAGES = ((1, 64, 1 << 20), (1024, 1, 1 << 12), (32768, 1, 1 << 7))
SLACK = 1e-6  # metres that floating-point numbers may be off
DEGREE = 111_320.0  # metres
SINGLE = ("float32", "arrow:float")  # storages whose numbers are half a metre apart in the north
TELLING = 0.9999  # correlation with a coordinate above which a column is one as well
GOLDEN, ONE, TWO = (
    np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB),
)  # fmt: skip
Keys = NDArray[np.uint64]


def donut(
    synthetic: Table,
    x: str,
    y: str,
    r_min: float,
    r_max: float,
    *,
    radial: str = "distance",
    inside: Area | Sequence[Any] | None = None,
    together: str | None = None,
    degrees: bool | None = None,
    epsg: int | None = None,
    seed: int | None = None,
) -> Protected:
    """Move every place by a random distance between two radii, in a random direction.

    Parameters
    ----------
    synthetic
        The table; places that are missing stay missing.
    x, y
        The two columns: metres of a projected system, or longitude and latitude.
    r_min, r_max
        The radii in metres.
    radial
        What is uniform: ``"distance"``, or ``"area"``.
    inside
        Where moved places must lie, in the coordinates of the columns: a box ``[west, south, east,
        north]``, a list of points, or an :class:`Area`. Draws outside are repeated.
    together
        A column of households or persons: same value, same way, with the same seed and ring.
    degrees
        Whether they are longitude and latitude; None: an error if they look so, else metres.
    epsg
        Of degrees: the metric system to move them in; else a local projection.
    seed
        Who knows it moves the places back; a secret one is drawn if none is given.

    Examples
    --------
    >>> people = Table.from_frame({"east": [356000.0, 357000.0], "north": [5645000.0, 5646000.0]})
    >>> moved = donut(people, "east", "north", 100, 200, seed=1).table
    >>> way = points_of(moved, "east", "north") - points_of(people, "east", "north")
    >>> np.hypot(*way.T).round(1).tolist()
    [149.8, 154.7]
    """
    _check_radii(r_min, r_max, radial)
    points = points_of(synthetic, x, y)
    plane = plane_of(points, (x, y), degrees=degrees, epsg=epsg)
    area = None if inside is None else Area.of(inside)
    ring = _Ring(r_min, r_max, radial == "area", plane, area, (synthetic[x], synthetic[y]), (x, y))
    there = np.flatnonzero(~np.isnan(points[:, 0]))
    seed = random_root() if seed is None else seed
    keys = _keys(synthetic, points, together, f"{seed} {ring.says}")
    points[there], redrawn = ring.moved(points[there], keys[there], there)
    told = {"together": together, "epsg": epsg, "inside": area and area.says}
    counts = {"moved": len(there), "missing": len(points) - len(there), "redrawn": redrawn}
    step = Step("donut", ring.told(radial, told), counts, seed, notes=_telling(synthetic, x, y))
    out = {name: with_numbers(synthetic[name], points[:, j]) for j, name in enumerate((x, y))}
    return Protected(synthetic.with_columns(out), step)


def _telling(table: Table, x: str, y: str) -> tuple[Note, ...]:
    """Return a note for every other column that is nearly one of the true coordinates."""
    points = points_of(table, x, y)
    found = []
    for name in table:
        if name in (x, y) or not table[name].kind.is_number:
            continue
        other = table[name].cell_numbers
        for known in points.T:
            both = ~np.isnan(known) & ~np.isnan(other)
            a, b = known[both], other[both]
            varies = len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0
            if varies and abs(np.corrcoef(a, b)[0, 1]) > TELLING:
                says = f"{name} tells the true place and stays as it is: leave it out"
                found.append(Note("true-place", says))
                break
    return tuple(found)


def _check_radii(r_min: float, r_max: float, radial: str) -> None:
    for name, value in (("r_min", r_min), ("r_max", r_max)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            raise CaveatError(
                "a radius must be a number of metres, 0 or more",
                where=name,
                do="give 100, say",
                code="protection.setting.range",
            )
    if r_min > r_max or r_max == 0:
        raise CaveatError(
            "the inner radius is above the outer one" if r_max else "the outer radius is 0",
            where="r_min, r_max",
            do="give the smaller first, such as 100 and 200",
            code="protection.setting.range",
        )
    if radial not in RADIAL:
        raise CaveatError(
            f"there is no way {radial!r} to draw distances",
            where="radial",
            do=hint(radial, RADIAL),
            code="protection.setting.unknown",
        )


def _keys(table: Table, points: Floats, together: str | None, seed: str) -> Keys:
    """Return a secret number for each row: the same for all rows that belong together.

    Others have one of their place. The seed has the ring in it: of two rings with ways that are
    alike, the true place would follow. A key tells nothing about others, or about the seed.
    """
    secret = hashlib.blake2b(seed.encode()).digest()
    own = np.column_stack([points + 0.0, _earlier(points)]).astype(np.float64)
    keys = _hashed([row.tobytes() for row in own], secret)
    if together is None:
        return keys
    column = table[together]
    shared = _hashed([_word(value) for value in column.levels.tolist()], secret)
    none = np.zeros(len(column.missing), np.uint64)
    return np.where(column.is_missing, keys, np.append(shared, none)[column.codes])


def _earlier(points: Floats) -> NDArray[np.intp]:
    """Return how many rows before each have the same place."""
    place = np.unique(points[:, 0] + 1j * points[:, 1], return_inverse=True)[1]
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    count = np.empty(len(points), np.intp)
    count[order] = np.arange(len(points)) - np.repeat(
        starts, np.diff(np.append(starts, len(points)))
    )
    return count


def _hashed(words: Sequence[bytes], secret: bytes) -> Keys:
    fresh = hashlib.blake2b(digest_size=8, key=secret)
    found = bytearray()
    for word in words:
        one = fresh.copy()
        one.update(word)
        found += one.digest()
    return np.frombuffer(bytes(found), np.uint64)


def _word(value: Any) -> bytes:
    # 7 and 7.0 are the same person, whatever else stands in the column.
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).encode()


def _uniform(keys: Keys, counter: NDArray[np.integer[Any]] | int) -> Floats:
    """Return numbers from 0 to 1, each made of a key and a counter alone (splitmix64)."""
    with np.errstate(over="ignore"):
        z = keys + (np.asarray(counter).astype(np.uint64) + np.uint64(1)) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * ONE
        z = (z ^ (z >> np.uint64(27))) * TWO
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)) * 2.0**-53)


@dataclass(frozen=True)
class _Ring:
    """The spots that a place may move to."""

    r_min: float
    r_max: float
    by_area: bool
    plane: Plane
    area: Area | None
    columns: tuple[Column, Column]
    names: tuple[str, str]

    def told(self, radial: str, others: dict[str, Any]) -> dict[str, Any]:
        """Return what the record of the step holds."""
        x, y = self.names
        told = {"x": x, "y": y, "r_min": self.r_min, "r_max": self.r_max, "radial": radial}
        told |= {name: value for name, value in others.items() if value is not None}
        return told | {"degrees": self.plane.degrees}

    @property
    def says(self) -> str:
        """The ring in words."""
        return f"{float(self.r_min)} {float(self.r_max)} {self.by_area}"

    def moved(self, points: Floats, keys: Keys, rows: NDArray[np.intp]) -> tuple[Floats, int]:
        """Return where the points go, and how many of them needed a second draw."""
        places = [_decimal_places(column) for column in self.columns]
        self._check_width(places)
        metres = self.plane.forward(points)
        self._check_reach(metres, rows)
        new = points.copy()
        left = np.arange(len(points))
        tried, redrawn = 0, 0
        for tries, times, size in STAGES:
            for _ in range(times):
                still = []
                for start in range(0, len(left), size):
                    part = left[start : start + size]
                    found = self._draw(metres, keys, part, tried, tries, places, new)
                    still.append(part[~found])
                    if tries == STAGES[-1][0] and not found.all():
                        raise self._nowhere(int(rows[part[~found][0]]))
                left = np.concatenate([*still, left[:0]])
                if not tried:
                    redrawn = len(left)
                tried += tries
                if not len(left):
                    return new, redrawn
        return new, redrawn

    def _draw(
        self, metres: Floats, keys: Keys, part: NDArray[np.intp], tried: int, tries: int,
        places: Sequence[int | None], new: Floats,
    ) -> NDArray[np.bool_]:  # fmt: skip
        """Try some spots for some points, keep the first that is allowed, say for whom."""
        counter = np.tile(np.arange(tried, tried + tries), len(part))
        whose = np.repeat(part, tries)
        spots = self._spots(metres[whose], keys[whose], counter)
        written = self.plane.back(spots)
        short = [column.storage.casefold() in SINGLE for column in self.columns]
        for j, decimals in enumerate(places):
            if decimals is not None:
                written[:, j] = np.round(written[:, j], decimals)
            elif short[j]:
                written[:, j] = written[:, j].astype(np.float32)
        good = np.isfinite(written).all(axis=1)
        if any(short) or any(decimals is not None for decimals in places):
            d = np.hypot(*(self.plane.forward(written) - metres[whose]).T)
            good &= (d >= self.r_min - SLACK) & (d <= self.r_max + SLACK)
        for j, column in enumerate(self.columns):
            codes = [m.code for m in column.missing if isinstance(m.code, int | float)]
            good &= ~np.isin(written[:, j], codes)
        if self.area is not None:
            good &= self.area.contains(written)
        by_point = good.reshape(len(part), tries)
        found = by_point.any(axis=1)
        first = np.argmax(by_point, axis=1) + tries * np.arange(len(part))
        new[part[found]] = written[first[found]]
        return np.asarray(found)

    def _spots(self, metres: Floats, keys: Keys, counter: NDArray[np.int64]) -> Floats:
        u = _uniform(keys, 2 * counter)
        angle = 2 * np.pi * _uniform(keys, 2 * counter + 1)
        low, high = self.r_min, self.r_max
        d = np.sqrt(low**2 + u * (high**2 - low**2)) if self.by_area else low + u * (high - low)
        return np.asarray(metres + np.stack([d * np.cos(angle), d * np.sin(angle)], axis=1))

    def _check_width(self, places: Sequence[int | None]) -> None:
        known = [decimals for decimals in places if decimals is not None]
        if not known:
            return
        grain = 10.0 ** -min(known) * (DEGREE if self.plane.degrees else 1.0)
        if self.r_max - self.r_min < 2 * grain:
            raise CaveatError(
                "the ring is narrower than the numbers are written",
                where=f"columns {self.names[0]} and {self.names[1]}",
                do="widen it, or give coordinates with more decimal places",
                code="protection.setting.too-small",
            )

    def _check_reach(self, metres: Floats, rows: NDArray[np.intp]) -> None:
        """Refuse points whose ring cannot touch the area, without trying spots for each."""
        if self.area is None or not len(metres):
            return
        corners = self.plane.forward(self.area.corners)
        low, high = corners.min(axis=0), corners.max(axis=0)
        slack = 0.01 * np.hypot(*(high - low)) if self.plane.degrees else SLACK
        nearest = np.hypot(*np.maximum(np.maximum(low - metres, metres - high), 0).T)
        farthest = np.hypot(*np.maximum(np.abs(metres - low), np.abs(metres - high)).T)
        gone = (nearest > self.r_max + slack) | (farthest < self.r_min - slack)
        if gone.any():
            raise self._nowhere(int(rows[np.argmax(gone)]))

    def _nowhere(self, row: int) -> CaveatError:
        return CaveatError(
            "no spot of its ring lies inside the area"
            if self.area is not None
            else "no spot of its ring can be written",
            where=f"columns {self.names[0]} and {self.names[1]}",
            row=row + 1,
            do="use other radii or a larger area, or take the record out",
            code="protection.setting.too-small"
            if self.area is None
            else "protection.area.too-small",
        )


def _decimal_places(column: Column) -> int | None:
    """Return how many decimal places a column is written with; None if with all."""
    if column.kind is Kind.INTEGER:
        return 0
    form = column.storage.removeprefix("text:decimals=")
    return int(form) if form != column.storage and form.isdigit() else None
