"""The fixed-radius nearest-neighbour classifier of Hittmeir, Mayer and Ekelhart, Algorithm 3.1.

The radius grows from 0 until a synthetic record is found; all records at that Hamming distance
vote. Its accuracy, with the vote of a tie shared, is the measure R_GCAP.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.nearest import Floats, nearest_pools
from caveat.table import Table
from caveat.table.cells import cross, key_cells

__all__ = ["frnn"]


def frnn(train: Table, query: Table, keys: Sequence[str], target: str) -> Floats:
    """Return for each query the distribution of the target among the nearest training records.

    Parameters
    ----------
    train, query
        Tables on common levels.
    keys
        Columns that are compared.
    target
        Column that is predicted.

    Returns
    -------
    One row per query, one column per code of the target; rows sum to 1.

    Examples
    --------
    >>> release = Table.from_frame({"sex": ["f", "f", "m"], "job": ["a", "b", "b"]})
    >>> frnn(release, release, ["sex"], "job").tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    """
    levels = [train[key].n_levels for key in keys]
    sides = [[table[key].codes for key in keys] for table in (query, train)]
    (asked, known), n_cells = key_cells(sides, levels)
    n_targets = train[target].n_levels
    # Every cell that is asked about meets every target once, so that the pools of the nearest
    # records are tabulated for all targets.
    cells = np.unique(asked)
    joint = cross(
        np.repeat(cells, n_targets),
        np.tile(np.arange(n_targets), len(cells)),
        known,
        train[target].codes,
        n_cells,
        n_targets,
    )
    codes = [np.zeros(n_cells, np.int64) for _ in keys]
    for out, mine, theirs in zip(codes, *sides, strict=True):
        out[asked], out[known] = mine, theirs
    share, _, _ = nearest_pools(joint, codes, levels)
    rows = joint.find(np.repeat(asked, n_targets), np.tile(np.arange(n_targets), len(asked)))
    return share[rows].reshape(len(asked), n_targets)
