"""Guesses of classes judged by more than their accuracy: F1 macro and Matthews' correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.nearest import Floats

__all__ = ["confusion", "confusion_of_shares", "macro_f1", "matthews"]


def confusion(truth: NDArray[Any], named: NDArray[Any], n_classes: int) -> Floats:
    """Return how many people of each class (row) were said to be of each class (column).

    Examples
    --------
    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    cells = truth.astype(np.int64) * n_classes + named
    counts = np.bincount(cells, minlength=n_classes**2).astype(np.float64)
    return counts.reshape(n_classes, n_classes)


def confusion_of_shares(truth: NDArray[Any], weights: Floats) -> Floats:
    """Return the same where of several classes of the largest weight each is named in part."""
    best = weights == weights.max(axis=1, keepdims=True)
    parts = best / best.sum(axis=1, keepdims=True)
    found = np.zeros((weights.shape[1], weights.shape[1]))
    np.add.at(found, truth, parts)
    return found


def macro_f1(found: Floats) -> float:
    """Return the mean over classes of F1 = 2 TP / (2 TP + FP + FN).

    The classes are those that somebody has or is said to have. One class named for everybody, that
    a share p has, gives p / (1 + p) with two classes: 0.5 is no half of anything.

    Examples
    --------
    >>> macro_f1(np.array([[3.0, 0.0], [1.0, 0.0]]))
    0.42857142857142855
    """
    both = found.sum(axis=0) + found.sum(axis=1)
    there = both > 0
    return float(np.mean(2 * np.diag(found)[there] / both[there]))


def matthews(found: Floats) -> float:
    """Return Matthews' correlation coefficient: 0 if truth and guess are independent.

    With two classes (TP TN − FP FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN)); with more, the
    correlation of Gorodkin (2004). 0 where all have, or are said to have, the same class.

    Examples
    --------
    >>> matthews(np.array([[3.0, 0.0], [1.0, 0.0]])), matthews(np.eye(3))
    (0.0, 1.0)
    """
    total, have, said = found.sum(), found.sum(axis=1), found.sum(axis=0)
    spread = (total**2 - have @ have) * (total**2 - said @ said)
    return float((np.trace(found) * total - have @ said) / np.sqrt(spread)) if spread > 0 else 0.0
