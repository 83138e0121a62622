"""The nearest neighbour as a classifier."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attack.ordinary.tables import people

from caveat.attack.ordinary.common import prepare
from caveat.attack.ordinary.predicting import frnn
from caveat.risk import MEASURES, Scenario, pair


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_frnn_is_algorithm_3_1_and_its_accuracy_is_r_gcap(seed, n, m):
    """As it stands in the paper, all pairs compared; GCAP is the share of the truth."""
    keys = ("sex", "town", "debt")
    tables = prepare(people(seed, n), people(seed + 1, m))
    shares = frnn(tables.synthetic, tables.original, keys, "job")
    assert shares.sum(axis=1) == pytest.approx(np.ones(n))
    ours, theirs = (
        np.stack([t[key].codes for key in keys], 1) for t in (tables.original, tables.synthetic)
    )
    steps = (ours[:, None] != theirs[None]).sum(axis=2)
    job = tables.synthetic["job"].codes
    for row in range(n):
        pool = job[steps[row] == steps[row].min()]
        assert shares[row] == pytest.approx(
            np.bincount(pool, minlength=shares.shape[1]) / len(pool)
        )
    truth = tables.original["job"].codes
    best = shares == shares.max(axis=1, keepdims=True)
    right = (best[np.arange(n), truth] / best.sum(axis=1)).mean()
    measured = pair(tables.original, tables.synthetic, Scenario(keys, "job"))
    assert right == pytest.approx(MEASURES["R_GCAP"](measured).value)
    assert shares[np.arange(n), truth].mean() == pytest.approx(MEASURES["GCAP"](measured).value)
