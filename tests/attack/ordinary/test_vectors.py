"""Tables as vectors, and the nearest of them, against comparing all with all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.attack.ordinary import closer_than_neighbour, epsilon_identifiability
from caveat.attack.ordinary.common import dense, prepare, staircase, whitened
from caveat.attack.ordinary.distances import weighted
from caveat.nearest import euclid_nearest


def people(seed, n, numbers=True, categories=True):
    """Few levels, so that many are equal; missing numbers; a level that only some tables have."""
    rng = np.random.default_rng(seed)
    columns = {}
    if categories:
        columns["sex"] = rng.choice(["f", "m"], n).tolist()
        columns["town"] = rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.08, 0.02]).tolist()
        columns["job"] = [(None, "x", "y")[i] for i in rng.integers(0, 3, n)]
    if numbers:
        columns["age"] = rng.integers(18, 30, n)
        columns["debt"] = [None if x < -1 else round(float(x), 1) for x in rng.normal(size=n)]
        columns["twice"] = 2 * np.asarray(columns["age"])  # of rank 1 with age
    return pl.DataFrame(columns, strict=False)


def all_pairs(a, b):
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))


sizes = st.integers(2, 40)
kinds = st.sampled_from([(True, True), (True, False), (False, True)])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), sizes, sizes, kinds)
def test_closest_is_what_all_pairs_give(seed, n, m, kind):
    tables = prepare(people(seed, n, *kind), people(seed + 1, m, *kind))
    for query, data in (
        weighted(tables.original, [tables.original, tables.synthetic], scale="sd"),
        whitened(tables.original, [tables.original, tables.synthetic]),
    ):
        every = all_pairs(query.values, data.values)
        first = euclid_nearest(query, data)
        by_lot = euclid_nearest(query, data, rng=np.random.default_rng(seed))
        for found in (first, by_lot):
            assert found.distance[:, 0] == pytest.approx(every.min(axis=1), abs=1e-12)
            there = np.take_along_axis(every, found.position, 1)
            assert there == pytest.approx(found.distance, abs=1e-12)
        # Of equal rows the first in the table.
        for row, at in enumerate(first.position[:, 0]):
            same = (data.values == data.values[at]).all(axis=1)
            assert at == np.flatnonzero(same)[0], row


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), kinds)
def test_own_record_is_left_out(seed, n, kind):
    table = people(seed, n, *kind)
    [data] = whitened(prepare(table, table).original, [prepare(table, table).original])
    every = all_pairs(data.values, data.values)
    np.fill_diagonal(every, np.inf)
    found = euclid_nearest(data, data, own=np.arange(n))
    assert found.distance[:, 0] == pytest.approx(every.min(axis=1), abs=1e-12)
    assert (found.position[:, 0] != np.arange(n)).all()
    assert (euclid_nearest(data, data).distance == 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 40), kinds)
def test_whitened_distance_is_mahalanobis(seed, n, m, kind):
    """(a − b)' S⁺ (a − b), S the covariance of the numbers and 0/1 columns of the first table."""
    tables = prepare(people(seed, n, *kind), people(seed + 1, m, *kind))
    a, b = dense(tables.original, [tables.original, tables.synthetic], tables.original.names)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(a, rowvar=False)), rcond=1e-10, hermitian=True)
    step = a[:, None] - b[None]
    expected = np.einsum("ijk,kl,ijl->ij", step, inverse, step)
    ours, theirs = whitened(tables.original, [tables.original, tables.synthetic])
    assert all_pairs(ours.values, theirs.values) ** 2 == pytest.approx(expected, rel=1e-6, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 3)
)
def test_staircase_rotates_and_ends_where_it_says(seed, widths, deficient):
    rng = np.random.default_rng(seed)
    rank = max(sum(widths) - deficient, 1)
    turn = rng.normal(size=(sum(widths), rank))
    turned, steps = staircase(turn, widths)
    assert sum(steps) == rank
    assert turned @ turned.T == pytest.approx(turn @ turn.T, abs=1e-9)
    row, column = 0, 0
    for width, step in zip(widths, steps, strict=True):
        row, column = row + width, column + step
        assert turned[row:, :column] == pytest.approx(0, abs=1e-9)


def test_twins_are_not_called_too_close():
    """A copy lies at distance 0, and so does the twin of the original record: neither is nearer."""
    twins = people(3, 50)
    twins = pl.concat([twins, twins])
    assert epsilon_identifiability(twins, twins).value == 0
    assert closer_than_neighbour(twins, twins).value == 0
