"""Who wins between equals, and how queries are shared out: what all searches have in common."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel

__all__ = ["TIE", "Codes", "Floats", "Ints", "Nearest", "in_blocks", "lot", "lots"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Result = TypeVar("Result")

# Distances that differ by less than this share are equal: rounding must not decide who is closer.
TIE = 1e-9
# Queries that one thread takes at a time; the result does not depend on it.
BLOCK = 512


class Nearest(NamedTuple):
    """Distances (smallest first) and positions of the nearest records of each query."""

    distance: Floats
    position: Ints


def in_blocks(
    function: Callable[[slice], Result], n: int, threads: int | None = None
) -> list[Result]:
    """Call a function that lets other threads run on blocks of 0 … n, in order."""
    blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
    with ThreadPoolExecutor(threads or cpu_count() or 1) as pool:
        return list(pool.map(function, blocks))


def lots(n: int, rng: np.random.Generator | None) -> NDArray[np.uint64]:
    """Return a key for each query: two people who find the same equals draw each for themselves.

    Without ``rng`` the keys are 0: the first row wins.
    """
    if rng is None:
        return np.zeros(n, np.uint64)
    return rng.integers(1, 2**64, n, dtype=np.uint64, endpoint=False)


@kernel
def lot(key, row):  # type: ignore[no-untyped-def]
    """Return a number for a query and a row that decides between equals; the row itself for 0."""
    if key == 0:
        return row
    # The finaliser of SplitMix64: every bit of the sum moves every bit of the result.
    x = key + (row + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
