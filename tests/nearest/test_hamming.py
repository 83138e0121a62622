"""Pools of the nearest cells by hand; against all pairs they are tested with the CAP measures."""

from __future__ import annotations

import numpy as np

from caveat.nearest import cell_pools, nearest_pools
from caveat.table.cells import cross, key_cells


def test_pools_by_hand():
    """Person (1, 1) is not in the release: (1, 0) with target 0 and (0, 1) with 0 and 1 are near.

    The pool at distance 1 holds target 0 twice and 1 once; her target is 1.
    """
    ours, theirs = np.array([[0, 0], [1, 1]]), np.array([[0, 0], [1, 0], [0, 1], [0, 1]])
    (mine, there), n = key_cells([list(ours.T), list(theirs.T)], [2, 2])
    joint = cross(mine, np.array([0, 1]), there, np.array([0, 0, 0, 1]), n, 2)
    codes = [np.zeros(n, np.int64) for _ in range(2)]
    for out, a, b in zip(codes, ours.T, theirs.T, strict=True):
        out[mine], out[there] = a, b
    share, credit, distance = nearest_pools(joint, codes, [2, 2])
    at = np.flatnonzero(joint.d > 0)
    assert share[at].tolist() == [1, 1 / 3]
    assert credit[at].tolist() == [1, 0]
    assert distance[at].tolist() == [0, 1]
    assert cell_pools(joint)[0][at].tolist() == [1, 0]
