"""Work in parallel without changing the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_chunks", "in_pool"]

CHUNK = 1 << 16
"""Rows that one thread takes at a time."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_chunks(work: Callable[[int, int], None], n_rows: int, threads: int) -> None:
    """Call `work(start, stop)` for all rows, in chunks if there are several threads."""
    if threads < 1:
        raise ValueError("threads must be at least 1")
    if threads == 1 or n_rows <= CHUNK:
        work(0, n_rows)
        return
    in_pool(lambda start: work(start, min(start + CHUNK, n_rows)), range(0, n_rows, CHUNK), threads)


def in_pool(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return `work(item)` for each item, in the order of the items."""
    if threads < 1:
        raise ValueError("threads must be at least 1")
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
