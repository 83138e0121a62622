"""Stochastic rounding of counts: no small count is shown, and the expectation stays.

A count z with 0 < z < k becomes k with probability z/k and 0 otherwise; its mean is z and its
variance z (k − z) (Brenzel et al. 2024, eq. 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.seeds import rng_of

__all__ = ["rounded_table", "stochastic_round"]


def stochastic_round(counts: NDArray[Any], k: int = 3, *, seed: int = 0) -> NDArray[np.int64]:
    """Round the small counts of a table at random.

    Parameters
    ----------
    counts
        Whole numbers, 0 or more, of any shape.
    k
        Counts from 1 to k − 1 are rounded to 0 or k.
    seed
        Keep one seed per table: several roundings of the same table average out, and show it.

    Notes
    -----
    Cells are rounded one by one, so margins must be computed from the rounded cells. True margins
    beside them would allow to recover the cells.

    Examples
    --------
    >>> stochastic_round(np.array([0, 1, 2, 3, 40]), 3, seed=1).tolist()
    [0, 0, 3, 3, 40]
    """
    table = np.asarray(counts)
    if table.dtype.kind not in "iu" or (table.size and int(table.min()) < 0):
        raise CaveatError(
            "counts must be whole numbers, 0 or more",
            where="stochastic rounding",
            code="protection.value.type",
        )
    if k < 1:
        raise CaveatError(
            "the threshold must be 1 or more",
            where="stochastic rounding",
            code="protection.setting.range",
        )
    up = rng_of(seed).random(table.shape) * k < table
    return np.where(table < k, np.where(up, k, 0), table).astype(np.int64)


def rounded_table(counts: NDArray[Any], k: int = 3, *, seed: int = 0) -> NDArray[np.int64]:
    """Round the small cells of a table at random, with all margins from the rounded cells.

    The table has one more place on each axis, its total. Totals of true counts beside rounded cells
    would give the cells away; these add up, have the true totals as their means, and their
    variances are the sums of z (k − z) over the small cells.

    Parameters
    ----------
    counts, k, seed
        As for :func:`stochastic_round`.

    Examples
    --------
    >>> rounded_table(np.array([[0, 1, 9], [2, 2, 40]]), 3, seed=1).tolist()
    [[0, 0, 9, 9], [0, 3, 40, 43], [0, 3, 49, 52]]
    """
    table = stochastic_round(counts, k, seed=seed)
    for axis in range(table.ndim):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table
