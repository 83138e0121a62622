"""Nearest neighbours and zones."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.utility.places import (
    NearestNeighbours,
    enclosing_area,
    expected_distance,
    nearest_neighbours,
    zone_shares,
)


def test_the_expected_distance_of_the_paper():
    assert expected_distance(109_210, 581.7e6) == pytest.approx(36.49, abs=0.005)
    found = NearestNeighbours(109_210, 581.7e6, 8.3477, 36.4899)
    assert round(found.ratio, 4) == 0.2288
    assert found.z < -400


def test_the_smallest_rectangle_turns():
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    inside = np.random.default_rng(1).random((200, 2)) * [40, 30]
    corners = np.array([[0.0, 0], [40, 0], [40, 30], [0, 30]])
    assert enclosing_area(np.vstack([corners, inside]) @ turn.T) == pytest.approx(1200)
    assert enclosing_area(np.array([[0.0, 0], [1, 1], [2, 2]])) == 0
    assert enclosing_area(np.zeros((1, 2))) == 0


def test_a_square_grid_keeps_apart_and_random_points_do_not():
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    found = nearest_neighbours(grid)
    assert (found.observed, found.area) == (1, pytest.approx(81))
    assert found.ratio == pytest.approx(1 / (0.5 / np.sqrt(100 / 81)))
    random = nearest_neighbours(np.random.default_rng(1).random((20_000, 2)), 1.0)
    assert random.ratio == pytest.approx(1, abs=0.02)
    assert nearest_neighbours(np.zeros((1, 2))) is None
    assert nearest_neighbours(np.array([[0.0, 0], [1, 1], [2, 2]])) is None


def test_prevalence_by_zone_by_hand():
    ill = np.array([True, True, False, False, False])
    found = zone_shares(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 1]), (ill, ill), "abc")
    assert found.shares[0].tolist()[:2] == [2 / 3, 0]
    assert found.shares[1].tolist()[:2] == [1 / 2, 1 / 3]
    assert np.isnan(found.shares[:, 2]).all()
    assert found.changed == 0.2
    assert found.mean_difference == pytest.approx((3 * (1 / 6) + 2 * (1 / 3)) / 5)
    gone = zone_shares(np.array([0]), np.array([1]), (ill[:1], ill[:1]), "ab")
    assert gone.mean_difference is None
    assert found.to_dict()["share after"] == [0.5, 1 / 3, None]
