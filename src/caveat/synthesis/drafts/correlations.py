"""Correlation matrices: what is missing in them, and the nearest one that any data can have.

A matrix that was put together from several sources, or rounded, may be that of no data: one of its
eigenvalues is negative. The nearest correlation matrix is found by projecting in turn on matrices
without negative eigenvalues and on those with ones in the diagonal (Higham 2002).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["completed", "nearest_correlation"]

Floats = NDArray[np.float64]

MOST_ROUNDS = 5_000
NEAR = 1e-10


def nearest_correlation(matrix: Floats, known: NDArray[np.bool_] | None = None) -> Floats:
    """Return the correlation matrix that is nearest to a symmetric matrix.

    Parameters
    ----------
    matrix
        The matrix.
    known
        Which entries count; all by default.

    Examples
    --------
    The example of Higham (2002):

    >>> bad = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> nearest_correlation(bad).round(4).tolist()
    [[1.0, 0.7607, 0.1573], [0.7607, 1.0, 0.7607], [0.1573, 0.7607, 1.0]]
    """
    wanted = np.asarray(matrix, np.float64)
    counts = np.ones(wanted.shape, bool) if known is None else known
    found = wanted.copy()
    for _ in range(1 if counts.all() else 50):
        # What nobody knows is taken from the last answer: it pulls nowhere.
        found = _nearest(np.where(counts, wanted, found))
    return found


def _nearest(matrix: Floats) -> Floats:
    now, below = matrix.copy(), np.zeros(matrix.shape)
    for _ in range(MOST_ROUNDS):
        moved = now - below
        positive = _without_negative(moved)
        below = positive - moved
        after = positive.copy()
        np.fill_diagonal(after, 1.0)
        if np.abs(after - now).max() <= NEAR:
            break
        now = after
    # The last step to a matrix that is both: the diagonal is scaled, not set.
    inner = _without_negative(now)
    size = np.sqrt(np.diag(inner))
    found = inner / np.outer(size, size)
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2)


def completed(matrix: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a matrix without negative eigenvalues that keeps what is known, if there is one.

    Examples
    --------
    >>> known = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    >>> chain = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> bool(completed(chain, known)[0, 2] > 0.61)  # less would contradict the other two
    True
    """
    now = np.where(known, matrix, 0.0)
    for _ in range(MOST_ROUNDS):
        after = np.where(known, matrix, _without_negative(now))
        if np.abs(after - now).max() <= NEAR:
            break
        now = after
    return np.asarray(after)


def _without_negative(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
