"""What a model says of people it has not seen: the baseline of an attack on single records.

Right guesses that follow from how keys and target go together in the population are no disclosure.
How many there are is seen on records that were held out: each one is guessed by a model that was
fitted to all the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.risk.pair import ScenarioPair

__all__ = ["held_out_precision", "leave_one_out"]

Floats = NDArray[np.float64]

PENALTY = 1.0  # of the squared coefficients: as much as one more record of every level
COLUMNS = 2_000  # levels of keys that have a coefficient of their own, the most frequent first
CELLS = 1 << 22  # numbers held at a time
TIE = 1e-9


def held_out_precision(pair: ScenarioPair) -> float | None:
    """Return how often a model names the target of an original record that it was not fitted to.

    None for fewer than two records.
    """
    joint = pair.joint
    here = np.flatnonzero(joint.d > 0)
    codes = [pair.cells.codes[key] for key in pair.scenario.keys]
    right = leave_one_out(codes, joint.cell[here], joint.target[here], joint.d[here])
    return None if right is None else right / pair.n


def leave_one_out(
    keys: Sequence[NDArray[Any]],
    cells: NDArray[np.integer[Any]],
    targets: NDArray[np.integer[Any]],
    counts: NDArray[np.integer[Any]],
) -> float | None:
    """Return how many records a model fitted to all the others names the target of.

    The model is linear: a 0/1 column for each level of each key, a 0/1 outcome for each target,
    least squares with a ridge penalty; the target of the largest fitted value is named, of several
    each counts in part. What it says without a record follows from the fit to all of them:
    (ŷ − h y) / (1 − h) with h from the diagonal of the hat matrix. So nothing is drawn, and neither
    the order of the rows nor the names of the levels matter.

    Parameters
    ----------
    keys
        For each key, its code in each cell.
    cells, targets, counts
        How many records have which cell and which target.

    Examples
    --------
    >>> sex = np.array([0, 1])
    >>> cells, jobs = np.array([0, 1, 1]), np.array([0, 1, 0])
    >>> float(leave_one_out([sex], cells, jobs, np.array([3, 4, 1])))
    7.0
    """
    if counts.sum() < 2:
        return None
    n_cells = len(keys[0])
    weight = np.bincount(cells, counts, n_cells).astype(np.float64)
    x = _columns(keys, weight)
    # A target that one record has is unknown without it: it can only be missed.
    held = np.bincount(targets, counts)[targets] > 1
    cells, counts = cells[held], counts[held]
    names, targets = np.unique(targets[held], return_inverse=True)
    if not len(names):
        return 0.0
    inverse = np.linalg.inv((x.T @ x.multiply(weight[:, None])).toarray() + _penalty(x))
    there = scipy.sparse.csr_array((counts, (cells, targets)), shape=(n_cells, len(names)))
    coefficient = inverse @ (x.T @ there).toarray()
    right, step = 0.0, max(1, CELLS // max(coefficient.shape))
    for start in range(0, len(cells), step):
        part = slice(start, start + step)
        rows = x[cells[part]]
        fitted = rows @ coefficient
        own = np.arange(len(fitted)), targets[part]
        fitted[own] -= rows.multiply(rows @ inverse).sum(axis=1)
        best = fitted >= fitted.max(axis=1, keepdims=True) - TIE
        right += float((counts[part] * best[own] / best.sum(axis=1)).sum())
    return right


def _columns(keys: Sequence[NDArray[Any]], weight: Floats) -> scipy.sparse.csr_array:
    """Return a 0/1 column for each level that two records have, the most frequent ones, and 1."""
    often = [np.bincount(key, weight) for key in keys]
    counts = np.concatenate(often)
    kept = np.flatnonzero(counts > 1)
    kept = kept[np.argsort(-counts[kept], kind="stable")][:COLUMNS]
    place = np.full(len(counts), -1)
    place[kept] = np.arange(len(kept))
    starts = np.cumsum([0, *map(len, often)])
    columns = [place[key + start] for key, start in zip(keys, starts, strict=False)]
    columns.append(np.full(len(weight), len(kept)))
    rows, where = np.tile(np.arange(len(weight)), len(columns)), np.concatenate(columns)
    shape = (len(weight), len(kept) + 1)
    there = where >= 0
    return scipy.sparse.csr_array((np.ones(there.sum()), (rows[there], where[there])), shape=shape)


def _penalty(x: scipy.sparse.csr_array) -> Floats:
    return PENALTY * np.eye(x.shape[1])
