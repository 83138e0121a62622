"""TOML files, bounded: what nests too deeply is refused before it is read."""

from __future__ import annotations

import re
import tomllib
from typing import Any

__all__ = ["loads"]

DEEPEST = 50  # brackets inside each other, or parts of a key
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\#[^\n]*|[\[\]{}.=,\n]',
    re.DOTALL,
)


def loads(text: str) -> dict[str, Any]:
    """Return what a text says; whatever is wrong with it is a ``tomllib.TOMLDecodeError``.

    Examples
    --------
    >>> loads("keys = ['sex', 'age']")
    {'keys': ['sex', 'age']}
    >>> loads("keys = " + "[" * 1000)
    Traceback (most recent call last):
    tomllib.TOMLDecodeError: more than 50 brackets or parts of a key inside each other
    """
    if _is_deep(text):
        raise tomllib.TOMLDecodeError(
            f"more than {DEEPEST} brackets or parts of a key inside each other"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, OverflowError, RecursionError):
        raise tomllib.TOMLDecodeError("a number or date is out of range") from None


def _is_deep(text: str) -> bool:
    depth = dots = 0
    for found in _PIECE.finditer(text):
        sign = found[0]
        depth = max(depth + (sign in "[{") - (sign in "]}"), 0)
        dots = 0 if sign in "=,\n" else dots + (sign == ".")
        if max(depth, dots) > DEEPEST:
            return True
    return False
