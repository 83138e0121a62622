"""Nearest records by Gower's distance against comparing all with all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.nearest import Mixed, gower_nearest, gower_smallest


def rows(rng, n, width, levels, steps=4):
    return Mixed(
        rng.integers(0, steps + 1, (n, width)) / steps,
        rng.integers(0, 3, (n, levels)).astype(np.int32),
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 4), st.integers(1, 9))
def test_nearest_is_what_all_pairs_give(seed, width, levels, k):
    rng = np.random.default_rng(seed)
    query, data = rows(rng, 20, width, levels), rows(rng, 30, width, levels)
    parts = np.minimum(np.abs(query.numbers[:, None] - data.numbers[None]), 1).sum(2)
    parts = parts + (query.codes[:, None] != data.codes[None]).sum(2)
    all_pairs = parts / max(width + levels, 1)
    first = gower_nearest(query, data, k)
    assert (first.position == np.argsort(parts, axis=1, kind="stable")[:, :k]).all()
    by_lot = gower_nearest(query, data, k, rng=rng)
    for found in (first, by_lot):
        assert found.distance == pytest.approx(np.sort(all_pairs, axis=1)[:, :k])
        assert np.take_along_axis(all_pairs, found.position, 1) == pytest.approx(found.distance)


def test_own_record_is_left_out():
    rng = np.random.default_rng(1)
    data = rows(rng, 50, 2, 2)
    found = gower_nearest(data, data, 1, own=np.arange(50))
    assert (found.position[:, 0] != np.arange(50)).all()
    assert gower_nearest(data, data, 1).distance.max() == 0


def test_a_lot_decides_between_equals():
    """Ten equal records: each is drawn about equally often (multinomial, 4 sd around 100)."""
    query = Mixed(np.zeros((1000, 0)), np.zeros((1000, 1), np.int32))
    drawn = [
        gower_nearest(
            query.take(slice(0, 1)), query.take(slice(0, 10)), 1, rng=np.random.default_rng(s)
        )
        for s in range(1000)
    ]
    counts = np.bincount([int(found.position[0, 0]) for found in drawn], minlength=10)
    assert np.abs(counts - 100).max() < 4 * np.sqrt(1000 * 0.1 * 0.9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 5), st.booleans())
def test_smallest_is_what_all_pairs_give(seed, width, levels, apart):
    """Tenths: sums of them are equal but for rounding, and must count as equal."""
    rng = np.random.default_rng(seed)
    data = rows(rng, 30, width, levels, 10)
    query = data if apart else rows(rng, 20, width, levels, 10)
    value = rng.permutation(30).astype(np.float64)
    parts = np.minimum(np.abs(query.numbers[:, None] - data.numbers[None]), 1).sum(2)
    parts = parts + (query.codes[:, None] != data.codes[None]).sum(2)
    if apart:
        np.fill_diagonal(parts, np.inf)
    found, largest = gower_smallest(query, data, value, apart=apart)
    equal = parts <= parts.min(axis=1, keepdims=True) + 1e-9
    assert found == pytest.approx(parts.min(axis=1), abs=1e-9)
    assert largest.tolist() == np.where(equal, value, -1.0).max(axis=1).tolist()


def test_rounding_does_not_decide_who_is_nearest():
    """0.1 + 0.2 is a hair above 0.3: for the largest value both are as near."""
    nobody = np.zeros((2, 0), np.int32)
    data = Mixed(np.array([[0.3, 0.0], [0.1, 0.2]]), nobody)
    query = Mixed(np.zeros((1, 2)), nobody[:1])
    found, largest = gower_smallest(query, data, np.array([1.0, 2.0]))
    assert (found.tolist(), largest.tolist()) == ([0.3], [2.0])


def test_threads_do_not_matter():
    rng = np.random.default_rng(2)
    query, data, value = rows(rng, 1500, 2, 4), rows(rng, 400, 2, 4), rng.random(400)
    one, two = (gower_smallest(query, data, value, threads=n) for n in (1, 2))
    assert np.array_equal(one, two)


def test_without_records_there_is_no_nearest():
    some = rows(np.random.default_rng(1), 1, 1, 1)
    assert gower_nearest(some, some, 3, own=np.arange(1)).position.shape == (1, 0)
