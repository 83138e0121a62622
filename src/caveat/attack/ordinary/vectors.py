"""Tables as vectors: what categories add comes first, so that a search can pass over records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from caveat.attack.ordinary.encoding import dense, level_values
from caveat.nearest import Floats, Ints, Vectors
from caveat.table import Table

__all__ = ["Part", "categories_first", "place", "staircase", "whitened"]

# Variances below this share of the largest, and lengths below its root, are rounding errors.
NOTHING = 1e-10


class Part(NamedTuple):
    """What one column adds to the vectors: a row for each level, from some coordinate on."""

    name: str
    start: int
    levels: Floats


def categories_first(table: Table) -> tuple[list[str], list[str]]:
    """Return the names of categories, and those of columns with an order.

    The categories in which two records differ least often come first: where they differ at all,
    Mahalanobis' distance and weights by entropy make this the largest difference.
    """
    ordered = [name for name in table.names if table[name].kind.has_order]
    categories = [name for name in table.names if name not in ordered]
    categories.sort(key=lambda name: -float(np.square(table[name].counts, dtype=np.float64).sum()))
    return categories, ordered


def place(table: Table, parts: Sequence[Part], ends: Ints) -> Vectors:
    """Return the rows of a table as vectors; the first parts are those of the categories.

    Sums are taken column by column: equal records have vectors equal to the last digit, which a
    product of matrices does not promise.
    """
    width = max((part.start + part.levels.shape[1] for part in parts), default=0)
    values = np.zeros((len(table), width))
    for name, start, levels in parts:
        values[:, start : start + levels.shape[1]] += levels[table[name].codes]
    codes = [table[part.name].codes for part in parts[: len(ends)]]
    stacked = np.stack(codes, axis=1) if codes else np.zeros((len(table), 0))
    return Vectors(stacked.astype(np.int32), values, ends)


def whitened(scale: Table, tables: Sequence[Table]) -> list[Vectors]:
    """Return vectors whose Euclidean distance is Mahalanobis' distance.

    Parameters
    ----------
    scale
        The table whose covariance, of standardised numbers and 0/1 columns, is the measure.
    tables
        Tables on common levels.
    """
    categories, ordered = categories_first(scale)
    names = [*categories, *ordered]
    inputs = [level_values(scale[name]) for name in names]
    with threadpool_limits(1):
        covariance = np.atleast_2d(np.cov(dense(scale, [scale], names)[0], rowvar=False))
        variances, directions = np.linalg.eigh(covariance)
    kept = variances > max(float(variances.max(initial=0.0)), 1e-300) * NOTHING
    turn, sizes = staircase(
        directions[:, kept] / np.sqrt(variances[kept]), [part.shape[1] for part in inputs]
    )
    parts, row, start = [], 0, 0
    for name, levels, size in zip(names, inputs, sizes, strict=True):
        parts.append(Part(name, start, levels @ turn[row : row + levels.shape[1], start:]))
        row, start = row + levels.shape[1], start + size
    ends = np.cumsum(sizes[: len(categories)], dtype=np.int64)
    return [place(table, parts, ends) for table in tables]


def staircase(turn: Floats, widths: Sequence[int]) -> tuple[Floats, list[int]]:
    """Rotate what a matrix maps to, so that the first coordinates depend on the first inputs only.

    Parameters
    ----------
    turn
        A matrix of full column rank with a row for each input: x ↦ x·turn.
    widths
        The inputs come in groups of these sizes.

    Returns
    -------
    The matrix times a rotation, and for each group the number of coordinates that depend on it and
    perhaps on groups before it, but on none after it.
    """
    taken = np.zeros((turn.shape[1], 0))
    groups: list[Floats] = []
    stop = len(turn)
    for width in reversed(widths):
        rows = turn[stop - width : stop]
        stop -= width
        # What later groups do not reach yet; twice, against rounding.
        left = rows - (rows @ taken) @ taken.T
        left -= (left @ taken) @ taken.T
        _, length, new = np.linalg.svd(left, full_matrices=False)
        groups.append(new[length > np.sqrt(NOTHING) * np.linalg.norm(rows)].T)
        taken = np.concatenate([taken, groups[-1]], axis=1)
    groups.reverse()
    return turn @ np.concatenate(groups, axis=1), [group.shape[1] for group in groups]
