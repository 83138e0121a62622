"""How kernels are compiled, and the small ones that several modules share."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["kernel", "sort_by_key"]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, release the interpreter lock, keep the machine code on disk."""
    compiled: Callable[..., Any] = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


@kernel
def sort_by_key(order, key, size):
    """Fill `order[:size]` with 0..size-1 by rising key; equal keys keep the order of the levels."""
    for i in range(size):
        order[i] = i
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            item = order[i]
            j = i
            while j >= gap and (
                key[order[j - gap]] > key[item]
                or (key[order[j - gap]] == key[item] and order[j - gap] > item)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 3
