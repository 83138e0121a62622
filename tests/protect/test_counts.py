"""Rounding of counts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.protect import rounded_table, stochastic_round


@pytest.mark.parametrize(("z", "k"), [(1, 3), (2, 3), (3, 10), (7, 10)])
def test_stochastic_rounding_has_mean_z_and_variance_z_times_k_minus_z(z, k):
    n = 40_000
    rounded = stochastic_round(np.full(n, z), k, seed=z + k)
    assert set(rounded.tolist()) == {0, k}
    variance = z * (k - z)
    assert rounded.mean() == pytest.approx(z, abs=4 * np.sqrt(variance / n))
    p = z / k
    fourth = k**4 * p * (1 - p) * ((1 - p) ** 3 + p**3)
    assert rounded.var() == pytest.approx(
        variance, abs=4 * np.sqrt((fourth - variance**2) / n + 1e-9)
    )


def test_large_and_empty_counts_stay():
    counts = np.array([[0, 3], [5, 1000]])
    assert np.array_equal(stochastic_round(counts, 3), counts)
    with refused("protection.value.type", where="stochastic rounding"):
        stochastic_round(np.array([-1, 2]))


def test_margins_come_from_the_rounded_cells():
    """They add up, and over many tables have the true mean and the sum of the variances."""
    counts, k, runs = np.array([[1, 2, 0], [4, 1, 2], [30, 9, 1]]), 5, 4000
    tables = np.stack([rounded_table(counts, k, seed=seed) for seed in range(runs)])
    inner = tables[:, :3, :3]
    assert ((inner == 0) | (inner >= k)).all()
    assert (tables[:, 3, :3] == inner.sum(axis=1)).all()
    assert (tables[:, :3, 3] == inner.sum(axis=2)).all()
    assert (tables[:, 3, 3] == inner.sum(axis=(1, 2))).all()
    variance = np.where(counts < k, counts * (k - counts), 0)
    for axis, shown in ((0, tables[:, 3, :3]), (1, tables[:, :3, 3])):
        spread = variance.sum(axis=axis)
        assert shown.mean(axis=0) == pytest.approx(
            counts.sum(axis=axis), abs=4 * np.sqrt(spread.max() / runs)
        )
        assert shown.var(axis=0) == pytest.approx(spread, rel=0.12)
    # True margins of the same table differ: they are what must not stand beside it.
    assert (tables[:, 3, 3] != counts.sum()).mean() > 0.5
