"""How many records lie within given distances of another: box queries, one group at a time.

Everything that must be equal (categories, and how a number is missing if it is) makes a group; what
may differ by a radius are numbers. Within a group the records are sorted by the first number, so
that a query looks only at a window of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.kernel import kernel
from caveat.risk.cells import Ints, key_cells
from caveat.table import Column, Table

__all__ = ["Floats", "Split", "near", "split"]

Floats = NDArray[np.float64]


class Split(NamedTuple):
    """Columns of one table, parted into what must be equal and what may be near.

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


def split(table: Table, columns: Sequence[str], tolerance: Mapping[str, float]) -> Split:
    """Part the columns of a table; those with a tolerance must hold numbers."""
    equal, levels, numbers = [], [], []
    for name in columns:
        column = table[name]
        if name not in tolerance:
            equal.append(column.codes)
            levels.append(column.n_levels)
            continue
        if not column.kind.is_number:
            raise CaveatError(
                "a tolerance needs numbers", where=f"column {name}", do="drop it or mend the kind"
            )
        status, values = _number(column)
        if column.missing:
            equal.append(status)
            levels.append(1 + len(column.missing))
        numbers.append(values)
    matrix = np.stack(numbers, axis=1) if numbers else np.zeros((len(table), 0))
    if not equal:
        equal, levels = [np.zeros(len(table), np.uint8)], [1]
    return Split(equal, levels, matrix)


def _number(column: Column) -> tuple[Ints, Floats]:
    """Return the way a cell is missing (0 if it is not) and its number."""
    n = len(column.levels)
    status = np.concatenate([np.zeros(n, np.int64), 1 + np.arange(len(column.missing))])
    values = np.concatenate([column.numbers, np.zeros(len(column.missing))])
    return status[column.codes], values[column.codes]


def near(
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
