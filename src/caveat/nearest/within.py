"""How many records lie within given distances of another: box queries, one group at a time.

Everything that must be equal makes a group; what may differ by a radius are numbers. Within a group
the records are sorted by the first number, so that a query looks only at a window of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.ties import Floats, Ints
from caveat.table.cells import key_cells

__all__ = ["Split", "within"]


class Split(NamedTuple):
    """Rows of one table, parted into what must be equal and what may be near.

    Attributes
    ----------
    equal
        Codes that must agree.
    n_levels
        Number of codes of each.
    numbers
        One column per number, 0 where it is missing.
    """

    equal: list[NDArray[np.integer[Any]]]
    n_levels: list[int]
    numbers: Floats


def within(
    query: Split,
    data: Split,
    radius: Floats,
    target: tuple[Split, Split] | None = None,
    width: float = 0.0,
) -> tuple[Ints, Ints]:
    """Count, for each query, the data within the radius, and those whose target agrees.

    Parameters
    ----------
    query, data
        The keys of the two sides, parted in the same way.
    radius
        One row per query, one column per number: how far it may lie off.
    target
        The target of the two sides; without one, all agree.
    width
        How far a numeric target may lie off.
    """
    groups, n = key_cells([query.equal, data.equal], query.n_levels)
    wanted, offered = target or (_nothing(len(groups[0])), _nothing(len(groups[1])))
    targets, _ = key_cells([wanted.equal, offered.equal], wanted.n_levels)
    first = data.numbers[:, 0] if data.numbers.shape[1] else np.zeros(len(groups[1]))
    order = np.lexsort((first, groups[1]))
    starts = np.searchsorted(groups[1][order], np.arange(n + 1))
    found, right = np.zeros((2, len(groups[0])), np.int64)
    has_number = bool(wanted.numbers.shape[1])
    _count(
        groups[0],
        np.ascontiguousarray(query.numbers),
        np.ascontiguousarray(radius),
        targets[0],
        wanted.numbers[:, 0] if has_number else np.zeros(len(targets[0])),
        starts,
        np.ascontiguousarray(data.numbers[order]),
        targets[1][order],
        (offered.numbers[:, 0] if has_number else np.zeros(len(targets[1])))[order],
        width,
        found,
        right,
    )
    return found, right


def _nothing(n: int) -> Split:
    """Return a target that is the same for all."""
    return Split([np.zeros(n, np.uint8)], [1], np.zeros((n, 0)))


@kernel
def _count(  # type: ignore[no-untyped-def]
    group, query, radius, status, value, starts, data, statuses, values, width, found, right
):
    """Fill ``found`` and ``right`` for every query."""
    n_numbers = query.shape[1]
    for i in range(len(group)):
        low, high = starts[group[i]], starts[group[i] + 1]
        if n_numbers > 0:
            # Records below the window are skipped by bisection; those above end the loop.
            a, b = low, high
            floor = query[i, 0] - radius[i, 0]
            while a < b:
                middle = (a + b) // 2
                if data[middle, 0] < floor:
                    a = middle + 1
                else:
                    b = middle
            low = a
        for j in range(low, high):
            if n_numbers > 0 and data[j, 0] - query[i, 0] > radius[i, 0]:
                break
            inside = True
            for k in range(1, n_numbers):
                if abs(data[j, k] - query[i, k]) > radius[i, k]:
                    inside = False
                    break
            if inside:
                found[i] += 1
                if statuses[j] == status[i] and abs(values[j] - value[i]) <= width:
                    right[i] += 1
