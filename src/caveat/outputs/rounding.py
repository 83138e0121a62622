"""Rounding and perturbation of counts, where no cell is to be hidden.

`controlled`
    Every cell becomes a multiple of a base next to its count, and the tables still add up: a whole
    program by HiGHS.
`perturbed`
    Every record has a key between 0 and 1. The key of a cell is the fraction of the sum of the keys
    of its records, and chooses its noise from a table of probabilities. The same cell has the same
    noise wherever it is shown; tables do not add up exactly.

Stochastic rounding of inner cells is :func:`caveat.protect.stochastic_round`; totals are sums of
the rounded inner cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.tables import Cells
from caveat.seeds import rng_of

__all__ = ["controlled", "perturbations", "perturbed", "record_keys"]

Ints = NDArray[np.int64]
SECONDS = 60.0


def controlled(matrix: Any, inner: Ints, base: int, *, seconds: float = SECONDS) -> Ints:
    """Round inner cells to a multiple of the base below or above, so that totals stay near.

    Parameters
    ----------
    matrix
        Inner cells by cells.
    inner
        The counts of the inner cells.
    base
        The base.
    seconds
        How long to look for the roundings whose cells are nearest to the counts.

    Returns
    -------
    The rounded value of each cell: sums of rounded inner cells, so that all tables add up.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    >>> controlled(matrix, np.array([2, 2, 1]), 5)[3].item()
    5
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    inner = np.asarray(inner)
    if inner.dtype.kind not in "iu" or (inner < 0).any() or base < 2:
        raise CaveatError(
            "controlled rounding is for counts, and a base of 2 or more",
            where="rounding",
            code="outputs.setting.range" if base < 2 else "outputs.value.type",
        )
    cells = sp.csr_array(sp.csc_array(matrix).T)
    n_cells, n = cells.shape
    low = inner // base
    rest = (inner % base > 0).astype(float)
    # A rounded cell is base * X'(low + up); its distance from the count is bounded by a variable.
    off = cells @ (base * low - inner)
    eye = sp.eye_array(n_cells)
    lines = sp.vstack([sp.hstack([base * cells, -eye]), sp.hstack([-base * cells, -eye])])
    found = milp(
        np.append(np.zeros(n), np.ones(n_cells)),
        constraints=LinearConstraint(sp.csr_array(lines), ub=np.append(-off, off)),
        bounds=Bounds(np.zeros(n + n_cells), np.append(rest, np.full(n_cells, np.inf))),
        integrality=np.append(np.ones(n), np.zeros(n_cells)),
        options={"time_limit": seconds},
    )
    if found.x is None:
        raise CaveatError(
            f"no rounding was found within {seconds:g} seconds",
            where="rounding",
            do="use stochastic rounding, or fewer tables at once",
            code="outputs.table.timeout",
        )
    rounded = base * (low + np.rint(found.x[:n]).astype(np.int64))
    return np.asarray(cells @ rounded, np.int64)


def record_keys(n: int, seed: int) -> NDArray[np.float64]:
    """Return a key for each record; keep them with the records for every table that is made."""
    return rng_of(seed).random(n)


def perturbations(least: int = 3, largest: int = 5) -> NDArray[np.float64]:
    """Return the table of probabilities of noise: for each count, of noise -largest … largest.

    Noise has mean 0, and no count from 1 to least - 1 comes out. Among such noise it is the one
    with p(v) proportional to exp(a v - v²/largest); the last row is for all larger counts. A count
    of 0 stays 0.

    Examples
    --------
    >>> table = perturbations(3, 5)
    >>> noise = np.arange(-5, 6)
    >>> bool(np.allclose(table @ noise, 0))
    True
    """
    from scipy.optimize import brentq

    if largest < least or least < 1:
        largest = max(largest, least, 1)
    noise = np.arange(-largest, largest + 1)
    rows = []
    for count in range(largest + least + 1):
        after = count + noise
        allowed = (after == 0) | (after >= least) if count else noise == 0

        def shares(a: float, allowed: NDArray[np.bool_] = allowed) -> NDArray[np.float64]:
            raw = a * noise - noise**2 / largest
            raw = np.where(allowed, raw, -np.inf)
            p = np.exp(raw - raw.max())
            return np.asarray(p / p.sum())

        if count and not (noise[allowed] == 0).all():
            rows.append(shares(brentq(lambda a, s=shares: float(s(a) @ noise), -60, 60)))
        else:
            rows.append(shares(0.0))
    return np.stack(rows)


def perturbed(cells: Cells, keys: NDArray[np.float64], table: NDArray[np.float64]) -> Ints:
    """Return the counts of all cells with the noise that their keys choose.

    Parameters
    ----------
    cells
        The cells.
    keys
        The key of each record, from :func:`record_keys`.
    table
        Probabilities of noise, from :func:`perturbations`.
    """
    n = len(cells.inner)
    counts = cells.sums(np.bincount(cells.row_of, minlength=n))
    # Whole numbers of 2^-40, so that a cell's key does not depend on the order of its records.
    whole = np.floor(keys * 2**40).astype(np.int64)
    per_row = np.zeros(n, np.int64)
    np.add.at(per_row, cells.row_of, whole)
    key = (cells.sums(per_row) % 2**40) / 2**40
    steps = np.cumsum(table, axis=1)[np.minimum(counts, len(table) - 1)]
    steps[:, -1] = 1.0
    noise = (key[:, None] >= steps).sum(axis=1) - table.shape[1] // 2
    return np.asarray(counts + noise, np.int64)
