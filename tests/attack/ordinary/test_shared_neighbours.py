"""Clusters of records that share their neighbours, by hand; SNI and what it does not see."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.attack.ordinary.distances import (
    shared_neighbour_clusters,
    shared_neighbour_identifiability,
)


def test_clusters_by_hand():
    """Records 0 to 3 are each other's neighbours and share two; 4 names them, they do not name it.

    Of 5 and 6 each is among the neighbours of the other, but they share 1 only: one neighbour.
    """
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2], [6, 1, 4], [5, 1, 0]])
    found = shared_neighbour_clusters(near, least_shared=2, least_similar=2)
    assert found.tolist() == [0, 0, 0, 0, -1, -1, -1]


def test_a_record_that_is_no_core_goes_with_its_core():
    """4 is similar to 3 alone (they share 1 and 2): no core, but within reach of one."""
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [1, 2, 4], [1, 2, 3]])
    found = shared_neighbour_clusters(near, least_shared=2, least_similar=2)
    assert (found == found[3]).sum() >= 2
    assert found[4] == found[3]
    assert shared_neighbour_clusters(near, least_shared=2, least_similar=9).tolist() == [-1] * 5


def slowly(near, shared=3, similar=2):
    """The same by sets and loops."""
    lists = [set(row) for row in near.tolist()]
    n = len(lists)

    def alike(i, j):
        return i in lists[j] and j in lists[i] and len(lists[i] & lists[j]) >= shared

    friends = [[j for j in range(n) if j != i and alike(i, j)] for i in range(n)]
    core = [len(f) >= similar for f in friends]
    label = [-1] * n
    for i in range(n):
        if core[i] and label[i] < 0:
            todo = [i]
            while todo:
                j = todo.pop()
                if label[j] < 0:
                    label[j] = i
                    todo += [f for f in friends[j] if core[f]]
    for i in range(n):
        reach = [j for j in near[i].tolist() if j in friends[i] and core[j]]
        if not core[i] and reach:
            label[i] = label[max(reach, key=lambda j: len(lists[i] & lists[j]))]
    return label


@pytest.mark.parametrize("k", [4, 5, 7])
def test_clusters_are_those_of_loops_over_sets(k):
    x = np.random.default_rng(k).normal(size=(150, 2))
    away = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :k]
    ours, theirs = shared_neighbour_clusters(near), np.array(slowly(near))
    assert ((ours < 0) == (theirs < 0)).all()
    assert (ours >= 0).any()
    same = (ours[:, None] == ours[None])[ours >= 0][:, ours >= 0]
    assert (same == (theirs[:, None] == theirs[None])[ours >= 0][:, ours >= 0]).all()


def test_pairs_of_original_and_release_are_found():
    """At 25 places two originals and two synthetic records: many clusters of four, both kinds.

    A release that lies elsewhere has clusters of its own and none with an original.
    """
    places = np.arange(25) * 1000.0
    original = pl.DataFrame({"x": np.concatenate([places, places + 1])})
    release = pl.DataFrame({"x": np.concatenate([places + 2, places + 3])})
    found = shared_neighbour_identifiability(original, release)
    assert found.value > 0.5
    assert found.n == 50
    assert found.details["neighbours"] == 5
    elsewhere = pl.DataFrame({"x": np.concatenate([places, places + 1]) + 1e6})
    assert shared_neighbour_identifiability(original, elsewhere).value == 0
    few = shared_neighbour_identifiability(original[:2], release[:2], neighbours=4)
    assert few.value is None
    assert few.notes[0].code == "few-records"


def test_control_and_seed(original, control, fresh):
    first, again = (
        shared_neighbour_identifiability(original, fresh, control=control) for _ in range(2)
    )
    assert first == again
    assert first.control is not None
    assert 0 <= first.details["share in no cluster"] <= 1
