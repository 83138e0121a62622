# mypy: disable-error-code="no-untyped-def"
"""Sorting inside kernels: a function that several of them share."""

from __future__ import annotations

from caveat.compiling import inner

__all__ = ["sort_by_key"]


@inner
def sort_by_key(order, key, size):
    """Sort `key[:size]` and say in `order` where each came from; equal keys keep their order."""
    for i in range(size):
        order[i] = i
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            value = key[i]
            item = order[i]
            j = i
            while j >= gap and (
                key[j - gap] > value or (key[j - gap] == value and order[j - gap] > item)
            ):
                key[j] = key[j - gap]
                order[j] = order[j - gap]
                j -= gap
            key[j] = value
            order[j] = item
        gap //= 3
