"""Which world a release looks like, from numbers that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.scores import (
    candidate_likelihood,
    count_likelihood,
    structure_likelihood,
)


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


def counted(expected, runs=100, n_rows=1000):
    """Runs of worlds with expected counts of each candidate, as binomial draws."""
    share = np.array(expected)[:, None] / n_rows
    return np.random.default_rng(2).binomial(n_rows, share, (len(share), runs, share.shape[-1]))


def test_counts_of_worlds_that_do_not_differ_leave_all_as_likely_as_it_was():
    """Sixteen worlds alike: shares from few runs differ by chance, which is no evidence."""
    simulated = counted(np.full((16, 16), 60.0)).astype(float)
    sureness = []
    for seed in range(20):
        observed = np.random.default_rng((3, seed)).binomial(1000, 0.06, 16).astype(float)
        odds = np.exp(count_likelihood(observed, simulated, 1000))
        sureness.append((odds / odds.sum()).max())
    assert np.mean(sureness) < 2 / 16


def test_counts_name_the_world_that_alone_has_a_candidate():
    expected = np.full((3, 3), 60.0)
    expected[:, 2] = (0.0, 0.0, 3.0)
    logs = count_likelihood(np.array([60.0, 60.0, 3.0]), counted(expected).astype(float), 1000)
    assert logs.argmax() == 2
    assert logs[2] > 2 > 0 > max(logs[0], logs[1])


def test_likelihoods_under_a_structure_are_weighed_by_what_runs_show_of_them():
    """Log-likelihoods of another structure are too sure of themselves: their scale is fitted."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(3, 2000, 3))
    simulated = noise + 1.5 * np.eye(3)[:, None]
    observed = np.array([0.0, 2.0, 0.5])
    logs = structure_likelihood(observed, simulated)
    again = structure_likelihood(10 * observed, 10 * simulated)
    assert logs.argmax() == again.argmax() == 1
    # Bayes' rule with normal noise; ten times as large, they would say 15 instead of 2 and 3.
    exact = 1.5 * (
        observed - np.log((np.exp(1.5 * observed).sum() - np.exp(1.5 * observed)) / 2) / 1.5
    )
    assert logs[1] == pytest.approx(exact[1], abs=0.7)
    assert again[1] == pytest.approx(exact[1], abs=0.7)


def test_a_single_candidate_is_no_question():
    assert count_likelihood(np.array([3.0]), np.full((1, 8, 1), 2.0), 10).tolist() == [0.0]
