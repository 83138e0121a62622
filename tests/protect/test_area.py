"""Boxes, polygons and files of polygons."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.protect import Area

SQUARE = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]
HOLE = [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]
OTHER = [[8, 8], [20, 8], [20, 20]]


def inside(area, *points):
    return area.contains(np.array(points, dtype=float)).tolist()


def test_a_box_and_a_polygon():
    assert inside(Area.of([0, 0, 10, 5]), (1, 1), (9.9, 4.9), (5, 6), (-1, 1)) == [
        True, True, False, False,
    ]  # fmt: skip
    triangle = Area.of([[0, 0], [10, 0], [0, 10]])
    assert inside(triangle, (1, 1), (4, 5), (6, 5), (9, 9)) == [True, True, False, False]
    assert repr(triangle) == "<Area: 1 polygon, 3 corners>"
    assert Area.of(triangle) is triangle


@pytest.mark.parametrize(
    "document",
    [
        {"type": "Polygon", "coordinates": [SQUARE, HOLE]},
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [SQUARE, HOLE]}},
        {"type": "GeometryCollection", "geometries": [
            {"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE], [OTHER]]}]},
        {"type": "FeatureCollection", "features": [
            {"type": "Feature", "geometry": None},
            {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [SQUARE, HOLE]}},
            {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [OTHER]}}]},
    ],
)  # fmt: skip
def test_a_file_of_polygons_with_holes(tmp_path, document):
    file = tmp_path / "area.geojson"
    file.write_text(json.dumps(document))
    area = Area.read(file)
    # The last is in both of two polygons that overlap, where there are two.
    assert inside(area, (1, 1), (5, 5), (11, 1), (9, 8.5)) == [True, False, False, True]
    assert inside(area, (15, 10)) == [len(area.polygons) == 2]


def test_many_corners_are_as_the_formula():
    angle = np.linspace(0, 2 * np.pi, 5001)
    circle = Area.of(np.stack([100 * np.cos(angle), 100 * np.sin(angle)], axis=1))
    points = np.random.default_rng(1).uniform(-120, 120, (5000, 2))
    clear = np.abs(np.hypot(*points.T) - 100) > 0.01
    assert (circle.contains(points) == (np.hypot(*points.T) < 100))[clear].all()


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ([10, 0, 0, 5], "protection.area.empty"),
        ([1, 2, 3], "protection.area.malformed"),
        ([[1, 2], [3, 4]], "protection.area.malformed"),
        ([[1, 2], [3]], "protection.area.malformed"),
        ("area.geojson", "protection.area.malformed"),
        (7, "protection.area.malformed"),
        ([[0, 0], [1, float("nan")], [2, 2]], "protection.area.range"),
    ],
)
def test_no_area(told, says):
    with refused(says):
        Area.of(told)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "this is no GeoJSON"),
        ("[1]", "there is no polygon in this file"),
        ('{"type": "Point", "coordinates": [1, 2]}', "there is no polygon"),
        ('{"type": "Polygon", "coordinates": []}', "there is no polygon"),
        ('{"type": "Polygon", "coordinates": [[1, 2]]}', "a polygon has no outline of points"),
        ('{"type": "Polygon", "coordinates": [7]}', "no outline"),
        ('{"type": "Polygon", "coordinates": {"a": 1}}', "no outline"),
        ('{"type": "MultiPolygon", "coordinates": 7}', "no outline"),
        ('{"type": "FeatureCollection", "features": 7}', "no outline"),
        ('{"type": "GeometryCollection", "geometries": [' * 900 + "]}" * 900, "no|nested"),
    ],
)
def test_bad_files(tmp_path, text, says):
    file = tmp_path / "area.geojson"
    file.write_text(text)
    with pytest.raises(CaveatError, match=says):
        Area.read(file)
    with refused("data.file.unreadable"):
        Area.read(tmp_path / "gone.geojson")
