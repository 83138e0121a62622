"""Microaggregation by MDAV: numbers replaced by the means of groups of k or more alike records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.protect.values import Floats, complete_matrix, with_numbers
from caveat.table import Table

__all__ = ["mdav", "microaggregate"]


def mdav(points: Floats, k: int) -> NDArray[np.int64]:
    """Return the group of each point: groups of k to 2k − 1 points, ⌊n/k⌋ of them.

    While 3k points or more remain, a group is formed around the point r farthest from their centre
    and one around the point farthest from r. From 2k to 3k − 1 points make two groups, fewer one.

    Examples
    --------
    >>> mdav(np.array([[0.0], [0.1], [5.0], [5.1], [5.2]]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    n = len(points)
    if not 1 <= k <= n:
        raise CaveatError(
            "the size of the groups does not fit",
            where="microaggregation",
            do=f"use 1 to {n}",
            code="protection.setting.range",
        )
    group = np.full(n, -1, dtype=np.int64)
    left = np.arange(n)
    next_group = 0

    def take_around(centre: Floats) -> None:
        nonlocal left, next_group
        nearest = np.argsort(_squared(points[left], centre), kind="stable")[:k]
        group[left[nearest]] = next_group
        next_group += 1
        left = np.delete(left, nearest)

    while len(left) >= 3 * k:
        first = points[left[np.argmax(_squared(points[left], points[left].mean(axis=0)))]]
        take_around(first)
        take_around(points[left[np.argmax(_squared(points[left], first))]])
    if len(left) >= 2 * k:
        take_around(points[left[np.argmax(_squared(points[left], points[left].mean(axis=0)))]])
    group[left] = next_group
    _, dense = np.unique(group, return_inverse=True)
    first_row = np.full(dense.max() + 1, n)
    np.minimum.at(first_row, dense, np.arange(n))
    # Numbered by their first member, so that the numbers do not depend on how they were found.
    rank = np.empty_like(first_row)
    rank[np.argsort(first_row)] = np.arange(len(first_row))
    return np.asarray(rank[dense])


def _squared(points: Floats, centre: Floats) -> Floats:
    return np.asarray(((points - centre) ** 2).sum(axis=1))


def microaggregate(
    synthetic: Table, columns: Sequence[str], *, k: int = 3, standardise: bool = True
) -> Protected:
    """Replace numbers by the means of groups of at least k records.

    Parameters
    ----------
    synthetic
        The table.
    columns
        Numbers without missing cells, grouped together.
    k
        Smallest group.
    standardise
        Measure distances in standard deviations; otherwise in the columns' own units, where the
        largest one decides.

    Notes
    -----
    Whole numbers stay whole: their means are rounded.
    """
    points = complete_matrix(synthetic, columns, "microaggregation")
    spread = points.std(axis=0)
    scaled = points / np.where(spread > 0, spread, 1.0) if standardise else points
    group = mdav(scaled, k)
    sizes = np.bincount(group)
    means = np.stack([np.bincount(group, column) / sizes for column in points.T], axis=1)
    out = {name: with_numbers(synthetic[name], means[group, j]) for j, name in enumerate(columns)}
    step = Step(
        "microaggregate",
        {"columns": list(columns), "k": k, "standardise": standardise},
        {
            "groups": len(sizes),
            "cells": len(sizes) * len(columns),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
    )
    return Protected(synthetic.with_columns(out), step)
