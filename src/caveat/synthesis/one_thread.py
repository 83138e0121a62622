"""Columns are fitted side by side: linear algebra with threads of its own would be in the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread_each"]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let linear algebra use one thread, as long as anybody is inside."""
    with _INSIDE.lock:
        if not _INSIDE.number:
            _INSIDE.limit = _linear_algebra().limit(limits=1)
        _INSIDE.number += 1
    try:
        yield
    finally:
        with _INSIDE.lock:
            _INSIDE.number -= 1
            if not _INSIDE.number:
                _INSIDE.limit.restore_original_limits()


class _Inside:
    """Who fits columns in this process: several may do so at the same time."""

    lock = threading.Lock()
    number = 0
    limit: Any = None


_INSIDE = _Inside()


@cache
def _linear_algebra() -> ThreadpoolController:
    return ThreadpoolController()
