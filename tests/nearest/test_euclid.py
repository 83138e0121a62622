"""Nearest vectors by Euclid's distance against comparing all with all."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.nearest import Vectors, euclid_nearest


def vectors(rng, n, categories, numbers):
    """One coordinate for each category, another weight each; many rows are equal."""
    codes = rng.integers(0, 3, (n, categories)).astype(np.int32)
    values = np.hstack([codes * (1.0 + np.arange(categories)), rng.integers(0, 4, (n, numbers))])
    return Vectors(codes, values, np.arange(1, categories + 1))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(1, 3), st.booleans())
def test_it_is_what_all_pairs_give(seed, categories, numbers, apart):
    rng = np.random.default_rng(seed)
    data = vectors(rng, 30, categories, numbers)
    query = data if apart else vectors(rng, 20, categories, numbers)
    every = np.sqrt(((query.values[:, None] - data.values[None]) ** 2).sum(axis=2))
    own = np.arange(30) if apart else None
    if apart:
        np.fill_diagonal(every, np.inf)
    first = euclid_nearest(query, data, own=own)
    assert (first.position[:, 0] == every.argmin(axis=1)).all()
    by_lot = euclid_nearest(query, data, own=own, rng=rng)
    for found in (first, by_lot):
        assert (found.distance[:, 0] == every.min(axis=1)).all()
        assert (np.take_along_axis(every, found.position, 1) == found.distance).all()


def test_without_records_there_is_no_nearest():
    some = vectors(np.random.default_rng(1), 1, 1, 1)
    assert euclid_nearest(some, some, own=np.arange(1)).distance.shape == (1, 0)


def test_equal_rows_are_drawn_equally_often():
    """Ten equal rows, a thousand queries with lots of their own (multinomial, 4 sd around 100)."""
    ends = np.array([1])
    data = Vectors(np.zeros((10, 1), np.int32), np.zeros((10, 2)), ends)
    query = Vectors(np.ones((1000, 1), np.int32), np.ones((1000, 2)), ends)
    found = euclid_nearest(query, data, rng=np.random.default_rng(1))
    counts = np.bincount(found.position[:, 0], minlength=10)
    assert np.abs(counts - 100).max() < 4 * np.sqrt(1000 * 0.1 * 0.9)
    assert (found.distance == np.sqrt(2)).all()
