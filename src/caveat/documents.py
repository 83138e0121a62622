"""JSON that somebody else may have written: read without surprises."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse"]

WHOLE = range(-(2**63), 2**64)


def parse(content: bytes) -> Any:
    """Return what a JSON text holds, or raise ValueError.

    Numbers are finite and whole ones fit into 64 bits, nesting is bounded, and all text can be
    written as UTF-8: what passes can be computed with and printed.

    Examples
    --------
    >>> parse(b'{"n": [1, 2.5]}')
    {'n': [1, 2.5]}
    >>> parse(b'[1e999]')
    Traceback (most recent call last):
    ValueError: Out of range float values are not JSON compliant
    """
    try:
        value = json.loads(content, parse_int=_whole)
        # Written again: NaN, infinities and halves of characters have no place in a document.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _whole(text: str) -> int:
    number = int(text) if len(text) <= 21 else WHOLE.stop
    if number not in WHOLE:
        raise ValueError("a whole number beyond 64 bits")
    return number
