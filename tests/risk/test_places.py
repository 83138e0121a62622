"""Spatial k-anonymity."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.risk.places import SpatialAnonymity, people_within, spatial_k


def test_a_circle_with_five_points_as_in_figure_2():
    """Five moved points in the circle, four of them of her age and sex, two if age is finer."""
    true = np.array([[0.0, 0], [900, 0], [900, 900], [0, 900], [-900, 0], [-900, -900]])
    moved = np.array([[100.0, 0], [50, 0], [0, -50], [0, 99], [-100, 0], [300, 0]])
    coarse, fine = np.array([0, 0, 1, 0, 0, 0]), np.array([0, 2, 1, 3, 0, 0])
    found = [spatial_k(true, moved, by)[0] for by in (None, coarse, fine)]
    assert found == [5, 4, 2]  # the one at the same distance counts, the one farther off does not


def test_k_is_as_by_hand_for_every_point():
    rng = np.random.default_rng(1)
    true = 1000 * rng.random((300, 2))
    moved = true + rng.normal(0, 100, (300, 2))
    by = rng.integers(0, 3, 300)
    d = np.hypot(*(moved[None] - true[:, None]).transpose(2, 0, 1))
    near = d <= np.diag(d)[:, None]
    assert spatial_k(true, moved).tolist() == near.sum(1).tolist()
    alike = near & (by[None] == by[:, None])
    assert spatial_k(true, moved, by).tolist() == alike.sum(1).tolist()


def test_people_live_where_the_population_says():
    true, moved = np.array([[0.0, 0], [0, 0]]), np.array([[100.0, 0], [5000, 0]])
    homes = np.array([[200.0, 0], [100, 50], [100, 101]])
    assert people_within(true, moved, homes).tolist() == [2, 3]
    counts = np.array([7.0, 0, 90])
    assert people_within(true, moved, homes, counts).tolist() == [7, 97]
    assert people_within(true, moved, homes, 0 * counts).tolist() == [1, 1]  # herself
    with refused("measure.setting.range", where="population"):
        people_within(true, moved, homes, np.array([1.0, np.nan, 1]))


def test_people_of_a_cell_are_spread_over_it():
    """One person on 100 m², everywhere: k is the area of the circle."""
    middles = np.stack(np.meshgrid(np.arange(-4500, 5000, 1000.0), np.arange(-4500, 5000, 1000.0)),
                       axis=-1).reshape(-1, 2)  # fmt: skip
    rng = np.random.default_rng(1)
    true = rng.uniform(-1000, 1000, (200, 2))
    angle = 2 * np.pi * rng.random(200)
    moved = true + 300 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    k = people_within(true, moved, middles, np.full(100, 1e4), cell=1000)
    assert k.mean() == pytest.approx(np.pi * 300**2 / 100, rel=0.02)
    assert k.std() / k.mean() < 0.1
    whole = people_within(true, moved, middles, np.full(100, 1e4))
    assert whole.min() == 1  # no middle of a cell is as near as that
    with refused("measure.setting.range", where="cell"):
        people_within(true, moved, middles, cell=0)


def test_a_summary():
    found = SpatialAnonymity(np.array([1.0, 2, 3, 4, 90]), "moved points", ("sex",))
    assert (found.mean, found.quartiles) == (20, (2, 3, 4))
    assert (found.below(), found.below(2)) == (0.4, 0.2)
    assert found.to_dict()["share below"] == 0.4
    assert "90" not in repr(found)


def test_other_rows_are_refused():
    with refused("data.row.mismatch", where="places"):
        spatial_k(np.zeros((2, 2)), np.zeros((3, 2)))
