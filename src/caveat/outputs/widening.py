"""Hidden cells that are known too closely: one more cell at a time is hidden until they are not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs.audit import Interval, bounds, room, too_narrow

__all__ = ["Widened", "widen"]

Bools = NDArray[np.bool_]
TRIES = 8  # cells that are tried for each that is known too closely
MORE = 4  # cells that are hidden for one at most
LARGEST = 1000  # inner cells of a sum whose other cells are looked at


@dataclass(frozen=True, eq=False)
class Widened:
    """What became of hidden cells that were known too closely.

    Attributes
    ----------
    protects
        The further cells that are hidden, with the cell that each of them protects.
    found
        What is now known about each cell that was known too closely.
    """

    protects: dict[int, int]
    found: tuple[Interval, ...]

    __repr__ = without_values


def widen(
    matrix: Any,
    values: NDArray[Any],
    hidden: Bools,
    narrow: Sequence[Interval],
    fixed: Bools,
    *,
    share: float,
    whole: bool = False,
    least: int = 0,
    seconds: float = np.inf,
) -> Widened:
    """Hide further cells so that others are known less closely.

    Hiding takes an equation away: no interval becomes narrower.

    Parameters
    ----------
    matrix, values, hidden, whole, least
        As for :func:`caveat.outputs.audit.bounds`.
    narrow
        The cells that are known too closely.
    fixed
        The cells that cannot be hidden any more.
    share
        Less room than this share of the value, on either side, is too narrow.
    seconds
        When to stop.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]])
    >>> values = np.array([100, 1, 1]) @ matrix  # the first two are 101, the last two 2
    >>> hidden = np.array([True, True, True, False, False])
    >>> narrow = bounds(matrix, values, hidden, [0])
    >>> done = widen(matrix, values, hidden, narrow, ~np.ones(5, bool), share=0.1)
    >>> done.protects, done.found[0].high
    ({3: 0}, inf)
    """
    hidden = np.asarray(hidden, bool).copy()
    options: dict[str, Any] = {"whole": whole, "least": least}
    end, found = time.monotonic() + seconds, []
    protects: dict[int, int] = {}
    for one in narrow:
        mine: list[int] = []
        now = one
        while time.monotonic() < end:
            if mine or protects:  # what was hidden for others may be enough
                now = bounds(matrix, values, hidden, [one.cell], **options)[0]
            around = _around(matrix, hidden, fixed, one.cell)
            done = not too_narrow([now], values, share, whole=whole)
            if done or len(mine) == MORE or not len(around):
                break
            around = around[np.argsort(values[around], kind="stable")][:TRIES]
            chosen = _best(matrix, values, hidden, one.cell, around.tolist(), share, end, options)
            mine.append(chosen)
            hidden[mine[-1]] = True
        found.append(_without_needless(matrix, values, hidden, now, mine, share, options))
        protects |= {more: one.cell for more in mine if hidden[more]}
    return Widened(protects, tuple(found))


def _without_needless(
    matrix: Any, values: NDArray[Any], hidden: Bools, now: Interval, mine: Sequence[int],
    share: float, options: dict[str, Any],
) -> Interval:  # fmt: skip
    """Show again what is not needed with the cells that were hidden later."""
    for more in mine[:-1]:
        hidden[more] = False
        then = bounds(matrix, values, hidden, [now.cell], **options)[0]
        if too_narrow([then], values, share, whole=options["whole"]):
            hidden[more] = True
        else:
            now = then
    return now


def _around(matrix: Any, hidden: Bools, fixed: Bools, cell: int) -> NDArray[np.int64]:
    """Return the cells that stand in one sum with another cell, or with what stands in one.

    A sum that cannot be hidden tells as much as any other: its parts are looked at as well.
    """
    columns, by_row = sp.csc_array(matrix), sp.csr_array(matrix)
    sizes = np.diff(columns.indptr)
    rows = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
    sums = np.unique(by_row[rows].indices)
    sums = sums[~hidden[sums]]
    small = sums[sizes[sums] <= LARGEST]
    rows = np.unique(np.append(rows, columns[:, small].indices))
    around = np.unique(np.append(sums, by_row[rows].indices)).astype(np.int64)
    return around[~(hidden | fixed)[around]]


def _best(
    matrix: Any,
    values: NDArray[Any],
    hidden: Bools,
    cell: int,
    around: Sequence[int],
    share: float,
    end: float,
    options: dict[str, Any],
) -> int:
    """Return the first cell without which another is not known too closely; else least closely."""
    widest, best = -np.inf, around[0]
    for more in around:
        if time.monotonic() > end:
            break
        hidden[more] = True
        now = bounds(matrix, values, hidden, [cell], **options)[0]
        hidden[more] = False
        if not too_narrow([now], values, share, whole=options["whole"]):
            return more
        space = room(now, values[cell], whole=options["whole"])
        if space > widest:
            widest, best = space, more
    return best
