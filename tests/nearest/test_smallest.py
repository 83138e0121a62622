"""The smallest distance and the largest value there, against comparing all with all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.nearest import jaccard_smallest, tree_smallest


def by_all_pairs(every, value, apart):
    if apart:
        np.fill_diagonal(every, np.inf)
    best = every.min(axis=1)
    equal = every <= best[:, None] + 1e-9
    return best, np.where(equal, value, -1.0).max(axis=1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 3), st.booleans())
def test_tree(seed, n, width, apart):
    rng = np.random.default_rng(seed)
    data = np.unique(rng.integers(0, 5, (n, width)) / 5, axis=0)
    query = data if apart else rng.integers(0, 5, (20, width)) / 5
    if len(data) < 2:
        return
    value = rng.permutation(len(data)).astype(np.float64)
    every = ((query[:, None] - data[None]) ** 2).sum(axis=2)
    best, largest = by_all_pairs(every, value, apart)
    found = tree_smallest(query, data, value, apart=apart)
    assert found[0] == pytest.approx(best)
    if not apart:  # among the data themselves only the distance is asked for
        assert found[1].tolist() == largest.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 5), st.booleans())
def test_jaccard(seed, n, width, apart):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2, (n, width)).astype(np.uint8)
    query = data if apart else rng.integers(0, 2, (20, width)).astype(np.uint8)
    value = rng.permutation(n).astype(np.float64)
    both = (query[:, None] & data[None]).sum(axis=2)
    either = (query[:, None] | data[None]).sum(axis=2)
    every = np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
    best, largest = by_all_pairs(every, value, apart)
    found = jaccard_smallest(query, data, value, apart=apart)
    assert found[0] == pytest.approx(best)
    assert found[1].tolist() == largest.tolist()
