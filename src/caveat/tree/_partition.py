# mypy: disable-error-code="no-untyped-def, assignment"
"""Kernels: part the rows of a node into its two children, stably and in place."""

from __future__ import annotations

from caveat.compiling import inner

__all__ = ["flag_left", "move"]


@inner
def flag_left(column, cut, goes_left, rows, start, stop, flags):
    """Flag the rows that go left and return their number.

    A cut of -1 means a nominal split; `goes_left` then holds the side of each level present.
    """
    n_left = 0
    for i in range(start, stop):
        code = column[rows[i]]
        flag = code <= cut if cut >= 0 else goes_left[code] == 1
        flags[i] = flag
        n_left += flag
    return n_left


@inner
def move(items, flags, start, middle, stop, buffer):
    """Part `items` by the flags; only the smaller side passes through the buffer."""
    held = 0
    if middle - start >= stop - middle:
        place = start
        for i in range(start, stop):
            item = items[i]
            flag = flags[i]
            items[place] = item
            buffer[held] = item
            place += flag
            held += 1 - flag
        for i in range(held):
            items[middle + i] = buffer[i]
        return
    place = stop - 1
    for i in range(stop - 1, start - 1, -1):
        item = items[i]
        flag = flags[i]
        items[place] = item
        buffer[held] = item
        place -= 1 - flag
        held += flag
    for i in range(held):
        items[middle - 1 - i] = buffer[i]
