"""Which world a release looks like, from numbers that are made up."""

from __future__ import annotations

import numpy as np

from caveat.attack.by_candidate import candidate_likelihood


def made_up(shift):
    """Three worlds, 60 runs, three candidates, four numbers; a world shifts its own candidate's."""
    found = np.random.default_rng(1).normal(size=(3, 60, 3, 4))
    for world in range(3):
        found[world, :, world] += shift
    return found


def test_the_world_of_the_release_is_named():
    observed = np.zeros((3, 4))
    observed[1] += 3
    logs = candidate_likelihood(observed, made_up(3.0))
    assert logs.argmax() == 1
    assert logs[1] > 4 > 0 > max(logs[0], logs[2])


def test_worlds_that_do_not_differ_get_even_odds():
    logs = candidate_likelihood(np.full((3, 4), 1.0), made_up(0.0))
    assert np.abs(logs).max() < 1
