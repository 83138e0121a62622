"""Post-randomisation (PRAM): categories exchanged at random, with their expected shares kept.

For counts T_1, …, T_c with the smallest T_k the matrix is P_ii = 1 − θ T_k / T_i and
P_ij = θ T_k / ((c − 1) T_i); then T P = T (Gouweleeuw et al. 1998; Kwatra and Torra 2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.seeds import rng_of
from caveat.table import Table

__all__ = ["epsilon0", "pram", "pram_matrix", "theta_for_epsilon"]

Floats = NDArray[np.float64]


def pram_matrix(counts: NDArray[Any] | Sequence[int], theta: float) -> Floats:
    """Return the invariant matrix: row i holds the chances of what category i becomes.

    Examples
    --------
    >>> pram_matrix([50, 50], 0.1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    if not 0 <= theta <= 1:
        raise CaveatError(
            "theta must lie between 0 and 1", where="pram", code="protection.setting.range"
        )
    totals = np.asarray(counts, dtype=np.float64)
    if len(totals) < 2 or not (totals > 0).all():
        raise CaveatError(
            "PRAM needs two or more categories that occur", where="pram", code="data.level.too-few"
        )
    moved = theta * totals.min() / totals
    matrix = np.repeat(moved[:, None] / (len(totals) - 1), len(totals), axis=1)
    np.fill_diagonal(matrix, 1 - moved)
    return matrix


def epsilon0(matrix: Floats) -> float:
    """Return the level of local differential privacy: log of the largest ratio in a column.

    It is the maximum over all pairs. Infinite where some category can never become another one.

    Examples
    --------
    >>> round(epsilon0(pram_matrix([50, 50], 0.1)), 4)
    2.1972
    """
    low = matrix.min(axis=0)
    if (low <= 0).any():
        return math.inf
    return float(np.log(matrix.max(axis=0) / low).max())


def theta_for_epsilon(counts: NDArray[Any] | Sequence[int], epsilon: float) -> float:
    """Return the smallest theta whose level is at most ``epsilon``.

    The level falls with theta up to a point and rises again behind it; only the first part is
    searched, because there is less noise in it.

    Examples
    --------
    >>> round(theta_for_epsilon([50, 50], math.log(9)), 6)
    0.1
    """
    grid = np.linspace(0, 1, 1001)[1:]
    levels = np.array([epsilon0(pram_matrix(counts, theta)) for theta in grid])
    if levels.min() > epsilon:
        raise CaveatError(
            f"no theta gives an epsilon of {epsilon:g}; the smallest is {levels.min():.4f}",
            where="pram",
            do="allow more, or group rare categories first: they decide it",
            code="protection.limit.failed",
        )
    above = int(np.argmax(levels <= epsilon))
    low, high = (float(grid[above - 1]) if above else 0.0), float(grid[above])
    for _ in range(60):
        middle = (low + high) / 2
        if epsilon0(pram_matrix(counts, middle)) <= epsilon:
            high = middle
        else:
            low = middle
    return high


def pram(synthetic: Table, columns: Sequence[str], *, theta: float, seed: int = 0) -> Protected:
    """Exchange categories at random by the invariant matrix of each column.

    Parameters
    ----------
    synthetic
        The table; the matrices are built from its own counts. A way to be missing is a category
        like any other.
    columns
        The columns to exchange, independently of each other.
    theta
        How much: 0 nothing, 1 as much as the rarest category bears.
    seed
        Seed of the draws.

    Returns
    -------
    Protected
        The record has the level ε₀ of each column and their sum. They hold for the categories of a
        record that went in, given that the counts are public.
    """
    out, counts, total = {}, {}, 0.0
    for position, name in enumerate(columns):
        column = synthetic[name].compact()
        if column.n_levels < 2:
            raise CaveatError(
                "PRAM needs two or more categories",
                column=name,
                do="leave it out",
                code="data.level.too-few",
            )
        matrix = pram_matrix(column.counts, theta)
        chance = rng_of(seed, position).random(len(column))
        steps = np.cumsum(matrix, axis=1)
        steps[:, -1] = 1.0
        codes = np.empty(len(column), dtype=np.int64)
        for code in range(column.n_levels):
            here = column.codes == code
            codes[here] = np.searchsorted(steps[code], chance[here], side="right")
        out[name] = column.with_codes(codes)
        level = epsilon0(matrix)
        counts[f"{name}: epsilon0"] = level
        counts[f"{name}: changed"] = int((codes != column.codes).sum())
        total += level
    counts["epsilon0, all columns"] = total
    parameters = {"columns": list(columns), "theta": theta}
    return Protected(synthetic.with_columns(out), Step("pram", parameters, counts, seed))
