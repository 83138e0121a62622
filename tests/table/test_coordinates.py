"""Places as points in metres."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.table.coordinates import plane_of, points_of

COLOGNE = np.array([[6.95, 50.94], [6.99, 50.92], [7.05, 50.90], [np.nan, np.nan]])
NAMES = ("x", "y")


def test_a_place_is_two_numbers_or_missing():
    table = Table.from_frame({"e": [1, 2, None], "n": [1.5, 2.5, None], "s": ["a", "b", "c"]})
    assert points_of(table, "e", "n")[:2].tolist() == [[1, 1.5], [2, 2.5]]
    assert np.isnan(points_of(table, "e", "n")[2]).all()
    with refused("place.column.type", column="s"):
        points_of(table, "s", "n")
    with refused("place.column.duplicate", column="e"):
        points_of(table, "e", "e")


def test_half_a_place_is_refused():
    table = Table.from_frame({"e": [1.0, 2.0], "n": [1.5, None]})
    with refused("place.coordinate.absent", column="n", row=2):
        points_of(table, "e", "n")


def test_metres_are_taken_as_they_are():
    metres = np.array([[356000.0, 5645000.0], [np.nan, np.nan]])
    plane = plane_of(metres, NAMES)
    assert plane.forward(metres) is metres
    assert not plane.degrees
    with refused("place.setting.conflict", where="epsg"):
        plane_of(metres, NAMES, epsg=25832)
    for beyond in (np.inf, -1e300):
        with refused("place.coordinate.range", where="columns x and y"):
            plane_of(np.array([[beyond, 1.0]]), NAMES)


@pytest.mark.parametrize("points", [COLOGNE, COLOGNE[:, ::-1]])
def test_degrees_are_not_metres(points):
    with refused("place.unit.undeclared", where="columns x and y"):
        plane_of(points, NAMES)
    assert not plane_of(points, NAMES, degrees=False).degrees  # somebody said so
    assert not plane_of(np.array([[5.0, 8.0]]), NAMES).degrees  # whole numbers are none


@pytest.mark.parametrize(
    ("points", "names", "epsg", "says"),
    [
        (COLOGNE, ("lat", "lon"), None, "place.coordinate.conflict"),
        ([[50.9, 170.0]], NAMES, None, "place.coordinate.conflict"),
        (COLOGNE[:, ::-1], NAMES, 25832, "place.coordinate.conflict"),
        ([[356000.0, 5645000.0]], NAMES, None, "place.coordinate.range"),
        (COLOGNE, NAMES, 999999, "place.projection.unknown"),
        (COLOGNE, NAMES, 4326, "place.projection.unsupported"),
        (COLOGNE, NAMES, 2263, "place.projection.unsupported"),  # feet
        (COLOGNE, NAMES, 3857, "place.projection.unsupported"),
        (COLOGNE, NAMES, 32755, "place.projection.unsupported"),  # a zone of Australia
        ([[-170.0, 10.0], [170.0, 10.0]], NAMES, None, "place.projection.unsupported"),
    ],
)  # fmt: skip
def test_degrees_that_cannot_be_right(points, names, epsg, says):
    pytest.importorskip("pyproj")
    with refused(says):
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
    with refused("command.package.not-installed"):
        plane_of(COLOGNE, NAMES, degrees=True)
