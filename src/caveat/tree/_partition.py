"""Kernels: part the rows of a node into its two children, stably and in place."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from caveat.tree._kernel import kernel

__all__ = ["partition"]


@kernel
def partition(column, cut, rows, response, start, stop, flags, work):
    """Bring the rows that go left to the front and return where the right child starts.

    A cut of -1 means a nominal split; `work.goes_left` then holds the side of each level present.
    """
    n_left = 0
    for i in range(start, stop):
        code = column[rows[i]]
        flag = code <= cut if cut >= 0 else work.goes_left[code] == 1
        flags[i] = flag
        n_left += flag
    middle = start + n_left
    move(rows, flags, start, middle, stop, work.row_buffer)
    if len(response.classes):
        move(response.classes, flags, start, middle, stop, work.class_buffer)
    if len(response.numbers):
        move(response.numbers, flags, start, middle, stop, work.number_buffer)
    if len(response.weight):
        move(response.weight, flags, start, middle, stop, work.number_buffer)
    return middle


@kernel
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
