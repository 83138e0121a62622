"""Subtotals among the values of a key: a code that is the sum of those that follow it.

Tables with hierarchies of codes list a group and then its members. Where a total is less than all
values of a key together, such groups are looked for: if each is the sum of its members in all lines
that show them, and the total that of what is left, the table has this hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["path_of", "subtotals_of"]

Floats = NDArray[np.float64]
NEAR = 1e-9


def subtotals_of(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, totals: frozenset[str],
    slack: float = 0.0,
) -> dict[str, str]:  # fmt: skip
    """Return the group of each value of a key that is in one; empty if there are no groups.

    Parameters
    ----------
    cells, values, slack
        As for :func:`caveat.outputs.total_names.totals_of`.
    i
        The key.
    totals
        Its values that are totals.

    Examples
    --------
    >>> cells = [("total",), ("east",), ("coast",), ("islands",), ("north",)]
    >>> subtotals_of(cells, np.array([285, 75, 210, 130, 80]), 0, frozenset({"total"}))
    {'islands': 'coast', 'north': 'coast'}
    """
    order = list(dict.fromkeys(cell[i] for cell in cells if cell[i] not in totals))
    if not totals or len(order) == len(cells) or len(order) < 3:
        return {}
    rests = list(dict.fromkeys(cell[:i] + cell[i + 1 :] for cell in cells))
    column = {rest: j for j, rest in enumerate(rests)}
    rows = {value: np.zeros(len(rests)) for value in order}
    total = np.full(len(rests), np.nan)
    for cell, value in zip(cells, values.tolist(), strict=True):
        at = total if cell[i] in totals else rows[cell[i]]
        at[column[cell[:i] + cell[i + 1 :]]] = value
    near = slack * (len(order) + 1) + NEAR * float(np.nanmax(np.abs(values), initial=1.0))
    if not np.any(np.nansum(list(rows.values()), axis=0) - total > near):
        return {}
    for listed in (order, order[::-1]):  # the group before its members, or after them
        parents, top = _groups(listed, rows, near)
        if parents and _is_sum(total, [rows[value] for value in top], near):
            return parents
    return {}


def _groups(
    order: Sequence[str], rows: Mapping[str, Floats], near: float
) -> tuple[dict[str, str], list[str]]:
    """Return values in groups, and those in none: a group takes what follows it and is its sum."""
    parents: dict[str, str] = {}
    top: list[str] = []  # what follows, the next one last
    for value in reversed(order):
        for n in range(2, len(top) + 1):
            if _is_sum(rows[value], [rows[one] for one in top[-n:]], near):
                parents |= dict.fromkeys(top[: -n - 1 : -1], value)
                del top[-n:]
                break
        top.append(value)
    return parents, top


def _is_sum(total: Floats, parts: Sequence[Floats], near: float) -> bool:
    """Whether parts add up to a total in all lines that show them, at least one, and to no more."""
    left = total - np.nansum(parts, axis=0)
    shown = ~np.isnan(left) & ~np.isnan(parts).any(0)
    known = left[~np.isnan(left)]
    return bool(
        np.any(total[shown] > near) and np.all(np.abs(left[shown]) <= near)
        and np.all(known >= -near)
    )  # fmt: skip


def path_of(value: str | None, parents: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the groups that a value is in and itself, as keys of which each has the next.

    Parameters
    ----------
    value
        The value; None for a total.
    parents
        The group of each value that is in one.

    Examples
    --------
    >>> parents = {"islands": "coast", "north": "coast"}
    >>> [path_of(value, parents) for value in ("islands", "coast", "east", None)]
    [('coast', 'islands'), ('coast', None), ('east', 'east'), (None, None)]
    """
    if not parents:
        return (value,)

    def chain(one: str) -> list[str]:
        return [*(chain(parents[one]) if one in parents else []), one]

    depth = max(len(chain(one)) for one in parents)
    if value is None:
        return (None,) * depth
    found = chain(value)
    rest = None if value in parents.values() else value
    return (*found, *[rest] * (depth - len(found)))
