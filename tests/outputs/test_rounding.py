"""Rounding: multiples that add up, and noise that is the same wherever a cell is shown."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outputs.test_tables import two_tables
from tests.outputs.toys import two_way

from caveat.errors import CaveatError
from caveat.outputs.primary import controlled, perturbations, perturbed, record_keys


def test_controlled_rounding_adds_up_and_stays_near() -> None:
    inner = np.random.default_rng(1).integers(0, 30, 12)
    matrix, values, _ = two_way(inner.reshape(3, 4), ("abcd", "xyz"))
    found = controlled(matrix, inner, 5)
    assert (found % 5 == 0).all()
    assert (np.abs(found - values) < 5).all()
    leaves = found.reshape(4, 5)[:3, :4]
    assert (leaves.sum(axis=1) == found.reshape(4, 5)[:3, 4]).all()
    assert leaves.sum() == found[-1]
    assert (found[values % 5 == 0].reshape(-1) % 5 == 0).all()


def test_controlled_rounding_keeps_multiples_and_refuses_what_is_no_count() -> None:
    matrix, values, _ = two_way([[5, 10], [0, 20]], ("ab", "xy"))
    assert (controlled(matrix, np.array([5, 10, 0, 20]), 5) == values).all()
    for inner, base in (([1.5, 2], 5), ([-1, 2], 5), ([1, 2], 1)):
        with pytest.raises(CaveatError, match="for counts"):
            controlled(np.eye(2, dtype=int), np.array(inner), base)


def test_noise_has_mean_zero_and_shows_no_small_count() -> None:
    table, noise = perturbations(3, 5), np.arange(-5, 6)
    assert np.allclose(table.sum(axis=1), 1)
    assert np.allclose(table @ noise, 0, atol=1e-9)
    for count, row in enumerate(table):
        after = count + noise[row > 0]
        assert ((after == 0) | (after >= 3)).all()
    assert np.allclose(table[-1], table[-1][::-1])
    assert table[0][5] == 1


def test_a_cell_has_one_noise_and_keys_do_not_depend_on_the_order() -> None:
    cells = two_tables()
    keys = record_keys(6, seed=3)
    found = perturbed(cells, keys, perturbations(2, 3))
    assert (found == perturbed(cells, keys, perturbations(2, 3))).all()
    assert not (found == 1).any()
    # Over many keys the noise has mean 0.
    many = [perturbed(cells, record_keys(6, seed=s), perturbations(2, 3)) for s in range(3000)]
    counts = cells.sums(np.bincount(cells.row_of))
    assert np.abs(np.mean(many, axis=0) - counts).max() < 0.15
