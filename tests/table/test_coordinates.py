"""Places as points in metres."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.table import Table
from caveat.table.coordinates import plane_of, points_of

COLOGNE = np.array([[6.95, 50.94], [6.99, 50.92], [7.05, 50.90], [np.nan, np.nan]])
NAMES = ("x", "y")


def test_a_place_is_two_numbers_or_missing():
    table = Table.from_frame({"e": [1, 2, None], "n": [1.5, 2.5, None], "s": ["a", "b", "c"]})
    assert points_of(table, "e", "n")[:2].tolist() == [[1, 1.5], [2, 2.5]]
    assert np.isnan(points_of(table, "e", "n")[2]).all()
    with pytest.raises(CaveatError, match="column s: coordinates must be numbers"):
        points_of(table, "s", "n")
    with pytest.raises(CaveatError, match="x and y are the same column"):
        points_of(table, "e", "e")


def test_half_a_place_is_refused():
    table = Table.from_frame({"e": [1.0, 2.0], "n": [1.5, None]})
    with pytest.raises(CaveatError, match=r"column n, row 2: one of the two coordinates.*half a"):
        points_of(table, "e", "n")


def test_metres_are_taken_as_they_are():
    metres = np.array([[356000.0, 5645000.0], [np.nan, np.nan]])
    plane = plane_of(metres, NAMES)
    assert plane.forward(metres) is metres
    assert not plane.degrees
    with pytest.raises(CaveatError, match="an EPSG code is for degrees only"):
        plane_of(metres, NAMES, epsg=25832)
    for beyond in (np.inf, -1e300):
        with pytest.raises(CaveatError, match="a coordinate is beyond any map"):
            plane_of(np.array([[beyond, 1.0]]), NAMES)


@pytest.mark.parametrize("points", [COLOGNE, COLOGNE[:, ::-1]])
def test_degrees_are_not_metres(points):
    with pytest.raises(CaveatError, match=r"columns x and y: the coordinates look like degrees"):
        plane_of(points, NAMES)
    assert not plane_of(points, NAMES, degrees=False).degrees  # somebody said so
    assert not plane_of(np.array([[5.0, 8.0]]), NAMES).degrees  # whole numbers are none


@pytest.mark.parametrize(
    ("points", "names", "epsg", "says"),
    [
        (COLOGNE, ("lat", "lon"), None, "seem to be swapped; give the longitude as x"),
        ([[50.9, 170.0]], NAMES, None, "seem to be swapped"),
        (COLOGNE[:, ::-1], NAMES, 25832, "seem to be swapped"),
        ([[356000.0, 5645000.0]], NAMES, None, "these are no degrees"),
        (COLOGNE, NAMES, 999999, "EPSG:999999: there is no such coordinate reference system"),
        (COLOGNE, NAMES, 4326, "EPSG:4326: this coordinate reference system is not in metres"),
        (COLOGNE, NAMES, 2263, "not in metres"),  # feet
        (COLOGNE, NAMES, 3857, "EPSG:3857: a metre of the map is not a metre at these places"),
        (COLOGNE, NAMES, 32755, "a metre of the map is not a metre"),  # a zone of Australia
        ([[-170.0, 10.0], [170.0, 10.0]], NAMES, None, "the local projection: a metre of the map"),
    ],
)  # fmt: skip
def test_degrees_that_cannot_be_right(points, names, epsg, says):
    pytest.importorskip("pyproj")
    with pytest.raises(CaveatError, match=says):
        plane_of(np.asarray(points), names, degrees=True, epsg=epsg)


@pytest.mark.parametrize("epsg", [None, 25832, 3035])
def test_there_and_back_and_the_distances_are_those_of_the_ellipsoid(epsg):
    pyproj = pytest.importorskip("pyproj")
    known = COLOGNE[:3]
    plane = plane_of(COLOGNE, NAMES, degrees=True, epsg=epsg)
    metres = plane.forward(known)
    assert np.allclose(plane.back(metres), known, atol=1e-9)
    true = pyproj.Geod(ellps="WGS84").inv(*known[0], *known[2])[2]
    assert np.hypot(*(metres[2] - metres[0])) == pytest.approx(true, rel=0.001)
    assert plane.degrees
    assert "50.9" not in repr(plane)


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name == "pyproj":
            raise ImportError
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CaveatError, match=r"pyproj.*; run: pip install 'caveat\[geo\]'\.$"):
        plane_of(COLOGNE, NAMES, degrees=True)
